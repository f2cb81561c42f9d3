package org.apache.kafka.raft;

import org.apache.kafka.common.metrics.Metrics;

import java.net.InetSocketAddress;
import java.util.Map;

/** The start of a client, which takes metrics of the server around it since 4.0. */
final class Initialization {
    private Initialization() { }

    static void initialize(KafkaRaftClient<?> client, Map<Integer, InetSocketAddress> voters, QuorumStateStore store,
            Metrics metrics) {
        client.initialize(voters, store, metrics, ignored -> { });
    }
}
