package kraftcheck.kafka;

/** A step that this release of Kafka, or its raft module alone, cannot take; the message says why. */
public final class NotSupported extends Exception {
    private static final long serialVersionUID = 1;

    /** The reason as part of a sentence. */
    public NotSupported(String reason) {
        super(reason);
    }
}
