----------------------------- MODULE KRaftReplica -----------------------------
(***************************************************************************)
(* One replica: its state, its messages, and the transitions of its role.  *)
(* Nothing here is a state variable or an action; every operator is a      *)
(* function of values.  KRaftHandlers.tla says what a replica does,        *)
(* KRaft.tla puts replicas, disks and a network together.                  *)
(*                                                                         *)
(* A replica is a record:                                                  *)
(*   id             its id; disks are never replaced here, so that the id  *)
(*                  stands for the whole replica key of KIP-853            *)
(*   quorum         [epoch, leader, voted], as the quorum-state file       *)
(*   log            see KRaftLog                                           *)
(*   role           [name |-> ...] and what the role remembers, see Roles  *)
(*   highWatermark  None until it is known                                 *)
(*   awaiting       the nodes of which an answer is awaited      (RESP-7)  *)
(*   backingOff     the nodes left alone for a while after a failure       *)
(*                                                                         *)
(* Operators that do something take and yield a *work*: the replica so     *)
(* far and the effects of the step so far, in order.  A crash may fall     *)
(* between any two effects.                                                *)
(*                                                                         *)
(* The wire is reduced to what the protocol reads.  Where a leader listens *)
(* is known whenever the leader is known, cluster and partition are the    *)
(* right ones, a Fetch is answered at once (max wait 0), and there are no  *)
(* snapshots.                                                              *)
(*                                                                         *)
(* The reference: reference/replica.py, effects.py, messages.py, work.py.  *)
(***************************************************************************)
EXTENDS KRaftLog

CONSTANTS
    None,               \* unknown leader, no vote, no high watermark: -1 on the wire
    StateMachine,       \* "kip996", or "pre996": no Prospective (V-SM)
    FollowerPreVote,    \* "until-fetched", "never" or "by-log": when a Follower grants a pre-vote
    CandidateRestart,   \* "own-vote" or "without-leader": when a Candidate resumes its candidacy
    CheckQuorum,        \* whether a leader watches if a majority still fetches from it
    Observers           \* replicas that are no controllers: they never vote

\* What changes of the voter set put in; without them see the operators Static... in KRaft.tla,
\* with them those of KRaftVoterChanges.tla.
CONSTANTS
    VotersOf(_),            \* the voter set in force at a replica
    OpeningRecords(_),      \* what follows the LeaderChange record that opens an epoch
    Settled(_),             \* the work after the high watermark has moved
    ChangeExpired(_),       \* the work after the voter-change timer has expired
    Abandoned(_, _),        \* the work after this role has been left
    VoterChangeAnswered(_, _), \* the work after an ApiVersions response has arrived
    ChangesBroken(_, _, _), \* the properties of voter changes that a step breaks
    Addable                 \* the ids of replicas that may be added to the voter set

Majority(n) == (n \div 2) + 1

IsVoter(r) == r.id \in VotersOf(r)
Epoch(r) == r.quorum.epoch
Leads(r) == r.role.name = "Leader"

(***************************************************************************)
(* Effects and works.                                                      *)
(***************************************************************************)
\* Durable when the next effect begins.
Persist(quorum) == [type |-> "Persist", quorum |-> quorum]
\* In the log, but lost with a loss of power until the next Flush.
AppendBatch(batch) == [type |-> "AppendBatch", batch |-> batch]
Truncate(offset) == [type |-> "Truncate", offset |-> offset]
Flush(offset) == [type |-> "Flush", offset |-> offset]
\* Messages carry source and dest.  A Reply is on its way only if somebody awaits it.
Send(m) == [type |-> "Send", message |-> m]
Reply(m) == [type |-> "Reply", message |-> m]
\* The answers to requests sent to this node (None: to any) will be dropped.
ForgetRequests(node) == [type |-> "ForgetRequests", node |-> node]
HighWatermark(offset) == [type |-> "HighWatermark", offset |-> offset]
\* These touch nothing.  atOnce: the timer is armed with no time at all.
Transition(source, target, epoch) ==
    [type |-> "Transition", source |-> source, target |-> target, epoch |-> epoch]
ArmTimer(timer, atOnce) == [type |-> "ArmTimer", timer |-> timer, atOnce |-> atOnce]
\* The process dies: production throws here.
Fatal == [type |-> "Fatal"]

WorkOn(r) == [replica |-> r, effects |-> <<>>]
IsDead(w) == w.effects # <<>> /\ Last(w.effects) = Fatal
Emit(w, effect) == IF IsDead(w) THEN w ELSE [w EXCEPT !.effects = Append(@, effect)]
Die(w) == Emit(w, Fatal)

\* One outstanding request per node (RESP-7).
IsReady(w, node) == node \notin w.replica.awaiting \union w.replica.backingOff
SendTo(w, m) == Emit([w EXCEPT !.replica.awaiting = @ \union {m.dest}], Send(m))
ConnectionReady(w, node) ==
    [w EXCEPT !.replica.awaiting = @ \ {node}, !.replica.backingOff = @ \ {node}]
