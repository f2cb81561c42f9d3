------------------------ MODULE BrokersShippedController ------------------------
(***************************************************************************)
(* The controller as it shipped (KIP-631, with KIP-497, KIP-841, KIP-903): *)
(* the metadata log, the sessions that the active controller remembers,    *)
(* and what it does with BrokerRegistration, BrokerHeartbeat,              *)
(* AlterPartition, the end of a session and a failover.                    *)
(*                                                                         *)
(* A handler is a function from the controller c to c, or to [c, response].*)
(*                                                                         *)
(* The reference: reference/brokers/broker_registration.py,                *)
(* broker_heartbeat.py, sessions.py, alter_partition.py, lives.py.         *)
(***************************************************************************)
EXTENDS BrokersLeadership

(***************************************************************************)
(* What the controller knows.                                              *)
(*                                                                         *)
(*   c.registrations  broker id -> [incarnation, epoch, fenced,            *)
(*                    inControlledShutdown]; epoch: the offset of its      *)
(*                    record, which is the broker epoch                    *)
(*   c.endOffset      of the metadata log: the offset of its next record   *)
(*   c.sessions       broker id -> [ticks, offset, shutdownOffset], in     *)
(*                    memory: what its last heartbeat said that it had     *)
(*                    read; what others have to read before it may go      *)
(***************************************************************************)
NewSession == [ticks |-> 0, offset |-> -1, shutdownOffset |-> None]

UnfencedIds(c) == {id \in DOMAIN c.registrations : ~c.registrations[id].fenced}

\* What a process reads that reads the metadata log to its end.
ShippedMetadata(c) ==
    [controller |-> c.active, controllerEpoch |-> c.epoch,
     brokers |-> [id \in UnfencedIds(c) |-> c.registrations[id].epoch],
     partition |-> c.partition, offset |-> c.endOffset - 1]

IsCurrentEpoch(c, id, epoch) == id \in DOMAIN c.registrations /\ c.registrations[id].epoch = epoch

\* A record about a broker.
AppendRegistration(c, id, registration) ==
    [c EXCEPT !.registrations = Put(@, id, registration), !.endOffset = @ + 1]

KeepSession(c, id, session) == [c EXCEPT !.sessions = Put(@, id, session)]

(***************************************************************************)
(* Sessions.                                                               *)
(***************************************************************************)
\* Records that take its partition away, then one about itself.
FenceBroker(c, id) ==
    IF id \notin UnfencedIds(c) THEN c
    ELSE AppendRegistration(Leave(c, id, TRUE), id, [c.registrations[id] EXCEPT !.fenced = TRUE])

\* HBK-7
UnfenceBroker(c, id) ==
    Come(AppendRegistration(c, id, [c.registrations[id] EXCEPT !.fenced = FALSE]), id)

\* HBK-6
ExpireSession(c, id) == FenceBroker([c EXCEPT !.sessions = Without(@, id)], id)

\* A unit of the controller's time is over, for one session after the other.
RECURSIVE SessionsTick(_, _)
SessionsTick(c, ids) ==
    LET id == Smallest(ids)
        later == [c.sessions[id] EXCEPT !.ticks = @ + 1]
    IN  IF ids = {} THEN c
        ELSE SessionsTick(IF later.ticks < ControllerTimeout THEN KeepSession(c, id, later)
                          ELSE ExpireSession(c, id),
                          ids \ {id})

ShippedTicks(c) == SessionsTick(c, DOMAIN c.sessions)

\* A new controller gives every broker that is not fenced a whole session.              (HBK-11)
ShippedTakeOver(c, node) ==
    [c EXCEPT !.active = node, !.epoch = @ + 1, !.sessions = [id \in UnfencedIds(c) |-> NewSession]]

(***************************************************************************)
(* BrokerRegistration; node is the one that a request was sent to.         *)
(***************************************************************************)
\* Whether another incarnation has a valid session.                                     (REG-2)
IsTaken(c, id, incarnation) ==
    /\ id \in DOMAIN c.registrations /\ id \in DOMAIN c.sessions
    /\ c.registrations[id].incarnation # incarnation

\* The broker epoch is the offset of the record.                                        (REG-3)
NewEpoch(c, id) == c.endOffset

