package org.apache.kafka.raft;

import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.server.common.*;
import org.apache.kafka.snapshot.RawSnapshotWriter;

/** A snapshot that a follower loads part by part. Its bytes are counted; its content comes with the last part. */
class LoadedSnapshotWriter implements RawSnapshotWriter {
    private final OffsetAndEpoch id;
    private final Runnable whenFrozen;
    private long received = 0;
    private boolean frozen = false;

    LoadedSnapshotWriter(OffsetAndEpoch id, Runnable whenFrozen) {
        this.id = id;
        this.whenFrozen = whenFrozen;
    }

    @Override
    public OffsetAndEpoch snapshotId() {
        return id;
    }

    @Override
    public long sizeInBytes() {
        return received;
    }

    @Override
    public void append(MemoryRecords records) {
        received += records.sizeInBytes();
    }

    @Override
    public void append(UnalignedMemoryRecords records) {
        received += records.sizeInBytes();
    }

    @Override
    public boolean isFrozen() {
        return frozen;
    }

    @Override
    public void freeze() {
        if (frozen) throw new IllegalStateException("Snapshot " + id + " is already frozen");
        frozen = true;
        whenFrozen.run();
    }

    @Override
    public void close() { }
}
