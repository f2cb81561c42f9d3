package org.apache.kafka.raft;

/** Where a snapshot may end: since 4.0 only between batches (KafkaMetadataLog.createNewSnapshot). */
final class SnapshotEnd {
    static final boolean WITHIN_A_BATCH = false;

    private SnapshotEnd() { }
}
