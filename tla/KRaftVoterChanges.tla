--------------------------- MODULE KRaftVoterChanges ---------------------------
(***************************************************************************)
(* A voter set that changes (KIP-853): it is in the log, in force once it  *)
(* is appended, committed or not; an administrator asks leaders to add or  *)
(* remove one voter at a time.                                             *)
(*                                                                         *)
(* A configuration of this module puts the operators Logged... in the      *)
(* place of the constants of KRaftReplica, and has VoterChangesNext as its *)
(* next-state relation.  Voters begin with the checkpoint 0-0 that holds   *)
(* them, joining controllers with nothing.                                 *)
(*                                                                         *)
(* A change is [type |-> "add", voter, offset] or [type |-> "remove",      *)
(* offset]: offset is that of the new voter set, None while the leader     *)
(* still asks the new voter what it supports.                              *)
(*                                                                         *)
(* The reference: reference/voter_changes.py, add_voter.py,                *)
(* remove_voter.py; model_check/systems/kraft/administration.py.                   *)
(***************************************************************************)
EXTENDS KRaft

CONSTANTS
    Steps,          \* what the administrator asks for: a sequence of [verb, voter], "add" or "remove"
    InOrder,        \* whether a leader is asked only for the first step that is not done, when it can begin
    AskedAt,        \* the leaders that are asked
    FirstLeader     \* who leads epoch 1 in the beginning (InitLed)

Client == -1        \* answers to it leave the model

