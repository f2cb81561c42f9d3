-------------------------- MODULE BrokersProcessSteps --------------------------
(***************************************************************************)
(* Steps of processes and of the machines that they run on.  m is the      *)
(* message that arrives, net the network without it; b is the process at a *)
(* place.                                                                  *)
(*                                                                         *)
(* The checker: model_check/systems/brokers/machine.py.                            *)
(***************************************************************************)
EXTENDS BrokersControlSteps

SessionIsGone(place, b) ==
    IF IsDraft /\ Sessions
    THEN {Flying(place, Controller, None,
                 [type |-> "SessionGone", broker |-> b.id, incarnation |-> b.incarnation])}
    ELSE {}

\* What goes out; into a link that is cut nothing goes.
Outgoing(place, before, w, cut) ==
    (IF cut THEN {} ELSE {Flying(place, Controller, w.b.controller, request) : request \in w.sends})
    \union (IF w.stops THEN SessionIsGone(place, before) ELSE {})

\* The network and the history after the work w of the process at place; h: the history so far.
WorkDone(place, local, w, net, h, lonely, violated) ==
    LET before == machine[place].broker
        recorded == IF Serves(before) = Serves(w.b) THEN Recorded(h, {})
                    ELSE Served(h, before.incarnation, HeldLives(control.controller), Serves(w.b), lonely)
        left == IF w.stops \/ w.forgets # {} THEN AfterForgetting(net, place, w.forgets, w.stops) ELSE net
    IN  /\ network' = left (+) SetToBag(Outgoing(place, before, w, local.cut))
        /\ history' = IF w.stops THEN Ended(recorded.history, before.incarnation) ELSE recorded.history
        /\ broken' = (recorded.broken \union violated) \intersect Judged

ProcessStep(place, local, w, net, h, event) ==
    LET before == machine[place].broker
    IN  /\ machine' = [machine EXCEPT ![place] = [local EXCEPT !.broker = w.b]]
        /\ WorkDone(place, local, w, net, h, event = ContactLostEvent, ProcessBroken(before, event, w))
        /\ UNCHANGED time

(***************************************************************************)
(* Messages.                                                               *)
(***************************************************************************)
\* Nothing comes of a message.
Dropped(net) ==
    /\ network' = net
    /\ broken' = {}
    /\ UNCHANGED <<control, machine, time, history>>

IsRegistered(place, message, net) ==
    IF ~machine[place].registers THEN Dropped(net)
    ELSE /\ machine' = [machine EXCEPT ![place].registers = FALSE,
                                       ![place].broker = Starting(message.broker, message.incarnation)]
         /\ network' = net
         /\ broken' = {}
         /\ UNCHANGED <<control, time, history>>

\* A process that goes is silent from here on.
ControlAfter(b, w) == control' = IF w.stops THEN WithSilence(b.incarnation, TRUE) ELSE control

TakesMessage(place, b, m, net) ==
    LET local == machine[place]
        w == IF m.payload.type = "MetadataUpdate" THEN Read(b, m.payload) ELSE TakeAnswer(b, m.node, m.payload)
        event == IF m.payload.type = "MetadataUpdate" THEN OtherEvent ELSE AnswerEvent(m)
        reads == local.reads /\ m.payload.type # "MetadataUpdate"
        h == IF ApiOf(m) = "heartbeat" THEN Answered(history, b.incarnation) ELSE history
    IN  /\ ProcessStep(place, [local EXCEPT !.reads = reads], w, net, h, event)
        /\ ControlAfter(b, w)

DeliverToProcess(m, net) ==
    LET local == machine[m.dest]
        b == local.broker
    IN  /\ local.left = 0
        /\ IF m.payload.type = "StoreRegistered" THEN IsRegistered(m.dest, m.payload, net)
           ELSE IF b = None THEN Dropped(net)
           ELSE IF b.ended \/ local.cut THEN Dropped(net)
           ELSE TakesMessage(m.dest, b, m, net)

(***************************************************************************)
(* What happens to a process that runs.                                    *)
(***************************************************************************)
ProcessAct(place, w, price, event) ==
    /\ Affordable(price)
    /\ budget' = Paid(price)
    /\ ProcessStep(place, machine[place], w, network, history, event)
    /\ ControlAfter(machine[place].broker, w)

Heartbeat(place, b) ==
    /\ MaySendHeartbeat(b)
    /\ ProcessAct(place, SendHeartbeat(b), "free", OtherEvent)

RegisterAtController(place, b) ==                                                       \* REG-1
    /\ ~IsDraft
    /\ MayRegister(b)
    /\ ProcessAct(place, SendRegistration(b), "free", OtherEvent)

\* A process reads the metadata log.                                                    (HBK-10)
BeginToRead(place, b) ==
    LET read == [type |-> "ReadMetadata", broker |-> b.id, incarnation |-> b.incarnation]
    IN  /\ ~IsDraft /\ ~machine[place].reads /\ ~machine[place].cut
        /\ machine' = [machine EXCEPT ![place].reads = TRUE]
        /\ network' = network (+) SetToBag({Flying(place, Controller, None, read)})
        /\ broken' = {}
        /\ UNCHANGED <<control, time, history, budget>>

