package org.apache.kafka.raft;

import com.fasterxml.jackson.databind.JsonNode;

import kraftcheck.kafka.LongSerde;

import org.apache.kafka.common.Node;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.feature.SupportedVersionRange;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.utils.DriverClock;
import org.apache.kafka.raft.internals.BatchMemoryPool;

import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.function.Consumer;

/** The configuration of a process as {@link KafkaRaftClient} takes it, from that of the message {@code start}. */
final class Setup {
    private static final BatchMemoryPool MEMORY = new BatchMemoryPool(5, KafkaRaftClient.MAX_BATCH_SIZE_BYTES);
    private static final String PREFIX = "controller.quorum.";
    /** The driver names the node to ask with each poll, so that this address is never used. */
    private static final String NOWHERE = "nowhere";

    private final JsonNode identity;
    private final JsonNode config;

    Setup(JsonNode identity, JsonNode config) {
        this.identity = identity;
        this.config = config;
    }

    /** The client on this log and clock; requests that it sends go to {@code sent}. */
    KafkaRaftClient<Long> client(MemoryLog log, DriverClock clock, DelayedFetches delayed, RoleChanges changes,
            Sleep sleep, Consumer<RaftRequest.Outbound> sent) {
        JsonNode cluster = identity.get("clusterId");
        return new KafkaRaftClient<>(
            OptionalInt.of(identity.get("replicaId").asInt()),
            Uuid.fromString(identity.get("replicaDirectoryId").asText()),
            new LongSerde(), Delivery.channel(listener(identity), sent), Delivery.queue(sleep), log, MEMORY, clock, delayed,
            config.get("fetchMaxWaitMs").asInt(), identity.get("canBecomeVoter").asBoolean(),
            cluster.isNull() ? null : cluster.asText(), List.of(InetSocketAddress.createUnresolved(NOWHERE, 1)),
            Endpoints.fromInetSocketAddresses(listeners()),
            new SupportedVersionRange((short) 0, (short) identity.get("maxKraftVersion").asInt()),
            changes, new ChosenRandom(!config.path("random").asText().equals("smallest")),
            new QuorumConfig(quorumConfig()));
    }

    private AbstractConfig quorumConfig() {
        Map<String, Object> values = new HashMap<>();
        values.put(PREFIX + "bootstrap.servers", List.of(NOWHERE + ":1"));
        values.put(PREFIX + "election.timeout.ms", config.get("electionTimeoutMs").asInt());
        values.put(PREFIX + "election.backoff.max.ms", config.get("electionBackoffMaxMs").asInt());
        values.put(PREFIX + "fetch.timeout.ms", config.get("fetchTimeoutMs").asInt());
        values.put(PREFIX + "request.timeout.ms", config.get("requestTimeoutMs").asInt());
        values.put(PREFIX + "retry.backoff.ms", config.get("retryBackoffMs").asInt());
        values.put(PREFIX + "append.linger.ms", config.get("lingerMs").asInt());
        values.put(PREFIX + "auto.join.enable", identity.get("autoJoin").asBoolean());
        values.put(PREFIX + "fetch.snapshot.max.bytes", config.get("fetchSnapshotMaxBytes").asInt());
        return new AbstractConfig(QuorumConfig.CONFIG_DEF, values, false);
    }

    private Map<ListenerName, InetSocketAddress> listeners() {
        Map<ListenerName, InetSocketAddress> listeners = new HashMap<>();
        for (JsonNode each : identity.get("endpoints")) {
            listeners.put(new ListenerName(each.get("name").asText()), address(each));
        }
        return listeners;
    }

    /** The nodes of the configured voters, by id. */
    Map<Integer, Node> nodes() {
        Map<Integer, Node> nodes = new HashMap<>();
        for (JsonNode voter : identity.get("voters")) {
            int id = voter.get("voterId").asInt();
            for (JsonNode each : voter.get("endpoints")) {
                nodes.putIfAbsent(id, new Node(id, each.get("host").asText(), each.get("port").asInt()));
            }
        }
        return nodes;
    }

    /** The listener of the controllers: the first one. */
    static ListenerName listener(JsonNode identity) {
        return new ListenerName(identity.get("endpoints").get(0).get("name").asText());
    }

    /** controller.quorum.voters: under kraft.version 0 the configured voters. */
    static Map<Integer, InetSocketAddress> staticVoters(JsonNode identity) {
        Map<Integer, InetSocketAddress> voters = new HashMap<>();
        if (identity.get("kraftVersion").asInt() > 0) return voters;
        for (JsonNode voter : identity.get("voters")) {
            voters.put(voter.get("voterId").asInt(), address(voter.get("endpoints").get(0)));
        }
        return voters;
    }

    private static InetSocketAddress address(JsonNode endpoint) {
        return InetSocketAddress.createUnresolved(endpoint.get("host").asText(), endpoint.get("port").asInt());
    }
}
