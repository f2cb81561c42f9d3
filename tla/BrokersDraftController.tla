------------------------- MODULE BrokersDraftController -------------------------
(***************************************************************************)
(* The controller of KIP-343 (a controller heartbeat, the draft): what is  *)
(* durable in the store, what the active controller remembers, and what it *)
(* does with heartbeats, time-outs, IsrChange and a failover.              *)
(*                                                                         *)
(* A handler is a function from the controller c to c, or to [c, response];*)
(* who is told of it follows from c before and afterwards (Told in         *)
(* BrokersControlSteps).                                                   *)
(*                                                                         *)
(* The reference: reference/brokers/liveness.py, metadata_heartbeat.py,    *)
(* isr_change.py, registrations.py, failover.py.                           *)
(***************************************************************************)
EXTENDS BrokersLeadership

CONSTANTS
    RebuildsIncarnations,   \* INC-5: whether a new controller takes known incarnations from the store
    NewController,          \* HEARTBEAT-11: "takes-as-active" or "takes-as-inactive"
    RejectionRestartsTimer, \* HEARTBEAT-9: whether a heartbeat of a former life counts as one of its id
    KnownLife,              \* ISR-3: "registered" or "remembered"
    ComparesLeaderEpoch,    \* ISR-5
    InactiveLeavesIsr       \* BSTATE-6

(***************************************************************************)
(* What the controller knows.                                              *)
(*                                                                         *)
(*   c.registrations  broker id -> incarnation id that the store gave its  *)
(*                    last process; ids without a registration are absent  *)
(*   c.lastTransaction  the last incarnation id that was given             *)
(*   c.brokers        broker id -> [incarnation, state, ticks], in memory  *)
(***************************************************************************)
NothingKnown == [incarnation |-> None, state |-> "INACTIVE", ticks |-> 0]

StateOf(c, id) == c.brokers[id].state

