------------------------- MODULE BrokersShippedProcess -------------------------
(***************************************************************************)
(* A broker process as it shipped: its registration, heartbeats through its*)
(* life, answers to AlterPartition, the metadata log that it reads.        *)
(*                                                                         *)
(* The reference: reference/brokers/broker_registration.py,                *)
(* broker_heartbeat.py, alter_partition.py, shutdown.py, metadata.py.      *)
(***************************************************************************)
EXTENDS BrokersIsrProposals

(***************************************************************************)
(* Registration.                                                           *)
(***************************************************************************)
MayRegister(b) == b.epoch < 0 /\ CanSend(b, "registration")

SendRegistration(b) ==                                                                  \* REG-1
    SendRequest(Work(b), "registration",
                [type |-> "BrokerRegistrationRequest", broker |-> b.id, incarnation |-> b.incarnation])

\* After an error it tries again.
TakeRegistrationAnswer(b, node, response) ==
    LET answered == [b EXCEPT !.awaiting = @ \ {"registration"}]
    IN  Work(IF "registration" \notin b.awaiting THEN b
             ELSE IF response.error = "NOT_CONTROLLER" THEN LoseController(answered, node)
             ELSE IF response.error = "NONE" THEN [answered EXCEPT !.epoch = response.epoch]   \* REG-3
             ELSE answered)

(***************************************************************************)
(* Heartbeats.                                                             *)
(***************************************************************************)
MaySendBrokerHeartbeat(b) == b.epoch >= 0 /\ b.life # "SHUTTING_DOWN" /\ CanSend(b, "heartbeat")

\* A process that starts requests to stay fenced until it has caught up.               (HBK-1, HBK-9)
SendBrokerHeartbeat(b) ==
    SendRequest(Work(b), "heartbeat",
                [type |-> "BrokerHeartbeatRequest", broker |-> b.id, epoch |-> b.epoch, offset |-> b.offset,
                 wantFence |-> b.life = "STARTING",
                 wantShutDown |-> b.life = "PENDING_CONTROLLED_SHUTDOWN"])

\* Being fenced by the controller changes nothing of what it serves.                    (HBK-8, HBK-9)
AfterHeartbeatAnswer(b, response) ==
    CASE b.life = "STARTING" /\ response.caughtUp -> Work([b EXCEPT !.life = "RECOVERY"])
      [] b.life = "RECOVERY" /\ ~response.fenced -> Work([b EXCEPT !.life = "RUNNING"])
      [] b.life = "PENDING_CONTROLLED_SHUTDOWN" /\ response.shouldShutDown ->
            EndIfDone(Work([b EXCEPT !.life = "SHUTTING_DOWN"]))
      [] OTHER -> Work(b)

TakeBrokerHeartbeatAnswer(b, node, response) ==
    LET answered == [b EXCEPT !.awaiting = @ \ {"heartbeat"}]
    IN  IF "heartbeat" \notin b.awaiting THEN Work(b)
        ELSE IF response.error = "NOT_CONTROLLER" THEN Work(LoseController(answered, node))
        ELSE IF response.error # "NONE" THEN Work(answered)
        ELSE AfterHeartbeatAnswer(answered, response)

\* A request to shut the process down.                                                  (HBK-9)
RequestControlledShutdown(b) ==
    CASE b.life = "RUNNING" -> Work([b EXCEPT !.life = "PENDING_CONTROLLED_SHUTDOWN"])
      [] b.life \in {"STARTING", "RECOVERY"} -> EndIfDone(Work([b EXCEPT !.life = "SHUTTING_DOWN"]))
      [] OTHER -> Work(b)

(***************************************************************************)
(* Answers to AlterPartition.                                              *)
(***************************************************************************)
\* The new ISR is used. One of another leadership, or older than what is known, does not
\* end the change.                                                                     (AISR-5, AISR-6)
TakeNewIsr(b, result) ==
    IF b.partition = None \/ b.partition.leaderEpoch # result.leaderEpoch
          \/ result.partitionEpoch < b.partition.partitionEpoch
    THEN [b EXCEPT !.pending.refused = TRUE]
    ELSE IF result.partitionEpoch = b.partition.partitionEpoch THEN [b EXCEPT !.pending = None]
    ELSE [b EXCEPT !.pending = None, !.partition.isr = result.isr,
                   !.partition.partitionEpoch = result.partitionEpoch]

\* Of the errors only those of eligibility say that nothing was applied.                (AISR-6)
AfterAlterPartition(b, node, result) ==
    CASE result.error = "NONE" -> TakeNewIsr(b, result)
      [] result.error \in {"INELIGIBLE_REPLICA", "OPERATION_NOT_ATTEMPTED"} -> [b EXCEPT !.pending = None]
      [] result.error = "NOT_CONTROLLER" -> LoseController(b, node)
      [] OTHER -> [b EXCEPT !.pending.refused = TRUE]

TakeAlterPartitionAnswer(b, node, response) ==
    LET answered == [b EXCEPT !.awaiting = @ \ {"isr"}]
        lost == IF response.error = "NOT_CONTROLLER" THEN LoseController(answered, node) ELSE answered
    IN  Work(IF "isr" \notin b.awaiting THEN b
             ELSE IF response.result = None \/ b.pending = None THEN lost
             ELSE IF b.pending.refused THEN lost
             ELSE AfterAlterPartition(lost, node, response.result))

(***************************************************************************)
(* The metadata log, which is read from any offset to its end.  (HBK-10)   *)
(***************************************************************************)
ReadLog(b, update) ==
    LET known == [b EXCEPT !.controller = update.controller, !.controllerEpoch = update.controllerEpoch]
    IN  Work(IF update.controllerEpoch < b.controllerEpoch THEN b
             ELSE IF update.offset <= b.offset THEN known
             ELSE Settle([known EXCEPT !.offset = update.offset, !.visible = update.brokers,
                                       !.partition = PartitionAfter(b, update.partition)]))
================================================================================
