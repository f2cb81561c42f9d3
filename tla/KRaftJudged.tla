------------------------------ MODULE KRaftJudged ------------------------------
(***************************************************************************)
(* What single steps are judged by: the history, and the properties that   *)
(* speak of what happens within a step, which no state shows.  The names   *)
(* are those of spec/properties.toml.  What can be said of states is said  *)
(* as an invariant in KRaft.tla.                                           *)
(*                                                                         *)
(* The checker: model_check/systems/kraft/history.py, checks.py, leader_checks.py. *)
(***************************************************************************)
EXTENDS KRaftHandlers

\* The properties that are broken unless a condition holds.
Unless(condition, names) == IF condition THEN {} ELSE names

(***************************************************************************)
(* The history:                                                            *)
(*   leaders         <<epoch, id>> of everybody who led                    *)
(*   votes           id -> [epoch, candidate]: the last vote that it let   *)
(*                   somebody know                                         *)
(*   committed       the longest prefix known to be committed              *)
(*   committedEpoch  the latest epoch whose leader decided so              *)
(*   voters          the voter set by which the last commit was decided    *)
(* Each operator yields [history |-> ..., broken |-> set of names].        *)
(***************************************************************************)
NoHistory == [leaders |-> {}, votes |-> <<>>, committed |-> <<>>, committedEpoch |-> 0, voters |-> {}]

Elected(history, id, epoch) ==
    [history |-> [history EXCEPT !.leaders = @ \union {<<epoch, id>>}],
     broken |-> Unless(<<epoch, id>> \notin history.leaders, {"NoReturnAfterLeading"})
                \union Unless(history.leaders = {},
                              {"ReturningReplicaDeposesNobody", "RemovedVoterDisturbsNobody"})]

Voted(history, id, epoch, candidate) ==
    LET votes == history.votes
        known == id \in DOMAIN votes
        contradicted == known /\ votes[id].epoch = epoch /\ votes[id].candidate # candidate
        newer == known /\ votes[id].epoch > epoch
        vote == [epoch |-> epoch, candidate |-> candidate]
        after == [v \in DOMAIN votes \union {id} |-> IF v = id THEN vote ELSE votes[v]]
    IN  [history |-> IF newer THEN history ELSE [history EXCEPT !.votes = after],
         broken |-> Unless(~contradicted, {"VotedOncePerEpoch"})
                    \union Unless(~(contradicted /\ votes[id].candidate = id), {"SelfVoteSurvivesRestart"})
                    \union Unless(<<epoch, id>> \notin history.leaders \/ candidate = id,
                                  {"NoReturnAfterLeading"})]

\* leads: the epoch that the replica leads, None if it has been told.
Committed(history, prefix, leads, voters) ==
    LET known == history.committed
        more == EndOffset(prefix) > EndOffset(known)
        led == leads # None
    IN  [history |->
            [history EXCEPT
                !.committed = IF more THEN prefix ELSE @,
                !.committedEpoch = IF led THEN Max({@, leads}) ELSE @,
                !.voters = IF led /\ more THEN voters ELSE @],
         broken |-> Unless(IsPrefix(known, prefix) \/ IsPrefix(prefix, known), {"StateMachineSafety"})
                    \union Unless(led => prefix # <<>> /\ Last(prefix).epoch = leads,
                                  {"CommitNeedsOwnEpoch"})
                    \union Unless(~(led /\ leads > history.committedEpoch
                                        /\ EndOffset(prefix) < EndOffset(known)),
                                  {"HighWatermarkMonotone"})]

\* Nothing that agrees with what is committed is cut off. The leader of a smaller epoch need not have what a
\* later one has committed.
CutOff(history, epoch, before, after) ==
    LET agree == {k \in 1..Min({Len(before), Len(history.committed)}) :
                    \A j \in 1..k : before[j] = history.committed[j]}
    IN  Unless(Len(after) >= Cardinality(agree) \/ history.committedEpoch > epoch,
               {"TruncationKeepsCommonPrefix"})

(***************************************************************************)
(* Legal transitions: the tables of spec/transitions.toml.                 *)
(***************************************************************************)
LegalInSameEpoch(observer) ==
    IF observer
    THEN {<<"Unattached", "Unattached">>, <<"Unattached", "Follower">>, <<"Follower", "Follower">>,
          <<"Leader", "Resigned">>}
    ELSE {<<"Unattached", "Unattached">>, <<"Unattached", "Follower">>, <<"Follower", "Follower">>,
          <<"Leader", "Resigned">>, <<"Candidate", "Leader">>, <<"Candidate", "Follower">>} \union
         (IF StateMachine = "pre996" THEN {}
          ELSE {<<"Unattached", "Prospective">>, <<"Follower", "Prospective">>,
                <<"Candidate", "Prospective">>, <<"Resigned", "Prospective">>,
                <<"Prospective", "Prospective">>, <<"Prospective", "Unattached">>,
                <<"Prospective", "Follower">>})

