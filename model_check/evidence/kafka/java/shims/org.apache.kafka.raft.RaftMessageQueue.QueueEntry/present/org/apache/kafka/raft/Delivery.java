package org.apache.kafka.raft;

import kraftcheck.kafka.PrivateMethod;

import org.apache.kafka.common.network.ListenerName;

import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;

/** The way of messages to and from the client. Since 4.4 a future comes with each message. */
final class Delivery {
    private static final PrivateMethod HANDLE = PrivateMethod.of(
        KafkaRaftClient.class.getName(), "handleInboundMessage", RaftMessage.class, CompletableFuture.class,
        long.class);

    private Delivery() { }

    /** Let the client handle a request; {@code answered} is given the answer, at once or later. */
    static void request(KafkaRaftClient<?> client, RaftRequest.Inbound request, long now,
            Consumer<RaftMessage> answered) {
        CompletableFuture<RaftMessage> completion = new CompletableFuture<>();
        completion.whenComplete((response, error) -> answered.accept(response));
        HANDLE.call(client, request, completion, now);
    }

    /** Let the client handle a response. */
    static void response(KafkaRaftClient<?> client, RaftResponse.Inbound response, long now) {
        HANDLE.call(client, response, new CompletableFuture<RaftMessage>(), now);
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
            public CompletionStage<RaftResponse.Inbound> send(RaftRequest.Outbound request) {
                sent.accept(request);
                return new CompletableFuture<>();
            }

            @Override
            public ListenerName listenerName() {
                return listener;
            }

            @Override
            public void close() { }
        };
    }

    /** A queue that is always empty: messages are handed over one by one. */
    static RaftMessageQueue queue(Sleep sleep) {
        return new RaftMessageQueue() {
            @Override
            public Optional<QueueEntry> poll(long timeoutMs) {
                sleep.begins(timeoutMs);
                return Optional.empty();
            }

            @Override
            public CompletionStage<RaftMessage> add(RaftMessage message) {
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
