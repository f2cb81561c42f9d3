package org.apache.kafka.raft;

import java.util.Random;

/** No chance: a random time is the longest possible one. */
final class LargestRandom extends Random {
    private static final long serialVersionUID = 1;

    @Override
    public int nextInt(int bound) {
        return nextInt(0, bound);
    }

    @Override
    public int nextInt(int origin, int bound) {
        return Math.max(origin, bound - 1);
    }
}
