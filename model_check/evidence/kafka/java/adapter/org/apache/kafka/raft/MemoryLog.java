package org.apache.kafka.raft;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;

import kraftcheck.kafka.Effects;
import kraftcheck.kafka.LeaderEpochs;
import kraftcheck.kafka.RecordJson;

import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.CorruptRecordException;
import org.apache.kafka.common.errors.OffsetOutOfRangeException;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.server.common.*;
import org.apache.kafka.snapshot.RawSnapshotReader;
import org.apache.kafka.snapshot.RawSnapshotWriter;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The metadata log of a process, in memory. It does what {@code KafkaRaftLog} of 4.3.1 over
 * {@code UnifiedLog} does, without segments, and reports every change as an effect.
 */
public final class MemoryLog implements MetadataLog {
    /** The metadata partition. */
    public static final TopicPartition PARTITION = new TopicPartition("__cluster_metadata", 0);

    private record Stored(long base, long last, MemoryRecords records) { }

    private final Effects effects;
    private final int maxBatches;
    private final List<Stored> batches = new ArrayList<>();
    private final LeaderEpochs epochs = new LeaderEpochs();
    private final KeptSnapshots snapshots = new KeptSnapshots();
    private long start;
    private long end;
    private long highWatermark;
    private long sizeOfNext = 1;

    /** The disk that a process finds. {@code maxBatches}: the most batches that one read returns. */
    public MemoryLog(JsonNode disk, int maxBatches, Effects effects) {
        this.effects = effects;
        this.maxBatches = maxBatches;
        start = disk.get("logStart").asLong();
        end = start;
        highWatermark = start;
        for (JsonNode snapshot : disk.get("snapshots")) snapshots.keep(snapshot);
        for (JsonNode batch : disk.get("batches")) {
            MemoryRecords records = RecordJson.read(batch);
            store(records.batches().iterator().next(), records);
        }
    }

    /** The snapshots, for what messages and the state show of them. */
    public KeptSnapshots snapshots() {
        return snapshots;
    }

    /** The size in bytes, as the driver counts it, of the snapshot that the state machine writes next. */
    public void sizeOfNextSnapshot(long size) {
        sizeOfNext = size;
    }

    // Appending.

    private void store(RecordBatch batch, MemoryRecords copy) {
        batches.add(new Stored(batch.baseOffset(), batch.lastOffset(), copy));
        epochs.assign(batch.partitionLeaderEpoch(), batch.baseOffset());
        end = batch.lastOffset() + 1;
    }

    @Override
    public LogAppendInfo appendAsLeader(Records records, int epoch) {
        for (RecordBatch batch : records.batches()) {
            if (batch.partitionLeaderEpoch() != epoch) throw new KafkaException("a batch of another epoch: " + batch);
        }
        return append(records, epoch);
    }

    /** Since 3.9.1 and 4.0.1. */
    public LogAppendInfo appendAsFollower(Records records, int epoch) {
        return append(records, epoch);
    }

    /** Before. */
    public LogAppendInfo appendAsFollower(Records records) {
        return append(records, Integer.MAX_VALUE);
    }

    /** Batches after the first one of a later epoch are left out ({@code UnifiedLog.analyzeAndValidateRecords}). */
    private LogAppendInfo append(Records records, int epoch) {
        if (records.sizeInBytes() == 0) throw new IllegalArgumentException("Attempt to append an empty record set");
        List<RecordBatch> taken = new ArrayList<>();
        long previous = -1;
        for (RecordBatch batch : records.batches()) {
            if (batch.partitionLeaderEpoch() > epoch) break;
            if (batch.lastOffset() <= previous) throw new KafkaException("Out of order offsets found in append");
            previous = batch.lastOffset();
            taken.add(batch);
        }
        if (taken.isEmpty()) throw new CorruptRecordException("Append failed unexpectedly");
        long first = taken.get(0).baseOffset();
        if (first < end) {
            throw new KafkaException("Unexpected offset in append: " + first + " is less than the end offset " + end);
        }
        ArrayNode shown = effects.add("append").putArray("batches");
        for (RecordBatch batch : taken) {
            shown.add(RecordJson.write(batch));
            store(batch, RecordJson.copy(batch));
        }
        return new LogAppendInfo(first, end - 1);
    }

    @Override
    public void flush(boolean forceFlushActiveSegment) {
        effects.add("flush").put("to", end);
    }

    @Override
    public void truncateTo(long offset) {
        if (offset < highWatermark) {
            throw new IllegalArgumentException("Attempt to truncate to offset " + offset
                + ", which is below the current high watermark " + highWatermark);
        }
        end = Math.min(offset, end);
        effects.add("truncate").put("to", end);
        batches.removeIf(batch -> batch.last >= end);
        epochs.truncateFrom(end);
    }

    @Override
    public void initializeLeaderEpoch(int epoch) {
        epochs.assign(epoch, end);
    }

    // Reading.

    /** Before 4.3. */
    public LogFetchInfo read(long offset, Isolation isolation) {
        return read(offset, isolation, Integer.MAX_VALUE);
    }

