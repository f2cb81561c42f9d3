-------------------------- MODULE BrokersControlChecks --------------------------
(***************************************************************************)
(* What a single step of the controller is judged by: by what it changes,  *)
(* and what was asked and answered; not by what decided it.                *)
(*                                                                         *)
(* event is what happens: [type |-> "request", node, request, response],   *)
(* [type |-> "time-out", broker], or [type] alone: "tick", "failover",     *)
(* "other".                                                                *)
(*                                                                         *)
(* leaving is who shuts down in order, noted from what was asked and       *)
(* answered: broker id -> the offset of the metadata log that every other  *)
(* active broker has to have read before it may go (what shipped).         *)
(*                                                                         *)
(* The checker: model_check/systems/brokers/control_checks.py,                     *)
(* registration_checks.py, shutdown_checks.py.                             *)
(***************************************************************************)
EXTENDS BrokersHistory

RequestEvent(m, response) == [type |-> "request", node |-> m.node, request |-> m.payload, response |-> response]
TimeOutEvent(id) == [type |-> "time-out", broker |-> id]
TickEvent == [type |-> "tick"]
FailoverEvent == [type |-> "failover"]
OtherEvent == [type |-> "other"]

Unless(holds, property) == IF holds THEN {} ELSE {property}

Asks(event, type) == IF event.type = "request" THEN event.request.type = type ELSE FALSE
\* Such a request was answered without an error, and by the controller itself.
Grants(before, event, type) ==
    Asks(event, type) /\ event.node = before.active /\ event.response.error = "NONE"

UnfencedIn(c) == {id \in DOMAIN c.registrations : ~c.registrations[id].fenced}

(***************************************************************************)
(* ISRs and metadata.                                                      *)
(***************************************************************************)
IsWellFormed(partition) ==
    /\ partition.isr # {}
    /\ partition.leader = None \/ partition.leader \in partition.isr
    /\ partition.isr \subseteq {Replicas[k] : k \in Ranks}

\* What shipped: a fenced broker leads, or is in an ISR that has others.
HasFencedMember(c) ==
    LET fenced == DOMAIN c.registrations \ UnfencedIn(c)
    IN  IF c.partition = None THEN FALSE
        ELSE \/ c.partition.leader \in fenced
             \/ Cardinality(c.partition.isr) > 1 /\ fenced \intersect c.partition.isr # {}

HidesInactive(c) ==
    IF IsDraft THEN \A id \in VisibleIds(c) : StateOf(c, id) # "INACTIVE"
    ELSE VisibleIds(c) \subseteq UnfencedIn(c) /\ ~HasFencedMember(c)

IsOfRegistered(c, request) ==
    /\ request.broker \in DOMAIN c.registrations
    /\ IF IsDraft THEN c.registrations[request.broker] = request.incarnation
       ELSE c.registrations[request.broker].epoch = request.epoch

\* Whether nothing of a request was applied, by what its answer says.
IsRefused(response) ==
    IF response.error # "NONE" THEN TRUE
    ELSE IF response.type = "IsrChangeResponse" THEN response.result # "NONE"
    ELSE response.result.error \notin {"NONE", "NEW_LEADER_ELECTED"}

IsrBroken(before, event, after) ==
    LET request == event.request
        leads == /\ before.partition.leader = request.broker
                 /\ before.partition.leaderEpoch = request.leaderEpoch
                 /\ IsDraft \/ before.partition.partitionEpoch = request.partitionEpoch
    IN  IF ~(Asks(event, "IsrChangeRequest") \/ Asks(event, "AlterPartitionRequest")) THEN {}
        ELSE Unless(\/ before.partition = after.partition
                    \/ event.node = before.active /\ leads /\ IsOfRegistered(before, request),
                    "IsrChangedByLeaderOnly")
             \union Unless(~IsRefused(event.response) \/ before = after, "RejectedIsrChangeHasNoEffect")

