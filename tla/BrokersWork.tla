------------------------------ MODULE BrokersWork ------------------------------
(***************************************************************************)
(* A broker process as a value, in both forms, and what they share: clients*)
(* and the end of a process.                                               *)
(*                                                                         *)
(* A handler yields work: [b, sends, forgets, stops, accepts, completes] - *)
(* the process afterwards, the requests it sends, the kinds of requests    *)
(* whose answers it will drop, whether it ends, and whether it takes or    *)
(* completes a request of a client.                                        *)
(*                                                                         *)
(* The reference: reference/brokers/broker.py, work.py, starting.py,       *)
(* views.py, clients.py, shutdown.py.                                      *)
(***************************************************************************)
EXTENDS BrokersLeadership

(***************************************************************************)
(*   b.controller     the node it takes for the controller, or None        *)
(*   b.awaiting       its requests under way: "registration", "heartbeat", *)
(*                    "isr"                                                *)
(*   b.partition      what it knows of the partition, None: nothing        *)
(*   b.visible        the brokers that it shows to clients: id -> life     *)
(*   b.pending        an ISR asked for and not known to be in force, or    *)
(*                    None (BrokersIsrProposals)                           *)
(*   b.accepted       requests of clients taken and not completed          *)
(*                                                                         *)
(* The draft:                                                              *)
(*   b.target         the state it asks for                                *)
(*   b.state          the state it was given last                          *)
(*   b.ticks          since it reached the controller; b.requestTicks:     *)
(*                    since it sent the heartbeat under way                *)
(*   b.superseded     it was told that another process has its id          *)
(*                                                                         *)
(* What shipped:                                                           *)
(*   b.life           "STARTING", "RECOVERY", "RUNNING",                   *)
(*                    "PENDING_CONTROLLED_SHUTDOWN" or "SHUTTING_DOWN"     *)
(*   b.epoch          its broker epoch, -1: not registered                 *)
(*   b.offset         the last of the metadata log that it has read, or -1 *)
(***************************************************************************)
\* In the draft fenced until it reaches the controller.                                 (FENCE-9)
Starting(id, incarnation) ==
    IF IsDraft
    THEN [id |-> id, incarnation |-> incarnation, controller |-> 1, controllerEpoch |-> 0, awaiting |-> {},
          partition |-> None, visible |-> <<>>, pending |-> None, accepted |-> 0, ended |-> FALSE,
          target |-> "ACTIVE", state |-> "INITIAL", fenced |-> TRUE, ticks |-> 0, requestTicks |-> 0,
          superseded |-> FALSE]
    ELSE [id |-> id, incarnation |-> incarnation, controller |-> 1, controllerEpoch |-> 0, awaiting |-> {},
          partition |-> None, visible |-> <<>>, pending |-> None, accepted |-> 0, ended |-> FALSE,
          life |-> "STARTING", epoch |-> -1, offset |-> -1]

Gone(b) == [Starting(b.id, b.incarnation) EXCEPT !.controller = None, !.ended = TRUE]

\* Whether it accepts a new request of a client.                                        (FENCE-2, HBK-10)
Serves(b) ==
    IF b = None THEN FALSE
    ELSE IF b.ended THEN FALSE
    ELSE IF IsDraft THEN ~b.fenced ELSE b.life \in {"RUNNING", "PENDING_CONTROLLED_SHUTDOWN"}

Work(b) == [b |-> b, sends |-> {}, forgets |-> {}, stops |-> FALSE, accepts |-> FALSE, completes |-> FALSE]

CanSend(b, api) == b.controller # None /\ api \notin b.awaiting

SendRequest(w, api, request) ==
    [w EXCEPT !.b.awaiting = @ \union {api}, !.sends = @ \union {request}]

\* A node says that it is not the controller.
LoseController(b, node) == [b EXCEPT !.controller = IF @ = node THEN None ELSE @]

LeadsPartition(b) == b.partition # None /\ b.partition.leader = b.id

\* What it takes of the partition when it is told, if it knows something already.
NewerPartition(known, told) ==
    IF \/ told.leaderEpoch > known.leaderEpoch
       \/ told.leaderEpoch = known.leaderEpoch /\ told.partitionEpoch > known.partitionEpoch
    THEN told ELSE known

PartitionAfter(b, told) ==
    IF b.partition = None \/ told = None THEN told ELSE NewerPartition(b.partition, told)

(***************************************************************************)
(* The end of a process: the controller has let it go, and no accepted     *)
(* request is left.                                                        *)
(***************************************************************************)
IsLetGo(b) == IF IsDraft THEN b.target = "INACTIVE" /\ b.state = "INACTIVE" ELSE b.life = "SHUTTING_DOWN"

EndIfDone(w) ==                                                                         \* BSTATE-9, HBK-9
    IF IsLetGo(w.b) /\ w.b.accepted = 0 THEN [w EXCEPT !.b = Gone(@), !.stops = TRUE] ELSE w

(***************************************************************************)
(* Clients.                                                                *)
(***************************************************************************)
ClientAsks(b) ==                                                                        \* BSTATE-4, FENCE-2
    IF Serves(b) THEN [Work([b EXCEPT !.accepted = @ + 1]) EXCEPT !.accepts = TRUE] ELSE Work(b)

ClientIsDone(b) == EndIfDone([Work([b EXCEPT !.accepted = @ - 1]) EXCEPT !.completes = TRUE])
================================================================================
