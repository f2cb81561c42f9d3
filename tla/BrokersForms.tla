------------------------------ MODULE BrokersForms ------------------------------
(***************************************************************************)
(* The two forms of the protocol, as the model asks them: Form says which. *)
(*                                                                         *)
(* The reference: reference/brokers/step.py, starting.py.                  *)
(***************************************************************************)
EXTENDS BrokersDraftController, BrokersDraftProcess, BrokersShippedController, BrokersShippedProcess

(***************************************************************************)
(* The controller c.                                                       *)
(***************************************************************************)
Metadata(c) == IF IsDraft THEN DraftMetadata(c) ELSE ShippedMetadata(c)
VisibleIds(c) == DOMAIN Metadata(c).brokers

\* The processes that the controller holds to be active, or unfenced.
HeldLives(c) ==
    {IF IsDraft THEN LifeOf(c, id) ELSE c.registrations[id].incarnation : id \in VisibleIds(c)} \ {None}

\* A request arrives at a node: [c, response].
Handle(c, node, request) ==
    CASE request.type = "MetadataHeartbeatRequest" -> HandleMetadataHeartbeat(c, node, request)
      [] request.type = "IsrChangeRequest" -> HandleIsrChange(c, node, request)
      [] request.type = "BrokerRegistrationRequest" -> HandleBrokerRegistration(c, node, request)
      [] request.type = "BrokerHeartbeatRequest" -> HandleBrokerHeartbeat(c, node, request)
      [] request.type = "AlterPartitionRequest" -> HandleAlterPartition(c, node, request)

\* The time of a broker is over, if it has any.
HasTimer(c, id) == IF IsDraft THEN StateOf(c, id) # "INACTIVE" ELSE id \in DOMAIN c.sessions
TimedOut(c, id) == IF IsDraft THEN Expire(c, id) ELSE ExpireSession(c, id)

ControllerTicks(c) == IF IsDraft THEN DraftTicks(c) ELSE ShippedTicks(c)
TakeOver(c, node) == IF IsDraft THEN DraftTakeOver(c, node) ELSE ShippedTakeOver(c, node)

\* The process that the controller's timer of an id is about.
TimedLife(c, id) ==
    IF IsDraft THEN c.brokers[id].incarnation
    ELSE IF id \in DOMAIN c.registrations THEN c.registrations[id].incarnation ELSE None

(***************************************************************************)
(* A process b.                                                            *)
(***************************************************************************)
MaySendHeartbeat(b) == IF IsDraft THEN CanSend(b, "heartbeat") ELSE MaySendBrokerHeartbeat(b)
SendHeartbeat(b) == IF IsDraft THEN SendMetadataHeartbeat(b) ELSE SendBrokerHeartbeat(b)
ShutdownRequested(b) == IF IsDraft THEN RequestStop(b) ELSE RequestControlledShutdown(b)

TakeAnswer(b, node, response) ==
    CASE response.type = "MetadataHeartbeatResponse" -> TakeMetadataHeartbeatAnswer(b, node, response)
      [] response.type = "IsrChangeResponse" -> TakeIsrChangeAnswer(b, node, response)
      [] response.type = "BrokerRegistrationResponse" -> TakeRegistrationAnswer(b, node, response)
      [] response.type = "BrokerHeartbeatResponse" -> TakeBrokerHeartbeatAnswer(b, node, response)
      [] response.type = "AlterPartitionResponse" -> TakeAlterPartitionAnswer(b, node, response)

Read(b, update) == IF IsDraft THEN TakeMetadata(b, update) ELSE ReadLog(b, update)

\* No answer came, and none will be taken.  A change of an ISR stays pending.           (ISR-10, AISR-6)
GiveUp(b, apis) ==
    LET given == [b EXCEPT !.awaiting = @ \ apis]
        settled == IF "isr" \in apis THEN Settle(given) ELSE given
    IN  [Work(IF IsDraft THEN ForgetTimes(settled, apis) ELSE settled) EXCEPT !.forgets = apis]

\* The broker's own timer, which the form that shipped does not have.                   (HBK-10)
HasOwnTimer(b) == IsDraft /\ ~b.fenced

(***************************************************************************)
(* A cluster that runs: the brokers with these ids are active or unfenced, *)
(* and told everything.  The first incarnations are 1, 2, ...              *)
(***************************************************************************)
FirstLife(ids, id) == Cardinality({other \in ids : other <= id})

FirstPartition(ids, isr) ==
    LET leaders == {k \in Ranks : Replicas[k] \in isr \intersect ids}
    IN  IF Replicas = <<>> THEN None
        ELSE [leader |-> Replicas[Smallest(leaders)], leaderEpoch |-> 0, partitionEpoch |-> 0, isr |-> isr]

DraftFirstController(ids, isr) ==
    [active |-> 1, epoch |-> 1,
     registrations |-> [id \in ids |-> FirstLife(ids, id)],
     lastTransaction |-> Cardinality(ids),
     partition |-> FirstPartition(ids, isr),
     brokers |-> [id \in Ids |->
                    IF id \notin ids THEN NothingKnown
                    ELSE [incarnation |-> FirstLife(ids, id), state |-> "ACTIVE", ticks |-> 0]]]

\* The log has the partition, the registrations, and that each broker was unfenced.
ShippedFirstController(ids, isr) ==
    LET begin == IF Replicas = <<>> THEN 0 ELSE 1
        end == begin + 2 * Cardinality(ids)
    IN  [active |-> 1, epoch |-> 1,
         registrations |-> [id \in ids |-> [incarnation |-> FirstLife(ids, id),
                                            epoch |-> begin + FirstLife(ids, id) - 1,
                                            fenced |-> FALSE, inControlledShutdown |-> FALSE]],
         endOffset |-> end,
         partition |-> FirstPartition(ids, isr),
         sessions |-> [id \in ids |-> [NewSession EXCEPT !.offset = end - 1]]]

FirstController(ids, isr) == IF IsDraft THEN DraftFirstController(ids, isr) ELSE ShippedFirstController(ids, isr)

FirstProcess(c, ids, id) ==
    LET told == Metadata(c)
        process == [Starting(id, FirstLife(ids, id)) EXCEPT
                        !.controllerEpoch = 1, !.visible = told.brokers, !.partition = told.partition]
    IN  IF IsDraft THEN [process EXCEPT !.state = "ACTIVE", !.fenced = FALSE]
        ELSE [process EXCEPT !.life = "RUNNING", !.epoch = c.registrations[id].epoch, !.offset = told.offset]
================================================================================
