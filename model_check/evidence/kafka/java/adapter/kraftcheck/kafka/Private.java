package kraftcheck.kafka;

/**
 * Every member of Kafka's classes that the adapter reaches by reflection, all of them: steps that the poll loop takes
 * only together with others, and the times that a connection and the linger of an append compare with the clock.
 */
public final class Private {
    private static final String RAFT = "org.apache.kafka.raft.";

    /** {@code KafkaRaftClient}: the voter sets of log and snapshots, and what it knows of its requests. */
    public static final PrivateField CONTROL_RECORDS = PrivateField.of(RAFT + "KafkaRaftClient", "partitionState");
    public static final PrivateField REQUESTS = PrivateField.of(RAFT + "KafkaRaftClient", "requestManager");
    /** {@code KafkaRaftClient}: the end of a round of the poll loop. */
    public static final PrivateMethod POLL_LISTENERS =
        PrivateMethod.of(RAFT + "KafkaRaftClient", "pollListeners");

    /** {@code QuorumState}: the role. */
    public static final PrivateField ROLE = PrivateField.of(RAFT + "QuorumState", "state");
    /** {@code LeaderState.ReplicaState}: whether a voter has acknowledged BeginQuorumEpoch. */
    public static final PrivateField ACKNOWLEDGED =
        PrivateField.of(RAFT + "LeaderState$ReplicaState", "hasAcknowledgedLeader");

    /** {@code RequestManager}: a connection for each node, by its id; and where it looks for a leader. */
    public static final PrivateField CONNECTIONS = PrivateField.of(RAFT + "RequestManager", "connections");
    public static final PrivateField BOOTSTRAP_SERVERS =
        PrivateField.of(RAFT + "RequestManager", "bootstrapServers");
    private static final String CONNECTION = RAFT + "RequestManager$ConnectionState";
    public static final PrivateField CONNECTION_STATE = PrivateField.of(CONNECTION, "state");
    public static final PrivateField AWAITED = PrivateField.of(CONNECTION, "inFlightCorrelationId");
    public static final PrivateField SENT_AT = PrivateField.of(CONNECTION, "lastSendTimeMs");
    public static final PrivateField FAILED_AT = PrivateField.of(CONNECTION, "lastFailTimeMs");

    /** {@code BatchAccumulator}: the end of the linger, an AtomicLong. */
    public static final PrivateField LINGER_TIMER =
        PrivateField.of(RAFT + "internals.BatchAccumulator", "lingerTimer");
    public static final PrivateField LINGER_DEADLINE =
        PrivateField.of(RAFT + "internals.BatchAccumulator$SimpleTimer", "deadlineMs");

    private Private() { }

    /** Raises an error, which names the member, where this release lacks one of them. */
    public static void require() {
        // The members are looked up when this class is initialized.
    }

    /** Lets a method of Kafka throw what it throws: its callers here declare nothing. */
    @SuppressWarnings("unchecked")
    static <T extends Throwable> T unchecked(Throwable error) throws T {
        throw (T) error;
    }
}
