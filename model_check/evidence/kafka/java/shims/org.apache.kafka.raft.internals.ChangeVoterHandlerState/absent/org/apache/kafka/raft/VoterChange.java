package org.apache.kafka.raft;

import org.apache.kafka.raft.internals.AddVoterHandlerState;
import org.apache.kafka.raft.internals.RemoveVoterHandlerState;

import java.util.Optional;

/** The change of the voter set that is under way at a leader, before 4.4. */
final class VoterChange {
    private VoterChange() { }

    /** The voter that is being added. */
    static Optional<ReplicaKey> added(LeaderState<?> leader) {
        return leader.addVoterHandlerState().map(AddVoterHandlerState::voterKey);
    }

    /** The offset of the voter set without the voter that is being removed. */
    static Optional<Long> removedAt(LeaderState<?> leader) {
        return leader.removeVoterHandlerState().map(RemoveVoterHandlerState::lastOffset);
    }
}
