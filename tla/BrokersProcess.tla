---------------------------- MODULE BrokersProcess -----------------------------
(***************************************************************************)
(* A broker process of KIP-343: heartbeats, its fence, its wishes for ISRs.*)
(*                                                                         *)
(* A handler yields work: [b, sends, forgets, stops, accepts] - the        *)
(* process afterwards, the requests it sends, the kinds of requests whose  *)
(* answers it will drop, whether it ends, and whether it takes a request   *)
(* of a client.                                                            *)
(*                                                                         *)
(* The reference: reference/brokers/metadata_heartbeat.py, fencing.py,     *)
(* shutdown.py, isr_wishes.py, isr_change.py, pending_isrs.py, metadata.py,*)
(* clients.py.                                                             *)
(***************************************************************************)
EXTENDS BrokersController

CONSTANTS
    BrokerTimeout,      \* in ticks of the broker's clock; None: untimed, or the broker never fences itself
    RejectionFences,    \* FENCE-6: whether a process fences itself when it hears of a later life
    Contact,            \* HEARTBEAT-10: "success" or "any-answer"
    ContactTime         \* FENCE-8: "answer" or "request"

(***************************************************************************)
(*   b.controller     the node it takes for the controller, or None        *)
(*   b.awaiting       its requests under way: "heartbeat", "isr"           *)
(*   b.partition      what it knows of the partition, None: nothing        *)
(*   b.visible        the brokers that it shows to clients: id -> life     *)
(*   b.pending        [leaderEpoch, partitionEpoch, isr, refused] asked    *)
(*                    for and not known to be in force, or None            *)
(*   b.accepted       requests of clients taken and not completed          *)
(*   b.wish, b.state  the state it asks for, and the one it was given last *)
(*   b.ticks          since it reached the controller; b.requestTicks:     *)
(*                    since it sent the heartbeat under way                *)
(*   b.superseded     it was told that another process has its id          *)
(***************************************************************************)
\* Fenced until it reaches the controller.                                              (FENCE-9)
Starting(id, incarnation) ==
    [id |-> id, incarnation |-> incarnation, controller |-> 1, controllerEpoch |-> 0, awaiting |-> {},
     partition |-> None, visible |-> <<>>, pending |-> None, accepted |-> 0, ended |-> FALSE,
     wish |-> "ACTIVE", state |-> "INITIAL", fenced |-> TRUE, ticks |-> 0, requestTicks |-> 0,
     superseded |-> FALSE]

Gone(b) == [Starting(b.id, b.incarnation) EXCEPT !.controller = None, !.ended = TRUE]

Serves(b) == b # None /\ ~b.ended /\ ~b.fenced

Work(b) == [b |-> b, sends |-> {}, forgets |-> {}, stops |-> FALSE, accepts |-> FALSE]

CanSend(b, api) == b.controller # None /\ api \notin b.awaiting

SendRequest(w, api, request) ==
    [w EXCEPT !.b.awaiting = @ \union {api}, !.sends = @ \union {request}]

Least(a, b) == IF a < b THEN a ELSE b

(***************************************************************************)
(* The fence.                                                              *)
(***************************************************************************)
Fence(b) == [b EXCEPT !.ticks = 0, !.fenced = TRUE]                                     \* FENCE-2

\* The time-out is over (FENCE-1): with clocks when ticks say so, without them at any time.
ContactLost(b) == Work(Fence(b))

TickOfProcess(b) ==
    LET sent == ContactTime = "request" /\ "heartbeat" \in b.awaiting
        noted == IF sent THEN [b EXCEPT !.requestTicks = Least(@ + 1, BrokerTimeout)] ELSE b
    IN  IF b.ended \/ BrokerTimeout = None THEN b
        ELSE IF b.fenced THEN noted
        ELSE IF b.ticks + 1 >= BrokerTimeout THEN Fence(noted)
        ELSE [noted EXCEPT !.ticks = @ + 1]

\* A heartbeat was successful.                                                          (FENCE-3, FENCE-8)
ReachedController(b) ==
    IF BrokerTimeout # None /\ b.requestTicks >= BrokerTimeout
    THEN [b EXCEPT !.requestTicks = 0]
    ELSE [b EXCEPT !.ticks = b.requestTicks, !.requestTicks = 0, !.fenced = FALSE]

AnsweredWithError(b) ==                                                                 \* HEARTBEAT-10
    [b EXCEPT !.requestTicks = 0,
              !.ticks = IF Contact = "any-answer" /\ ~b.fenced THEN Least(@, b.requestTicks) ELSE @]

(***************************************************************************)
(* The end of a process.                                                   *)
(***************************************************************************)
\* BSTATE-9
EndIfDone(w) ==
    IF w.b.wish = "INACTIVE" /\ w.b.state = "INACTIVE" /\ w.b.accepted = 0
    THEN [w EXCEPT !.b = Gone(@), !.stops = TRUE]
    ELSE w

ShutdownWished(b) ==                                                                    \* BSTATE-5
    Work(IF b.wish = "ACTIVE" THEN [b EXCEPT !.wish = "STOPPING"] ELSE b)

LeadsPartition(b) == b.partition # None /\ b.partition.leader = b.id

\* Who is stopping and leads nothing any more wishes to be inactive.                    (BSTATE-9)
Proceed(b) ==
    IF b.wish = "STOPPING" /\ b.state = "STOPPING" /\ ~LeadsPartition(b)
    THEN [b EXCEPT !.wish = "INACTIVE"]
    ELSE b

