package org.apache.kafka.raft;

import org.apache.kafka.server.common.*;
import org.apache.kafka.snapshot.RawSnapshotWriter;

/** A snapshot that is being written, until it is frozen. It has no file to close. */
abstract class SnapshotWriter implements RawSnapshotWriter {
    private final OffsetAndEpoch id;
    private boolean frozen = false;

    SnapshotWriter(OffsetAndEpoch id) {
        this.id = id;
    }

    @Override
    public OffsetAndEpoch snapshotId() {
        return id;
    }

    @Override
    public boolean isFrozen() {
        return frozen;
    }

    @Override
    public void freeze() {
        if (frozen) throw new IllegalStateException("Snapshot " + id + " is already frozen");
        frozen = true;
    }

    @Override
    public void close() { }
}