ActiveIds(c) == {id \in Ids : StateOf(c, id) # "INACTIVE"}                             \* BSTATE-3

\* The process that the controller means by an id: the one it heard of, else the registered one.
LifeOf(c, id) ==
    IF c.brokers[id].incarnation # None THEN c.brokers[id].incarnation
    ELSE IF id \in DOMAIN c.registrations THEN c.registrations[id] ELSE None

DraftVisible(c) == [id \in ActiveIds(c) |-> LifeOf(c, id)]

\* LeaderAndIsr and UpdateMetadata in one.
DraftMetadata(c) == [controller |-> c.active, controllerEpoch |-> c.epoch,
                     brokers |-> DraftVisible(c), partition |-> c.partition]

\* The leader that is stopping gives way, if another member of the ISR can lead.        (BSTATE-5)
LeaderThatMoves(c) ==
    IF c.partition = None THEN None
    ELSE IF c.partition.leader = None THEN None
    ELSE IF StateOf(c, c.partition.leader) # "STOPPING" THEN None
    ELSE Elect(c, c.partition.isr, {})

MoveLeader(c) == ChangeLeader(c, c.partition.isr, LeaderThatMoves(c))

(***************************************************************************)
(* What the controller holds brokers to be.                                *)
(***************************************************************************)
\* No timer runs for an inactive broker.
Remember(c, id, known) ==
    [c EXCEPT !.brokers[id] =
        [known EXCEPT !.ticks = IF ControllerTimeout = None \/ known.state = "INACTIVE" THEN 0 ELSE @]]

\* The partition follows a broker whose state was another one.                          (BSTATE-1)
Follow(c, id, before) ==
    IF StateOf(c, id) = before THEN c
    ELSE CASE StateOf(c, id) = "INACTIVE" -> Leave(c, id, InactiveLeavesIsr)            \* BSTATE-6
           [] StateOf(c, id) = "ACTIVE" -> Come(c, id)                                  \* BSTATE-7
           [] OTHER -> c

Declare(c, id, known) == Follow(Remember(c, id, known), id, StateOf(c, id))

\* HEARTBEAT-7
Expire(c, id) == Declare(c, id, [c.brokers[id] EXCEPT !.state = "INACTIVE"])

\* A unit of the controller's time is over, for one broker after the other.             (FENCE-7)
RECURSIVE TickOf(_, _)
TickOf(c, ids) ==
    LET id == Smallest(ids)
        known == c.brokers[id]
        later == [known EXCEPT !.ticks = @ + 1]
    IN  IF ids = {} THEN c
        ELSE TickOf(IF known.state = "INACTIVE" THEN c
                    ELSE IF later.ticks < ControllerTimeout THEN Remember(c, id, later)
                    ELSE Expire(c, id),
                    ids \ {id})

DraftTicks(c) == TickOf(c, Ids)

\* The partition as a new controller finds it follows the brokers, one after the other.
RECURSIVE Reviewed(_, _)
Reviewed(c, ids) ==
    LET id == Smallest(ids)
    IN  IF ids = {} THEN c
        ELSE Reviewed(IF StateOf(c, id) = "INACTIVE" THEN Leave(c, id, InactiveLeavesIsr) ELSE Come(c, id),
                      ids \ {id})

\* A new controller remembers nothing but what it finds in the store.                   (INC-5, HEARTBEAT-11)
DraftTakeOver(c, node) ==
    LET state == IF NewController = "takes-as-active" THEN "ACTIVE" ELSE "INACTIVE"
        Found(id) ==
            IF id \notin DOMAIN c.registrations THEN NothingKnown
            ELSE [incarnation |-> IF RebuildsIncarnations THEN c.registrations[id] ELSE None,
                  state |-> state, ticks |-> 0]
    IN  Reviewed([c EXCEPT !.active = node, !.epoch = @ + 1, !.brokers = [id \in Ids |-> Found(id)]],
                 {Replicas[k] : k \in Ranks})

(***************************************************************************)
(* Requests; node is the one that a request was sent to.                   *)
(***************************************************************************)
\* Whether no later incarnation is known.                                               (INC-3, INC-4)
IsCurrentLife(c, id, incarnation) ==
    c.brokers[id].incarnation = None \/ incarnation >= c.brokers[id].incarnation

HandleMetadataHeartbeat(c, node, request) ==
    LET id == request.broker
        Answer(after, error, state) ==
            [c |-> after, response |-> [type |-> "MetadataHeartbeatResponse", error |-> error, state |-> state]]
        counted == Declare(c, id, [c.brokers[id] EXCEPT !.ticks = 0])
        heard == Declare(c, id,
                         [incarnation |-> request.incarnation, state |-> request.target, ticks |-> 0])
    IN  IF node # c.active                                                              \* HEARTBEAT-10
        THEN Answer(c, "NOT_CONTROLLER", None)
        ELSE IF ~IsCurrentLife(c, id, request.incarnation)                              \* HEARTBEAT-9
        THEN Answer(IF RejectionRestartsTimer THEN counted ELSE c, "INVALID_INCARNATION_ID", None)
        ELSE Answer(heard, "NONE", StateOf(heard, id))                                  \* HEARTBEAT-5, -6, -8

\* Whether the sender of IsrChange is the process that counts.                          (ISR-3)
MayChangeIsr(c, id, incarnation) ==
    IF KnownLife = "remembered" THEN c.brokers[id].incarnation \in {None, incarnation}
    ELSE id \in DOMAIN c.registrations /\ c.registrations[id] = incarnation

IsOfThisEpoch(partition, leaderEpoch) == ComparesLeaderEpoch => partition.leaderEpoch = leaderEpoch

IsrResult(c, request) ==
    IF c.partition.leader # request.broker THEN "NOT_LEADER_FOR_PARTITION"              \* ISR-4
    ELSE IF ~IsOfThisEpoch(c.partition, request.leaderEpoch) THEN "NOT_LEADER_FOR_PARTITION"  \* ISR-5
    ELSE IF ~IsIsr(c.partition, request.isr) THEN "INVALID_REQUEST"
    ELSE "NONE"                                                                         \* ISR-7

\* The result is None beside an error.
HandleIsrChange(c, node, request) ==
    LET Answer(after, error, result) ==
            [c |-> after, response |-> [type |-> "IsrChangeResponse", error |-> error, result |-> result]]
        result == IsrResult(c, request)
        changed == IF result # "NONE" \/ request.isr = c.partition.isr THEN c
                   ELSE WritePartition(c, [c.partition EXCEPT !.isr = request.isr])
    IN  IF node # c.active                                                              \* ISR-2
        THEN Answer(c, "NOT_CONTROLLER", None)
        ELSE IF ~MayChangeIsr(c, request.broker, request.incarnation)
        THEN Answer(c, "INVALID_INCARNATION_ID", None)
        ELSE Answer(changed, "NONE", result)                                            \* ISR-8

(***************************************************************************)
(* The store, which is there whoever is the controller.                    *)
(***************************************************************************)
\* A process starts: its incarnation id is the transaction id of its registration.      (INC-1, INC-2)
WriteRegistration(c, id) ==
    LET incarnation == c.lastTransaction + 1
    IN  [c EXCEPT !.lastTransaction = incarnation, !.registrations = Put(@, id, incarnation)]

\* The session of the registered process is over.                                       (BSTATE-10)
RemoveRegistration(c, id) ==
    LET removed == [c EXCEPT !.registrations = Without(@, id)]
    IN  Declare(removed, id, [c.brokers[id] EXCEPT !.state = "INACTIVE"])
================================================================================
