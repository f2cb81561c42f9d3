package org.apache.kafka.common.utils;

/** A {@link Timer} that expires when the driver says so; one without a name, null, never does. */
final class DriverTimer extends Timer {
    private final DriverClock clock;
    private final String name;
    private long armedIn;

    DriverTimer(DriverClock clock, TimerNames.Name name, long timeoutMs) {
        super(clock, timeoutMs);
        this.clock = clock;
        this.name = name.text();
        if (name.runs()) armed(timeoutMs);
    }

    private void armed(long timeoutMs) {
        armedIn = clock.step();
        if (name != null) clock.armed(name, timeoutMs);
    }

    @Override
    public void reset(long timeoutMs) {
        super.reset(timeoutMs);
        // The constructor of the superclass resets the timer, too.
        if (clock != null) armed(timeoutMs);
    }

    /** A timer that is armed in the very step is not the one that has expired. */
    @Override
    public boolean isExpired() {
        return name != null && armedIn != clock.step() && clock.hasExpired(name);
    }

    @Override
    public boolean notExpired() {
        return !isExpired();
    }

    @Override
    public long remainingMs() {
        return isExpired() ? 0 : Math.max(1, super.remainingMs());
    }
}
