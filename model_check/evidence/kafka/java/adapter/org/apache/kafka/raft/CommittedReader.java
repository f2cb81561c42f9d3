package org.apache.kafka.raft;

import org.apache.kafka.snapshot.SnapshotReader;

/** A state machine that reads all that is committed and keeps nothing. */
final class CommittedReader implements RaftClient.Listener<Long> {
    @Override
    public void handleCommit(BatchReader<Long> reader) {
        try (reader) {
            while (reader.hasNext()) reader.next();
        }
    }

    @Override
    public void handleLoadSnapshot(SnapshotReader<Long> reader) {
        try (reader) {
            while (reader.hasNext()) reader.next();
        }
    }

    /** Releases before 4.3 have no such method. */
    public void handleLoadBootstrap(SnapshotReader<Long> reader) {
        handleLoadSnapshot(reader);
    }
}
