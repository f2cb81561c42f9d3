package org.apache.kafka.raft;

import kraftcheck.kafka.PrivateMethod;

import org.apache.kafka.common.network.ListenerName;

import java.util.function.Consumer;

/** The way of messages to and from the client. Before 4.4 an answer completes the request that it answers. */
final class Delivery {
    private static final PrivateMethod HANDLE = PrivateMethod.of(
        KafkaRaftClient.class.getName(), "handleInboundMessage", RaftMessage.class, long.class);

    private Delivery() { }

    /** Let the client handle a request; {@code answered} is given the answer, at once or later. */
    static void request(KafkaRaftClient<?> client, RaftRequest.Inbound request, long now,
            Consumer<RaftMessage> answered) {
        request.completion.whenComplete((response, error) -> answered.accept(response));
        HANDLE.call(client, request, now);
    }

    /** Let the client handle a response. */
    static void response(KafkaRaftClient<?> client, RaftResponse.Inbound response, long now) {
        HANDLE.call(client, response, now);
    }

    /** A channel that gives away what is sent. */
    static NetworkChannel channel(ListenerName listener, Consumer<RaftRequest.Outbound> sent) {
        return new NetworkChannel() {
            private int next = 0;

            @Override
            public int newCorrelationId() {
                return next++;
            }

            @Override
            public void send(RaftRequest.Outbound request) {
                sent.accept(request);
            }

            @Override
            public ListenerName listenerName() {
                return listener;
            }
        };
    }

    /** A queue that is always empty: messages are handed over one by one. */
    static RaftMessageQueue queue(Sleep sleep) {
        return new RaftMessageQueue() {
            @Override
            public RaftMessage poll(long timeoutMs) {
                sleep.begins(timeoutMs);
                return null;
            }

            @Override
            public void add(RaftMessage message) {
                throw new UnsupportedOperationException();
            }

            @Override
            public boolean isEmpty() {
                return true;
            }

            @Override
            public void wakeup() {
                sleep.ends();
            }
        };
    }
}
