package org.apache.kafka.raft;

import java.util.Optional;

/** The update of a voter's entry that is under way at a leader, which no release up to 4.4 has. */
public final class VoterUpdate {
    /** Whether this release has it. */
    public static final boolean OFFERED = false;

    private VoterUpdate() { }

    /** The voter whose entry is being replaced. */
    static Optional<ReplicaKey> updated(LeaderState<?> leader) {
        return Optional.empty();
    }
}