LoseContact(place, b) ==                                                                \* FENCE-1
    /\ ~IsTimed /\ HasOwnTimer(b)
    /\ SilentOnly => machine[place].cut
    /\ ProcessAct(place, ContactLost(b), "contactLosses", ContactLostEvent)

FindController(place, b, node) ==
    /\ b.controller = None
    /\ ProcessAct(place, Work([b EXCEPT !.controller = node]), "free", OtherEvent)

TimeOutRequest(place, b, api) == ProcessAct(place, GiveUp(b, {api}), "requestTimeouts", OtherEvent)

ClientRequest(place, b) == ProcessAct(place, ClientAsks(b), "requests", OtherEvent)

ClientRequestDone(place, b) ==
    /\ b.accepted > 0
    /\ ProcessAct(place, ClientIsDone(b), "free", OtherEvent)

RequestShutdown(place, b) == ProcessAct(place, ShutdownRequested(b), "shutdowns", ShutdownEvent)

ChangeIsr(place, b, isr) ==                                                             \* ISR-1
    LET w == ProposeIsr(b, isr)
    IN  /\ LeadsPartition(b) /\ b.pending = None
        /\ isr # b.partition.isr
        /\ w.sends = {} => machine[place].cut
        /\ ProcessAct(place, w, "isrChanges", OtherEvent)

AskForIsrAgain(place, b) ==                                                             \* ISR-10, AISR-6
    /\ MayAskAgain(b)
    /\ ProcessAct(place, AskForPending(b), "free", OtherEvent)

(***************************************************************************)
(* Starts, crashes, links.                                                 *)
(***************************************************************************)
\* A process writes its registration into the store (INC-1); as shipped it runs at once, and its
\* incarnation says where and which one there.
Start(place) ==
    LET local == [machine[place] EXCEPT !.starts = @ + 1]
        registration == [type |-> "StoreRegistration", broker |-> IdOf(place)]
        incarnation == (ClockOf(place) - 1) * 16 + local.starts
    IN  /\ machine[place].broker = None /\ ~machine[place].registers /\ ~machine[place].cut
        /\ machine' = [machine EXCEPT ![place] =
                        IF IsDraft THEN [local EXCEPT !.registers = TRUE]
                        ELSE [local EXCEPT !.broker = Starting(IdOf(place), incarnation)]]
        /\ network' = IF IsDraft
                      THEN network (+) SetToBag({Flying(place, Controller, None, registration)})
                      ELSE network
        /\ broken' = {}
        /\ UNCHANGED <<control, time, history, budget>>

\* What is left is the machine, and what it has sent.
Crash(place, b) ==
    /\ Affordable("crashes")
    /\ budget' = Paid("crashes")
    /\ machine' = [machine EXCEPT ![place].broker = None, ![place].reads = FALSE]
    /\ control' = WithSilence(b.incarnation, TRUE)
    /\ network' = AfterForgetting(network, place, {}, TRUE) (+) SetToBag(SessionIsGone(place, b))
    /\ history' = Ended(history, b.incarnation)
    /\ broken' = {}
    /\ UNCHANGED time

CutLink(place, b) ==
    /\ ~machine[place].cut
    /\ Affordable("cuts")
    /\ budget' = Paid("cuts")
    /\ machine' = [machine EXCEPT ![place].cut = TRUE]
    /\ control' = WithSilence(b.incarnation, TRUE)
    /\ broken' = {}
    /\ UNCHANGED <<time, network, history>>

\* The process gives up what it asked while nothing came through.
HealLink(place, b) ==
    /\ machine[place].cut
    /\ ProcessStep(place, [machine[place] EXCEPT !.cut = FALSE, !.reads = FALSE], GiveUp(b, b.awaiting),
                   network, history, OtherEvent)
    /\ control' = WithSilence(b.incarnation, FALSE)
    /\ UNCHANGED budget

(***************************************************************************)
(* The clock of a machine moves: once, or more often where it drifts.      *)
(***************************************************************************)
Ticked(b) == IF IsDraft THEN TickOfProcess(b) ELSE b                                    \* HBK-10

ProcessTakesTurn(place) ==
    LET local == machine[place]
        before == local.broker
        first == Ticked(before)
        second == Ticked(first)
        twice == local.moves = 2
        after == IF before = None THEN None ELSE IF twice THEN second ELSE first
        violated == IF before = None THEN {}
                    ELSE ProcessBroken(before, TickEvent, Work(first))
                         \union (IF twice THEN ProcessBroken(first, TickEvent, Work(second)) ELSE {})
    IN  /\ HasTurn(local)
        /\ machine' = [MachinesAfterTurn EXCEPT ![place].broker = after, ![place].turn = 0, ![place].moves = 0]
        /\ control' = ControlAfterTurn
        /\ time' = TimeAfterTurn
        /\ WorkDone(place, local, Work(after), network, history, TRUE, violated)
        /\ UNCHANGED budget
================================================================================
