package org.apache.kafka.raft;

import java.util.Optional;
import java.util.Set;

/** The votes that a Candidate has, before 4.0. */
record Tally(Set<Integer> granted, Set<Integer> rejected) {
    static Optional<Tally> of(EpochState role) {
        if (!(role instanceof CandidateState candidate)) return Optional.empty();
        return Optional.of(new Tally(candidate.grantingVoters(), candidate.rejectingVoters()));
    }
}