\* The draft: a heartbeat of a former life changes nothing.
LifeBroken(before, event, after) ==
    LET known == before.brokers[event.request.broker].incarnation
    IN  IF ~Asks(event, "MetadataHeartbeatRequest") THEN {}
        ELSE Unless(known = None \/ event.request.incarnation >= known \/ after = before,
                    "IncarnationMonotone")

(***************************************************************************)
(* Registrations (what shipped).                                           *)
(***************************************************************************)
\* Whether a broker is unfenced by a heartbeat of its own life that says it has caught up.    (HBK-2)
IsUnfencedInOrder(before, event, after, id) ==
    /\ Grants(before, event, "BrokerHeartbeatRequest")
    /\ event.request.broker = id
    /\ event.request.epoch = after.registrations[id].epoch
    /\ event.request.offset >= after.registrations[id].epoch

IsNewLife(before, event, id, now) ==
    /\ Grants(before, event, "BrokerRegistrationRequest")
    /\ event.request.broker = id
    /\ event.request.incarnation = now.incarnation
    /\ id \in DOMAIN before.registrations => /\ before.registrations[id].incarnation # now.incarnation
                                             /\ id \notin DOMAIN before.sessions
    /\ now = [incarnation |-> now.incarnation, epoch |-> before.endOffset, fenced |-> TRUE,
              inControlledShutdown |-> FALSE]

\* Whether a registration changes by a new life, by a heartbeat of its own, or is fenced in time.
ChangesInOrder(before, event, id, now) ==
    LET was == before.registrations[id]
        same == IF id \in DOMAIN before.registrations
                THEN was.incarnation = now.incarnation /\ was.epoch = now.epoch
                ELSE FALSE
    IN  IF ~same THEN IsNewLife(before, event, id, now)
        ELSE IF event.type \in {"time-out", "tick"} THEN now = [was EXCEPT !.fenced = TRUE]
        ELSE /\ Grants(before, event, "BrokerHeartbeatRequest")
             /\ event.request.broker = id
             /\ event.request.epoch = now.epoch

\* What sessions have to be after a step.
ExpectedSessions(before, event, after) ==
    LET old == before.sessions
        id == event.request.broker
        \* From which offset on a broker may go is the subject of another property.
        own == IF id \in DOMAIN after.sessions THEN after.sessions[id].shutdownOffset ELSE None
        inTime == {other \in DOMAIN old : old[other].ticks + 1 < ControllerTimeout}
    IN  CASE event.type = "failover" ->
                [other \in UnfencedIn(after) |-> [ticks |-> 0, offset |-> -1, shutdownOffset |-> None]]
          [] event.type = "time-out" -> Without(old, event.broker)
          [] event.type = "tick" -> [other \in inTime |-> [old[other] EXCEPT !.ticks = @ + 1]]
          [] Grants(before, event, "BrokerHeartbeatRequest") ->
                Put(old, id, [ticks |-> 0, offset |-> event.request.offset, shutdownOffset |-> own])
          [] OTHER -> old

