package org.apache.kafka.raft;

import kraftcheck.kafka.RecordJson;

import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.server.common.*;
import org.apache.kafka.snapshot.RawSnapshotWriter;

import java.util.ArrayList;
import java.util.List;

/** Keeps the batches of a snapshot that is written record by record: Kafka's {@code FileRawSnapshotWriter}. */
class CollectingSnapshotWriter implements RawSnapshotWriter {
    private final OffsetAndEpoch id;
    private final List<MemoryRecords> written = new ArrayList<>();
    private boolean frozen = false;

    CollectingSnapshotWriter(OffsetAndEpoch id) {
        this.id = id;
    }

    /** All that has been written. */
    MemoryRecords records() {
        return RecordJson.join(written);
    }

    @Override
    public OffsetAndEpoch snapshotId() {
        return id;
    }

    @Override
    public long sizeInBytes() {
        return written.stream().mapToInt(MemoryRecords::sizeInBytes).sum();
    }

    @Override
    public void append(MemoryRecords records) {
        for (RecordBatch batch : records.batches()) written.add(RecordJson.copy(batch));
    }

    @Override
    public void append(UnalignedMemoryRecords records) {
        throw new UnsupportedOperationException("parts of a snapshot come from a leader only");
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
