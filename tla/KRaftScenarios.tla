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
Add2Add3 == <<Add(2), Add(3)>>
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

Progressed(leader, id, endOffset) == [leader EXCEPT !.role.progress[id].endOffset = endOffset]

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

\* A leader whose first record has reached others or not.
OneRecord == <<Opening(0, 1, 1)>>
Following(id, log) == GivenReplica(id, Follower(TRUE), 1, 1, None, log)

\* parity-hand-over
HandOver(id) ==
    CASE id = 1 -> Progressed(Progressed(GivenLeader(1, 1, OneRecord, 0), 2, 1), 3, 0)
      [] id = 2 -> Following(2, OneRecord)
      [] id = 3 -> Following(3, <<>>)

\* scenario-a, scenario-a-granting-by-log
Cut1And2 == {<<1, 2>>, <<2, 1>>}
ScenarioA(id) ==
    IF id = 1 THEN Progressed(GivenLeader(1, 1, OneRecord, 0), 3, 1) ELSE Following(id, OneRecord)

\* disruptive-server: voter 3 has not heard that it was removed
Cut1And3 == {<<1, 3>>, <<3, 1>>}
OutdatedViewOf3(r) == IF r.id = 3 THEN {1, 2, 3} ELSE Voters
Disruptive(id) ==
    IF id = 1 THEN Progressed(GivenLeader(1, 1, OneRecord, 0), 2, 1) ELSE Following(id, OneRecord)

\* zombie-leader
Cut1AndOthers == Cut1And2 \union Cut1And3
ElectionFetchAndCheckQuorum(id) == {"election", "fetch", "check-quorum"}
Zombie(id) ==
    IF id = 1 THEN GivenLeader(1, 1, OneRecord, 0)
    ELSE GivenReplica(id, Follower(FALSE), 1, 1, None, <<>>)

\* before-kip-996
BeforeKip996(id) ==
    CASE id = 1 -> GivenLeader(1, 1, OneRecord, 0)
      [] id = 2 -> GivenReplica(2, Unattached, 1, None, 1, <<>>)
      [] id = 3 -> GivenReplica(3, Follower(FALSE), 1, 1, None, <<>>)

\* mutants-two-candidates
ElectionAt2(id) == IF id = 2 THEN {"election"} ELSE {}
TwoCandidates(id) ==
    IF id = 2 THEN GivenReplica(2, Unattached, 1, None, None, <<>>)
    ELSE GivenReplica(id, Candidate(Voters, {id}, {}), 1, None, id, <<>>)

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
