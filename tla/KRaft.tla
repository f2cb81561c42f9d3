--------------------------------- MODULE KRaft ---------------------------------
(***************************************************************************)
(* A KRaft quorum: replicas on disks, a network, faults, and what is       *)
(* judged.  Elections, pre-vote and replication with a voter set that      *)
(* never changes; KRaftVoterChanges.tla adds what changes it.              *)
(*                                                                         *)
(* One step of a replica is an event (a message, a timer, a local call)    *)
(* and the rounds of the poll loop that follow it, until a round changes   *)
(* nothing.  A crash may fall after any effect of a step that reaches the  *)
(* disk or the network, and the process starts again at once: that is one  *)
(* step as well, and further crashes may fall within the start.            *)
(*                                                                         *)
(* The network is a bag of messages without order.  A message that is      *)
(* never delivered is as good as lost, so that explicit loss matters only  *)
(* where the network is full.  A successor with more messages than the     *)
(* network may hold, or with an epoch beyond the bound, is no state of the *)
(* model.                                                                  *)
(*                                                                         *)
(* The checker: model_check/systems/kraft/, model_check/engine/steps.py.           *)
(***************************************************************************)
EXTENDS KRaftJudged, Bags

CONSTANTS
    Voters,             \* the voters before any record of the log
    Joining,            \* controllers that are no voters yet
    \* the network
    Capacity,           \* messages in flight at most
    Loss,               \* "never", "when-full" or "always"
    CutLinks,           \* <<from, to>>: links that carry nothing
    ForgottenStay,      \* whether requests stay in flight that their sender has forgotten
    \* the environment
    TimersAt(_),        \* the timers that may expire at a replica
    Timely,             \* whether a fetch timer expires only where a link to the leader is cut
    Discovery,          \* whether a replica without a leader may ask any voter for it
    PowerLoss,          \* whether a crash may lose the part of the log that was not flushed
    WriteBack,          \* whether what was not flushed is durable when the next process starts
    Boundaries,         \* whether a crash may fall between the effects of a step
    CrashesAt,          \* the replicas whose process may crash
    \* how often something may happen in one behaviour (None: without a bound)
    Appends, Crashes, Timeouts, Resigns, Requests, Expirations,
    MaxEpoch,           \* larger epochs are not explored
    NotJudged           \* properties of single steps that this configuration does not ask about

Replicas == Voters \union Observers \union Joining

ASSUME StateMachine \in {"kip996", "pre996"}
ASSUME FollowerPreVote \in {"until-fetched", "never", "by-log"}
ASSUME CandidateRestart \in {"own-vote", "without-leader"}
ASSUME Loss \in {"never", "when-full", "always"}
ASSUME {CheckQuorum, ForgottenStay, Timely, Discovery, PowerLoss, WriteBack, Boundaries} \subseteq BOOLEAN
ASSUME Voters # {} /\ Voters \intersect (Observers \union Joining) = {} /\ CrashesAt \subseteq Replicas
ASSUME Capacity \in Nat /\ MaxEpoch \in Nat /\ Crashes \in Nat

VARIABLES
    replica,    \* id -> the running process, None if it does not run
    disk,       \* id -> [quorum, log, flushed]: flushed is how far the log survives a loss of power
    network,    \* bag of messages in flight
    history,    \* what properties need to know beyond the current state (KRaftJudged)
    budget,     \* what the environment may still do
    broken      \* the properties that the last step broke; {} in all that is explored further

vars == <<replica, disk, network, history, budget, broken>>

\* Some choices of timers.
NoTimers(id) == {}
ElectionOnly(id) == {"election"}
ElectionAndFetch(id) == {"election", "fetch"}
AllTimers(id) == {"election", "fetch", "check-quorum", "begin-quorum-epoch"}

\* A voter set that never changes; what the constants of KRaftReplica are then.
StaticVotersOf(r) == Voters
StaticOpeningRecords(r) == <<>>
StaticSettled(w) == w
StaticChangeExpired(w) == w
StaticAbandoned(w, left) == w
StaticVoterChangeAnswered(w, m) == w
StaticChangesBroken(before, w, starts) == {}

