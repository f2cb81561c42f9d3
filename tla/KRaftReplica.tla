----------------------------- MODULE KRaftReplica -----------------------------
(***************************************************************************)
(* One replica: what it does on a message, a timer, a local call, or when  *)
(* it starts.  Nothing here is a state variable or an action; every        *)
(* operator is a function of values.  KRaft.tla puts replicas, disks and   *)
(* a network together.                                                     *)
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
(* between any two effects.  Handlers have the sections validate, epoch,   *)
(* decide, effects, in this order.                                         *)
(*                                                                         *)
(* The wire is reduced to what the protocol reads.  Where a leader listens *)
(* is known whenever the leader is known, cluster and partition are the    *)
(* right ones, a Fetch is answered at once (max wait 0), and there are no  *)
(* snapshots.                                                              *)
(*                                                                         *)
(* The reference: reference/, the modules named in the section headings.   *)
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

(***************************************************************************)
(* Elections (reference/elections.py).                                     *)
(***************************************************************************)
RECURSIVE GoForward(_)
GoForward(w) ==
    LET role == w.replica.role
    IN  IF role.name = "Prospective" /\ IsWon(role) THEN GoForward(ToCandidate(w))      \* PREVOTE-19
        ELSE IF role.name = "Candidate" /\ IsWon(role) THEN ToLeader(w)                 \* VOTE-20
        ELSE w

BecomeCandidate(w) == GoForward(ToCandidate(w))

StartElection(w) ==                                                                     \* VOTE-1
    IF StateMachine = "pre996" THEN BecomeCandidate(w) ELSE GoForward(ToProspective(w))

\* PREVOTE-21, PREVOTE-22: back to the leader it knows, else look for one.
LeaveLostPreVote(w) ==
    LET quorum == w.replica.quorum
    IN  IF quorum.leader # None THEN ToFollower(w, quorum.epoch, quorum.leader)
        ELSE ToUnattached(w, quorum.epoch)

\* VOTE-22: no vote of a stranger; none changes within a candidacy.
Record(w, voter, granted) ==
    LET role == w.replica.role
        flips == voter \in (IF granted THEN role.rejected ELSE role.granted)
        yes == (role.granted \ {voter}) \union (IF granted THEN {voter} ELSE {})
        no == (role.rejected \ {voter}) \union (IF granted THEN {} ELSE {voter})
    IN  IF voter \notin role.voters \/ (flips /\ (role.name = "Candidate" \/ voter = w.replica.id))
        THEN Die(w)
        ELSE [w EXCEPT !.replica.role.granted = yes, !.replica.role.rejected = no]

RecordGrant(w, voter) == GoForward(Record(w, voter, TRUE))

RecordRejection(w, voter) ==
    LET counted == Record(w, voter, FALSE)
    IN  IF counted.replica.role.name = "Prospective" /\ IsLost(counted.replica.role)
        THEN LeaveLostPreVote(counted)
        ELSE counted

(***************************************************************************)
(* Epochs (reference/epochs.py): what every request and response goes      *)
(* through first.                                                          *)
(***************************************************************************)
VoterRequestError(r, epoch) == IF epoch < Epoch(r) THEN "FENCED_LEADER_EPOCH" ELSE "NONE"

LeaderRequestError(r, epoch) ==
    IF epoch < Epoch(r) THEN "FENCED_LEADER_EPOCH"                                      \* FETCH-4
    ELSE IF epoch > Epoch(r) THEN "UNKNOWN_LEADER_EPOCH"                                \* FETCH-5
    ELSE IF ~Leads(r) THEN "NOT_LEADER_OR_FOLLOWER"                                     \* FETCH-6
    ELSE "NONE"

\* Somebody claims that this leader leads this epoch (None: only that the epoch exists).
Learn(w, epoch, leader) ==
    LET r == w.replica
        known == r.quorum.leader
        consistent == IF leader = r.id THEN epoch = Epoch(r) /\ Leads(r)
                      ELSE epoch # Epoch(r) \/ leader = None \/ known = None \/ known = leader
    IN  IF ~consistent THEN Die(w)                                                      \* EPOCH-8
        ELSE IF epoch > Epoch(r)                                                        \* EPOCH-3
             THEN IF leader = None THEN ToUnattached(w, epoch) ELSE ToFollower(w, epoch, leader)
        ELSE IF leader # None /\ leader # r.id /\ known = None
             THEN ToFollower(w, epoch, leader)                                          \* BEGIN-6
        ELSE w

