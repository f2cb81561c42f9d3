-------------------------- MODULE BrokersDraftProcess --------------------------
(***************************************************************************)
(* A broker process of KIP-343: heartbeats, its fence, answers to the ISRs *)
(* that it proposes.                                                       *)
(*                                                                         *)
(* The reference: reference/brokers/metadata_heartbeat.py, fencing.py,     *)
(* shutdown.py, isr_change.py, metadata.py.                                *)
(***************************************************************************)
EXTENDS BrokersIsrProposals

CONSTANTS
    BrokerTimeout,      \* in ticks of the broker's clock; None: untimed, or the broker never fences itself
    RejectionFences,    \* FENCE-6: whether a process fences itself when it hears of a later life
    Contact,            \* HEARTBEAT-10: "success" or "any-answer"
    ContactTime         \* FENCE-8: "answer" or "request"

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
RequestStop(b) ==                                                                       \* BSTATE-5
    Work(IF b.target = "ACTIVE" THEN [b EXCEPT !.target = "STOPPING"] ELSE b)

\* A stopping process that leads nothing any more requests to be inactive.              (BSTATE-9)
Proceed(b) ==
    IF b.target = "STOPPING" /\ b.state = "STOPPING" /\ ~LeadsPartition(b)
    THEN [b EXCEPT !.target = "INACTIVE"]
    ELSE b

(***************************************************************************)
(* Heartbeats.                                                             *)
(***************************************************************************)
SendMetadataHeartbeat(b) ==                                                             \* HEARTBEAT-1, HEARTBEAT-2
    LET ready == Proceed(b)
    IN  SendRequest(Work(ready), "heartbeat",
                    [type |-> "MetadataHeartbeatRequest", broker |-> b.id, incarnation |-> b.incarnation,
                     target |-> ready.target])

TakeMetadataHeartbeatAnswer(b, node, response) ==
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
(* Answers to IsrChange.                                                   *)
(***************************************************************************)
\* Whether what was told meanwhile is no newer than the request.
StillMeant(b) ==
    /\ b.partition.leaderEpoch = b.pending.leaderEpoch
    /\ b.partition.partitionEpoch = b.pending.partitionEpoch

TakeIsrChangeAnswer(b, node, response) ==
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
(* Metadata, and time-outs of requests.                                    *)
(***************************************************************************)
\* BSTATE-8
TakeMetadata(b, update) ==
    LET partition == IF update.partition = None THEN b.partition ELSE PartitionAfter(b, update.partition)
    IN  Work(IF update.controllerEpoch < b.controllerEpoch THEN b
             ELSE Settle([b EXCEPT !.controller = update.controller, !.controllerEpoch = update.controllerEpoch,
                                   !.visible = update.brokers, !.partition = partition]))

\* The time since a heartbeat was sent that is given up says nothing any more.
ForgetTimes(b, apis) == IF "heartbeat" \in apis THEN [b EXCEPT !.requestTicks = 0] ELSE b
================================================================================
