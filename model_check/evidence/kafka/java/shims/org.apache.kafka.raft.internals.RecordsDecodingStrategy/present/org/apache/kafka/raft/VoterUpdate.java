package org.apache.kafka.raft;

import org.apache.kafka.raft.internals.UpdateVoterHandlerState;

import java.util.Optional;

/**
 * The update of a voter's entry that is under way at a leader, since trunk. UpdateVoterHandlerState is in 3.9 and 4.0, too,
 * where nothing uses it; so another class of trunk stands for it.
 */
public final class VoterUpdate {
    /** Whether this release has it. */
    public static final boolean OFFERED = true;

    private VoterUpdate() { }

    /** The voter whose entry is being replaced. */
    static Optional<ReplicaKey> updated(LeaderState<?> leader) {
        return leader.changeVoterState().updateVoterHandlerState().map(UpdateVoterHandlerState::voterKey);
    }
}