LegalToLargerEpoch(observer) ==
    ({"Unattached", "Follower", "Leader", "Resigned"} \union
     (IF observer THEN {} ELSE {"Candidate"}) \union
     (IF observer \/ StateMachine = "pre996" THEN {} ELSE {"Prospective"})) \X {"Unattached", "Follower"}

LegalToNextEpoch(observer) ==
    IF observer THEN {}
    ELSE IF StateMachine = "kip996" THEN {<<"Prospective", "Candidate">>}
    ELSE {"Unattached", "Follower", "Candidate", "Leader", "Resigned"} \X {"Candidate"}

IsLegal(effect, epoch, observer) ==
    LET change == <<effect.source, effect.target>>
    IN  IF effect.source = "Start" THEN ~(observer /\ effect.target = "Candidate")
        ELSE \/ effect.epoch = epoch /\ change \in LegalInSameEpoch(observer)
             \/ effect.epoch > epoch /\ change \in LegalToLargerEpoch(observer)
             \/ effect.epoch = epoch + 1 /\ change \in LegalToNextEpoch(observer)

(***************************************************************************)
(* Properties of a step.  before is the replica as it was (or as its       *)
(* process ended, for a start), m the message handled (None: there is      *)
(* none), w what was done, disk what is on the disk afterwards; starts     *)
(* tells a start from other steps.                                         *)
(***************************************************************************)
OfType(effects, type) == SelectSeq(effects, LAMBDA effect : effect.type = type)
Effects(w) == {w.effects[k] : k \in 1..Len(w.effects)}

