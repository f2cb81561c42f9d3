package org.apache.kafka.raft;

/** Where a snapshot may end: before 4.0 anywhere (KafkaMetadataLog.createNewSnapshot). */
final class SnapshotEnd {
    static final boolean WITHIN_A_BATCH = true;

    private SnapshotEnd() { }
}
