-------------------------- MODULE BrokersProcessChecks --------------------------
(***************************************************************************)
(* What a single step of a process is judged by.                           *)
(*                                                                         *)
(* event is what happens: [type |-> "answer", response], or [type] alone:  *)
(* "tick", "contact lost", "shutdown", "other".                            *)
(*                                                                         *)
(* The checker: model_check/systems/brokers/process_checks.py.                     *)
(***************************************************************************)
EXTENDS BrokersControlChecks

AnswerEvent(m) == [type |-> "answer", response |-> m.payload]
ContactLostEvent == [type |-> "contact lost"]
ShutdownEvent == [type |-> "shutdown"]

\* Whether an answer is the one that the heartbeat under way awaits.
AnswersHeartbeat(before, event) ==
    IF event.type # "answer" THEN FALSE
    ELSE /\ event.response.type \in {"MetadataHeartbeatResponse", "BrokerHeartbeatResponse"}
         /\ "heartbeat" \in before.awaiting

(***************************************************************************)
(* The end of a process.                                                   *)
(***************************************************************************)
\* What shipped: it goes through its life in order, and ends when it is told that it may.
StopsByLife(before, event, after) ==
    LET ends == after.ended \/ after.life = "SHUTTING_DOWN"
        requests == before.life = "PENDING_CONTROLLED_SHUTDOWN"
        told == IF AnswersHeartbeat(before, event)
                THEN event.response.error = "NONE" /\ event.response.shouldShutDown
                ELSE FALSE
        next == IF requests \/ event = ShutdownEvent THEN "PENDING_CONTROLLED_SHUTDOWN" ELSE "RUNNING"
    IN  IF before.life = "SHUTTING_DOWN" THEN ends
        ELSE IF before.life \in {"STARTING", "RECOVERY"} THEN ends => event = ShutdownEvent
        ELSE IF ends THEN requests /\ told
        ELSE after.life = next

\* The draft: it requests to be inactive when it leads nothing, and ends as such.
StopsByState(before, event, after) ==
    LET answered == IF AnswersHeartbeat(before, event) THEN event.response.state # None ELSE FALSE
        state == IF answered THEN event.response.state ELSE before.state
    IN  IF after.ended THEN before.target = "INACTIVE" /\ state = "INACTIVE"
        ELSE IF after.state # state THEN FALSE
        ELSE IF after.target = before.target THEN TRUE
        ELSE IF after.target = "STOPPING" THEN before.target = "ACTIVE" /\ event = ShutdownEvent
        ELSE /\ after.target = "INACTIVE" /\ before.target = "STOPPING"
             /\ before.state = "STOPPING" /\ ~LeadsPartition(before)

(***************************************************************************)
(* Clients: what was accepted is neither dropped, nor added to by a process*)
(* that was let go.                                                        *)
(***************************************************************************)
CompletesAccepted(before, w) ==
    LET left == before.accepted + (IF w.accepts THEN 1 ELSE 0) - (IF w.completes THEN 1 ELSE 0)
        gone == IF before.ended THEN TRUE ELSE ~IsDraft /\ before.life = "SHUTTING_DOWN"
    IN  left = w.b.accepted /\ left >= 0 /\ ~(w.accepts /\ gone)

(***************************************************************************)
(* The draft with clocks: time is counted for each request by itself, and  *)
(* not for one given up.                                        (FENCE-8)  *)
(***************************************************************************)
CountsOfRequest(before, event, after) ==
    LET counted == /\ ContactTime = "request"
                   /\ "heartbeat" \in after.awaiting /\ "heartbeat" \in before.awaiting
        age == before.requestTicks + (IF event = TickEvent THEN 1 ELSE 0)
    IN  after.requestTicks = IF counted THEN Least(age, BrokerTimeout) ELSE 0

CountsOfContact(before, event, after) ==
    LET age == before.requestTicks
        awaited == AnswersHeartbeat(before, event)
        granted == IF awaited THEN event.response.error = "NONE" ELSE FALSE
        lonely == before.ticks + 1 >= BrokerTimeout
        renews == awaited /\ Contact = "any-answer"
    IN  IF granted
        THEN IF event.response.state = "INACTIVE" THEN after.fenced /\ after.ticks = 0
             ELSE IF age < BrokerTimeout THEN ~after.fenced /\ after.ticks = age
             ELSE after.fenced = before.fenced /\ after.ticks = before.ticks
        ELSE IF event = TickEvent /\ ~before.fenced
        THEN after.fenced = lonely /\ after.ticks = IF lonely THEN 0 ELSE before.ticks + 1
        ELSE IF after.fenced THEN after.ticks = 0
        ELSE after.ticks = IF renews THEN Least(before.ticks, age) ELSE before.ticks

CountsContact(before, event, after) ==
    IF after.ended \/ BrokerTimeout = None THEN TRUE
    ELSE CountsOfRequest(before, event, after) /\ CountsOfContact(before, event, after)

(***************************************************************************)
(* All of it; w is the work that is done.                                  *)
(***************************************************************************)
ProcessBroken(before, event, w) ==
    Unless(IF IsDraft THEN ~(w.accepts /\ before.fenced) ELSE TRUE, "FencedBrokerServesNothingNew")
    \union Unless(IF IsDraft THEN StopsByState(before, event, w.b) ELSE StopsByLife(before, event, w.b),
                  "StopsOnlyWhenLetGo")
    \union Unless(CompletesAccepted(before, w), "AcceptedRequestsAreCompleted")
    \union Unless(IF IsDraft THEN CountsContact(before, event, w.b) ELSE TRUE, "ContactCountsByItsRequest")
================================================================================