BackOff(w, node) ==
    [w EXCEPT !.replica.awaiting = @ \ {node}, !.replica.backingOff = @ \union {node}]
ForgetAllRequests(w) ==
    Emit([w EXCEPT !.replica.awaiting = {}, !.replica.backingOff = {}], ForgetRequests(None))

(***************************************************************************)
(* Messages.                                                               *)
(***************************************************************************)
RequestTypes == {"VoteRequest", "BeginQuorumEpochRequest", "EndQuorumEpochRequest", "FetchRequest",
                 "ApiVersionsRequest"}
IsRequest(m) == m.type \in RequestTypes

VoteRequest(r, voter, preVote) ==
    [type |-> "VoteRequest", source |-> r.id, dest |-> voter, answerable |-> TRUE,
     epoch |-> Epoch(r), preVote |-> preVote,
     lastEpoch |-> LastEpoch(r.log), endOffset |-> EndOffset(r.log)]

BeginQuorumEpochRequest(r, voter) ==
    [type |-> "BeginQuorumEpochRequest", source |-> r.id, dest |-> voter, answerable |-> TRUE,
     epoch |-> Epoch(r)]

EndQuorumEpochRequest(r, voter) ==
    [type |-> "EndQuorumEpochRequest", source |-> r.id, dest |-> voter, answerable |-> TRUE,
     epoch |-> Epoch(r), successors |-> r.role.successors]

FetchRequest(r, node) ==
    [type |-> "FetchRequest", source |-> r.id, dest |-> node, answerable |-> TRUE,
     epoch |-> Epoch(r), offset |-> EndOffset(r.log), lastEpoch |-> LastEpoch(r.log)]

\* Every response names the epoch of its sender and the leader it knows.
VoteResponse(r, m, error, granted) ==
    [type |-> "VoteResponse", source |-> r.id, dest |-> m.source, answerable |-> TRUE,
     epoch |-> Epoch(r), leader |-> r.quorum.leader, error |-> error, granted |-> granted]

BeginQuorumEpochResponse(r, m, error) ==
    [type |-> "BeginQuorumEpochResponse", source |-> r.id, dest |-> m.source, answerable |-> TRUE,
     epoch |-> Epoch(r), leader |-> r.quorum.leader, error |-> error]

EndQuorumEpochResponse(r, m, error) ==
    [type |-> "EndQuorumEpochResponse", source |-> r.id, dest |-> m.source, answerable |-> TRUE,
     epoch |-> Epoch(r), leader |-> r.quorum.leader, error |-> error]

\* An error carries nothing else: no high watermark, no batches.
FetchResponse(r, m, error, batches, diverging) ==
    [type |-> "FetchResponse", source |-> r.id, dest |-> m.source, answerable |-> TRUE,
     epoch |-> Epoch(r), leader |-> r.quorum.leader, error |-> error,
     highWatermark |-> IF error = "NONE" THEN r.highWatermark ELSE None,
     batches |-> batches, diverging |-> diverging]

