package org.apache.kafka.raft;

import org.apache.kafka.server.common.KRaftVersion;

/** The finalizing of kraft.version, which Kafka has since 4.1. */
public final class Upgrade {
    /** Whether this release has it. */
    public static final boolean OFFERED = true;

    private Upgrade() { }

    static void upgrade(KafkaRaftClient<?> client, int epoch, short level) {
        client.upgradeKRaftVersion(epoch, KRaftVersion.fromFeatureLevel(level), false);
    }
}
