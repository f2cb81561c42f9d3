package org.apache.kafka.raft;

import com.fasterxml.jackson.databind.JsonNode;

import kraftcheck.kafka.Effects;
import kraftcheck.kafka.Private;

import org.apache.kafka.common.Node;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What the replica awaits of each node: Kafka's {@link RequestManager}. It compares the time of a connection's last
 * request or failure with the clock; these times are set before each step, so that exactly the time-outs and
 * back-offs that the driver names are over.
 */
final class Connections {
    private final Map<String, Object> connections;
    private final List<Node> bootstrapServers;
    private final Map<Integer, Node> nodes;
    private final int requestTimeoutMs;
    private final int retryBackoffMs;
    /** By node the correlation id of the request that has timed out, and the connection whose back-off is over. */
    private final Map<Integer, Object> timedOut = new HashMap<>();
    private final Map<Integer, Object> ready = new HashMap<>();

    /** {@code nodes}: those that the configuration names, by id. */
    @SuppressWarnings("unchecked")
    Connections(KafkaRaftClient<?> client, JsonNode config, Map<Integer, Node> nodes, Effects effects) {
        this.nodes = nodes;
        requestTimeoutMs = config.get("requestTimeoutMs").asInt();
        retryBackoffMs = config.get("retryBackoffMs").asInt();
        connections = new HashMap<>() {
            private static final long serialVersionUID = 1;

            @Override
            public void clear() {
                super.clear();
                effects.add("forgetRequests").putNull("node");
            }
        };
        Object manager = Private.REQUESTS.get(client);
        Private.CONNECTIONS.set(manager, connections);
        bootstrapServers = (List<Node>) Private.BOOTSTRAP_SERVERS.get(manager);
        bootstrapServers.clear();
    }

    /** The node of this id; the first one that was known for it. */
    Node node(int id) {
        return nodes.computeIfAbsent(id, missing -> new Node(missing, "node-" + missing, 9093));
    }

    /** The only bootstrap server that the next round of the poll loop can draw; null: none. */
    void setBootstrapServer(Integer node) {
        bootstrapServers.clear();
        if (node != null) bootstrapServers.add(node(node));
    }

    /** The request to this node has timed out. */
    void timeOut(int node) {
        Object connection = connections.get(String.valueOf(node));
        if (connection != null) timedOut.put(node, Private.AWAITED.get(connection));
    }

    /** The back-off towards this node is over. */
    void endBackoff(int node) {
        Object connection = connections.get(String.valueOf(node));
        if (connection != null) ready.put(node, connection);
    }

    /** Let every time-out and back-off be as the driver says, at the time {@code now}. */
    void setAges(long now) {
        connections.forEach((name, connection) -> {
            int node = Integer.parseInt(name);
            boolean late = Private.AWAITED.get(connection).equals(timedOut.get(node));
            if (!late) timedOut.remove(node);
            Private.SENT_AT.set(connection, late ? now - requestTimeoutMs : now);
            boolean backsOff = Private.CONNECTION_STATE.get(connection).toString().equals("BACKING_OFF");
            boolean over = ready.get(node) == connection && backsOff;
            if (!over) ready.remove(node);
            Private.FAILED_AT.set(connection, over ? now - retryBackoffMs : now);
        });
        ready.keySet().removeIf(node -> !connections.containsKey(String.valueOf(node)));
    }
}
