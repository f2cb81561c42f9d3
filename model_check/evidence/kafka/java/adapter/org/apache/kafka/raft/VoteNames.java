package org.apache.kafka.raft;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import kraftcheck.kafka.NotSupported;

import org.apache.kafka.common.message.VoteRequestData;

import java.util.Arrays;
import java.util.Map;

/**
 * The names of a Vote request's fields: version 2 of {@link VoteRequestData} (4.0, KIP-996) renamed three of version 1.
 * The protocol has the new names.
 */
final class VoteNames {
    private static final Map<String, String> OLD_BY_NEW = Map.of(
        "replicaEpoch", "candidateEpoch",
        "replicaId", "candidateId",
        "replicaDirectoryId", "candidateDirectoryId");
    private static final boolean HAS_OLD = Arrays.stream(VoteRequestData.PartitionData.class.getMethods())
        .anyMatch(method -> method.getName().equals("candidateEpoch"));

    private VoteNames() { }

    /** Refuse a request for a pre-vote where this release knows none. */
    static void requireKnown(JsonNode data) throws NotSupported {
        if (!HAS_OLD) return;
        for (JsonNode flag : data.findValues("preVote")) {
            if (flag.asBoolean()) throw new NotSupported("this release has no pre-votes");
        }
    }

    /** The fields by the names of this release. */
    static JsonNode ofRelease(JsonNode data) {
        if (!HAS_OLD) return data;
        ObjectNode renamed = data.deepCopy();
        OLD_BY_NEW.forEach((now, before) -> rename(renamed, now, before));
        return renamed;
    }

    /** The fields by the protocol's names; {@code data} is changed. */
    static void ofProtocol(ObjectNode data) {
        if (HAS_OLD) OLD_BY_NEW.forEach((now, before) -> rename(data, before, now));
    }

    private static void rename(ObjectNode data, String from, String to) {
        for (JsonNode topic : data.path("topics")) {
            for (JsonNode partition : topic.path("partitions")) {
                ObjectNode fields = (ObjectNode) partition;
                if (fields.has(from)) fields.set(to, fields.remove(from));
            }
        }
    }
}
