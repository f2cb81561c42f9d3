--------------------------- MODULE BrokersController ---------------------------
(***************************************************************************)
(* The controller of KIP-343 (a controller heartbeat, the draft): what is  *)
(* durable in the store, what the active controller remembers, and what it *)
(* does with heartbeats, time-outs, IsrChange and a failover.              *)
(*                                                                         *)
(* There is one value c for all controller nodes: c.active is the node     *)
(* that is the controller.  A handler is a function from c to c, or to     *)
(* [c, ...] with what its answer says; who is told of it follows from c    *)
(* before and afterwards (Told in Brokers.tla).                            *)
(*                                                                         *)
(* The reference: reference/brokers/liveness.py, metadata_heartbeat.py,    *)
(* isr_change.py, leadership.py, registrations.py, failover.py.            *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
    None,                   \* no broker, node, incarnation, time-out, bound
    Ids,                    \* broker ids
    Replicas,               \* the brokers of the one partition in order of preference; <<>>: there is none
    ControllerTimeout,      \* in ticks of the controller's clock; None: untimed, an event of its own
    RebuildsIncarnations,   \* INC-5: whether a new controller takes known incarnations from the store
    NewController,          \* HEARTBEAT-11: "takes-as-active" or "takes-as-inactive"
    RejectionRestartsTimer, \* HEARTBEAT-9: whether a heartbeat of a former life counts as one of its id
    KnownLife,              \* ISR-3: "registered" or "remembered"
    ComparesLeaderEpoch,    \* ISR-5
    InactiveLeavesIsr       \* BSTATE-6

Ranks == 1..Len(Replicas)

(***************************************************************************)
(* What the controller knows.                                              *)
(*                                                                         *)
(*   c.registrations  broker id -> incarnation id that the store gave its  *)
(*                    last process; ids without a registration are absent  *)
(*   c.lastTransaction  the last incarnation id that was given             *)
(*   c.partition      [leader, leaderEpoch, partitionEpoch, isr], or None  *)
(*   c.brokers        broker id -> [incarnation, state, ticks], in memory  *)
(***************************************************************************)
NothingKnown == [incarnation |-> None, state |-> "INACTIVE", ticks |-> 0]

StateOf(c, id) == c.brokers[id].state

VisibleIds(c) == {id \in Ids : StateOf(c, id) # "INACTIVE"}                             \* BSTATE-3

\* The process that the controller means by an id: the one it heard of, else the registered one.
LifeOf(c, id) ==
    IF c.brokers[id].incarnation # None THEN c.brokers[id].incarnation
    ELSE IF id \in DOMAIN c.registrations THEN c.registrations[id] ELSE None

Visible(c) == [id \in VisibleIds(c) |-> LifeOf(c, id)]

\* LeaderAndIsr and UpdateMetadata in one.
Metadata(c) == [controller |-> c.active, controllerEpoch |-> c.epoch,
                brokers |-> Visible(c), partition |-> c.partition]

(***************************************************************************)
(* Leaders and ISRs that change with their brokers.                        *)
(***************************************************************************)
CanLead(c, id) == StateOf(c, id) = "ACTIVE"

WritePartition(c, partition) ==
    [c EXCEPT !.partition = [partition EXCEPT !.partitionEpoch = @ + 1]]

ChangeLeader(c, isr, leader) ==
    WritePartition(c, [c.partition EXCEPT !.isr = isr, !.leader = leader, !.leaderEpoch = @ + 1])

\* The first replica in the ISR that can lead, of those that are not excluded.
Elect(c, isr, excluded) ==
    LET able == {k \in Ranks : /\ Replicas[k] \in isr
                               /\ Replicas[k] \notin excluded
                               /\ CanLead(c, Replicas[k])}
    IN  IF able = {} THEN None ELSE Replicas[CHOOSE k \in able : \A j \in able : k <= j]

\* A broker can lead nothing any more, and leaves an ISR that has others.               (BSTATE-6)
Leave(c, id) ==
    LET isr == IF InactiveLeavesIsr /\ Cardinality(c.partition.isr) > 1 THEN c.partition.isr \ {id}
               ELSE c.partition.isr
    IN  IF c.partition = None THEN c
        ELSE IF c.partition.leader = id THEN ChangeLeader(c, isr, Elect(c, isr, {id}))
        ELSE IF isr # c.partition.isr THEN WritePartition(c, [c.partition EXCEPT !.isr = isr])
        ELSE c

\* A broker can lead again, what has it in its ISR and has no leader.                   (BSTATE-7)
Come(c, id) ==
    IF c.partition # None /\ c.partition.leader = None /\ id \in c.partition.isr /\ CanLead(c, id)
    THEN ChangeLeader(c, c.partition.isr, id)
    ELSE c

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
    ELSE CASE StateOf(c, id) = "INACTIVE" -> Leave(c, id)
           [] StateOf(c, id) = "ACTIVE" -> Come(c, id)
           [] OTHER -> c

Declare(c, id, known) == Follow(Remember(c, id, known), id, StateOf(c, id))

\* HEARTBEAT-7
Expire(c, id) == Declare(c, id, [c.brokers[id] EXCEPT !.state = "INACTIVE"])

Smallest(S) == CHOOSE x \in S : \A y \in S : x <= y

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

ControllerTicks(c) == TickOf(c, Ids)

\* The partition as a new controller finds it follows the brokers, one after the other.
RECURSIVE Reviewed(_, _)
Reviewed(c, ids) ==
    LET id == Smallest(ids)
    IN  IF ids = {} THEN c
        ELSE Reviewed(IF StateOf(c, id) = "INACTIVE" THEN Leave(c, id) ELSE Come(c, id), ids \ {id})

\* A new controller remembers nothing but what it finds in the store.                   (INC-5, HEARTBEAT-11)
TakeOver(c, node) ==
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

\* MetadataHeartbeat: [c, error, state].
HandleHeartbeat(c, node, request) ==
    LET id == request.broker
        counted == Declare(c, id, [c.brokers[id] EXCEPT !.ticks = 0])
        heard == Declare(c, id,
                         [incarnation |-> request.incarnation, state |-> request.target, ticks |-> 0])
    IN  IF node # c.active                                                              \* HEARTBEAT-10
        THEN [c |-> c, error |-> "NOT_CONTROLLER", state |-> None]
        ELSE IF ~IsCurrentLife(c, id, request.incarnation)                              \* HEARTBEAT-9
        THEN [c |-> IF RejectionRestartsTimer THEN counted ELSE c,
              error |-> "INVALID_INCARNATION_ID", state |-> None]
        ELSE [c |-> heard, error |-> "NONE", state |-> StateOf(heard, id)]              \* HEARTBEAT-5, -6, -8

\* Whether the sender of IsrChange is the process that counts.                          (ISR-3)
MayChangeIsr(c, id, incarnation) ==
    IF KnownLife = "remembered" THEN c.brokers[id].incarnation \in {None, incarnation}
    ELSE id \in DOMAIN c.registrations /\ c.registrations[id] = incarnation

\* ISR-6
IsIsr(partition, isr) ==
    partition.leader \in isr /\ isr \subseteq {Replicas[k] : k \in Ranks}

IsOfThisEpoch(partition, leaderEpoch) == ComparesLeaderEpoch => partition.leaderEpoch = leaderEpoch

IsrResult(c, request) ==
    IF c.partition.leader # request.broker THEN "NOT_LEADER_FOR_PARTITION"              \* ISR-4
    ELSE IF ~IsOfThisEpoch(c.partition, request.leaderEpoch) THEN "NOT_LEADER_FOR_PARTITION"  \* ISR-5
    ELSE IF ~IsIsr(c.partition, request.isr) THEN "INVALID_REQUEST"
    ELSE "NONE"                                                                         \* ISR-7

\* IsrChange: [c, error, result], where result is None beside an error.
HandleIsrChange(c, node, request) ==
    LET result == IsrResult(c, request)
        changed == IF result # "NONE" \/ request.isr = c.partition.isr THEN c
                   ELSE WritePartition(c, [c.partition EXCEPT !.isr = request.isr])
    IN  IF node # c.active                                                              \* ISR-2
        THEN [c |-> c, error |-> "NOT_CONTROLLER", result |-> None]
        ELSE IF ~MayChangeIsr(c, request.broker, request.incarnation)
        THEN [c |-> c, error |-> "INVALID_INCARNATION_ID", result |-> None]
        ELSE [c |-> changed, error |-> "NONE", result |-> result]                       \* ISR-8

(***************************************************************************)
(* The store, which is there whoever is the controller.                    *)
(***************************************************************************)
\* A process starts: its incarnation id is the transaction id of its registration.      (INC-1, INC-2)
WriteRegistration(c, id) ==
    LET incarnation == c.lastTransaction + 1
        ids == DOMAIN c.registrations \union {id}
    IN  [c EXCEPT !.lastTransaction = incarnation,
                  !.registrations = [other \in ids |-> IF other = id THEN incarnation ELSE @[other]]]

\* The session of the registered process is over.                                       (BSTATE-10)
RemoveRegistration(c, id) ==
    LET removed == [c EXCEPT !.registrations = [other \in DOMAIN @ \ {id} |-> @[other]]]
    IN  Declare(removed, id, [c.brokers[id] EXCEPT !.state = "INACTIVE"])
================================================================================
