package org.junit.jupiter.api;

/** Stands for JUnit's where JUnit is not there. */
public final class Assumptions {
    public static <V> V abort(String message) {
        throw new IllegalStateException(message);
    }
}