(***************************************************************************)
(* Heartbeats.                                                             *)
(***************************************************************************)
SendHeartbeat(b) ==                                                                     \* HEARTBEAT-1, HEARTBEAT-2
    LET ready == Proceed(b)
    IN  SendRequest(Work(ready), "heartbeat",
                    [type |-> "MetadataHeartbeatRequest", broker |-> b.id, incarnation |-> b.incarnation,
                     target |-> ready.wish])

LoseController(b, node) == [b EXCEPT !.controller = IF @ = node THEN None ELSE @]

TakeHeartbeatAnswer(b, node, response) ==
    LET answered == [b EXCEPT !.awaiting = @ \ {"heartbeat"}]
        lost == IF response.error = "NOT_CONTROLLER" THEN LoseController(answered, node) ELSE answered
        refused == AnsweredWithError(lost)
        given == [answered EXCEPT !.state = response.state]
    IN  IF "heartbeat" \notin b.awaiting THEN Work(b)
        ELSE IF response.error # "NONE"
        THEN Work(IF response.error = "INVALID_INCARNATION_ID" /\ RejectionFences       \* FENCE-6
                  THEN Fence(refused)
                  ELSE refused)
        ELSE IF response.state = "INACTIVE"                                             \* FENCE-6
        THEN EndIfDone(Work(Fence([given EXCEPT !.requestTicks = 0])))
        ELSE Work(ReachedController(given))

(***************************************************************************)
(* ISRs.                                                                   *)
(***************************************************************************)
\* Asks for what is pending.  One request is under way at a time.
AskForPending(b) ==
    IF b.superseded \/ ~CanSend(b, "isr") THEN Work(b)                                  \* ISR-3
    ELSE SendRequest(Work(b), "isr",
                     [type |-> "IsrChangeRequest", broker |-> b.id, incarnation |-> b.incarnation,
                      leaderEpoch |-> b.pending.leaderEpoch, isr |-> b.pending.isr])

\* The leader wants another ISR.                                                        (ISR-1, ISR-9)
WishIsr(b, isr) ==
    LET known == b.partition
        pending == [leaderEpoch |-> known.leaderEpoch, partitionEpoch |-> known.partitionEpoch, isr |-> isr,
                    refused |-> FALSE]
    IN  IF b.superseded \/ ~CanSend(b, "isr") THEN Work(b)
        ELSE AskForPending([b EXCEPT !.pending = pending])

\* What is pending and was not refused is asked for again.                              (ISR-10)
MayAskAgain(b) == b.pending # None /\ ~b.superseded /\ CanSend(b, "isr") /\ ~b.pending.refused

\* What metadata settles: another leader epoch, or what was asked for is in force.      (ISR-10)
IsSettled(known, change) ==
    \/ known.leaderEpoch # change.leaderEpoch
    \/ known.partitionEpoch > change.partitionEpoch /\ known.isr = change.isr

Settle(b) ==
    IF b.pending # None /\ "isr" \notin b.awaiting
    THEN [b EXCEPT !.pending = IF IsSettled(b.partition, @) THEN None ELSE @]
    ELSE b

\* Whether what was told meanwhile is no newer than the wish.
StillMeant(b) ==
    /\ b.partition.leaderEpoch = b.pending.leaderEpoch
    /\ b.partition.partitionEpoch = b.pending.partitionEpoch

TakeIsrAnswer(b, node, response) ==
    LET answered == [b EXCEPT !.awaiting = @ \ {"isr"}]
        known == [answered EXCEPT !.pending = None]
        Learned == IF response.error = "NOT_CONTROLLER" THEN LoseController(answered, node)     \* ISR-2
                   ELSE IF response.error = "INVALID_INCARNATION_ID"                    \* ISR-3
                   THEN [answered EXCEPT !.superseded = TRUE]
                   ELSE IF response.result = "NONE" /\ StillMeant(b)                    \* ISR-8, ISR-9
                   THEN [known EXCEPT !.partition.isr = b.pending.isr]
                   ELSE IF response.result \in {"NONE", "INVALID_REQUEST"} THEN known
                   ELSE [answered EXCEPT !.pending.refused = TRUE]                      \* ISR-10
    IN  Work(IF "isr" \notin b.awaiting THEN b ELSE Settle(Learned))

(***************************************************************************)
(* Metadata, time-outs of requests, clients.                               *)
(***************************************************************************)
IsNewer(told, known) ==
    \/ told.leaderEpoch > known.leaderEpoch
    \/ told.leaderEpoch = known.leaderEpoch /\ told.partitionEpoch > known.partitionEpoch

\* BSTATE-8
TakeMetadata(b, update) ==
    LET partition == IF update.partition = None THEN b.partition
                     ELSE IF b.partition = None THEN update.partition
                     ELSE IF IsNewer(update.partition, b.partition) THEN update.partition ELSE b.partition
    IN  Work(IF update.controllerEpoch < b.controllerEpoch THEN b
             ELSE Settle([b EXCEPT !.controller = update.controller, !.controllerEpoch = update.controllerEpoch,
                                   !.visible = update.brokers, !.partition = partition]))

\* No answer came, and none will be taken.  A change of an ISR stays pending.            (ISR-10)
GiveUp(b, apis) ==
    LET given == [b EXCEPT !.awaiting = @ \ apis,
                           !.requestTicks = IF "heartbeat" \in apis THEN 0 ELSE @]
    IN  [Work(Settle(given)) EXCEPT !.forgets = apis]

ClientAsks(b) ==                                                                        \* BSTATE-4, FENCE-2
    IF b.fenced THEN Work(b) ELSE [Work([b EXCEPT !.accepted = @ + 1]) EXCEPT !.accepts = TRUE]

ClientIsDone(b) == EndIfDone(Work([b EXCEPT !.accepted = @ - 1]))
================================================================================
