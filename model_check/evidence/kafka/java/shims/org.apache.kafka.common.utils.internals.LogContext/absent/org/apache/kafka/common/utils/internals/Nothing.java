package org.apache.kafka.common.utils.internals;

/** Makes this package exist, so that it can be imported: before 4.4 Kafka's LogContext are in the one above. */
final class Nothing {
    private Nothing() { }
}