Register(c, id, incarnation) ==
    Leave(AppendRegistration(c, id, [incarnation |-> incarnation, epoch |-> NewEpoch(c, id), fenced |-> TRUE,
                                     inControlledShutdown |-> FALSE]),
          id, TRUE)

HandleBrokerRegistration(c, node, request) ==
    LET id == request.broker
        Answer(after, error, epoch) ==
            [c |-> after, response |-> [type |-> "BrokerRegistrationResponse", error |-> error, epoch |-> epoch]]
        known == /\ id \in DOMAIN c.registrations
                 /\ c.registrations[id].incarnation = request.incarnation
    IN  IF node # c.active THEN Answer(c, "NOT_CONTROLLER", -1)                         \* REG-1
        ELSE IF IsTaken(c, id, request.incarnation) THEN Answer(c, "DUPLICATE_BROKER_REGISTRATION", -1)
        ELSE IF known THEN Answer(c, "NONE", c.registrations[id].epoch)                 \* REG-4
        ELSE Answer(Register(c, id, request.incarnation), "NONE", NewEpoch(c, id))

(***************************************************************************)
(* BrokerHeartbeat.                                                        *)
(***************************************************************************)
SessionOf(c, id) == IF id \in DOMAIN c.sessions THEN c.sessions[id] ELSE NewSession

SessionAfter(session, request) == [session EXCEPT !.ticks = 0, !.offset = request.offset]

LeadsInLog(c, id) == c.partition # None /\ c.partition.leader = id

HasCaughtUp(c, id, offset) == offset >= c.registrations[id].epoch

\* Whether all have read the log up to offset that are neither fenced nor on their way out.
AllActiveHaveRead(c, offset) ==
    \A id \in DOMAIN c.sessions \intersect UnfencedIds(c) :
        c.sessions[id].shutdownOffset = None => c.sessions[id].offset >= offset

\* What the controller makes of a broker.
CurrentControlState(c, id) ==
    IF SessionOf(c, id).shutdownOffset # None THEN "CONTROLLED_SHUTDOWN"
    ELSE IF c.registrations[id].fenced THEN "FENCED" ELSE "UNFENCED"

\* HBK-2
AfterFenced(c, request) ==
    IF request.wantShutDown THEN "SHUTDOWN_NOW"
    ELSE IF HasCaughtUp(c, request.broker, request.offset) /\ ~request.wantFence THEN "UNFENCED" ELSE "FENCED"

\* HBK-5
AfterControlledShutdown(c, id) ==
    IF ~LeadsInLog(c, id) /\ AllActiveHaveRead(c, c.sessions[id].shutdownOffset) THEN "SHUTDOWN_NOW"
    ELSE "CONTROLLED_SHUTDOWN"

\* HBK-3, HBK-4
AfterUnfenced(c, request) ==
    IF request.wantFence THEN IF request.wantShutDown THEN "SHUTDOWN_NOW" ELSE "FENCED"
    ELSE IF ~request.wantShutDown THEN "UNFENCED"
    ELSE IF LeadsInLog(c, request.broker) THEN "CONTROLLED_SHUTDOWN" ELSE "SHUTDOWN_NOW"

NextControlState(c, request) ==
    LET current == CurrentControlState(c, request.broker)
    IN  CASE current = "FENCED" -> AfterFenced(c, request)
          [] current = "CONTROLLED_SHUTDOWN" -> AfterControlledShutdown(c, request.broker)
          [] current = "UNFENCED" -> AfterUnfenced(c, request)

BeginControlledShutdown(c, id) ==
    LET written == AppendRegistration(c, id, [c.registrations[id] EXCEPT !.inControlledShutdown = TRUE])
    IN  Leave(IF c.registrations[id].inControlledShutdown THEN c ELSE written, id, TRUE)

EnterControlState(c, id, following) ==
    CASE following = "UNFENCED" -> UnfenceBroker(c, id)
      [] following = "CONTROLLED_SHUTDOWN" -> BeginControlledShutdown(c, id)
      [] OTHER -> FenceBroker(c, id)

