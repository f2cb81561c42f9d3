-------------------------- MODULE BrokersControlSteps --------------------------
(***************************************************************************)
(* Steps of the controller.  m is the message that arrives, None if there  *)
(* is none; net is the network without it.                                 *)
(*                                                                         *)
(* The checker: model_check/systems/brokers/control.py.                            *)
(***************************************************************************)
EXTENDS BrokersNetwork

IsOf(m, id, life) ==
    IF m = None THEN FALSE
    ELSE IsRequest(m) /\ m.payload.broker = id /\ m.payload.incarnation = life

Update(told) == [key \in DOMAIN told \union {"type"} |-> IF key = "type" THEN "MetadataUpdate" ELSE told[key]]

\* All visible processes are told, if there is anything new to be told; as shipped they read it.    (BSTATE-8)
Told(before, after, homes, m) ==
    LET HomeOf(id) == LET life == LifeOf(after, id)
                      IN  IF life = None THEN None
                          ELSE IF IsOf(m, id, life) THEN m.source
                          ELSE IF life \in DOMAIN homes THEN homes[life] ELSE None
        homesOfAll == {HomeOf(id) : id \in VisibleIds(after)} \ {None}
    IN  IF ~IsDraft THEN {}
        ELSE IF Metadata(before) = Metadata(after) THEN {}
        ELSE {Flying(Controller, home, None, Update(Metadata(after))) : home \in homesOfAll}

\* The controller is c from here on, sent is what it sends beside what it tells.
ControlStep(c, homes, net, sent, m, event, recorded) ==
    LET before == control.controller
    IN  /\ control' = [control EXCEPT !.controller = c, !.homes = homes,
                                      !.leaving = LeavingAfter(@, event, c)]
        /\ network' = WithSent(net, Told(before, c, homes, m) \union sent)
        /\ history' = Declared(recorded.history, HeldLives(before), HeldLives(c), RunningLives)
        /\ broken' = (recorded.broken \union ControllerBroken(control.leaving, before, event, c))
                     \intersect Judged
        /\ UNCHANGED <<machine, time>>

Nothing == Recorded(history, {})

(***************************************************************************)
(* Messages.                                                               *)
(***************************************************************************)
\* What the history takes note of: a heartbeat that is accepted.
HeardOf(request, response) ==
    LET Sender == control.controller.registrations[request.broker].incarnation  \* as the broker epoch is its
    IN  CASE response.error # "NONE" -> Nothing
          [] request.type = "MetadataHeartbeatRequest" ->
                Heard(history, request.broker, request.incarnation, request.incarnation, RunningLives)
          [] request.type = "BrokerHeartbeatRequest" ->
                Heard(history, request.broker, request.epoch, Sender, RunningLives)
          [] OTHER -> Nothing

RequestArrives(m, net) ==
    LET handled == Handle(control.controller, m.node, m.payload)
        replies == IF m.answerable THEN {Flying(Controller, m.source, m.node, handled.response)} ELSE {}
    IN  ControlStep(handled.c, control.homes, net, replies, m, RequestEvent(m, handled.response),
                    HeardOf(m.payload, handled.response))

\* A process reads the metadata log (what shipped).
LogIsRead(m, net) ==
    LET c == control.controller
    IN  ControlStep(c, control.homes, net, {Flying(Controller, m.source, None, Update(Metadata(c)))}, m,
                    OtherEvent, Nothing)

\* A process that starts registers in the store (the draft).
RegistrationArrives(m, net) ==
    LET after == WriteRegistration(control.controller, m.payload.broker)
        life == after.lastTransaction
        registered == [type |-> "StoreRegistered", broker |-> m.payload.broker, incarnation |-> life]
    IN  ControlStep(after, Put(control.homes, life, m.source), net,
                    {Flying(Controller, m.source, None, registered)}, m, OtherEvent, Nothing)

\* The session of a process in the store is over; a later registration is not touched by that.
SessionEnds(m, net) ==
    LET c == control.controller
        id == m.payload.broker
        mine == id \in DOMAIN c.registrations /\ c.registrations[id] = m.payload.incarnation
    IN  IF mine
        THEN ControlStep(RemoveRegistration(c, id), control.homes, net, {}, m, OtherEvent, Nothing)
        ELSE /\ network' = net
             /\ broken' = {}
             /\ UNCHANGED <<control, machine, time, history>>

DeliverToController(m, net) ==
    /\ control.left = 0
    /\ CASE IsRequest(m) -> RequestArrives(m, net)
         [] m.payload.type = "ReadMetadata" -> LogIsRead(m, net)
         [] m.payload.type = "StoreRegistration" -> RegistrationArrives(m, net)
         [] m.payload.type = "SessionGone" -> SessionEnds(m, net)

(***************************************************************************)
(* What happens at the controller without a message.                       *)
(***************************************************************************)
ControlAct(c, event, price) ==
    /\ control.left = 0
    /\ Affordable(price)
    /\ budget' = Paid(price)
    /\ ControlStep(c, control.homes, network, {}, None, event, Nothing)

IsSilent(id) == TimedLife(control.controller, id) \in control.silent \union {None}

\* The time of a broker is over.                                                        (HEARTBEAT-7, HBK-6)
TimeOut(id) ==
    /\ ~IsTimed
    /\ SilentOnly => IsSilent(id)
    /\ HasTimer(control.controller, id)
    /\ ControlAct(TimedOut(control.controller, id), TimeOutEvent(id), "timeouts")

FailOver(node) ==
    /\ node # control.controller.active
    /\ ControlAct(TakeOver(control.controller, node), FailoverEvent, "failovers")

MoveLeaderAway ==                                                                       \* BSTATE-5
    /\ IsDraft
    /\ LeaderThatMoves(control.controller) # None
    /\ ControlAct(MoveLeader(control.controller), OtherEvent, "free")

\* The clock of the controller moves: once, or more often where it drifts.
ControlTakesTurn ==
    LET before == control.controller
        first == ControllerTicks(before)
        second == ControllerTicks(first)
        twice == control.moves = 2
        last == IF twice THEN second ELSE first
        leaving == LeavingAfter(control.leaving, TickEvent, first)
        told == Told(before, first, control.homes, None)
                \union (IF twice THEN Told(first, second, control.homes, None) ELSE {})
        violated == ControllerBroken(control.leaving, before, TickEvent, first)
                    \union (IF twice THEN ControllerBroken(leaving, first, TickEvent, second) ELSE {})
    IN  /\ HasTurn(control)
        /\ control' = [ControlAfterTurn EXCEPT
                        !.controller = last, !.turn = 0, !.moves = 0,
                        !.leaving = IF twice THEN LeavingAfter(leaving, TickEvent, second) ELSE leaving]
        /\ machine' = MachinesAfterTurn
        /\ time' = TimeAfterTurn
        /\ network' = WithSent(network, told)
        /\ history' = Declared(history, HeldLives(before), HeldLives(last), RunningLives)
        /\ broken' = violated \intersect Judged
        /\ UNCHANGED budget
================================================================================
