----------------------------- MODULE KRaftMutants ------------------------------
(***************************************************************************)
(* Mutants: operators of the protocol with one guard removed or one effect *)
(* left out.  tla/mutants.toml says which operator each takes the place    *)
(* of; the ids are those of model_check/checking/mutation/mutants.toml.  The checker and TLC *)
(* must refute them alike.                                                 *)
(***************************************************************************)
EXTENDS KRaftScenarios

\* majority-is-half
HalfIsMajority(n) == n \div 2

\* vote-not-persisted
VoteInMemory(w, candidate) ==
    Emit(Become(w, Unattached, [w.replica.quorum EXCEPT !.voted = candidate], FALSE),
         ArmTimer("election", FALSE))

\* own-vote-not-persisted
CandidateInMemory(w) ==
    LET r == w.replica
        quorum == [epoch |-> Epoch(r) + 1, leader |-> None, voted |-> r.id]
    IN  IF IsVoter(r) /\ (StateMachine = "kip996" => r.role.name = "Prospective")
        THEN ForgetAllRequests(Emit(
                Become(w, Candidate(VotersOf(r), {r.id}, {}), quorum, FALSE), ArmTimer("election", FALSE)))
        ELSE Die(w)

\* new-epoch-not-persisted
EpochInMemory(w, epoch) ==
    LET current == w.replica.quorum
        same == epoch = current.epoch
        quorum == IF same THEN current ELSE [epoch |-> epoch, leader |-> None, voted |-> None]
    IN  IF epoch > current.epoch \/ (same /\ w.replica.role.name = "Prospective")
        THEN ForgetAllRequests(Emit(Become(w, Unattached, quorum, FALSE), ArmTimer("election", FALSE)))
        ELSE Die(w)

\* vote-dropped-on-timeout
ProspectiveWithoutVote(w) ==
    LET r == w.replica
    IN  IF IsVoter(r) /\ r.role.name \notin {"Leader", "Prospective"}
        THEN ForgetAllRequests(Emit(
                Become(w, Prospective(VotersOf(r), {r.id}, {}), [r.quorum EXCEPT !.voted = None], FALSE),
                ArmTimer("election", FALSE)))
        ELSE Die(w)

\* leader-restarts-unattached, candidate-restarts-without-vote
WithoutAMemory(r) == Begins(Unattached, [r.quorum EXCEPT !.leader = None, !.voted = None])

\* leader-grants-pre-vote
LeaderGrantsPreVote(r, m) ==
    LET upToDate == IsUpToDate(m.lastEpoch, m.endOffset, r.log)
    IN  IF r.role.name = "Follower" THEN ~r.role.hasFetched /\ upToDate ELSE upToDate

\* compare-offsets-only
OffsetsOnly(lastEpoch, endOffset, log) == endOffset >= EndOffset(log)

\* every-offset-is-valid
EveryOffsetIsValid(log, offset, epoch) == offset <= EndOffset(log)

\* commit-at-epoch-start
CommitAtEpochStart(w) ==
    LET r == w.replica
        progress == r.role.progress
        End(v) == IF progress[v].endOffset = None THEN -1 ELSE progress[v].endOffset
        Holders(offset) == {v \in DOMAIN progress : End(v) >= offset}
        reached == Max({End(v) : v \in {u \in DOMAIN progress :
                        2 * Cardinality(Holders(End(u))) > Cardinality(DOMAIN progress)}})
    IN  IF reached < r.role.epochStart \/ (r.highWatermark # None /\ reached <= r.highWatermark) THEN w
        ELSE Settled(Emit([w EXCEPT !.replica.highWatermark = reached], HighWatermark(reached)))

\* follower-does-not-flush
AppendWithoutFlush(w, batches) == IF batches = <<>> THEN w ELSE AppendBatches(w, batches)

\* leader-does-not-flush
AppendPendingWithoutFlush(w) ==
    LET appended == AppendOwn(w, w.replica.role.pending)
    IN  AdvanceHighWatermark(CountOwnLog([appended EXCEPT !.replica.role.pending = <<>>]))

\* add-without-catching-up
AnybodyHasCaughtUp(r, voter) == TRUE

\* removal-acknowledged-on-append
RemoveAndTell(w, voter) ==
    LET r == w.replica
        remaining == VotersOf(r) \ {voter}
        appended == AppendVoterSet(w, remaining)
        change == [type |-> "remove", offset |-> appended.offset]
    IN  IF WaitingError(r) # "NONE" THEN Refuse(w, "RemoveRaftVoterResponse", WaitingError(r))
        ELSE IF remaining \in {{}, VotersOf(r)} THEN Refuse(w, "RemoveRaftVoterResponse", "VOTER_NOT_FOUND")
        ELSE Tell(Begin(appended.work, change), change, "NONE")

\* two-changes-at-once
NothingIsPending(r) == IF r.highWatermark = None THEN "REQUEST_TIMED_OUT" ELSE "NONE"
================================================================================
