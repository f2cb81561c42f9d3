package org.apache.kafka.raft;

import org.apache.kafka.raft.internals.EpochElection;

import java.util.Optional;
import java.util.Set;

/** The votes that a Prospective or Candidate has, of an {@code EpochElection} since 4.0. */
record Tally(Set<Integer> granted, Set<Integer> rejected) {
    static Optional<Tally> of(EpochState role) {
        if (!(role instanceof NomineeState nominee)) return Optional.empty();
        EpochElection election = nominee.epochElection();
        return Optional.of(new Tally(election.grantingVoters(), election.rejectingVoters()));
    }
}
