package org.apache.kafka.common.utils;

import java.util.function.Supplier;

/** Stands for that of Kafka's tests where these are not there: a clock that a test sets. */
public class MockTime implements Time {
    private long now;

    public MockTime(long autoTickMs, long now, long nanoseconds) {
        this.now = now;
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
        now += ms;
    }

    @Override
    public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) {
        throw new UnsupportedOperationException("no thread waits in these tests");
    }
}
