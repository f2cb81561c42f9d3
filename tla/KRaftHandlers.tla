---------------------------- MODULE KRaftHandlers -----------------------------
(***************************************************************************)
(* What a replica does on a message, a timer, a local call, or when it     *)
(* starts.  Handlers have the sections validate, epoch, decide, effects,   *)
(* in this order.                                                          *)
(*                                                                         *)
(* The reference: reference/, the modules named in the section headings.   *)
(***************************************************************************)
EXTENDS KRaftReplica

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