(***************************************************************************)
(* The voter set in the log.                                               *)
(***************************************************************************)
IsVoters(record) == record.type = "Voters"
VotersIn(batch) == SelectSeq(batch.records, IsVoters)
Changes(log) == SelectSeq(log, LAMBDA batch : VotersIn(batch) # <<>>)

FirstVotersOf(id) == IF id \in Voters THEN Voters ELSE {}

LoggedVotersOf(r) ==                                                                    \* VSET-2
    LET changes == Changes(r.log)
    IN  IF changes = <<>> THEN FirstVotersOf(r.id) ELSE Last(VotersIn(Last(changes))).voters

\* The voter set is always the last record of its batch.
VotersOffset(r) ==
    LET changes == Changes(r.log)
    IN  IF changes = <<>> THEN -1 ELSE BatchEnd(Last(changes)) - 1

VotersRecord(voters) == [type |-> "Voters", voters |-> voters]

\* LOG-4: the first leader copies the checkpoint into the log.
LoggedOpeningRecords(r) ==
    IF VotersOffset(r) >= 0 THEN <<>>
    ELSE <<[type |-> "KRaftVersion", version |-> 1], VotersRecord(VotersOf(r))>>

(***************************************************************************)
(* What all changes share (reference/voter_changes.py).                    *)
(***************************************************************************)
\* The client is told; offset is that of the voter set that the answer is about.
Tell(w, change, error) ==
    Emit(w, Reply([type |-> IF change.type = "add" THEN "AddRaftVoterResponse" ELSE "RemoveRaftVoterResponse",
                   source |-> w.replica.id, dest |-> Client, error |-> error, offset |-> change.offset]))

Refuse(w, type, error) ==
    Emit(w, Reply([type |-> type, source |-> w.replica.id, dest |-> Client, error |-> error,
                   offset |-> None]))

EndChange(w, error) == Tell([w EXCEPT !.replica.role.change = None], w.replica.role.change, error)

LoggedSettled(w) ==                                                                     \* ADD-12, REMOVE-6
    LET r == w.replica
        change == r.role.change
        complete == change # None /\ change.offset # None /\ r.highWatermark > change.offset
        ended == EndChange(w, "NONE")
    IN  IF ~complete THEN w
        ELSE IF change.type = "remove" /\ ~IsVoter(r)
        THEN [ended EXCEPT !.replica.role.resignRequested = TRUE]                       \* REMOVE-9
        ELSE ended

\* What has been appended stays in the log and may still commit.
LoggedChangeExpired(w) == EndChange(w, "REQUEST_TIMED_OUT")

LoggedAbandoned(w, left) ==                                                             \* REMOVE-2
    IF left.name = "Leader" /\ left.change # None THEN Tell(w, left.change, "NOT_LEADER_OR_FOLLOWER") ELSE w

\* Why no change can begin now: another one is under way, nothing of this epoch has been committed, or
\* the voter set in force has not.
WaitingError(r) ==
    IF r.role.change # None THEN "REQUEST_TIMED_OUT"                                    \* VSET-8
    ELSE IF r.highWatermark = None THEN "REQUEST_TIMED_OUT"                             \* VSET-9
    ELSE IF VotersOffset(r) >= r.highWatermark THEN "REQUEST_TIMED_OUT"                 \* VSET-8
    ELSE "NONE"

\* The new set is queued; [work |-> ..., offset |-> where it will be].
AppendVoterSet(w, voters) ==                                                            \* VSET-1, VSET-7
    LET queued == [w EXCEPT !.replica.role.pending = Append(@, <<VotersRecord(voters)>>)]
    IN  [work |-> queued, offset |-> EndOffset(w.replica.log)]

Begin(w, change) == Emit([w EXCEPT !.replica.role.change = change], ArmTimer("voter-change", FALSE))

(***************************************************************************)
(* AddRaftVoter (reference/add_voter.py).                                  *)
(***************************************************************************)
AddError(r, voter) ==
    IF WaitingError(r) # "NONE" THEN WaitingError(r)                                    \* ADD-4 to ADD-6
    ELSE IF voter \in VotersOf(r) THEN "DUPLICATE_VOTER"                                \* ADD-7
    ELSE "NONE"

AddRaftVoter(w, voter) ==
    LET r == w.replica
        error == AddError(r, voter)
        request == [type |-> "ApiVersionsRequest", source |-> r.id, dest |-> voter, answerable |-> TRUE]
    IN  IF error # "NONE" THEN Refuse(w, "AddRaftVoterResponse", error)
        ELSE IF ~IsReady(w, voter) THEN Refuse(w, "AddRaftVoterResponse", "REQUEST_TIMED_OUT")
        ELSE Begin(SendTo(w, request), [type |-> "add", voter |-> voter, offset |-> None]) \* ADD-8

HasCaughtUp(r, voter) ==
    IF voter \in DOMAIN r.role.observers THEN r.role.observers[voter].caughtUp ELSE FALSE

LoggedVoterChangeAnswered(w, m) ==
    LET r == w.replica
        change == IF Leads(r) THEN r.role.change ELSE None
        asked == /\ change # None
                 /\ change.type = "add"
                 /\ change.offset = None
                 /\ change.voter = m.source
        appended == AppendVoterSet(w, VotersOf(r) \union {m.source})
    IN  IF ~asked THEN w
        ELSE IF ~HasCaughtUp(r, m.source) THEN EndChange(w, "REQUEST_TIMED_OUT")              \* ADD-10
        ELSE [appended.work EXCEPT !.replica.role.change.offset = appended.offset]      \* ADD-11

(***************************************************************************)
(* RemoveRaftVoter (reference/remove_voter.py).                            *)
(***************************************************************************)
RemoveRaftVoter(w, voter) ==
    LET r == w.replica
        error == WaitingError(r)                                                        \* REMOVE-2
        remaining == VotersOf(r) \ {voter}
        appended == AppendVoterSet(w, remaining)
    IN  IF error # "NONE" THEN Refuse(w, "RemoveRaftVoterResponse", error)
        ELSE IF remaining \in {{}, VotersOf(r)}                                         \* REMOVE-3, REMOVE-4
        THEN Refuse(w, "RemoveRaftVoterResponse", "VOTER_NOT_FOUND")
        ELSE Begin(appended.work, [type |-> "remove", offset |-> appended.offset])      \* REMOVE-5

(***************************************************************************)
(* The administrator.                                                      *)
(***************************************************************************)
IsDone(step, r) == (step.voter \in VotersOf(r)) <=> (step.verb = "add")

Asked(r) ==
    LET open == {k \in 1..Len(Steps) : ~IsDone(Steps[k], r)}
    IN  IF ~InOrder THEN {Steps[k] : k \in 1..Len(Steps)}
        ELSE IF WaitingError(r) # "NONE" \/ open = {} THEN {}
        ELSE {Steps[Min(open)]}

Ask(id, step) ==
    LET w == WorkOn(replica[id])
        asked == IF step.verb = "add" THEN AddRaftVoter(w, step.voter) ELSE RemoveRaftVoter(w, step.voter)
    IN  Do(id, network, asked, None, "requests")

Administrator ==
    \E id \in AskedAt :
        /\ replica[id] # None
        /\ Leads(replica[id])
        /\ \E step \in Asked(replica[id]) : Ask(id, step)

VoterChangesNext ==
    \/ Next
    \/ broken = {} /\ Administrator /\ InBounds

VoterChangesSpec == Init /\ [][VoterChangesNext]_vars

(***************************************************************************)
(* The beginning where FirstLeader leads epoch 1: all follow it and have   *)
(* everything, each has a Fetch on its way, and the voters have voted.     *)
(***************************************************************************)
LedVotes(id) == IF id \in Voters /\ id # FirstLeader THEN FirstLeader ELSE None

LedLog ==
    <<[base |-> 0, epoch |-> 1,
       records |-> <<[type |-> "LeaderChange", leader |-> FirstLeader, voters |-> Voters],
                     [type |-> "KRaftVersion", version |-> 1], VotersRecord(Voters)>>]>>

\* An observer's last Fetch that was handled was at 0, where it had nothing.
LedRole(id) ==
    IF id # FirstLeader THEN Follower(TRUE)
    ELSE [Leader(0, Voters, <<>>) EXCEPT
            !.progress = [v \in Voters |-> [NewEntry EXCEPT !.endOffset = 3]],
            !.observers = [o \in Addable \ Voters |->
                            [endOffset |-> 0, leaderEnd |-> 3, caughtUp |-> FALSE]]]

LedReplica(id) ==
    [id |-> id, quorum |-> [epoch |-> 1, leader |-> FirstLeader, voted |-> LedVotes(id)], log |-> LedLog,
     role |-> LedRole(id), highWatermark |-> 3,
     awaiting |-> IF id = FirstLeader THEN {} ELSE {FirstLeader}, backingOff |-> {}]

InitLed ==
    /\ replica = [id \in Replicas |-> LedReplica(id)]
    /\ disk = [id \in Replicas |-> [quorum |-> LedReplica(id).quorum, log |-> LedLog, flushed |-> 3]]
    /\ network = SetToBag({FetchRequest(LedReplica(id), FirstLeader) : id \in Replicas \ {FirstLeader}})
    /\ history = [leaders |-> {<<1, FirstLeader>>},
                  votes |-> [v \in IF Voters = {FirstLeader} THEN {} ELSE Voters |->
                                [epoch |-> 1, candidate |-> FirstLeader]],
                  committed |-> LedLog, committedEpoch |-> 1, voters |-> Voters]
    /\ budget = FullBudget
    /\ broken = {}

(***************************************************************************)
(* Properties of steps, see KRaftJudged: what a leader appends, from its   *)
(* second batch on, and whom it tells.                                     *)
(***************************************************************************)
\* The end of what the leader knows to be committed when effect k of the step happens.
CommittedBefore(before, effects, k) ==
    LET moved == {j \in 1..k : effects[j].type = "HighWatermark"}
    IN  IF moved # {} THEN effects[Max(moved)].offset
        ELSE IF before.highWatermark = None THEN 0 ELSE before.highWatermark

AppendedBroken(before, w, k) ==
    LET batch == w.effects[k].batch
        committed == CommittedBefore(before, w.effects, k)
        below == SelectSeq(w.replica.log, LAMBDA each : each.base < batch.base)
        added == Last(VotersIn(batch)).voters \ LoggedVotersOf([id |-> before.id, log |-> below])
        observers == before.role.observers
    IN  Unless(\E j \in 1..Len(below) : below[j].epoch = batch.epoch /\ BatchEnd(below[j]) <= committed,
               {"VoterChangeNeedsOwnEpochCommit"})                                      \* S-24
        \union Unless(\A j \in 1..Len(Changes(below)) : BatchEnd(Changes(below)[j]) <= committed,
                      {"VoterChangeAcknowledgedWhenCommitted"})                         \* S-38
        \union Unless(\A v \in added : v \in DOMAIN observers /\ observers[v].caughtUp,
                      {"AddedVoterIsReady"})                                            \* S-27

LoggedChangesBroken(before, w, starts) ==
    LET led == ~starts /\ Leads(before)
        IsOwnChange(k) == /\ w.effects[k].type = "AppendBatch"
                          /\ w.effects[k].batch.epoch = Epoch(before)
                          /\ VotersIn(w.effects[k].batch) # <<>>
        change == before.role.change
        IsUnderWay(r) == IF ~Leads(r) THEN FALSE
                         ELSE IF r.role.change = None THEN FALSE
                         ELSE IF change.type = "remove" THEN r.role.change = change
                         ELSE r.role.change.type = "add" /\ r.role.change.voter = change.voter
        told == \E effect \in Effects(w) : effect.type = "Reply" /\ effect.message.dest = Client
    IN  IF ~led THEN {}
        ELSE UNION {AppendedBroken(before, w, k) : k \in {j \in 1..Len(w.effects) : IsOwnChange(j)}}
             \union Unless(change # None => told \/ IsUnderWay(w.replica),
                           {"VoterChangeIsAnswered"})                                   \* P-8

(***************************************************************************)
(* Invariants.                                                             *)
(***************************************************************************)
VoterSets(id) ==
    LET changes == Changes(LogOf(id))
    IN  <<FirstVotersOf(id)>> \o [k \in 1..Len(changes) |-> Last(VotersIn(changes[k])).voters]

OneVoterChangeAtATime ==                                                                \* S-23
    \A id \in Running : \A k \in 1..(Len(VoterSets(id)) - 1) :
        LET old == VoterSets(id)[k]
            new == VoterSets(id)[k + 1]
        IN  old # {} => Cardinality(old \ new) <= 1 /\ Cardinality(new \ old) <= 1

VoterSetNotEmpty ==                                                                     \* S-29
    \A id \in Running : \A k \in 1..(Len(VoterSets(id)) - 1) :
        VoterSets(id)[k] # {} => VoterSets(id)[k + 1] # {}

CommittedSurvivesVoterChanges == LeaderCompleteness                                     \* S-25

RemovedLeaderDoesNotCount ==                                                            \* S-26
    \/ \E v \in CommittingVoters : <<history.committedEpoch, v>> \in history.leaders
    \/ HighWatermarkOnMajority

VoterChangeNeedsOwnEpochCommit == "VoterChangeNeedsOwnEpochCommit" \notin broken
VoterChangeAcknowledgedWhenCommitted == "VoterChangeAcknowledgedWhenCommitted" \notin broken
AddedVoterIsReady == "AddedVoterIsReady" \notin broken
VoterChangeIsAnswered == "VoterChangeIsAnswered" \notin broken
================================================================================
