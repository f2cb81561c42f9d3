package org.apache.kafka.raft;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import kraftcheck.kafka.Defects;
import kraftcheck.kafka.Effects;
import kraftcheck.kafka.NotSupported;
import kraftcheck.kafka.Private;

import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.DriverClock;
import org.apache.kafka.snapshot.SnapshotWriter;

import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/**
 * One process: an unmodified {@link KafkaRaftClient}, one step at a time. Clock, chance, network, log and quorum-state
 * file are the driver's. It is in this package because the constructor of the client that takes all of these is.
 */
public final class DrivenReplica implements AutoCloseable {
    private final Effects effects;
    private final JsonNode start;
    private final Metrics metrics = new Metrics();
    private final DriverClock clock;
    private final MemoryLog log;
    private final Messages messages;
    private final DelayedFetches delayed = new DelayedFetches();
    private final KafkaRaftClient<Long> client;
    private final Connections connections;
    private final Linger linger;
    private boolean ended = false;

    /** A step of Kafka, which may throw anything. */
    private interface Step {
        void run() throws Exception;
    }

    /** The process that the message {@code start} describes; {@link #begin} starts it. */
    public DrivenReplica(JsonNode start, Effects effects) throws NotSupported {
        Lacking.refuseIdentity(start.get("identity"));
        this.start = start;
        this.effects = effects;
        clock = new DriverClock(this::armed);
        clock.set(start.get("now").asLong(), Set.of());
        JsonNode config = start.get("config");
        JsonNode identity = start.get("identity");
        log = new MemoryLog(start.get("disk"), config.path("fetchMaxBatches").asInt(Integer.MAX_VALUE), effects);
        messages = new Messages(log.snapshots());
        // Kafka deletes the checkpoint together with the records after it.
        boolean whole = start.get("disk").get("logStart").asLong() == 0;
        if (whole && identity.get("kraftVersion").asInt() > 0 && !identity.get("voters").isEmpty()) {
            log.snapshots().bootstrap(identity.get("voters"), identity.get("kraftVersion").asInt());
        }
        Setup setup = new Setup(identity, config);
        client = setup.client(log, clock, delayed, new RoleChanges(effects), new Sleep(effects), this::sent);
        connections = new Connections(client, config, setup.nodes(), effects);
        linger = new Linger(client);
    }

    private void sent(RaftRequest.Outbound request) {
        ObjectNode effect = effects.add("request").put("to", request.destination().id())
            .put("correlationId", request.correlationId()).put("api", Messages.api(request.data()));
        effect.putObject("address").put("host", request.destination().host())
            .put("port", request.destination().port());
        effect.set("data", messages.write(request.data()));
    }

    private void armed(String timer, long ms) {
        ObjectNode effect = effects.add("timer").put("timer", timer);
        if (ms == Long.MAX_VALUE) {
            effect.putNull("ms");
        } else {
            effect.put("ms", ms);
        }
    }

    // Steps.

    private void take(long now, Set<String> expired, Step step) {
        clock.set(now, expired);
        connections.setAges(now);
        try {
            step.run();
        } catch (Throwable error) {
            Defects.throwIfOurs(error);
            effects.add("fatal").put("reason", String.valueOf(error));
            ended = true;
        }
        clock.set(now, Set.of());
    }

    private void take(long now, Step step) {
        take(now, Set.of(), step);
    }

    /** The process starts. */
    public void begin(long now) {
        take(now, () -> {
            JsonNode quorumState = start.get("disk").get("quorumState");
            Initialization.initialize(client, Setup.staticVoters(start.get("identity")),
                new QuorumStateInMemory(quorumState, effects), metrics);
            client.register(new CommittedReader(effects));
        });
    }

