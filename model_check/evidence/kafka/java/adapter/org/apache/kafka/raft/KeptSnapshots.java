package org.apache.kafka.raft;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import kraftcheck.kafka.Json;

import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.server.common.*;
import org.apache.kafka.snapshot.RawSnapshotReader;

import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.TreeMap;

/**
 * The snapshots on the disk of a process: the map of {@code FileRawSnapshotReader} in {@code KafkaRaftLog}. Each has
 * records for Kafka to read, and the content and size that the driver gives it.
 */
public final class KeptSnapshots {
    /** The bootstrap checkpoint of a formatted disk, which Kafka names 0-0. */
    private static final OffsetAndEpoch BOOTSTRAP = new OffsetAndEpoch(0, 0);

    private record Kept(OffsetAndEpoch id, MemoryRecords records, JsonNode json) { }

    private final TreeMap<OffsetAndEpoch, Kept> kept = new TreeMap<>();
    private JsonNode arriving = null;

    /** Keep the snapshot that JSON describes. */
    void keep(JsonNode snapshot) {
        OffsetAndEpoch id = SnapshotJson.id(snapshot.get("snapshotId"));
        kept.put(id, new Kept(id, SnapshotJson.records(snapshot), snapshot));
    }

    /** Keep a snapshot that the state machine has written; its JSON. */
    ObjectNode keep(OffsetAndEpoch id, MemoryRecords records, long size) {
        ObjectNode json = SnapshotJson.write(id, records, size);
        kept.put(id, new Kept(id, records, json));
        return json;
    }

    /** Keep the snapshot whose last part has arrived. */
    void keepArriving() {
        if (arriving == null) throw new IllegalStateException("a snapshot is complete of which no part has arrived");
        keep(arriving);
    }

    /** A FetchSnapshot response brings a part of this snapshot. */
    void arrives(JsonNode snapshot) {
        arriving = snapshot;
    }

    /** Keep the bootstrap checkpoint of a disk that was formatted with these voters and this kraft.version. */
    public void bootstrap(JsonNode voters, int kraftVersion) {
        ObjectNode json = Json.object();
        json.set("snapshotId", SnapshotJson.id(BOOTSTRAP));
        json.put("kraftVersion", kraftVersion).set("voters", voters);
        json.putArray("values");
        keep(json.put("size", 1));
    }

    /** The newest snapshot, the bootstrap checkpoint apart: the protocol has it in the identity of the process. */
    public Optional<OffsetAndEpoch> newestShown() {
        return latest().filter(id -> !id.equals(BOOTSTRAP));
    }

    /** Whether there is this snapshot. */
    boolean has(OffsetAndEpoch id) {
        return kept.containsKey(id);
    }

    /** A snapshot as JSON; null: there is none. */
    JsonNode json(OffsetAndEpoch id) {
        Kept found = kept.get(id);
        return found == null ? null : found.json;
    }

    Optional<OffsetAndEpoch> latest() {
        return kept.isEmpty() ? Optional.empty() : Optional.of(kept.lastKey());
    }

    Optional<OffsetAndEpoch> earliest() {
        return kept.isEmpty() ? Optional.empty() : Optional.of(kept.firstKey());
    }

    /** Delete the snapshots before this one. */
    void forgetBefore(OffsetAndEpoch id) {
        kept.headMap(id, false).clear();
    }

    /** A snapshot for Kafka to read. */
    Optional<RawSnapshotReader> reader(OffsetAndEpoch id) {
        return Optional.ofNullable(kept.get(id)).map(Reader::new);
    }

    /** Its size is the driver's, so a slice of it has as many bytes, all zero: their content is the JSON. */
    private record Reader(Kept snapshot) implements RawSnapshotReader {
        @Override
        public OffsetAndEpoch snapshotId() {
            return snapshot.id;
        }

        @Override
        public long sizeInBytes() {
            return snapshot.json.get("size").asLong();
        }

        @Override
        public UnalignedRecords slice(long position, int size) {
            long length = Math.max(0, Math.min(size, sizeInBytes() - position));
            return new UnalignedMemoryRecords(ByteBuffer.allocate((int) length));
        }

        @Override
        public Records records() {
            return snapshot.records;
        }
    }
}
