package org.apache.kafka.raft;

import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.server.common.*;

/** A snapshot that a follower loads part by part. Its bytes are counted; its content comes with the last part. */
class LoadedSnapshotWriter extends SnapshotWriter {
    private final Runnable whenFrozen;
    private long received = 0;

    LoadedSnapshotWriter(OffsetAndEpoch id, Runnable whenFrozen) {
        super(id);
        this.whenFrozen = whenFrozen;
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
    public void freeze() {
        super.freeze();
        whenFrozen.run();
    }
}
