package kraftcheck.kafka;

import java.security.CodeSource;

/** Tells a defect of the adapter, which ends the run, from what Kafka throws, which ends the process. */
public final class Defects {
    private static final CodeSource OURS = Defects.class.getProtectionDomain().getCodeSource();
    private static final String KAFKA = "org.apache.kafka.";

    private Defects() { }

    /** Throw {@code error} if a class is missing, or if code of the adapter fails where it should not. */
    public static void throwIfOurs(Throwable error) {
        boolean isFailure = error instanceof NullPointerException || error instanceof ClassCastException
            || error instanceof IndexOutOfBoundsException;
        if (error instanceof LinkageError || (isFailure && isRaisedByUs(error))) {
            throw Private.<RuntimeException>unchecked(error);
        }
    }

    /** Of the adapter's and Kafka's methods, the innermost is one of the adapter. */
    private static boolean isRaisedByUs(Throwable error) {
        for (StackTraceElement frame : error.getStackTrace()) {
            if (isOurs(frame.getClassName())) return true;
            if (frame.getClassName().startsWith(KAFKA)) return false;
        }
        return false;
    }

    private static boolean isOurs(String name) {
        try {
            return OURS != null && OURS.equals(Class.forName(name).getProtectionDomain().getCodeSource());
        } catch (ClassNotFoundException hidden) {
            return false; // such as that of a lambda
        }
    }
}