(***************************************************************************)
(* The network (model_check/systems/kraft/network.py).                             *)
(*                                                                         *)
(* Production pairs answers with requests by correlation ids and drops     *)
(* answers nobody awaits (RESP-7).  Here a replica that forgets its        *)
(* requests takes the answers on their way to it out of the network, and   *)
(* its requests that have not arrived become unanswerable.  With one       *)
(* outstanding request per node that is exact.                             *)
(***************************************************************************)
RECURSIVE SumOf(_, _)
SumOf(f, S) == IF S = {} THEN 0 ELSE LET x == CHOOSE y \in S : TRUE IN f[x] + SumOf(f, S \ {x})

\* The network after a replica has forgotten its requests to a node (None: to all).
AfterForgetting(net, id, node) ==
    LET IsForgotten(m) == IF IsRequest(m) THEN m.source = id /\ node \in {None, m.dest}
                          ELSE m.dest = id /\ node \in {None, m.source}
        kept == {m \in DOMAIN net : ~IsForgotten(m) \/ (IsRequest(m) /\ ForgottenStay)}
        After(m) == IF IsForgotten(m) THEN [m EXCEPT !.answerable = FALSE] ELSE m
    IN  IF \A m \in DOMAIN net : ~IsForgotten(m) THEN net
        ELSE [a \in {After(m) : m \in kept} |-> SumOf(net, {m \in kept : After(m) = a})]

