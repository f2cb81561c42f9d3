---------------------------- MODULE KRaftScenarios -----------------------------
(***************************************************************************)
(* Values that a .cfg cannot write: what the administrator asks for, and   *)
(* states in which a scenario begins.                                      *)
(***************************************************************************)
EXTENDS KRaftVoterChanges

Add(voter) == [verb |-> "add", voter |-> voter]
Remove(voter) == [verb |-> "remove", voter |-> voter]

NoSteps == <<>>
Add2 == <<Add(2)>>
Remove1 == <<Remove(1)>>
Remove1Remove3 == <<Remove(1), Remove(3)>>

VoterChangeOnly(id) == {"voter-change"}

(***************************************************************************)
(* Behaviours that begin in states that are given: each replica polls      *)
(* first.  Its log is durable, and what it knows has happened before.      *)
(***************************************************************************)
CONSTANT Given(_)   \* id -> the replica as it begins

Remembered(known, r) ==
    LET led == IF Leads(r) THEN Elected(known, r.id, Epoch(r)).history ELSE known
        term == IF Leads(r) THEN Epoch(r) ELSE None
        told == IF r.highWatermark = None THEN led
                ELSE Committed(led, Below(r.log, r.highWatermark), term, VotersOf(r)).history
    IN  IF r.quorum.voted = None THEN told ELSE Voted(told, r.id, Epoch(r), r.quorum.voted).history

RECURSIVE AllRemembered(_, _)
AllRemembered(known, ids) ==
    IF ids = <<>> THEN known ELSE AllRemembered(Remembered(known, Given(Head(ids))), Tail(ids))

DiskOf(r) == [quorum |-> r.quorum, log |-> r.log, flushed |-> EndOffset(r.log)]
FirstPoll(id) == Completed(WorkOn(Given(id)))

\* [net, history, disks] after the first polls of these replicas.
RECURSIVE AllPolled(_, _)
AllPolled(before, ids) ==
    LET id == Head(ids)
        r == Given(id)
        world == [disk |-> DiskOf(r), network |-> before.network, history |-> before.history, broken |-> {},
                  leads |-> IF Leads(r) THEN Epoch(r) ELSE None]
        after == HappenAll(id, world, FirstPoll(id).effects, None)
    IN  IF ids = <<>> THEN before
        ELSE AllPolled([network |-> after.network, history |-> after.history,
                        disks |-> [before.disks EXCEPT ![id] = after.disk]], Tail(ids))

InitGiven ==
    LET ids == Ascending(Replicas)
        begun == AllPolled([network |-> EmptyBag, history |-> AllRemembered(NoHistory, ids),
                            disks |-> [id \in Replicas |-> DiskOf(Given(id))]], ids)
    IN  /\ replica = [id \in Replicas |-> FirstPoll(id).replica]
        /\ disk = begun.disks
        /\ network = WithoutExpired(begun.network, begun.disks)
        /\ history = begun.history
        /\ budget = FullBudget
        /\ broken = {}

NobodyGiven(id) == None

GivenReplica(id, role, epoch, leader, voted, log) ==
    [id |-> id, quorum |-> [epoch |-> epoch, leader |-> leader, voted |-> voted], log |-> log, role |-> role,
     highWatermark |-> None, awaiting |-> {}, backingOff |-> {}]

\* A leader that has counted its own log and heard of nobody.
GivenLeader(id, epoch, log, start) ==
    GivenReplica(id, [Leader(start, Voters, <<>>) EXCEPT !.progress[id].endOffset = EndOffset(log)],
                 epoch, id, None, log)

\* A batch of one record: the first of an epoch opens it.
Opening(base, epoch, leader) ==
    [base |-> base, epoch |-> epoch,
     records |-> <<[type |-> "LeaderChange", leader |-> leader, voters |-> Voters]>>]
Written(base, epoch, leader) ==
    [base |-> base, epoch |-> epoch, records |-> <<[type |-> "Value", value |-> leader]>>]

\* parity-divergence
Diverged(id) ==
    IF id = 1 THEN GivenLeader(1, 3, <<Opening(0, 1, 1), Written(1, 1, 1), Opening(2, 3, 1)>>, 2)
    ELSE GivenReplica(2, Follower(FALSE), 3, 1, None, <<Opening(0, 1, 1), Opening(1, 2, 1), Written(2, 2, 2)>>)

\* finding-restart-as-candidate
LostElection(id) ==
    CASE id = 1 -> GivenReplica(1, Follower(FALSE), 1, 2, 1, <<>>)
      [] id = 2 -> GivenLeader(2, 1, <<Opening(0, 1, 2)>>, 0)
      [] id = 3 -> GivenReplica(3, Unattached, 1, None, 2, <<>>)

\* finding-restart-before-write-back
AboutToAppend(id) ==
    IF id = 1 THEN GivenLeader(1, 1, <<Opening(0, 1, 1)>>, 0)
    ELSE GivenReplica(2, Follower(FALSE), 1, 1, None, <<>>)
================================================================================