    /** Since 4.3: one batch at least, and no more than {@code maxBytes} otherwise. */
    public LogFetchInfo read(long offset, Isolation isolation, int maxBytes) {
        if (offset > end || offset < start) {
            throw new OffsetOutOfRangeException("offset " + offset + " is not within " + start + " to " + end);
        }
        long limit = isolation == Isolation.COMMITTED ? highWatermark : end;
        List<MemoryRecords> found = new ArrayList<>();
        long from = offset;
        int size = 0;
        for (Stored batch : batches) {
            if (batch.last < offset || batch.last >= limit || offset >= limit) continue;
            int more = batch.records.sizeInBytes();
            if (!found.isEmpty() && (found.size() >= maxBatches || size + more > maxBytes)) break;
            if (found.isEmpty()) from = Math.min(offset, batch.base);
            found.add(batch.records);
            size += more;
        }
        MemoryRecords records = found.isEmpty() ? MemoryRecords.EMPTY : RecordJson.join(found);
        return new LogFetchInfo(records, new LogOffsetMetadata(from));
    }

    @Override
    public int lastFetchedEpoch() {
        return epochs.latest().orElseGet(() -> latestSnapshotId().map(OffsetAndEpoch::epoch).orElse(0));
    }

    @Override
    public OffsetAndEpoch endOffsetForEpoch(int epoch) {
        LeaderEpochs.End found = epochs.endOf(epoch, end);
        if (found == null) return new OffsetAndEpoch(end, lastFetchedEpoch());
        Optional<OffsetAndEpoch> earliest = earliestSnapshotId();
        if (earliest.isPresent() && found.offset() == earliest.get().offset() && found.epoch() == epoch) {
            return earliest.get();
        }
        return new OffsetAndEpoch(found.offset(), found.epoch());
    }

    @Override
    public LogOffsetMetadata endOffset() {
        return new LogOffsetMetadata(end);
    }

    @Override
    public long startOffset() {
        return start;
    }

    @Override
    public LogOffsetMetadata highWatermark() {
        return new LogOffsetMetadata(highWatermark);
    }

    @Override
    public void updateHighWatermark(LogOffsetMetadata offset) {
        effects.add("highWatermark").put("offset", offset.offset());
        highWatermark = Math.max(start, Math.min(end, offset.offset()));
    }

    // Snapshots.

    @Override
    public boolean truncateToLatestSnapshot() {
        OffsetAndEpoch id = snapshots.latest().orElse(null);
        int latest = epochs.latest().orElse(0);
        if (id == null || id.epoch() < latest || (id.epoch() == latest && id.offset() <= end)) return false;
        batches.clear();
        epochs.clear();
        start = id.offset();
        end = start;
        highWatermark = start;
        snapshots.forgetBefore(id);
        effects.add("loadSnapshot").set("snapshot", snapshots.json(id));
        return true;
    }

    @Override
    public boolean deleteBeforeSnapshot(OffsetAndEpoch id) {
        if (!snapshots.has(id) || id.offset() <= start || id.offset() > highWatermark) return false;
        start = id.offset();
        batches.removeIf(batch -> batch.last < start);
        epochs.deleteBefore(start);
        snapshots.forgetBefore(id);
        effects.add("deleteBefore").set("snapshotId", SnapshotJson.id(id));
        return true;
    }

    @Override
    public boolean maybeClean() {
        return false;
    }

    @Override
    public Optional<RawSnapshotWriter> createNewSnapshot(OffsetAndEpoch id) {
        if (id.offset() < start) return Optional.empty();
        if (id.offset() > highWatermark) {
            throw new IllegalArgumentException("Cannot create a snapshot with an id (" + id
                + ") greater than the high-watermark (" + highWatermark + ")");
        }
        ValidOffsetAndEpoch valid = validateOffsetAndEpoch(id.offset(), id.epoch());
        if (valid.kind() != ValidOffsetAndEpoch.Kind.VALID) {
            throw new IllegalArgumentException("Snapshot id (" + id + ") is not valid according to the log: " + valid);
        }
        boolean within = batches.stream().anyMatch(each -> each.base < id.offset() && id.offset() <= each.last);
        if (within && !SnapshotEnd.WITHIN_A_BATCH) {
            throw new IllegalArgumentException("Cannot create snapshot at offset (" + id.offset()
                + ") because it is not batch aligned");
        }
        if (snapshots.has(id)) return Optional.empty();
        return Optional.of(new CollectingSnapshotWriter(id) {
            @Override
            public void freeze() {
                super.freeze();
                effects.add("storeSnapshot").set("snapshot", snapshots.keep(id, records(), sizeOfNext));
            }
        });
    }

    @Override
    public Optional<RawSnapshotWriter> createNewSnapshotUnchecked(OffsetAndEpoch id) {
        if (snapshots.has(id)) return Optional.empty();
        return Optional.of(new LoadedSnapshotWriter(id, snapshots::keepArriving));
    }

    @Override
    public Optional<RawSnapshotReader> readSnapshot(OffsetAndEpoch id) {
        return snapshots.reader(id);
    }

    @Override
    public Optional<RawSnapshotReader> latestSnapshot() {
        return snapshots.latest().flatMap(snapshots::reader);
    }

    @Override
    public Optional<OffsetAndEpoch> latestSnapshotId() {
        return snapshots.latest();
    }

    @Override
    public Optional<OffsetAndEpoch> earliestSnapshotId() {
        return snapshots.earliest();
    }

    @Override
    public void onSnapshotFrozen(OffsetAndEpoch id) { }

    @Override
    public TopicPartition topicPartition() {
        return PARTITION;
    }

    @Override
    public Uuid topicId() {
        return Uuid.METADATA_TOPIC_ID;
    }

    @Override
    public void close() { }
}
