package org.junit.jupiter.api;

import java.util.Objects;

/** Stands for JUnit's where JUnit is not there: what the tests call of it. */
public final class Assertions {
    /** A part of a test. */
    public interface Part {
        void run() throws Throwable;
    }

    public static void assertDoesNotThrow(Part part, String message) {
        try {
            part.run();
        } catch (Throwable error) {
            throw new AssertionError(message + ": " + error);
        }
    }

    public static void assertThrows(Class<? extends Throwable> kind, Part part) {
        try {
            part.run();
        } catch (Throwable error) {
            if (kind.isInstance(error)) return;
            throw new AssertionError("another exception: " + error);
        }
        throw new AssertionError("nothing is thrown");
    }

    public static void assertEquals(Object expected, Object actual, String message) {
        assertTrue(Objects.equals(expected, actual), message + ": expected " + expected + ", was " + actual);
    }

    public static void assertTrue(boolean holds, String message) {
        if (!holds) throw new AssertionError(message);
    }
}
