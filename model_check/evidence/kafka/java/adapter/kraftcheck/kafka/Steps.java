package kraftcheck.kafka;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.raft.DrivenReplica;

import java.util.HashSet;
import java.util.Set;

/** The steps of the protocol, from JSON to calls of {@link DrivenReplica}. */
final class Steps {
    /** Of a graceful shutdown for which the driver names none. */
    private static final int SHUTDOWN_TIMEOUT_MS = 3_600_000;

    private Steps() { }

    /** Take one step of a running process at the time {@code now}. */
    static void take(DrivenReplica replica, String type, long now, JsonNode step) throws Exception {
        switch (type) {
            case "request" -> request(replica, now, step);
            case "response" -> replica.response(now, step.get("from").asInt(),
                step.path("correlationId").asInt(-1), step.get("api").asText(), step.get("data"));
            case "poll" -> replica.poll(now, texts(step.get("expired")), numberOrNull(step.get("discovery")));
            case "requestTimedOut" -> replica.requestTimedOut(now, step.get("node").asInt());
            case "backoffExpired" -> replica.backoffExpired(now, step.get("node").asInt());
            case "fetchWaitExpired" ->
                replica.fetchWaitExpired(now, step.get("from").asInt(), step.get("requestId").asInt());
            case "append" -> replica.append(now, step.get("epoch").asInt(), Json.longs(step.get("values")));
            case "resign" -> replica.resign(now, step.get("epoch").asInt());
            case "upgradeKRaftVersion" ->
                replica.upgradeKRaftVersion(now, step.get("epoch").asInt(), (short) step.get("version").asInt());
            case "createSnapshot" -> createSnapshot(replica, now, step);
            case "shutdown" -> replica.shutdown(now, step.path("timeoutMs").asInt(SHUTDOWN_TIMEOUT_MS));
            default -> throw new NotSupported("there is no step '" + type + "'");
        }
    }

    private static void request(DrivenReplica replica, long now, JsonNode step) throws Exception {
        String api = step.get("api").asText();
        if (api.equals("ApiVersions")) {
            throw new NotSupported("Kafka's server answers ApiVersions, not its raft module");
        }
        replica.request(now, step.get("from").asInt(), step.get("requestId").asInt(), api, step.get("data"));
    }

    private static void createSnapshot(DrivenReplica replica, long now, JsonNode step) throws Exception {
        replica.createSnapshot(now, step.get("snapshotId"), Json.longs(step.get("values")),
            step.get("size").asLong(), step.get("deletePrefix").asBoolean());
    }

    private static Set<String> texts(JsonNode list) {
        Set<String> texts = new HashSet<>();
        for (JsonNode each : list) texts.add(each.asText());
        return texts;
    }

    private static Integer numberOrNull(JsonNode value) {
        return value == null || value.isNull() ? null : value.asInt();
    }
}