\* What others have to reach are the records by which the shutdown began.
NoteShutdown(c, id, following) ==
    [c EXCEPT !.sessions[id].shutdownOffset =
        IF following # "CONTROLLED_SHUTDOWN" THEN None ELSE IF @ = None THEN c.endOffset - 1 ELSE @]

HandleBrokerHeartbeat(c, node, request) ==
    LET id == request.broker
        Answer(after, error, caughtUp, fenced, shouldShutDown) ==
            [c |-> after,
             response |-> [type |-> "BrokerHeartbeatResponse", error |-> error, caughtUp |-> caughtUp,
                           fenced |-> fenced, shouldShutDown |-> shouldShutDown]]
        following == NextControlState(c, request)
        heard == KeepSession(c, id, SessionAfter(SessionOf(c, id), request))
        entered == IF following = CurrentControlState(c, id) THEN heard
                   ELSE EnterControlState(heard, id, following)
    IN  IF node # c.active THEN Answer(c, "NOT_CONTROLLER", FALSE, TRUE, FALSE)         \* HBK-1
        ELSE IF ~IsCurrentEpoch(c, id, request.epoch) THEN Answer(c, "STALE_BROKER_EPOCH", FALSE, TRUE, FALSE)
        ELSE Answer(NoteShutdown(entered, id, following), "NONE",                       \* HBK-8
                    HasCaughtUp(c, id, request.offset), following \in {"FENCED", "SHUTDOWN_NOW"},
                    following = "SHUTDOWN_NOW")

(***************************************************************************)
(* AlterPartition.  A proposal is [leaderEpoch, partitionEpoch, isr,       *)
(* lives]: which life of each member is meant, -1: any.                    *)
(***************************************************************************)
IsEligible(c, id, life) == CanLead(c, id) /\ (life = -1 \/ IsCurrentEpoch(c, id, life)) \* AISR-4

\* What is wrong with who asks, or whom.                                                (AISR-1)
SenderError(c, node, request) ==
    IF node # c.active THEN "NOT_CONTROLLER"
    ELSE IF ~IsCurrentEpoch(c, request.broker, request.epoch) THEN "STALE_BROKER_EPOCH"
    ELSE "NONE"

ProposalError(c, request) ==
    LET known == c.partition
    IN  IF request.leaderEpoch > known.leaderEpoch THEN "NOT_CONTROLLER"                \* AISR-2
        ELSE IF request.partitionEpoch > known.partitionEpoch THEN "NOT_CONTROLLER"
        ELSE IF request.leaderEpoch < known.leaderEpoch THEN "FENCED_LEADER_EPOCH"
        ELSE IF request.broker # known.leader THEN "INVALID_REQUEST"
        ELSE IF request.partitionEpoch < known.partitionEpoch THEN "INVALID_UPDATE_VERSION"
        ELSE IF ~IsIsr(known, request.isr) THEN "INVALID_REQUEST"                       \* AISR-3
        ELSE IF \E id \in request.isr : ~IsEligible(c, id, request.lives[id])
        THEN IF AlterPartitionVersion < 2 THEN "OPERATION_NOT_ATTEMPTED" ELSE "INELIGIBLE_REPLICA"
        ELSE "NONE"

\* The result says the partition as it is in force.                                     (AISR-5)
HandleAlterPartition(c, node, request) ==
    LET Answer(after, error, result) ==
            [c |-> after, response |-> [type |-> "AlterPartitionResponse", error |-> error, result |-> result]]
        sender == SenderError(c, node, request)
        error == ProposalError(c, request)
        changed == IF request.isr = c.partition.isr THEN c
                   ELSE WritePartition(c, [c.partition EXCEPT !.isr = request.isr])
        refused == [error |-> error, leader |-> None, leaderEpoch |-> -1, partitionEpoch |-> -1, isr |-> {}]
        done == [error |-> "NONE", leader |-> changed.partition.leader,
                 leaderEpoch |-> changed.partition.leaderEpoch,
                 partitionEpoch |-> changed.partition.partitionEpoch, isr |-> changed.partition.isr]
    IN  IF sender # "NONE" THEN Answer(c, sender, None)
        ELSE IF error # "NONE" THEN Answer(c, "NONE", refused)
        ELSE Answer(changed, "NONE", done)
================================================================================
