package org.apache.kafka.raft;

import kraftcheck.kafka.Private;

import java.util.concurrent.atomic.AtomicLong;

/** The linger of a leader's pending appends: a deadline in Kafka's {@code BatchAccumulator}, which is no timer. */
final class Linger {
    private final KafkaRaftClient<?> client;

    Linger(KafkaRaftClient<?> client) {
        this.client = client;
    }

    /** Whether records wait for the end of the linger. */
    boolean isRunning() {
        return deadline() != Long.MAX_VALUE;
    }

    /** The end of the linger, in ms; the largest number if none runs. */
    long deadline() {
        AtomicLong deadline = find();
        return deadline == null ? Long.MAX_VALUE : deadline.get();
    }

    /** A running linger is over at {@code now}, or is not, even if its time has passed. */
    void setExpired(boolean expired, long now) {
        if (isRunning()) find().set(expired ? now : Math.max(deadline(), now + 1));
    }

    private AtomicLong find() {
        QuorumState quorum = client.quorum();
        if (quorum == null || !(Private.ROLE.get(quorum) instanceof LeaderState<?> leader)) return null;
        return (AtomicLong) Private.LINGER_DEADLINE.get(Private.LINGER_TIMER.get(leader.accumulator()));
    }
}
