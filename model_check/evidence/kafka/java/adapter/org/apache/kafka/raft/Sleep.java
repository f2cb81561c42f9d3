package org.apache.kafka.raft;

import kraftcheck.kafka.Effects;

/** The sleep of the poll loop at its empty queue, which takes no time here, and calls that would end it. */
final class Sleep {
    private final Effects effects;

    Sleep(Effects effects) {
        this.effects = effects;
    }

    /** The loop would sleep at most {@code timeoutMs}; the largest number: until a call wakes it. */
    void begins(long timeoutMs) {
        if (timeoutMs == Long.MAX_VALUE) {
            effects.add("wait").putNull("ms");
        } else {
            effects.add("wait").put("ms", timeoutMs);
        }
    }

    /** A call wakes the loop. */
    void ends() {
        effects.add("wakeUp");
    }
}
