package org.apache.kafka.raft;

import java.util.Random;

/** No chance: a random time is the longest possible one, or the shortest. */
final class ChosenRandom extends Random {
    private static final long serialVersionUID = 1;

    private final boolean isLargest;

    /** {@code isLargest}: whether it draws the largest number each time, or else the smallest. */
    ChosenRandom(boolean isLargest) {
        this.isLargest = isLargest;
    }

    @Override
    public int nextInt(int bound) {
        return nextInt(0, bound);
    }

    @Override
    public int nextInt(int origin, int bound) {
        return isLargest ? Math.max(origin, bound - 1) : origin;
    }
}
