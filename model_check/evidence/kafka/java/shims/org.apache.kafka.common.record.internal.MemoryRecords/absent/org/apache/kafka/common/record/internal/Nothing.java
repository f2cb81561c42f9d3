package org.apache.kafka.common.record.internal;

/** Makes this package exist, so that it can be imported: before 4.3 Kafka's classes of records are in the one above. */
final class Nothing {
    private Nothing() { }
}
