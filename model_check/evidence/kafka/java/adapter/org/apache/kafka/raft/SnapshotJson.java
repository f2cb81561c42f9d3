package org.apache.kafka.raft;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import kraftcheck.kafka.Json;
import kraftcheck.kafka.LongSerde;
import kraftcheck.kafka.RecordJson;

import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.server.common.*;
import org.apache.kafka.snapshot.RecordsSnapshotWriter;

import java.util.List;
import java.util.Optional;

/** Snapshots as JSON, and the records in which Kafka's {@code RecordsSnapshotWriter} writes their content. */
public final class SnapshotJson {
    private SnapshotJson() { }

    /** The id that JSON describes. */
    public static OffsetAndEpoch id(JsonNode id) {
        return new OffsetAndEpoch(id.get("endOffset").asLong(), id.get("epoch").asInt());
    }

    /** An id as JSON. */
    public static ObjectNode id(OffsetAndEpoch id) {
        return Json.object().put("endOffset", id.offset()).put("epoch", id.epoch());
    }

    /** The records of a snapshot that JSON describes. */
    public static MemoryRecords records(JsonNode snapshot) {
        CollectingSnapshotWriter raw = new CollectingSnapshotWriter(id(snapshot.get("snapshotId")));
        JsonNode voters = snapshot.path("voters");
        RecordsSnapshotWriter.Builder builder = new RecordsSnapshotWriter.Builder()
            .setKraftVersion(KRaftVersion.fromFeatureLevel((short) snapshot.get("kraftVersion").asInt()))
            .setVoterSet(voters.isArray() ? Optional.of(RecordJson.voterSet(voters)) : Optional.empty())
            .setRawSnapshotWriter(raw);
        List<Long> values = Json.longs(snapshot.get("values"));
        try (RecordsSnapshotWriter<Long> writer = builder.build(new LongSerde())) {
            if (!values.isEmpty()) writer.append(values);
            writer.freeze();
        }
        return raw.records();
    }

    /** A snapshot with these records as JSON; {@code size}: its size in bytes as the driver counts them. */
    public static ObjectNode write(OffsetAndEpoch id, MemoryRecords records, long size) {
        ObjectNode shown = Json.object();
        shown.set("snapshotId", id(id));
        shown.put("kraftVersion", 0).putNull("voters");
        ArrayNode values = shown.putArray("values");
        for (RecordBatch batch : records.batches()) {
            for (JsonNode record : RecordJson.write(batch).get("records")) {
                JsonNode value = record.path("value");
                switch (record.path("type").asText()) {
                    case "" -> values.add(record);
                    case "KRAFT_VERSION" -> shown.set("kraftVersion", value.get("kRaftVersion"));
                    case "KRAFT_VOTERS" -> shown.set("voters", value.get("voters"));
                    default -> { } // the header and the footer of a snapshot
                }
            }
        }
        return shown.put("size", size);
    }
}