RegistrationBroken(before, event, after) ==
    LET was == before.registrations
        now == after.registrations
        changed == {id \in DOMAIN now : id \in DOMAIN was => was[id] # now[id]}
        unfenced == {id \in changed : ~now[id].fenced /\ (id \in DOMAIN was => was[id].fenced)}
    IN  Unless(\A id \in unfenced : IsUnfencedInOrder(before, event, after, id), "UnfencedBrokerHasCaughtUp")
        \union Unless(/\ DOMAIN was \subseteq DOMAIN now
                      /\ \A id \in changed : ChangesInOrder(before, event, id, now[id]),
                      "NewestRegistrationCounts")
        \union Unless(after.sessions = ExpectedSessions(before, event, after), "SessionsSayWhatWasHeard")

(***************************************************************************)
(* Controlled shutdown.                                                    *)
(***************************************************************************)
IsAnsweredHeartbeat(event) ==
    IF Asks(event, "BrokerHeartbeatRequest") THEN event.response.error = "NONE" ELSE FALSE

\* leaving after a step.  A new controller knows nothing of it.                         (HBK-11)
LeavingAfter(leaving, event, after) ==
    LET request == event.request
        noted == IF ~IsAnsweredHeartbeat(event) THEN leaving
                 ELSE IF event.response.shouldShutDown THEN Without(leaving, request.broker)
                 ELSE IF request.wantShutDown /\ request.broker \notin DOMAIN leaving
                 THEN Put(leaving, request.broker, after.endOffset - 1)
                 ELSE leaving
    IN  IF IsDraft \/ event.type = "failover" THEN <<>>
        ELSE [id \in DOMAIN noted \intersect UnfencedIn(after) |-> noted[id]]

\* Whether the partition is led by a broker, or waits for it.
IsNeeded(c, id) ==
    IF c.partition = None THEN FALSE
    ELSE c.partition.leader = id \/ (Cardinality(c.partition.isr) > 1 /\ id \in c.partition.isr)

\* Whether a broker may go: it led nothing, and all active ones have read so.           (HBK-5)
MayGo(leaving, before, id) ==
    LET since == IF id \in DOMAIN leaving THEN leaving[id] ELSE -1
        active == UnfencedIn(before) \ DOMAIN leaving
    IN  /\ before.partition # None => before.partition.leader # id
        /\ \A other \in active \intersect DOMAIN before.sessions : before.sessions[other].offset >= since

HandsOver(leaving, before, event, after) ==
    LET id == event.request.broker
        goes == event.response.shouldShutDown
        known == after.registrations[id]
    IN  IF ~IsAnsweredHeartbeat(event) THEN TRUE
        ELSE IF ~event.request.wantShutDown /\ id \notin DOMAIN leaving THEN ~goes
        ELSE IF id \notin DOMAIN after.registrations \/ IsNeeded(after, id) THEN FALSE
        ELSE IF ~goes THEN known.inControlledShutdown /\ ~known.fenced
        ELSE known.fenced /\ MayGo(leaving, before, id)

\* Whether a broker is registered in the life that is meant, and neither fenced nor leaving.  (AISR-4)
MayJoin(c, leaving, id, life) ==
    IF id \notin UnfencedIn(c) \/ id \in DOMAIN leaving THEN FALSE
    ELSE ~c.registrations[id].inControlledShutdown /\ life \in {-1, c.registrations[id].epoch}

MayLead(c, leaving, id) == IF IsDraft THEN StateOf(c, id) = "ACTIVE" ELSE MayJoin(c, leaving, id, -1)

\* Whether a new leader can lead and, as shipped, the members of a new ISR may be in it.
IsChosenWell(leaving, before, event, after) ==
    LET was == before.partition
        now == after.partition
        asked == event.request
    IN  IF was = now THEN TRUE
        ELSE /\ now.leader \in {None, was.leader} \/ MayLead(after, leaving, now.leader)
             /\ IsDraft \/ \A id \in now.isr \ was.isr : MayJoin(before, leaving, id, -1)
             /\ (Asks(event, "AlterPartitionRequest") /\ now.isr # was.isr) =>
                    \A id \in asked.isr : MayJoin(before, leaving, id, asked.lives[id])

ShutdownBroken(leaving, before, event, after) ==
    Unless(HandsOver(leaving, before, event, after), "ShutdownHandsLeadersOver")
    \union Unless(IsChosenWell(LeavingAfter(leaving, event, after), before, event, after),
                  "LeavingBrokerIsNotChosen")

(***************************************************************************)
(* All of it.                                                              *)
(***************************************************************************)
ControllerBroken(leaving, before, event, after) ==
    Unless(after.partition = None \/ IsWellFormed(after.partition), "IsrWellFormed")
    \union Unless(HidesInactive(after), "InactiveBrokerIsInvisible")
    \union IsrBroken(before, event, after)
    \union ShutdownBroken(leaving, before, event, after)
    \union (IF IsDraft THEN LifeBroken(before, event, after) ELSE RegistrationBroken(before, event, after))
================================================================================
