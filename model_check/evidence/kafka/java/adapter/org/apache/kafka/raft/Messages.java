package org.apache.kafka.raft;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.BinaryNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import kraftcheck.kafka.PrivateMethod;
import kraftcheck.kafka.RecordJson;

import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.message.FetchSnapshotResponseData;
import org.apache.kafka.common.message.VoteRequestData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Messages as JSON, and back, by Kafka's own {@code JsonConverter} classes in their newest version. Batches stand in
 * the place of the bytes of a Fetch response, and a snapshot in that of a FetchSnapshot response.
 */
public final class Messages {
    private static final String PACKAGE = "org.apache.kafka.common.message.";
    private static final String RECORDS = "records";
    private static final String UNALIGNED = "unalignedRecords";

    private final KeptSnapshots snapshots;
    private final Map<String, PrivateMethod> converters = new HashMap<>();

    /** {@code snapshots}: those of the process, whose content FetchSnapshot responses carry. */
    public Messages(KeptSnapshots snapshots) {
        this.snapshots = snapshots;
    }

    /** The key of an API: {@code Vote} is {@code ApiKeys.VOTE}. */
    public static ApiKeys key(String api) {
        return ApiKeys.valueOf(api.replaceAll("([a-z])([A-Z])", "$1_$2").toUpperCase(Locale.ROOT));
    }

    /** The name of the API of a message. */
    public static String api(ApiMessage message) {
        return ApiKeys.forId(message.apiKey()).messageType.name;
    }

    // Reading.

    /** The request that JSON describes. */
    public ApiMessage request(String api, JsonNode json) {
        return read(api, "RequestData", api.equals("Vote") ? VoteNames.ofRelease(json) : json);
    }

    /** The response that JSON describes. */
    public ApiMessage response(String api, JsonNode json) {
        if (api.equals("Fetch")) {
            FetchResponseData message = (FetchResponseData) read(api, "ResponseData", withoutBatches(json));
            setBatches(message, json);
            return message;
        }
        return read(api, "ResponseData", api.equals("FetchSnapshot") ? withBytes(json) : json);
    }

    private ApiMessage read(String api, String suffix, JsonNode json) {
        PrivateMethod converter = converters.computeIfAbsent(api + suffix + " read", key ->
            PrivateMethod.of(PACKAGE + api + suffix + "JsonConverter", "read", JsonNode.class, short.class));
        return (ApiMessage) converter.call(null, json, key(api).latestVersion());
    }

    private static JsonNode withoutBatches(JsonNode json) {
        ObjectNode data = json.deepCopy();
        for (JsonNode topic : data.path("responses")) {
            for (JsonNode partition : topic.path("partitions")) ((ObjectNode) partition).putNull(RECORDS);
        }
        return data;
    }

    private static void setBatches(FetchResponseData message, JsonNode json) {
        for (int t = 0; t < message.responses().size(); t++) {
            List<FetchResponseData.PartitionData> partitions = message.responses().get(t).partitions();
            for (int p = 0; p < partitions.size(); p++) {
                List<MemoryRecords> batches = new ArrayList<>();
                JsonNode shown = json.get("responses").get(t).get("partitions").get(p).path("batches");
                for (JsonNode batch : shown) batches.add(RecordJson.read(batch));
                partitions.get(p).setRecords(RecordJson.join(batches));
            }
        }
    }

    private JsonNode withBytes(JsonNode json) {
        ObjectNode data = json.deepCopy();
        for (JsonNode topic : data.path("topics")) {
            for (JsonNode partition : topic.path("partitions")) {
                int size = partition.path("unalignedRecordsSizeInBytes").asInt(0);
                ((ObjectNode) partition).set(UNALIGNED, BinaryNode.valueOf(new byte[size]));
                if (partition.has("snapshot")) snapshots.arrives(partition.get("snapshot"));
            }
        }
        return data;
    }

    // Writing.

    /** A message as JSON. */
    public JsonNode write(ApiMessage message) {
        if (message instanceof FetchSnapshotResponseData snapshot) giveBytes(snapshot);
        String name = message.getClass().getSimpleName();
        PrivateMethod converter = converters.computeIfAbsent(name + " write", key -> PrivateMethod.of(
            PACKAGE + name + "JsonConverter", "write", message.getClass(), short.class, boolean.class));
        short version = ApiKeys.forId(message.apiKey()).latestVersion();
        ObjectNode data = (ObjectNode) converter.call(null, message, version, false);
        if (message instanceof VoteRequestData) VoteNames.ofProtocol(data);
        if (message instanceof FetchResponseData fetch) showBatches(fetch, data);
        if (message instanceof FetchSnapshotResponseData) showSnapshots(data);
        return data;
    }

    /** The converter needs bytes also in a response that brings none. */
    private static void giveBytes(FetchSnapshotResponseData message) {
        message.topics().forEach(topic -> topic.partitions().forEach(partition -> {
            if (partition.unalignedRecords() == null) partition.setUnalignedRecords(MemoryRecords.EMPTY);
        }));
    }

    private static void showBatches(FetchResponseData message, ObjectNode data) {
        for (int t = 0; t < message.responses().size(); t++) {
            List<FetchResponseData.PartitionData> partitions = message.responses().get(t).partitions();
            for (int p = 0; p < partitions.size(); p++) {
                ObjectNode shown = (ObjectNode) data.get("responses").get(t).get("partitions").get(p);
                shown.remove(RECORDS);
                if (partitions.get(p).records() instanceof Records records && records.sizeInBytes() > 0) {
                    ArrayNode batches = shown.putArray("batches");
                    for (RecordBatch batch : records.batches()) batches.add(RecordJson.write(batch));
                }
            }
        }
    }

    private void showSnapshots(ObjectNode data) {
        for (JsonNode topic : data.path("topics")) {
            for (JsonNode partition : topic.path("partitions")) {
                JsonNode whole = snapshots.json(SnapshotJson.id(partition.get("snapshotId")));
                if (whole != null && partition.path("errorCode").asInt() == 0) {
                    ((ObjectNode) partition).set("snapshot", whole);
                }
            }
        }
    }
}