TransitionsBroken(before, m, w) ==
    LET taken == OfType(w.effects, "Transition")
        observer == ~IsVoter(before)
        EpochBefore(k) == IF k = 1 THEN Epoch(before) ELSE taken[k - 1].epoch
        Broken(k) ==
            LET effect == taken[k]
            IN  Unless(IsLegal(effect, EpochBefore(k), observer), {"TransitionsLegal"})
                \union Unless(StateMachine = "kip996" /\ effect.target = "Candidate"
                                => effect.source \in {"Prospective", "Start"},
                              {"CandidateOnlyFromProspective"})
                \union Unless(effect.source = "Resigned"
                                => effect.epoch > Epoch(before) \/ VotersOf(before) = {before.id},
                              {"ResignedLeavesItsEpoch"})
                \union Unless(~(m # None /\ effect.epoch > EpochBefore(k)), {"RemovedVoterDisturbsNobody"})
                \union Unless(~(m # None /\ effect.epoch > EpochBefore(k) /\ effect.source = "Leader"),
                              {"ReturningReplicaDeposesNobody"})
    IN  UNION {Broken(k) : k \in 1..Len(taken)}

\* A Resigned replica leaves its epoch by raising it; no other step of a pre-vote makes an epoch known.
PreVotesBroken(before, m, w) ==
    LET own == IF before.role.name = "Resigned" THEN Epoch(before) + 1 ELSE Epoch(before)
        known == IF m = None \/ "epoch" \notin DOMAIN m THEN own ELSE Max({own, m.epoch})
        IsPreVote(effect) == /\ effect.type = "Send"
                             /\ effect.message.type = "VoteRequest"
                             /\ effect.message.preVote
    IN  Unless(\A effect \in Effects(w) : IsPreVote(effect) => effect.message.epoch <= known,
               {"PreVoteCreatesNoEpoch"})

TruncationsBroken(before, w) ==
    LET cut == OfType(w.effects, "Truncate")
    IN  Unless(\A k \in 1..Len(cut) : before.highWatermark = None \/ cut[k].offset >= before.highWatermark,
               {"NoTruncationBelowHighWatermark"})
        \union Unless(cut = <<>> \/ w.replica.log # before.log, {"TruncationKeepsCommonPrefix"})

StateBroken(r, disk) ==
    LET hw == r.highWatermark
    IN  Unless(~(r.role.name = "Follower" /\ r.quorum.leader = r.id), {"ResignedLeavesItsEpoch"})
        \union Unless(/\ \A k \in 1..(Len(r.log) - 1) : r.log[k].epoch <= r.log[k + 1].epoch
                      /\ LastEpoch(r.log) <= Epoch(r),
                      {"LogEpochsMonotone"})
        \union Unless(disk.quorum.epoch >= Epoch(r), {"EpochMonotone"})
        \union Unless(hw = None \/ hw <= EndOffset(r.log), {"StateMachineSafety"})
        \union Unless(hw = None \/ ~Leads(r) \/ hw > r.role.epochStart, {"CommitNeedsOwnEpoch"})
        \union Unless(hw = None \/ ~Leads(r) \/ ~IsVoter(r) \/ hw <= disk.flushed,
                      {"OwnTailCountsWhenFlushed"})

\* The vote may go when its owner becomes the leader; a leader that has removed itself leads on.
ChangeBroken(before, r, starts) ==
    LET voted == before.quorum.voted
        won == voted = before.id /\ r.quorum.leader = before.id
        led == ~starts /\ Leads(before) /\ Epoch(before) = Epoch(r)
        known == before.highWatermark
        sameReign == Leads(before) <=> Leads(r)
    IN  Unless(Epoch(r) >= Epoch(before), {"EpochMonotone"})
        \union Unless(Epoch(r) # Epoch(before) \/ voted = None \/ r.quorum.voted = voted \/ won,
                      {"VoteKeptWithinEpoch"})
        \union Unless(\/ IsVoter(r)
                      \/ r.role.name \notin {"Prospective", "Candidate", "Leader"}
                      \/ (Leads(r) /\ led),
                      {"ObserversStandNoElection"})
        \union Unless(\/ starts \/ ~sameReign \/ known = None \/ r.highWatermark = None
                      \/ r.highWatermark >= known,
                      {"HighWatermarkMonotone"})

\* Contacts that are enough already count whoever fetches: the voter set may have become smaller.
FetchBroken(before, m, w) ==
    LET rearmed == \E effect \in Effects(w) : effect.type = "ArmTimer" /\ effect.timer = "check-quorum"
        heard == VotersOf(before) \intersect (before.role.contacts \union {before.id, m.source})
        after == w.replica
        Contacts(r) == IF Leads(r) THEN r.role.contacts ELSE {}
        needed == Majority(Cardinality(VotersOf(before))) - (IF IsVoter(before) THEN 1 ELSE 0)
        counted == /\ Cardinality(Contacts(before)) < needed
                   /\ (Contacts(before) # Contacts(after) \/ rearmed)
        shown == SelectSeq(w.effects, LAMBDA e : e.type \in {"AppendBatch", "HighWatermark"})
        appendsFirst == shown # <<>> /\ shown[1].type = "AppendBatch"
        moved == before.highWatermark # after.highWatermark /\ ~appendsFirst
    IN  Unless(Leads(before) /\ rearmed => 2 * Cardinality(heard) > Cardinality(VotersOf(before)),
               {"CheckQuorumNeedsMajority"})
        \union Unless(m.source \in VotersOf(before) \/ ~(moved \/ counted), {"ObserversDoNotCount"})

\* The candidate's log, as the request tells it, compared with this one.
IsBehind(m, log) ==
    \/ m.lastEpoch < LastEpoch(log)
    \/ m.lastEpoch = LastEpoch(log) /\ m.endOffset < EndOffset(log)

VoteBroken(before, m, w) ==
    LET granted == \E effect \in Effects(w) : /\ effect.type = "Reply"
                                              /\ effect.message.type = "VoteResponse"
                                              /\ effect.message.granted
        repeated == ~m.preVote /\ Epoch(before) = m.epoch /\ before.quorum.voted # None
        handled == Handle(WorkOn(before), m)
        changed == \/ \E effect \in Effects(handled) : effect.type \in {"Persist", "ArmTimer", "Transition"}
                   \/ <<handled.replica.quorum, handled.replica.role, handled.replica.log>>
                        # <<before.quorum, before.role, before.log>>
        fetches == Leads(before) \/ (before.role.name = "Follower" /\ before.role.hasFetched)
        current == granted /\ m.preVote /\ m.epoch = Epoch(before)
    IN  Unless(m.preVote => Epoch(w.replica) <= Max({Epoch(before), m.epoch}), {"PreVoteCreatesNoEpoch"})
        \union Unless(granted => repeated \/ ~IsBehind(m, before.log),
                      {"VoteComparesEpochFirst"})
        \union Unless(current => ~changed, {"PreVoteGrantHasNoEffect"})
        \union Unless(current => ~fetches, {"FetchingFollowerRejectsPreVote"})

\* Of a step that a crash cuts short: the quorum-state file is what it was, or what it was to be when a
\* change of role or all effects were done, also those that did not happen any more.
CrashBroken(found, effects, left) ==
    LET Persists(k) == {j \in 1..k : effects[j].type = "Persist"}
        Written(k) == IF Persists(k) = {} THEN found ELSE effects[Max(Persists(k))].quorum
        changes == {k \in 1..Len(effects) : effects[k].type = "Transition"}
    IN  Unless(left \in {found, Written(Len(effects))} \union {Written(k) : k \in changes},
               {"QuorumStateIsAtomic"})

Broken(before, m, w, disk, starts) ==
    TransitionsBroken(before, m, w)
    \union PreVotesBroken(before, m, w)
    \union TruncationsBroken(before, w)
    \union (IF IsDead(w) THEN {"NoFatal"}
            ELSE StateBroken(w.replica, disk) \union ChangeBroken(before, w.replica, starts))
    \union (IF m = None THEN {}
            ELSE IF m.type = "FetchRequest" /\ Leads(before) THEN FetchBroken(before, m, w)
            ELSE IF m.type = "VoteRequest" THEN VoteBroken(before, m, w)
            ELSE {})
    \union ChangesBroken(before, w, starts)
================================================================================