    /** A request arrives. */
    public void request(long now, int from, int requestId, String api, JsonNode data) throws NotSupported {
        if (api.equals("Vote")) VoteNames.requireKnown(data);
        Lacking.refuseRequest(api, data);
        RaftRequest.Inbound request = new RaftRequest.Inbound(Setup.listener(start.get("identity")), requestId,
            Messages.key(api).latestVersion(), messages.request(api, data), now);
        take(now, () -> delayed.during(from, requestId, () -> {
            Delivery.request(client, request, now, response -> effects.add("response").put("to", from)
                .put("requestId", requestId).put("api", api).set("data", messages.write(response.data())));
            Private.POLL_LISTENERS.call(client);
        }));
    }

    /** A response arrives. */
    public void response(long now, int from, int correlationId, String api, JsonNode data) {
        RaftResponse.Inbound response = new RaftResponse.Inbound(
            correlationId, messages.response(api, data), connections.node(from));
        take(now, () -> {
            Delivery.response(client, response, now);
            Private.POLL_LISTENERS.call(client);
        });
    }

    /** One round of the poll loop in which these timers have expired. */
    public void poll(long now, Set<String> expired, Integer discovery) {
        connections.setBootstrapServer(discovery);
        linger.setExpired(expired.contains("linger"), now);
        take(now, expired, client::poll);
    }

    /** The request to this node got no answer in time. */
    public void requestTimedOut(long now, int node) {
        connections.timeOut(node);
        take(now, () -> effects.add("forgetRequests").put("node", node));
    }

    /** The retry back-off towards this node is over. */
    public void backoffExpired(long now, int node) {
        connections.endBackoff(node);
        take(now, () -> { });
    }

    /** A Fetch in purgatory has waited its time. */
    public void fetchWaitExpired(long now, int from, int requestId) {
        CompletableFuture<?> fetch = delayed.remove(from, requestId);
        take(now, () -> {
            if (fetch != null) fetch.completeExceptionally(new TimeoutException("the wait is over"));
        });
    }

    /** The state machine appends records. */
    public void append(long now, int epoch, List<Long> values) {
        boolean ran = linger.isRunning();
        call(now, () -> {
            long offset = client.prepareAppend(epoch, values);
            client.schedulePreparedAppend();
            effects.add("appendAccepted").put("offset", offset);
        });
        if (!ran && linger.isRunning()) armed("linger", linger.deadline() - now);
    }

    /** The state machine resigns leadership. */
    public void resign(long now, int epoch) {
        call(now, () -> client.resign(epoch));
    }

    /** The state machine finalizes a level of kraft.version. */
    public void upgradeKRaftVersion(long now, int epoch, short level) throws NotSupported {
        if (!Upgrade.OFFERED) throw new NotSupported("this release does not finalize kraft.version");
        call(now, () -> Upgrade.upgrade(client, epoch, level));
    }

    /** The state machine has written its state to a snapshot; {@code deletes}: the log before it is deleted. */
    public void createSnapshot(long now, JsonNode snapshotId, List<Long> values, long size, boolean deletes) {
        call(now, () -> {
            var id = SnapshotJson.id(snapshotId);
            log.sizeOfNextSnapshot(size);
            Optional<SnapshotWriter<Long>> writer = client.createSnapshot(id, 0);
            if (writer.isEmpty()) return;
            if (!values.isEmpty()) writer.get().append(values);
            writer.get().freeze();
            if (deletes) log.deleteBeforeSnapshot(id);
        });
    }

    /** A graceful shutdown begins. It gives up after {@code timeoutMs}; no sequence lasts that long. */
    public void shutdown(long now, int timeoutMs) {
        take(now, () -> client.shutdown(timeoutMs).whenComplete((nothing, error) -> {
            effects.add("stop");
            ended = true;
        }));
    }

    /** A call of the state machine, which may be refused: that is no end of the process. */
    private void call(long now, Step step) {
        take(now, () -> {
            try {
                step.run();
            } catch (Exception refused) {
                effects.add("callFailed").put("reason", String.valueOf(refused));
            }
        });
    }

    // Afterwards.

    /** Whether the process has exited, by an error or by its own shutdown. */
    public boolean hasEnded() {
        return ended;
    }

    /** The state of the process. */
    public ObjectNode state() {
        return new ShownState(client, log).json();
    }

    @Override
    public void close() {
        metrics.close();
    }
}