(***************************************************************************)
(* Roles.  An election counts the votes of the voters known when it began. *)
(* entries: what a leader knows of a replica's log: endOffset is None at   *)
(* first; leaderEnd (its own end at the last Fetch) and caughtUp are kept  *)
(* for replicas that may be added only (KIP-836, ADD-10).                  *)
(***************************************************************************)
Unattached == [name |-> "Unattached"]
Prospective(voters, granted, rejected) ==
    [name |-> "Prospective", voters |-> voters, granted |-> granted, rejected |-> rejected]
Candidate(voters, granted, rejected) ==
    [name |-> "Candidate", voters |-> voters, granted |-> granted, rejected |-> rejected]
Follower(hasFetched) == [name |-> "Follower", hasFetched |-> hasFetched]
Leader(start, voters, pending) ==
    [name |-> "Leader", epochStart |-> start,
     progress |-> [v \in voters |-> [endOffset |-> None, leaderEnd |-> None, caughtUp |-> FALSE]],
     observers |-> <<>>,        \* of those Addable that have fetched
     pending |-> pending,       \* batches accepted but not appended yet: lists of records
     contacts |-> {},           \* heard from since the check-quorum timer was armed
     resignRequested |-> FALSE,
     change |-> None]           \* the voter change under way
\* successors: the other voters, best log first.
Resigned(unacknowledged, successors) ==
    [name |-> "Resigned", unacknowledged |-> unacknowledged, successors |-> successors]

IsWon(role) == Cardinality(role.granted) >= Majority(Cardinality(role.voters))          \* VOTE-20
IsLost(role) ==                                                                         \* VOTE-21
    Cardinality(role.voters) - Cardinality(role.rejected) < Majority(Cardinality(role.voters))

(***************************************************************************)
(* Transitions (reference/transitions.py): the only operators that build a *)
(* role.  Durable ones write the quorum-state file first (PERSIST-6).      *)
(***************************************************************************)
Become(w, role, quorum, durable) ==
    LET left == w.replica.role
        written == IF durable THEN Emit(w, Persist(quorum)) ELSE w
        moved == [written EXCEPT !.replica.role = role, !.replica.quorum = quorum]
    IN  Emit(Abandoned(moved, left), Transition(left.name, role.name, quorum.epoch))

\* In a larger epoch vote and leader are gone; in the same one both are kept (EPOCH-2, EPOCH-7).
ToUnattached(w, epoch) ==
    LET current == w.replica.quorum
        same == epoch = current.epoch
        quorum == IF same THEN current ELSE [epoch |-> epoch, leader |-> None, voted |-> None]
    IN  IF epoch > current.epoch \/ (same /\ w.replica.role.name = "Prospective")
        THEN ForgetAllRequests(Emit(Become(w, Unattached, quorum, TRUE), ArmTimer("election", FALSE)))
        ELSE Die(w)                                                                     \* TRANS-Forbid-4

\* VOTE-15, PERSIST-4: a vote is durable before the answer leaves.
UnattachedWithVote(w, candidate) ==
    Emit(Become(w, Unattached, [w.replica.quorum EXCEPT !.voted = candidate], TRUE),
         ArmTimer("election", FALSE))

\* PREVOTE-25: a Prospective that votes starts its pre-vote over.
ProspectiveWithVote(w, candidate) ==
    LET own == Prospective(VotersOf(w.replica), {w.replica.id}, {})
    IN  Emit(Become(w, own, [w.replica.quorum EXCEPT !.voted = candidate], TRUE),
             ArmTimer("election", FALSE))

ToFollower(w, epoch, leader) ==
    LET current == w.replica.quorum
        same == epoch = current.epoch
        legal == /\ leader # w.replica.id                                               \* TRANS-Forbid-2
                 /\ epoch >= current.epoch                                              \* EPOCH-1
                 /\ same => w.replica.role.name \notin {"Leader", "Follower"}           \* TRANS-Forbid-3
        quorum == [epoch |-> epoch, leader |-> leader,
                   voted |-> IF same THEN current.voted ELSE None]                      \* EPOCH-7
    IN  IF legal
        THEN ForgetAllRequests(Emit(Become(w, Follower(FALSE), quorum, TRUE), ArmTimer("fetch", FALSE)))
        ELSE Die(w)

\* PREVOTE-26: leader, vote and high watermark are kept, nothing is written (PERSIST-6).
ToProspective(w) ==
    LET r == w.replica
    IN  IF IsVoter(r) /\ r.role.name \notin {"Leader", "Prospective"}                   \* STATE-3
        THEN ForgetAllRequests(Emit(
                Become(w, Prospective(VotersOf(r), {r.id}, {}), r.quorum, FALSE),
                ArmTimer("election", FALSE)))
        ELSE Die(w)

\* VOTE-2, PERSIST-3: it votes for itself in the next epoch.
ToCandidate(w) ==
    LET r == w.replica
        quorum == [epoch |-> Epoch(r) + 1, leader |-> None, voted |-> r.id]
    IN  IF IsVoter(r) /\ (StateMachine = "kip996" => r.role.name = "Prospective")       \* STATE-5
        THEN ForgetAllRequests(Emit(
                Become(w, Candidate(VotersOf(r), {r.id}, {}), quorum, TRUE), ArmTimer("election", FALSE)))
        ELSE Die(w)

\* HWM-7: what the high watermark was is not known any more.  LOG-2: the epoch opens with a record.
ToLeader(w) ==
    LET r == w.replica
        opening == <<[type |-> "LeaderChange", leader |-> r.id, voters |-> VotersOf(r)]>>
        role == Leader(EndOffset(r.log), VotersOf(r), <<opening \o OpeningRecords(r)>>)
        quorum == [epoch |-> Epoch(r), leader |-> r.id, voted |-> None]                 \* PERSIST-2
        led == Become(w, role, quorum, TRUE)
        armed == Emit(Emit([led EXCEPT !.replica.highWatermark = None], ArmTimer("check-quorum", FALSE)),
                      ArmTimer("begin-quorum-epoch", TRUE))
    IN  IF IsVoter(r) THEN ForgetAllRequests(armed) ELSE Die(w)

\* RESIGN-2: the other voters are the successors, best log first.
RECURSIVE BestFirst(_, _)
BestFirst(progress, voters) ==
    IF voters = {} THEN <<>>
    ELSE LET End(v) == IF progress[v].endOffset = None THEN -1 ELSE progress[v].endOffset
             furthest == Max({End(v) : v \in voters})
             best == Min({v \in voters : End(v) = furthest})
         IN  <<best>> \o BestFirst(progress, voters \ {best})

ToResigned(w) ==
    LET r == w.replica
        others == DOMAIN r.role.progress \ {r.id}
        known == SelectSeq(BestFirst(r.role.progress, others), LAMBDA v : v \in VotersOf(r))
        resigned == Become(w, Resigned(VotersOf(r) \ {r.id}, known), r.quorum, FALSE)
    IN  ForgetAllRequests(Emit([resigned EXCEPT !.replica.highWatermark = None],
                               ArmTimer("election", FALSE)))
===============================================================================