\* Neither ever goes back: the epoch of a replica, and within it whether it has voted or knows the leader.
Clock(quorum) == 2 * quorum.epoch + (IF quorum.voted # None \/ quorum.leader # None THEN 1 ELSE 0)

\* An unanswerable request that its receiver can only refuse from now on leaves the network: a request
\* of an older epoch, a pre-vote of an epoch it knows, a vote of an epoch in which it has voted.
Expired(m, quorum) ==
    /\ ~m.answerable
    /\ CASE m.type = "ApiVersionsRequest" -> TRUE
         [] m.type = "VoteRequest" -> Clock(quorum) >= 2 * m.epoch + (IF m.preVote THEN 0 ELSE 1)
         [] OTHER -> Clock(quorum) >= 2 * m.epoch + 2

WithoutExpired(net, disks) ==
    Restricted(net, {m \in DOMAIN net : ~Expired(m, disks[m.dest].quorum)})

(***************************************************************************)
(* Effects happen to a world: the disk of one replica, the network, the    *)
(* history.  leads is the epoch that the replica leads by now.  m is the   *)
(* message that is handled, None if there is none.                         *)
(***************************************************************************)
WorldOf(id, net) ==
    [disk |-> disk[id], network |-> net, history |-> history, broken |-> {},
     leads |-> IF replica[id] # None /\ Leads(replica[id]) THEN Epoch(replica[id]) ELSE None]

InHistory(world, recorded) ==
    [world EXCEPT !.history = recorded.history, !.broken = @ \union recorded.broken]

OnItsWay(world, m) ==
    IF <<m.source, m.dest>> \in CutLinks THEN world ELSE [world EXCEPT !.network = @ (+) SetToBag({m})]

\* The answers of a voter change go to a client, which is no replica.
HappenToNetwork(id, world, effect, m) ==
    CASE effect.type = "Send" ->
            LET request == effect.message
                voted == IF request.type = "VoteRequest" /\ ~request.preVote
                         THEN InHistory(world, Voted(world.history, id, request.epoch, id))
                         ELSE world
            IN  OnItsWay(voted, request)
      [] effect.type = "Reply" ->
            LET response == effect.message
                granted == response.type = "VoteResponse" /\ response.granted /\ ~m.preVote
                voted == IF granted THEN InHistory(world, Voted(world.history, id, m.epoch, m.source))
                         ELSE world
                \* A change that succeeded, its client is told, is committed.
                known == response.error = "NONE" => EndOffset(world.history.committed) > response.offset
            IN  IF response.dest \notin Replicas
                THEN [world EXCEPT !.broken = @ \union Unless(known, {"VoterChangeAcknowledgedWhenCommitted"})]
                ELSE IF ~m.answerable \/ <<id, response.dest>> \in CutLinks THEN world
                ELSE OnItsWay(voted, response)
      [] effect.type = "ForgetRequests" ->
            [world EXCEPT !.network = AfterForgetting(@, id, effect.node)]

HappenToDisk(world, effect) ==
    LET log == world.disk.log
    IN  CASE effect.type = "Persist" -> [world EXCEPT !.disk.quorum = effect.quorum]
          [] effect.type = "AppendBatch" -> [world EXCEPT !.disk.log = Append(@, effect.batch)]
          [] effect.type = "Truncate" ->
                LET shorter == Truncated(log, effect.offset)
                IN  [world EXCEPT !.disk.log = shorter,
                                  !.disk.flushed = Min({@, EndOffset(shorter)}),
                                  !.broken = @ \union CutOff(world.history, world.disk.quorum.epoch, log, shorter)]
          [] effect.type = "Flush" -> [world EXCEPT !.disk.flushed = Min({effect.offset, EndOffset(log)})]

Happen(id, world, effect, m) ==
    CASE effect.type \in {"Send", "Reply", "ForgetRequests"} -> HappenToNetwork(id, world, effect, m)
      [] effect.type \in {"Persist", "AppendBatch", "Truncate", "Flush"} -> HappenToDisk(world, effect)
      [] effect.type = "Transition" ->
            IF effect.target = "Leader"
            THEN InHistory([world EXCEPT !.leads = effect.epoch], Elected(world.history, id, effect.epoch))
            ELSE [world EXCEPT !.leads = None]
      [] effect.type = "HighWatermark" ->
            LET log == world.disk.log
                voters == VotersOf([id |-> id, log |-> log])
            IN  InHistory(world, Committed(world.history, Below(log, effect.offset), world.leads, voters))
      [] OTHER -> world

RECURSIVE HappenAll(_, _, _, _)
HappenAll(id, world, effects, m) ==
    IF effects = <<>> THEN world
    ELSE HappenAll(id, Happen(id, world, Head(effects), m), Tail(effects), m)

(***************************************************************************)
(* Outcomes of a step: [replica, world, crashes |-> how many are left].    *)
(* CrashAfter(k) of the checker: the first k effects have happened.        *)
(***************************************************************************)
ReachesDiskOrNetwork == {"Persist", "AppendBatch", "Truncate", "Flush", "Send", "Reply", "HighWatermark"}

CutsOf(effects, last) == {k \in 1..last : effects[k].type \in ReachesDiskOrNetwork}

\* What the process leaves on the disk, as the next one finds it.
LosePower(d) == [d EXCEPT !.log = Truncated(@, d.flushed)]
AsFound(d) == IF WriteBack THEN [d EXCEPT !.flushed = EndOffset(d.log)] ELSE d
LeftBy(d) == {AsFound(d)} \union
             (IF PowerLoss /\ d.flushed < EndOffset(d.log) THEN {AsFound(LosePower(d))} ELSE {})

\* The first k effects have happened.
CutShort(id, world, effects, k, m) ==
    LET left == HappenAll(id, world, SubSeq(effects, 1, k), m)
    IN  [left EXCEPT !.broken = @ \union CrashBroken(world.disk.quorum, effects, left.disk.quorum)]

SameTrace(one, other) ==
    /\ one.disk = other.disk
    /\ one.network = other.network
    /\ one.history = other.history

\* A start, and the starts that follow if crashes cut it short.  before is the process that ended.
RECURSIVE Booted(_, _, _, _), Killed(_, _, _, _)
Booted(id, before, world, crashes) ==
    LET alone == [world EXCEPT !.network = AfterForgetting(@, id, None), !.leads = None]
        w == Completed(Start(id, world.disk))
        full == HappenAll(id, alone, w.effects, None)
        found == [before EXCEPT !.log = world.disk.log]
        judged == [full EXCEPT !.broken = @ \union Broken(found, None, w, full.disk, TRUE)]
        cut == {CutShort(id, alone, w.effects, k, None) : k \in CutsOf(w.effects, Len(w.effects))}
    IN  {[replica |-> w.replica, world |-> judged, crashes |-> crashes]} \union
        (IF Boundaries
         THEN UNION {Killed(id, before, each, crashes) : each \in {c \in cut : ~SameTrace(c, full)}}
         ELSE {})

Killed(id, before, world, crashes) ==
    IF crashes = 0 \/ id \notin CrashesAt THEN {}
    ELSE UNION {Booted(id, before, [world EXCEPT !.disk = left], crashes - 1) : left \in LeftBy(world.disk)}

\* The step w in full, and cut short by a crash after each of its effects but the last.
Outcomes(id, net, w, m) ==
    LET world == WorldOf(id, net)
        full == HappenAll(id, world, w.effects, m)
        judged == [full EXCEPT !.broken = @ \union Broken(replica[id], m, w, full.disk, FALSE)]
        CrashAfter(k) == Killed(id, replica[id], CutShort(id, world, w.effects, k, m), budget.crashes)
    IN  {[replica |-> w.replica, world |-> judged, crashes |-> budget.crashes]} \union
        (IF Boundaries /\ budget.crashes > 0
         THEN UNION {CrashAfter(k) : k \in CutsOf(w.effects, Len(w.effects) - 1)}
         ELSE {})

(***************************************************************************)
(* Steps.                                                                  *)
(***************************************************************************)
\* price: "free", or the counter that the step costs one unit of.
Affordable(price) == IF price = "free" THEN TRUE
                     ELSE IF budget[price] = None THEN TRUE ELSE budget[price] > 0
Paid(price) == IF price = "free" \/ budget[price] = None THEN budget
               ELSE [budget EXCEPT ![price] = @ - 1]

\* One of the outcomes comes about.
Take(id, outcomes, price) ==
    \E outcome \in outcomes :
        /\ replica' = [replica EXCEPT ![id] = outcome.replica]
        /\ disk' = [disk EXCEPT ![id] = outcome.world.disk]
        /\ network' = WithoutExpired(outcome.world.network, disk')
        /\ history' = outcome.world.history
        /\ budget' = [Paid(price) EXCEPT !.crashes = outcome.crashes]
        /\ broken' = outcome.world.broken \ NotJudged

Do(id, net, w, m, price) ==
    /\ Affordable(price)
    /\ Take(id, Outcomes(id, net, Completed(w), m), price)

Deliver(m) ==
    /\ replica[m.dest] # None
    /\ Do(m.dest, network (-) SetToBag({m}), Handle(WorkOn(replica[m.dest]), m), m, "free")

IsFed(r) == CutLinks \intersect {<<r.id, r.quorum.leader>>, <<r.quorum.leader, r.id>>} = {}

RunningTimers(r) ==
    CASE r.role.name = "Leader" ->
            {"begin-quorum-epoch"} \union (IF CheckQuorum THEN {"check-quorum"} ELSE {})
                                   \union (IF r.role.change # None THEN {"voter-change"} ELSE {})
      [] r.role.name = "Follower" -> IF Timely /\ IsFed(r) THEN {} ELSE {"fetch"}
      [] r.role.name = "Unattached" -> IF IsVoter(r) \/ r.quorum.voted # None THEN {"election"} ELSE {}
      [] OTHER -> {"election"}

Expire(id, timer) ==
    /\ timer \in RunningTimers(replica[id]) \intersect TimersAt(id)
    /\ Do(id, network, Poll(WorkOn(replica[id]), {timer}, None), None, "expirations")

EndBackOff(id, node) ==                                                                 \* TIMER-7
    /\ node \in replica[id].backingOff
    /\ Do(id, network, ConnectionReady(WorkOn(replica[id]), node), None, "free")

TimeOut(id, node) ==
    /\ node \in replica[id].awaiting
    /\ Do(id, network, TimeOutRequest(WorkOn(replica[id]), node), None, "timeouts")

LookForLeader(id, node) ==                                                              \* FETCH-33
    LET r == replica[id]
    IN  /\ Discovery /\ node \in Voters \ (r.backingOff \union {id}) /\ r.awaiting = {}
        /\ r.role.name = "Unattached" \/ (r.role.name = "Follower" /\ r.backingOff # {})
        /\ Do(id, network, Poll(WorkOn(r), {}, node), None, "free")

AppendRecord(id) ==                                                                     \* LOG-1
    /\ Leads(replica[id])
    /\ Do(id, network, AcceptAppend(WorkOn(replica[id])), None, "appends")

Resign(id) ==                                                                           \* RESIGN-8
    /\ Leads(replica[id])
    /\ Do(id, network, WorkOn([replica[id] EXCEPT !.role.resignRequested = TRUE]), None, "resigns")

\* The process is killed between two steps and starts again.
Crash(id) ==
    /\ budget.crashes > 0
    /\ Take(id, Killed(id, replica[id], WorldOf(id, network), budget.crashes), "free")

\* A process that has yet to start.
FirstStart(id) ==
    LET before == [id |-> id, quorum |-> disk[id].quorum, log |-> disk[id].log, role |-> Unattached,
                   highWatermark |-> None, awaiting |-> {}, backingOff |-> {}]
        world == [WorldOf(id, network) EXCEPT !.disk = AsFound(@)]
    IN  /\ replica[id] = None
        /\ Take(id, Booted(id, before, world, budget.crashes), "free")

Lose(m) ==
    /\ Loss = "always" \/ (Loss = "when-full" /\ BagCardinality(network) >= Capacity)
    /\ network' = network (-) SetToBag({m})
    /\ UNCHANGED <<replica, disk, history, budget, broken>>

\* What is explored; nothing follows a step that breaks a property.
InBounds ==
    /\ \A id \in Replicas : replica'[id] = None \/ Epoch(replica'[id]) <= MaxEpoch
    /\ BagCardinality(network') <= Capacity

Local(id) ==
    \/ \E timer \in RunningTimers(replica[id]) : Expire(id, timer)
    \/ \E node \in Replicas : EndBackOff(id, node) \/ TimeOut(id, node) \/ LookForLeader(id, node)
    \/ AppendRecord(id)
    \/ Resign(id)
    \/ Crash(id)

Next ==
    /\ broken = {}
    /\ \/ \E m \in DOMAIN network : Deliver(m) \/ Lose(m)
       \/ \E id \in Replicas : IF replica[id] = None THEN FirstStart(id) ELSE Local(id)
    /\ InBounds

(***************************************************************************)
(* The beginning: each replica has started on an empty disk.  One that     *)
(* would leave something behind if it crashed while it starts (an only     *)
(* voter) has yet to start.                                                *)
(***************************************************************************)
EmptyDisk == [quorum |-> [epoch |-> 0, leader |-> None, voted |-> None], log |-> <<>>, flushed |-> 0]
EmptyWorld == [disk |-> EmptyDisk, network |-> EmptyBag, history |-> NoHistory, broken |-> {}, leads |-> None]

FirstOutcomes(id, crashes) ==
    LET before == [id |-> id, quorum |-> EmptyDisk.quorum, log |-> <<>>, role |-> Unattached,
                   highWatermark |-> None, awaiting |-> {}, backingOff |-> {}]
    IN  Booted(id, before, EmptyWorld, crashes)

CrashMatters(id) ==
    Cardinality({<<o.replica, o.world>> : o \in FirstOutcomes(id, Crashes)}) > 1

Begun == [id \in Replicas |->
            IF CrashMatters(id) THEN [replica |-> None, world |-> EmptyWorld]
            ELSE CHOOSE o \in FirstOutcomes(id, 0) : TRUE]

FullBudget == [appends |-> Appends, crashes |-> Crashes, timeouts |-> Timeouts, resigns |-> Resigns,
               requests |-> Requests, expirations |-> Expirations]

Init ==
    LET begun == Begun
        heard == {id \in Replicas : begun[id].world.history # NoHistory}
    IN  /\ replica = [id \in Replicas |-> begun[id].replica]
        /\ disk = [id \in Replicas |-> begun[id].world.disk]
        /\ network = EmptyBag
        /\ history = IF heard = {} THEN NoHistory ELSE begun[CHOOSE id \in heard : TRUE].world.history
        /\ budget = FullBudget
        /\ broken = {}

Spec == Init /\ [][Next]_vars

(***************************************************************************)
(* Invariants, under the names of spec/properties.toml.                    *)
(***************************************************************************)
Running == {id \in Replicas : replica[id] # None}
LogOf(id) == IF replica[id] = None THEN disk[id].log ELSE replica[id].log

SingleLeaderPerEpoch ==                                                                 \* S-1
    \A one, other \in history.leaders : one[1] = other[1] => one = other

SingleKnownLeaderPerEpoch ==                                                            \* S-2
    \A i, j \in {id \in Running : replica[id].quorum.leader # None} :
        Epoch(replica[i]) = Epoch(replica[j]) => replica[i].quorum.leader = replica[j].quorum.leader

RecordIdentity ==                                                                       \* S-7
    \A i, j \in Replicas : \A a \in 1..Len(LogOf(i)) : \A b \in 1..Len(LogOf(j)) :
        LET one == LogOf(i)[a]
            other == LogOf(j)[b]
        IN  one.base = other.base /\ one.epoch = other.epoch => one = other

LogMatching ==                                                                          \* S-10
    \A i, j \in Replicas : \A a \in 1..Len(LogOf(i)) : \A b \in 1..Len(LogOf(j)) :
        LET one == LogOf(i)[a]
            other == LogOf(j)[b]
        IN  one.base = other.base /\ one.epoch = other.epoch
            => SubSeq(LogOf(i), 1, a) = SubSeq(LogOf(j), 1, b)

LeaderCompleteness ==                                                                   \* S-12
    \A i \in {id \in Running : Leads(replica[id])} :
        Epoch(replica[i]) >= history.committedEpoch => IsPrefix(history.committed, replica[i].log)

\* The voters are those of the set by which the last commit was decided.
CommittingVoters == IF history.voters = {} THEN Voters ELSE history.voters

HighWatermarkOnMajority ==                                                              \* S-19
    2 * Cardinality({v \in CommittingVoters : IsPrefix(history.committed, LogOf(v))})
        > Cardinality(CommittingVoters)

AcknowledgedIsDurable ==                                                                \* S-15, S-16
    2 * Cardinality({v \in CommittingVoters :
            IsPrefix(history.committed, Below(disk[v].log, disk[v].flushed))})
        > Cardinality(CommittingVoters)

\* What single steps are judged by: see KRaftJudged.
VotedOncePerEpoch == "VotedOncePerEpoch" \notin broken
SelfVoteSurvivesRestart == "SelfVoteSurvivesRestart" \notin broken
VoteKeptWithinEpoch == "VoteKeptWithinEpoch" \notin broken
NoReturnAfterLeading == "NoReturnAfterLeading" \notin broken
EpochMonotone == "EpochMonotone" \notin broken
LogEpochsMonotone == "LogEpochsMonotone" \notin broken
TruncationKeepsCommonPrefix == "TruncationKeepsCommonPrefix" \notin broken
VoteComparesEpochFirst == "VoteComparesEpochFirst" \notin broken
CommitNeedsOwnEpoch == "CommitNeedsOwnEpoch" \notin broken
OwnTailCountsWhenFlushed == "OwnTailCountsWhenFlushed" \notin broken
StateMachineSafety == "StateMachineSafety" \notin broken
HighWatermarkMonotone == "HighWatermarkMonotone" \notin broken
ObserversDoNotCount == "ObserversDoNotCount" \notin broken
NoTruncationBelowHighWatermark == "NoTruncationBelowHighWatermark" \notin broken
PreVoteCreatesNoEpoch == "PreVoteCreatesNoEpoch" \notin broken
PreVoteGrantHasNoEffect == "PreVoteGrantHasNoEffect" \notin broken
CandidateOnlyFromProspective == "CandidateOnlyFromProspective" \notin broken
ObserversStandNoElection == "ObserversStandNoElection" \notin broken
ResignedLeavesItsEpoch == "ResignedLeavesItsEpoch" \notin broken
FetchingFollowerRejectsPreVote == "FetchingFollowerRejectsPreVote" \notin broken
NoFatal == "NoFatal" \notin broken
TransitionsLegal == "TransitionsLegal" \notin broken
CheckQuorumNeedsMajority == "CheckQuorumNeedsMajority" \notin broken
QuorumStateIsAtomic == "QuorumStateIsAtomic" \notin broken                               \* S-41
\* Judged where a configuration asks for them: the leader of the beginning stays in office.
ReturningReplicaDeposesNobody == "ReturningReplicaDeposesNobody" \notin broken
RemovedVoterDisturbsNobody == "RemovedVoterDisturbsNobody" \notin broken
================================================================================