\* The part of response handling that all APIs share: [done |-> nothing is left to do, work |-> ...].
HandledInCommon(w, m) ==
    LET r == w.replica
        Done(work) == [done |-> TRUE, work |-> work]
    IN  IF m.epoch < Epoch(r) \/ m.error = "UNKNOWN_LEADER_EPOCH" THEN Done(w)          \* EPOCH-5, RESP-2
        ELSE IF m.epoch > Epoch(r) \/ m.error \in {"FENCED_LEADER_EPOCH", "NOT_LEADER_OR_FOLLOWER"}
             THEN Done(Learn(w, m.epoch, m.leader))                                     \* RESP-3
        ELSE IF m.leader # None /\ r.quorum.leader = None                               \* RESP-4
             THEN [done |-> m.error # "NONE", work |-> ToFollower(w, m.epoch, m.leader)]
        ELSE IF m.error = "INVALID_REQUEST" THEN Done(Die(w))                           \* RESP-5
        ELSE [done |-> FALSE, work |-> w]

(***************************************************************************)
(* Vote (reference/vote.py).                                               *)
(***************************************************************************)
\* Granting a pre-vote changes nothing.
WouldGrantPreVote(r, m) ==
    LET upToDate == IsUpToDate(m.lastEpoch, m.endOffset, r.log)
    IN  CASE r.role.name = "Leader" -> FALSE                                            \* PREVOTE-10
          [] r.role.name = "Follower" ->
                CASE FollowerPreVote = "by-log" -> upToDate
                  [] FollowerPreVote = "never" -> FALSE
                  [] OTHER -> ~r.role.hasFetched /\ upToDate                            \* PREVOTE-12, -13
          [] OTHER -> upToDate                                                          \* PREVOTE-11

WouldGrantVote(r, m) ==
    CASE r.role.name \in {"Candidate", "Leader", "Follower", "Resigned"} -> FALSE       \* VOTE-11 to -14
      [] r.quorum.voted # None -> r.quorum.voted = m.source                             \* VOTE-8
      [] r.quorum.leader # None -> FALSE                                                \* VOTE-9
      [] OTHER -> IsUpToDate(m.lastEpoch, m.endOffset, r.log)                           \* VOTE-10

RecordVote(w, candidate) ==
    IF w.replica.quorum.voted # None THEN w
    ELSE IF w.replica.role.name = "Unattached" THEN UnattachedWithVote(w, candidate)
    ELSE ProspectiveWithVote(w, candidate)

VoteRequestError(r, m) ==
    IF m.lastEpoch > (IF m.preVote THEN m.epoch ELSE m.epoch - 1) THEN "INVALID_REQUEST" \* VOTE-4, PREVOTE-7
    ELSE VoterRequestError(r, m.epoch)                                                   \* VOTE-5, PREVOTE-8

HandleVoteRequest(w, m) ==
    LET error == VoteRequestError(w.replica, m)
        \* epoch
        current == IF m.epoch > Epoch(w.replica) THEN ToUnattached(w, m.epoch) ELSE w    \* VOTE-7, PREVOTE-9
        \* decide
        granted == IF m.preVote THEN WouldGrantPreVote(current.replica, m)
                   ELSE WouldGrantVote(current.replica, m)
        recorded == IF granted /\ ~m.preVote THEN RecordVote(current, m.source) ELSE current
        \* effects
    IN  IF error # "NONE" THEN Emit(w, Reply(VoteResponse(w.replica, m, error, FALSE)))
        ELSE Emit(recorded, Reply(VoteResponse(recorded.replica, m, "NONE", granted)))

HandleVoteResponse(w, m) ==
    LET common == HandledInCommon(w, m)
        next == common.work
    IN  IF common.done THEN next
        ELSE IF m.error # "NONE" THEN BackOff(next, m.source)                           \* RESP-1
        ELSE IF next.replica.role.name \notin {"Prospective", "Candidate"} THEN next    \* VOTE-19
        ELSE IF m.granted THEN RecordGrant(next, m.source) ELSE RecordRejection(next, m.source)

(***************************************************************************)
(* BeginQuorumEpoch and EndQuorumEpoch (reference/begin_quorum_epoch.py,   *)
(* end_quorum_epoch.py).                                                   *)
(***************************************************************************)
HandleBeginQuorumEpochRequest(w, m) ==
    LET error == VoterRequestError(w.replica, m.epoch)                                  \* BEGIN-4
        next == IF error = "NONE" THEN Learn(w, m.epoch, m.source) ELSE w               \* BEGIN-5
    IN  Emit(next, Reply(BeginQuorumEpochResponse(next.replica, m, error)))

\* Who has acknowledged its leader is read by nobody; but it must be a voter (BEGIN-1).
HandleBeginQuorumEpochResponse(w, m) ==
    LET common == HandledInCommon(w, m)
        next == common.work
    IN  IF common.done THEN next
        ELSE IF m.error # "NONE" THEN BackOff(next, m.source)
        ELSE IF Leads(next.replica) /\ m.source \notin DOMAIN next.replica.role.progress THEN Die(next)
        ELSE next

\* END-7: the first successor, or anybody where nobody is preferred, stands for election at once.
HandleEndQuorumEpochRequest(w, m) ==
    LET error == VoterRequestError(w.replica, m.epoch)                                  \* END-5
        next == IF error = "NONE" THEN Learn(w, m.epoch, m.source) ELSE w               \* END-6
        r == next.replica
        first == m.successors = <<>> \/ m.successors[1] = r.id
        told == IF error = "NONE" /\ r.role.name = "Follower" /\ r.quorum.leader = m.source
                THEN Emit(next, ArmTimer("fetch", first))                               \* END-9
                ELSE next
    IN  Emit(told, Reply(EndQuorumEpochResponse(r, m, error)))

HandleEndQuorumEpochResponse(w, m) ==
    LET common == HandledInCommon(w, m)
        next == common.work
    IN  IF common.done THEN next
        ELSE IF m.error # "NONE" THEN BackOff(next, m.source)
        ELSE IF next.replica.role.name # "Resigned" \/ m.source \notin VotersOf(next.replica) THEN Die(next)
        ELSE [next EXCEPT !.replica.role.unacknowledged = @ \ {m.source}]               \* END-10

(***************************************************************************)
(* What a leader knows of its voters (reference/progress.py).              *)
(***************************************************************************)
NewEntry == [endOffset |-> None, leaderEnd |-> None, caughtUp |-> FALSE]

Restricted(f, S) == [x \in DOMAIN f \intersect S |-> f[x]]

\* VSET-10: voters and observers trade places; what is known of them stays.
FollowVoterSet(role, voters) ==
    LET Known(v) == IF v \in DOMAIN role.progress THEN role.progress[v]
                    ELSE IF v \in DOMAIN role.observers THEN role.observers[v]
                    ELSE NewEntry
        all == DOMAIN role.progress \union DOMAIN role.observers
    IN  [role EXCEPT !.progress = [v \in voters |-> Known(v)],
                     !.observers = [v \in (all \ voters) \intersect Addable |-> Known(v)]]

\* HWM-3: the leader's own end offset counts like a voter's, as long as it is one.
CountOwnLog(w) ==
    LET r == w.replica
        role == IF DOMAIN r.role.progress = VotersOf(r) THEN r.role ELSE FollowVoterSet(r.role, VotersOf(r))
        counted == IF IsVoter(r) THEN [role EXCEPT !.progress[r.id].endOffset = EndOffset(r.log)] ELSE role
    IN  [w EXCEPT !.replica.role = counted]

\* KIP-836: a replica has caught up once it has held, at a Fetch, all that the leader had then or
\* at the Fetch before.  Without a clock that is for good.
Fetched(w, entry, id, offset) ==
    LET own == EndOffset(w.replica.log)
        caughtUp == \/ entry.caughtUp
                    \/ offset >= own
                    \/ entry.leaderEnd # None /\ offset >= entry.leaderEnd
    IN  IF id \in Addable
        THEN [endOffset |-> offset, leaderEnd |-> IF caughtUp THEN None ELSE own, caughtUp |-> caughtUp]
        ELSE [entry EXCEPT !.endOffset = offset]

\* CHECKQ-2, CHECKQ-3: a majority heard from in time keeps the leader in office.
CountContact(w, id) ==
    LET r == w.replica
        contacts == r.role.contacts \union ({id} \intersect VotersOf(r))
        needed == Majority(Cardinality(VotersOf(r))) - (IF IsVoter(r) THEN 1 ELSE 0)
    IN  IF ~CheckQuorum THEN w
        ELSE IF Cardinality(contacts) >= needed
        THEN [Emit(w, ArmTimer("check-quorum", FALSE)) EXCEPT !.replica.role.contacts = {}]
        ELSE [w EXCEPT !.replica.role.contacts = contacts]

\* FETCH-15: everything below a valid offset is durable at the fetcher.  HWM-5: observers do not count.
RecordFetch(w, id, offset) ==
    LET role == w.replica.role
        Before(entries) == IF id \in DOMAIN entries THEN entries[id] ELSE NewEntry
        next ==
            IF id \in VotersOf(w.replica)
            THEN [role EXCEPT !.progress =
                    [v \in DOMAIN @ |-> IF v = id THEN Fetched(w, @[v], id, offset) ELSE @[v]]]
            ELSE [role EXCEPT !.observers =
                    [v \in (DOMAIN @ \union {id}) \intersect Addable |->
                        IF v = id THEN Fetched(w, Before(@), id, offset) ELSE @[v]]]
    IN  CountContact([w EXCEPT !.replica.role = next], id)

\* HWM-1: the largest offset that a majority holds, once a record of the own epoch is among it (HWM-2).
\* HWM-4: it never goes back.  A voter change may be complete then.
AdvanceHighWatermark(w) ==
    LET r == w.replica
        progress == r.role.progress
        End(v) == IF progress[v].endOffset = None THEN -1 ELSE progress[v].endOffset
        Holders(offset) == {v \in DOMAIN progress : End(v) >= offset}
        reached == Max({End(v) : v \in {u \in DOMAIN progress :
                        2 * Cardinality(Holders(End(u))) > Cardinality(DOMAIN progress)}})
    IN  IF reached <= r.role.epochStart \/ (r.highWatermark # None /\ reached <= r.highWatermark) THEN w
        ELSE Settled(Emit([w EXCEPT !.replica.highWatermark = reached], HighWatermark(reached)))

(***************************************************************************)
(* Fetch (reference/fetch.py).                                             *)
(***************************************************************************)
FetchError(r, m) ==
    IF m.lastEpoch > m.epoch THEN "INVALID_REQUEST" ELSE LeaderRequestError(r, m.epoch) \* FETCH-3

HandleFetchRequest(w, m) ==
    LET error == FetchError(w.replica, m)
        log == w.replica.log
        next == AdvanceHighWatermark(RecordFetch(w, m.source, m.offset))
    IN  IF error # "NONE" THEN Emit(w, Reply(FetchResponse(w.replica, m, error, <<>>, None)))
        ELSE IF ~IsValidPosition(log, m.offset, m.lastEpoch)                            \* FETCH-9
        THEN Emit(w, Reply(FetchResponse(w.replica, m, "NONE", <<>>, EndOfEpoch(log, m.lastEpoch))))
        ELSE Emit(next, Reply(FetchResponse(next.replica, m, "NONE", BatchesFrom(log, m.offset), None)))

\* FETCH-25: never below the high watermark.
TruncateLog(w, diverging) ==
    LET r == w.replica
        offset == TruncationOffset(r.log, diverging)
    IN  IF r.highWatermark # None /\ (diverging.offset < r.highWatermark \/ offset < r.highWatermark)
        THEN Die(w)
        ELSE [Emit(w, Truncate(offset)) EXCEPT !.replica.log = Truncated(@, offset)]

\* FETCH-26: up to a batch of a later epoch.
RECURSIVE AppendBatches(_, _)
AppendBatches(w, batches) ==
    IF batches = <<>> \/ Head(batches).epoch > Epoch(w.replica) THEN w
    ELSE IF Head(batches).base # EndOffset(w.replica.log) THEN Die(w)
    ELSE AppendBatches([Emit(w, AppendBatch(Head(batches))) EXCEPT !.replica.log = Append(@, Head(batches))],
                       Tail(batches))

CanBecomeVoter(r) == IsVoter(r) \/ r.id \notin Observers

\* DEF-5: what counts for a majority, or may come to count, is flushed.
AppendAsFollower(w, batches) ==
    LET next == AppendBatches(w, batches)
    IN  IF batches = <<>> THEN w
        ELSE IF CanBecomeVoter(next.replica) THEN Emit(next, Flush(EndOffset(next.replica.log)))
        ELSE next

\* FETCH-27: as far as the own log reaches.
LearnHighWatermark(w, told) ==
    LET current == w.replica.highWatermark
        learned == Min({EndOffset(w.replica.log), told})
    IN  IF told = None THEN w
        ELSE IF current # None /\ learned < current THEN Die(w)
        ELSE IF learned = current THEN w
        ELSE Emit([w EXCEPT !.replica.highWatermark = learned], HighWatermark(learned))

HandleFetchResponse(w, m) ==
    LET common == HandledInCommon(w, m)
        next == common.work
        stored == IF m.diverging # None THEN TruncateLog(next, m.diverging)             \* FETCH-23
                  ELSE LearnHighWatermark(AppendAsFollower(next, m.batches), m.highWatermark)
    IN  IF common.done THEN next
        ELSE IF next.replica.role.name # "Follower" THEN Die(next)                      \* FETCH-30
        ELSE IF m.error # "NONE" THEN BackOff(next, m.source)
        ELSE Emit([stored EXCEPT !.replica.role.hasFetched = TRUE], ArmTimer("fetch", FALSE)) \* TIMER-1

(***************************************************************************)
(* A leader's own actions (reference/leadership.py).                       *)
(***************************************************************************)
\* LOG-1: the state machine's record waits to be appended.
AcceptAppend(w) ==
    [w EXCEPT !.replica.role.pending = Append(@, <<[type |-> "Value", value |-> w.replica.id]>>)]

RECURSIVE AppendOwn(_, _)
AppendOwn(w, pending) ==
    LET batch == [base |-> EndOffset(w.replica.log), epoch |-> Epoch(w.replica), records |-> Head(pending)]
    IN  IF pending = <<>> THEN w
        ELSE AppendOwn([Emit(w, AppendBatch(batch)) EXCEPT !.replica.log = Append(@, batch)], Tail(pending))

AppendPending(w) ==                                                                     \* LOG-5
    LET appended == AppendOwn(w, w.replica.role.pending)
        counted == CountOwnLog([appended EXCEPT !.replica.role.pending = <<>>])
        next == AdvanceHighWatermark(counted)
    IN  Emit(next, Flush(EndOffset(next.replica.log)))

(***************************************************************************)
(* The poll loop (reference/poll.py): one round, with the timers that it   *)
(* finds expired.  discovery: the node that a replica without a leader     *)
(* asks, None if it asks nobody.                                           *)
(***************************************************************************)
\* In ascending order of node, to those of which no answer is awaited.
RECURSIVE SendEach(_, _)
SendEach(w, requests) ==
    IF requests = <<>> THEN w
    ELSE SendEach(IF IsReady(w, Head(requests).dest) THEN SendTo(w, Head(requests)) ELSE w, Tail(requests))

ToEach(w, nodes, Request(_, _)) ==
    LET ordered == Ascending(nodes)
    IN  SendEach(w, [k \in 1..Len(ordered) |-> Request(w.replica, ordered[k])])

FetchForDiscovery(w, discovery) ==                                                      \* FETCH-33
    IF discovery = None \/ w.replica.awaiting # {} \/ ~IsReady(w, discovery) THEN w
    ELSE SendTo(w, FetchRequest(w.replica, discovery))

PollUnattached(w, expired, discovery) ==
    IF IsVoter(w.replica) /\ "election" \in expired THEN StartElection(w)               \* PREVOTE-2
    ELSE FetchForDiscovery(w, discovery)                                                \* STATE-4

PollNominee(w, expired) ==
    LET role == w.replica.role
        preVote == role.name = "Prospective"
        unanswered == role.voters \ (role.granted \union role.rejected)
        Request(r, voter) == VoteRequest(r, voter, preVote)
    IN  IF "election" \in expired
        THEN IF preVote THEN LeaveLostPreVote(w) ELSE StartElection(w)                  \* PREVOTE-22, -27
        ELSE IF IsLost(role) THEN w                                                     \* VOTE-23
        ELSE ToEach(w, unanswered, Request)                             \* VOTE-2, PREVOTE-5

PollLeader(w, expired) ==
    LET r == w.replica
        quorumLost == "check-quorum" \in expired /\ CheckQuorum /\ Cardinality(VotersOf(r)) # 1 \* CHECKQ-1, -4
        settled == IF "voter-change" \in expired /\ r.role.change # None THEN ChangeExpired(w) ELSE w
        appended == IF settled.replica.role.pending # <<>> THEN AppendPending(settled) ELSE settled
        others == VotersOf(appended.replica) \ {r.id}
    IN  IF r.role.resignRequested \/ quorumLost THEN ToResigned(w)                      \* RESIGN-1
        ELSE IF "begin-quorum-epoch" \in expired
        THEN Emit(ToEach(appended, others, BeginQuorumEpochRequest),      \* BEGIN-1
                  ArmTimer("begin-quorum-epoch", FALSE))
        ELSE appended

PollFollower(w, expired, discovery) ==
    LET r == w.replica
        leader == r.quorum.leader
    IN  IF IsVoter(r) /\ "fetch" \in expired THEN StartElection(w)                      \* TIMER-5, PREVOTE-1
        ELSE IF r.awaiting # {} THEN w
        ELSE IF IsReady(w, leader) THEN SendTo(w, FetchRequest(r, leader))              \* FETCH-21
        ELSE FetchForDiscovery(w, discovery)                                            \* FETCH-32

PollResigned(w, expired) ==
    LET told == ToEach(w, w.replica.role.unacknowledged, EndQuorumEpochRequest) \* END-1
    IN  IF "election" \notin expired THEN told
        ELSE IF StateMachine = "pre996" /\ IsVoter(w.replica) THEN BecomeCandidate(told) \* RESIGN-5
        ELSE ToUnattached(told, Epoch(w.replica) + 1)                                   \* RESIGN-4

Poll(w, expired, discovery) ==
    CASE w.replica.role.name = "Unattached" -> PollUnattached(w, expired, discovery)
      [] w.replica.role.name \in {"Prospective", "Candidate"} -> PollNominee(w, expired)
      [] w.replica.role.name = "Leader" -> PollLeader(w, expired)
      [] w.replica.role.name = "Follower" -> PollFollower(w, expired, discovery)
      [] w.replica.role.name = "Resigned" -> PollResigned(w, expired)

(***************************************************************************)
(* Start-up (reference/startup.py): the first rule that matches decides.   *)
(***************************************************************************)
Begins(role, quorum) == [role |-> role, quorum |-> quorum]

FormerLeader(r) ==                                                                      \* INIT-3
    Begins(Resigned(VotersOf(r) \ {r.id}, <<>>), [r.quorum EXCEPT !.voted = None])

FormerCandidate(r) ==                                                                   \* INIT-4
    Begins(Candidate(VotersOf(r), {r.id}, {}), [r.quorum EXCEPT !.leader = None])

InitialRole(r) ==
    LET stored == r.quorum
        ownVote == stored.voted = r.id /\ (CandidateRestart = "without-leader" => stored.leader = None)
    IN  IF stored.epoch < LastEpoch(r.log)                                              \* INIT-2
        THEN Begins(Unattached, [epoch |-> LastEpoch(r.log), leader |-> None, voted |-> None])
        ELSE IF stored.leader = r.id THEN FormerLeader(r)
        ELSE IF ownVote THEN FormerCandidate(r)
        ELSE IF stored.leader # None THEN Begins(Follower(FALSE), stored)               \* INIT-6
        ELSE Begins(Unattached, stored)                                                 \* INIT-5

\* INIT-10: what the process decides is written down; an only voter elects itself at once (INIT-8).
Start(id, disk) ==
    LET found == [id |-> id, quorum |-> disk.quorum, log |-> disk.log, role |-> Unattached,
                  highWatermark |-> None, awaiting |-> {}, backingOff |-> {}]
        first == InitialRole(found)
        r == [found EXCEPT !.role = first.role, !.quorum = first.quorum]
        begun == Emit(Emit(WorkOn(r), Persist(first.quorum)),
                      Transition("Start", first.role.name, first.quorum.epoch))
        timer == IF first.role.name = "Follower" THEN "fetch" ELSE "election"
        armed == Emit(begun, ArmTimer(timer, FALSE))
    IN  IF first.role.name = "Candidate" /\ ~IsVoter(r) THEN Die(WorkOn(r))             \* STATE-3
        ELSE IF VotersOf(r) # {id} THEN armed
        ELSE IF first.role.name = "Candidate" THEN ToLeader(armed)                      \* VOTE-3
        ELSE StartElection(armed)

(***************************************************************************)
(* Messages, and an event carried through (reference/step.py).             *)
(***************************************************************************)
HandleRequest(w, m) ==
    CASE m.type = "VoteRequest" -> HandleVoteRequest(w, m)
      [] m.type = "BeginQuorumEpochRequest" -> HandleBeginQuorumEpochRequest(w, m)
      [] m.type = "EndQuorumEpochRequest" -> HandleEndQuorumEpochRequest(w, m)
      [] m.type = "FetchRequest" -> HandleFetchRequest(w, m)
      [] m.type = "ApiVersionsRequest" ->                                               \* ADD-8
            Emit(w, Reply([type |-> "ApiVersionsResponse", source |-> w.replica.id, dest |-> m.source,
                           answerable |-> TRUE]))

HandleResponse(w, m) ==
    LET ready == ConnectionReady(w, m.source)
    IN  CASE m.source \notin w.replica.awaiting -> w                                    \* RESP-7
          [] m.type = "VoteResponse" -> HandleVoteResponse(ready, m)
          [] m.type = "BeginQuorumEpochResponse" -> HandleBeginQuorumEpochResponse(ready, m)
          [] m.type = "EndQuorumEpochResponse" -> HandleEndQuorumEpochResponse(ready, m)
          [] m.type = "FetchResponse" -> HandleFetchResponse(ready, m)
          [] m.type = "ApiVersionsResponse" -> VoterChangeAnswered(ready, m)

Handle(w, m) == IF IsRequest(m) THEN HandleRequest(w, m) ELSE HandleResponse(w, m)

\* No answer came in time.  FETCH-32: a Follower passes over its leader once.
TimeOutRequest(w, node) ==
    LET follows == w.replica.role.name = "Follower" /\ w.replica.quorum.leader = node
    IN  Emit(IF follows THEN BackOff(w, node) ELSE ConnectionReady(w, node), ForgetRequests(node))

\* Rounds of the poll loop until one changes nothing.  The first finds those timers expired that the
\* event has armed with no time at all.
RECURSIVE PollOn(_, _)
PollOn(w, expired) ==
    LET polled == Poll(w, expired, None)
    IN  IF IsDead(w) \/ polled = w THEN w ELSE PollOn(polled, {})

AtOnce(effects) == {effects[k].timer : k \in {j \in 1..Len(effects) :
                        effects[j].type = "ArmTimer" /\ effects[j].atOnce}}

\* The event itself, then the poll loop: one atomic step.
Completed(w) == PollOn(w, AtOnce(w.effects))
===============================================================================
