package kraftcheck.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.message.KRaftVersionRecordJsonConverter;
import org.apache.kafka.common.message.LeaderChangeMessage;
import org.apache.kafka.common.message.LeaderChangeMessageJsonConverter;
import org.apache.kafka.common.message.VotersRecordJsonConverter;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.raft.VoterSet;

import java.nio.ByteBuffer;
import java.util.List;

/**
 * Batches of records as JSON, and back. They are Kafka's own ({@code MemoryRecords}, {@code RecordBatch}). Releases
 * differ in the package of these classes, so that both packages are imported.
 */
public final class RecordJson {
    private static final short VERSION = 0;
    /** Bytes of a batch's header, and an upper bound of those of a record, for the buffer of its builder. */
    private static final int HEADER_BYTES = 4096;
    private static final int RECORD_BYTES = 512;

    private RecordJson() { }

    /** The batch that JSON describes. */
    public static MemoryRecords read(JsonNode batch) {
        boolean control = batch.get("control").asBoolean();
        JsonNode records = batch.get("records");
        int size = HEADER_BYTES + RECORD_BYTES * records.size() + 2 * records.toString().length();
        try (MemoryRecordsBuilder builder = MemoryRecords.builder(ByteBuffer.allocate(size),
                RecordBatch.CURRENT_MAGIC_VALUE, Compression.NONE, TimestampType.CREATE_TIME,
                batch.get("base").asLong(), 0L, RecordBatch.NO_PRODUCER_ID, RecordBatch.NO_PRODUCER_EPOCH,
                RecordBatch.NO_SEQUENCE, false, control, batch.get("epoch").asInt())) {
            for (JsonNode record : records) {
                if (control) {
                    appendControl(builder, record.get("type").asText(), record.get("value"));
                } else {
                    builder.append(0L, null, ByteBuffer.allocate(Long.BYTES).putLong(record.asLong()).flip());
                }
            }
            return builder.build();
        }
    }

    private static void appendControl(MemoryRecordsBuilder builder, String type, JsonNode value) {
        switch (type) {
            case "LEADER_CHANGE" ->
                builder.appendLeaderChangeMessage(0L, LeaderChangeMessageJsonConverter.read(value, VERSION));
            case "KRAFT_VERSION" ->
                builder.appendKRaftVersionMessage(0L, KRaftVersionRecordJsonConverter.read(value, VERSION));
            case "KRAFT_VOTERS" -> builder.appendVotersMessage(0L, VotersRecordJsonConverter.read(value, VERSION));
            default -> throw new IllegalArgumentException("there is no control record '" + type + "'");
        }
    }

    /** The voter set of a {@code KRAFT_VOTERS} record's field {@code voters}. */
    public static VoterSet voterSet(JsonNode voters) {
        ObjectNode value = Json.object().put("version", VERSION);
        value.set("voters", voters);
        return VoterSet.fromVotersRecord(VotersRecordJsonConverter.read(value, VERSION));
    }

    /** A batch as JSON. */
    public static ObjectNode write(RecordBatch batch) {
        ObjectNode shown = Json.object()
            .put("base", batch.baseOffset()).put("last", batch.lastOffset())
            .put("epoch", batch.partitionLeaderEpoch()).put("control", batch.isControlBatch());
        ArrayNode records = shown.putArray("records");
        for (var record : batch) {
            ByteBuffer value = record.value().duplicate();
            if (batch.isControlBatch()) {
                records.add(control(ControlRecordType.parse(record.key()), value));
            } else {
                records.add(value.getLong());
            }
        }
        return shown;
    }

    private static ObjectNode control(ControlRecordType type, ByteBuffer value) {
        ObjectNode shown = Json.object().put("type", type.name());
        shown.set("value", switch (type) {
            case LEADER_CHANGE -> {
                LeaderChangeMessage message = ControlRecordUtils.deserializeLeaderChangeMessage(value);
                yield LeaderChangeMessageJsonConverter.write(message, message.version());
            }
            case KRAFT_VERSION -> KRaftVersionRecordJsonConverter.write(
                ControlRecordUtils.deserializeKRaftVersionRecord(value), VERSION);
            case KRAFT_VOTERS -> VotersRecordJsonConverter.write(
                ControlRecordUtils.deserializeVotersRecord(value), VERSION);
            default -> NullNode.instance;
        });
        return shown;
    }

    /** A copy that does not change when the buffer of {@code batch} is used again. */
    public static MemoryRecords copy(RecordBatch batch) {
        ByteBuffer buffer = ByteBuffer.allocate(batch.sizeInBytes());
        batch.writeTo(buffer);
        return MemoryRecords.readableRecords(buffer.flip());
    }

    /** The batches of all, in order. */
    public static MemoryRecords join(List<MemoryRecords> all) {
        ByteBuffer buffer = ByteBuffer.allocate(all.stream().mapToInt(MemoryRecords::sizeInBytes).sum());
        for (MemoryRecords each : all) buffer.put(each.buffer().duplicate());
        return MemoryRecords.readableRecords(buffer.flip());
    }
}
