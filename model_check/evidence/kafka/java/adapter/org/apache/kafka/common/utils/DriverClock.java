package org.apache.kafka.common.utils;

import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Supplier;

/**
 * The clock of the driver, in the place of Kafka's {@code SystemTime}. Its timers expire when the driver says so and
 * at no other time. It is in this package because the constructor of {@link Timer} is.
 */
public final class DriverClock implements Time {
    private final TimerNames names = new TimerNames();
    private final BiConsumer<String, Long> whenArmed;
    private Set<String> expired = Set.of();
    private long now;
    private long step;

    /** {@code whenArmed}: is given the name of a timer and its ms whenever one is armed. */
    public DriverClock(BiConsumer<String, Long> whenArmed) {
        this.whenArmed = whenArmed;
    }

    /** The time of a step, in ms, and the timers that have expired in it. */
    public void set(long time, Set<String> names) {
        now = time;
        expired = names;
        step++;
    }

    /** The number of the step: several may lie in one ms. */
    long step() {
        return step;
    }

    /** Whether the timer of this name has expired in this step. */
    boolean hasExpired(String name) {
        return expired.contains(name);
    }

    /** The timer of this name is armed. */
    void armed(String name, long ms) {
        whenArmed.accept(name, ms);
    }

    @Override
    public long milliseconds() {
        return now;
    }

    @Override
    public long nanoseconds() {
        return now * 1_000_000L;
    }

    @Override
    public void sleep(long ms) {
        throw new UnsupportedOperationException("no thread sleeps under the driver's clock");
    }

    @Override
    public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) {
        throw new UnsupportedOperationException("no thread waits under the driver's clock");
    }

    @Override
    public Timer timer(long timeoutMs) {
        return new DriverTimer(this, names.next(), timeoutMs);
    }
}
