package org.apache.kafka.raft;

import kraftcheck.kafka.RecordJson;

import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.server.common.*;

import java.util.ArrayList;
import java.util.List;

/** Keeps the batches of a snapshot that is written record by record: Kafka's {@code FileRawSnapshotWriter}. */
class CollectingSnapshotWriter extends SnapshotWriter {
    private final List<MemoryRecords> written = new ArrayList<>();

    CollectingSnapshotWriter(OffsetAndEpoch id) {
        super(id);
    }

    /** All that has been written. */
    MemoryRecords records() {
        return RecordJson.join(written);
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
}
