package org.apache.kafka.raft;

/** The finalizing of kraft.version, which Kafka has since 4.1. */
public final class Upgrade {
    /** Whether this release has it. */
    public static final boolean OFFERED = false;

    private Upgrade() { }

    static void upgrade(KafkaRaftClient<?> client, int epoch, short level) {
        throw new UnsupportedOperationException("kraft.version is not finalized before 4.1");
    }
}
