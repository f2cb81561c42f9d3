-------------------------------- MODULE Brokers --------------------------------
(***************************************************************************)
(* Brokers and their controller (KIP-343): processes on machines, a        *)
(* network, clocks, faults.                                                *)
(*                                                                         *)
(* One step is an event at the controller or at one process, with all that *)
(* it sends.  The network is a bag of messages without order; what is      *)
(* never delivered is as good as lost, so that explicit loss matters only  *)
(* where the network is full.  A successor with more messages than the     *)
(* network may hold is no state of the model.                              *)
(*                                                                         *)
(* With time-outs in ticks, time passes for all at once (PassTime), and    *)
(* each clock that moves then takes its ticks in turn, before anything     *)
(* else happens anywhere.                                                  *)
(*                                                                         *)
(* The checker: model_check/brokers/, model_check/engine/steps.py.         *)
(***************************************************************************)
EXTENDS BrokersJudged, Bags

CONSTANTS
    Running,            \* the machines of processes that run in the beginning: "broker-1", ...
    StartingLater,      \* machines whose process starts later; "broker-1b": a second one with the id 1
    Nodes,              \* the nodes that may be the controller, of which 1 begins
    FirstIsr,           \* the ISR in the beginning
    \* the network
    Capacity,           \* messages in flight at most
    Loss,               \* "never", "when-full" or "always"
    \* the environment
    Wishes,             \* the ISRs that a leader may wish for
    Sessions,           \* whether the store notices that a process is gone
    Drift,              \* by how many ticks a clock may be ahead of or behind physical time
    NewestMetadata,     \* whether metadata on its way is of no use any more once newer metadata is sent
    Delay,              \* for how many ticks a message may be in flight; None: for ever
    \* how often something may happen in one behaviour (None: without a bound)
    Timeouts, ContactLosses, RequestTimeouts, Failovers, Crashes, Cuts, IsrChanges, Shutdowns, Requests,
    Duplicates

Controller == "controller"
Places == Running \union StartingLater

\* The order in which clocks take their turns, the controller's first.
InOrder == SelectSeq(<<"broker-1", "broker-2", "broker-3", "broker-1b", "broker-2b", "broker-3b">>,
                     LAMBDA place : place \in Places)
Clocks == 1..(1 + Len(InOrder))
ClockOf(place) == CHOOSE k \in Clocks \ {1} : InOrder[k - 1] = place

IdOf(place) == CASE place \in {"broker-1", "broker-1b"} -> 1
                 [] place \in {"broker-2", "broker-2b"} -> 2
                 [] place \in {"broker-3", "broker-3b"} -> 3

IsTimed == ControllerTimeout # None

ASSUME Ids = {IdOf(place) : place \in Places} \union {Replicas[k] : k \in Ranks}
ASSUME Loss \in {"never", "when-full", "always"}
ASSUME NewController \in {"takes-as-active", "takes-as-inactive"}
ASSUME KnownLife \in {"registered", "remembered"}
ASSUME Contact \in {"success", "any-answer"} /\ ContactTime \in {"answer", "request"}
ASSUME BrokerTimeout # None => IsTimed

VARIABLES
    control,    \* [controller, homes, left, turn, moves]: homes: where the process with an incarnation runs
    machine,    \* place -> [broker, registers, cut, starts, left, turn, moves]: broker is None if none runs
    time,       \* [ahead, left]: by how many ticks each clock is ahead; None: no clock runs
    network,    \* bag of messages in flight
    history,    \* what properties need to know beyond the current state (BrokersJudged)
    budget,     \* what the environment may still do
    broken      \* the properties that the last step broke; {} in all that is explored further

vars == <<control, machine, time, network, history, budget, broken>>

(***************************************************************************)
(* The network (model_check/brokers/network.py).  A message is             *)
(* [source, dest, node, answerable, age, payload]; node is the controller  *)
(* node that it goes to or comes from.  A process that forgets its         *)
(* requests takes the answers on their way to it out of the network, and   *)
(* what it asked, and has not arrived, becomes unanswerable.               *)
(***************************************************************************)
Flying(source, dest, node, payload) ==
    [source |-> source, dest |-> dest, node |-> node, answerable |-> TRUE, age |-> 0, payload |-> payload]

ApiOf(m) == CASE m.payload.type \in {"MetadataHeartbeatRequest", "MetadataHeartbeatResponse"} -> "heartbeat"
              [] m.payload.type \in {"IsrChangeRequest", "IsrChangeResponse"} -> "isr"
              [] OTHER -> "none"
IsRequest(m) == m.payload.type \in {"MetadataHeartbeatRequest", "IsrChangeRequest"}

RECURSIVE SumOf(_, _)
SumOf(f, S) == IF S = {} THEN 0 ELSE LET x == CHOOSE y \in S : TRUE IN f[x] + SumOf(f, S \ {x})

\* The bag net with After(m) in the place of each m, of those that are kept.
Mapped(net, kept, After(_)) ==
    [a \in {After(m) : m \in kept} |-> SumOf(net, {m \in kept : After(m) = a})]

\* After the process at place has forgotten its requests of these kinds, or is gone.
AfterForgetting(net, place, apis, gone) ==
    LET Meant(m) == gone \/ ApiOf(m) \in apis
        kept == {m \in DOMAIN net : ~(m.dest = place /\ Meant(m))}
        After(m) == IF m.source = place /\ IsRequest(m) /\ Meant(m) THEN [m EXCEPT !.answerable = FALSE]
                    ELSE m
    IN  Mapped(net, kept, After)

AfterTick(net) ==
    LET After(m) == [m EXCEPT !.age = @ + 1]
    IN  IF Delay = None THEN net ELSE Mapped(net, {m \in DOMAIN net : m.age < Delay}, After)

(***************************************************************************)
(* Budgets.  price: "free", or the counter that a step costs one unit of.  *)
(***************************************************************************)
Affordable(price) == IF price = "free" THEN TRUE
                     ELSE IF budget[price] = None THEN TRUE ELSE budget[price] > 0
Paid(price) == IF price = "free" \/ budget[price] = None THEN budget
               ELSE [budget EXCEPT ![price] = @ - 1]

(***************************************************************************)
(* Turns.  left counts those that are left, 0: no tick is under way.  The  *)
(* one of a component comes when its turn of them are left, and takes      *)
(* moves ticks of its clock; after it the component waits for the others.  *)
(***************************************************************************)
HasTurn(component) == component.moves > 0 /\ component.left = component.turn

ControlAfterTurn == [control EXCEPT !.left = @ - 1]
MachinesAfterTurn == [place \in Places |-> [machine[place] EXCEPT !.left = @ - 1]]
TimeAfterTurn == [time EXCEPT !.left = @ - 1]

(***************************************************************************)
(* Steps of the controller (model_check/brokers/control.py).  m is the     *)
(* message that arrives, None if there is none.                            *)
(***************************************************************************)
IsOf(m, id, life) ==
    m # None /\ IsRequest(m) /\ m.payload.broker = id /\ m.payload.incarnation = life

\* All visible processes are told, if there is anything new to be told.                 (BSTATE-8)
Told(before, after, homes, m) ==
    LET HomeOf(id) == LET life == LifeOf(after, id)
                      IN  IF life = None THEN None
                          ELSE IF IsOf(m, id, life) THEN m.source
                          ELSE IF life \in DOMAIN homes THEN homes[life] ELSE None
        homesOfAll == {HomeOf(id) : id \in VisibleIds(after)} \ {None}
        told == Metadata(after)
    IN  IF Metadata(before) = told THEN {}
        ELSE {Flying(Controller, home, None,
                     [type |-> "MetadataUpdate", controller |-> told.controller,
                      controllerEpoch |-> told.controllerEpoch, brokers |-> told.brokers,
                      partition |-> told.partition]) : home \in homesOfAll}

\* The network once told is sent.
WithTold(net, told) ==
    LET old == {m \in DOMAIN net : /\ m.payload.type = "MetadataUpdate"
                                   /\ \E newer \in told : newer.dest = m.dest}
        left == [m \in DOMAIN net \ (IF NewestMetadata THEN old ELSE {}) |-> net[m]]
    IN  left (+) SetToBag(told)

\* The controller is c from here on, sent is what it sends beside metadata.
ControlStep(c, homes, net, sent, m, recorded, violated) ==
    LET before == control.controller
    IN  /\ control' = [control EXCEPT !.controller = c, !.homes = homes]
        /\ network' = WithTold(net, Told(before, c, homes, m)) (+) SetToBag(sent)
        /\ history' = Declared(recorded.history, VisibleIds(before), VisibleIds(c))
        /\ broken' = (violated \union recorded.broken \union ControllerBroken(before, c)) \intersect Judged
        /\ UNCHANGED <<machine, time>>

Replies(m, response) ==
    IF m.answerable THEN {Flying(Controller, m.source, m.node, response)} ELSE {}

Nothing == Recorded(history, {})

HeartbeatArrives(m, net) ==
    LET request == m.payload
        before == control.controller
        answer == HandleHeartbeat(before, m.node, request)
        response == [type |-> "MetadataHeartbeatResponse", error |-> answer.error, state |-> answer.state]
    IN  ControlStep(answer.c, control.homes, net, Replies(m, response), m,
                    IF answer.error = "NONE" THEN Heard(history, request.broker, request.incarnation)
                    ELSE Nothing,
                    HeartbeatBroken(before, request, answer.c))

IsrChangeArrives(m, net) ==
    LET before == control.controller
        answer == HandleIsrChange(before, m.node, m.payload)
        response == [type |-> "IsrChangeResponse", error |-> answer.error, result |-> answer.result]
    IN  ControlStep(answer.c, control.homes, net, Replies(m, response), m, Nothing,
                    IsrChangeBroken(before, m.node, m.payload, answer))

\* A process that starts registers in the store.
RegistrationArrives(m, net) ==
    LET after == WriteRegistration(control.controller, m.payload.broker)
        life == after.lastTransaction
        homes == [key \in DOMAIN control.homes \union {life} |->
                    IF key = life THEN m.source ELSE control.homes[key]]
        registered == [type |-> "StoreRegistered", broker |-> m.payload.broker, incarnation |-> life]
    IN  ControlStep(after, homes, net, {Flying(Controller, m.source, None, registered)}, m, Nothing, {})

\* The session of a process in the store is over; a later registration is not touched by that.
SessionEnds(m, net) ==
    LET c == control.controller
        id == m.payload.broker
        mine == id \in DOMAIN c.registrations /\ c.registrations[id] = m.payload.incarnation
    IN  IF mine THEN ControlStep(RemoveRegistration(c, id), control.homes, net, {}, m, Nothing, {})
        ELSE /\ network' = net
             /\ broken' = {}
             /\ UNCHANGED <<control, machine, time, history>>

DeliverToController(m, net) ==
    /\ control.left = 0
    /\ CASE m.payload.type = "MetadataHeartbeatRequest" -> HeartbeatArrives(m, net)
         [] m.payload.type = "IsrChangeRequest" -> IsrChangeArrives(m, net)
         [] m.payload.type = "StoreRegistration" -> RegistrationArrives(m, net)
         [] m.payload.type = "SessionGone" -> SessionEnds(m, net)

\* What happens at the controller without a message.
ControlAct(c, price) ==
    /\ control.left = 0
    /\ Affordable(price)
    /\ budget' = Paid(price)
    /\ ControlStep(c, control.homes, network, {}, None, Nothing, {})

\* The time of a broker is over.                                                        (HEARTBEAT-7)
TimeOut(id) ==
    /\ ~IsTimed
    /\ StateOf(control.controller, id) # "INACTIVE"
    /\ ControlAct(Expire(control.controller, id), "timeouts")

FailOver(node) ==
    /\ node # control.controller.active
    /\ ControlAct(TakeOver(control.controller, node), "failovers")

MoveLeaderAway ==
    /\ LeaderThatMoves(control.controller) # None
    /\ ControlAct(MoveLeader(control.controller), "free")

\* The clock of the controller moves: once, or more often where it drifts.
ControlTakesTurn ==
    LET before == control.controller
        first == ControllerTicks(before)
        last == IF control.moves = 2 THEN ControllerTicks(first) ELSE first
        told == Told(before, first, control.homes, None) \union Told(first, last, control.homes, None)
    IN  /\ HasTurn(control)
        /\ control' = [ControlAfterTurn EXCEPT !.controller = last, !.turn = 0, !.moves = 0]
        /\ machine' = MachinesAfterTurn
        /\ time' = TimeAfterTurn
        /\ network' = WithTold(network, told)
        /\ history' = Declared(history, VisibleIds(before), VisibleIds(last))
        /\ broken' = (ControllerBroken(before, first) \union ControllerBroken(first, last)) \intersect Judged
        /\ UNCHANGED budget

(***************************************************************************)
(* Steps of processes (model_check/brokers/machine.py).                    *)
(***************************************************************************)
SessionIsGone(place, b) ==
    IF Sessions
    THEN {Flying(place, Controller, None,
                 [type |-> "SessionGone", broker |-> b.id, incarnation |-> b.incarnation])}
    ELSE {}

\* What goes out; into a link that is cut nothing goes.
Outgoing(place, before, w, cut) ==
    (IF cut THEN {} ELSE {Flying(place, Controller, w.b.controller, request) : request \in w.sends})
    \union (IF w.stops THEN SessionIsGone(place, before) ELSE {})

\* The network and the history after the work w of the process at place; h: the history so far.
WorkDone(place, local, w, net, h, lonely) ==
    LET before == machine[place].broker
        recorded == IF Serves(before) = Serves(w.b) THEN Recorded(h, {})
                    ELSE Served(h, IdOf(place), Serves(w.b), lonely)
        left == IF w.stops \/ w.forgets # {} THEN AfterForgetting(net, place, w.forgets, w.stops) ELSE net
    IN  /\ network' = left (+) SetToBag(Outgoing(place, before, w, local.cut))
        /\ history' = recorded.history
        /\ broken' = (recorded.broken \union Unless(~(w.accepts /\ before.fenced),
                                                    "FencedBrokerServesNothingNew")) \intersect Judged

ProcessStep(place, local, w, net, h, lonely) ==
    /\ machine' = [machine EXCEPT ![place] = [local EXCEPT !.broker = w.b]]
    /\ WorkDone(place, local, w, net, h, lonely)
    /\ UNCHANGED <<control, time>>

\* Nothing comes of a message.
Dropped(net) ==
    /\ network' = net
    /\ broken' = {}
    /\ UNCHANGED <<control, machine, time, history>>

DeliverToProcess(m, net) ==
    LET place == m.dest
        local == machine[place]
        b == local.broker
        message == m.payload
        Take(w) == ProcessStep(place, local, w, net, history, FALSE)
    IN  /\ local.left = 0
        /\ IF message.type = "StoreRegistered"
           THEN IF local.registers
                THEN /\ machine' = [machine EXCEPT ![place].registers = FALSE,
                                        ![place].broker = Starting(message.broker, message.incarnation)]
                     /\ network' = net
                     /\ broken' = {}
                     /\ UNCHANGED <<control, time, history>>
                ELSE Dropped(net)
           ELSE IF b = None THEN Dropped(net)
           ELSE IF b.ended \/ local.cut THEN Dropped(net)
           ELSE CASE message.type = "MetadataUpdate" -> Take(TakeMetadata(b, message))
                  [] message.type = "MetadataHeartbeatResponse" ->
                        ProcessStep(place, local, TakeHeartbeatAnswer(b, m.node, message), net,
                                    Answered(history, IdOf(place)), FALSE)
                  [] message.type = "IsrChangeResponse" -> Take(TakeIsrAnswer(b, m.node, message))

\* Something happens to a process that runs.
ProcessAct(place, w, price, lonely) ==
    /\ Affordable(price)
    /\ budget' = Paid(price)
    /\ ProcessStep(place, machine[place], w, network, history, lonely)

Heartbeat(place, b) ==
    /\ CanSend(b, "heartbeat")
    /\ ProcessAct(place, SendHeartbeat(b), "free", FALSE)

LoseContact(place, b) ==                                                                \* FENCE-1
    /\ ~IsTimed /\ ~b.fenced
    /\ ProcessAct(place, ContactLost(b), "contactLosses", TRUE)

FindController(place, b, node) ==
    /\ b.controller = None
    /\ ProcessAct(place, Work([b EXCEPT !.controller = node]), "free", FALSE)

TimeOutRequest(place, b, api) ==
    /\ api \in b.awaiting
    /\ ProcessAct(place, GiveUp(b, {api}), "requestTimeouts", FALSE)

ClientRequest(place, b) == ProcessAct(place, ClientAsks(b), "requests", FALSE)

ClientRequestDone(place, b) ==
    /\ b.accepted > 0
    /\ ProcessAct(place, ClientIsDone(b), "free", FALSE)

Shutdown(place, b) == ProcessAct(place, ShutdownWished(b), "shutdowns", FALSE)

ChangeIsr(place, b, isr) ==                                                             \* ISR-1
    LET w == WishIsr(b, isr)
    IN  /\ LeadsPartition(b) /\ b.pending = None
        /\ isr # b.partition.isr
        /\ w.sends = {} => machine[place].cut
        /\ ProcessAct(place, w, "isrChanges", FALSE)

AskForIsrAgain(place, b) ==                                                             \* ISR-10
    /\ MayAskAgain(b)
    /\ ProcessAct(place, AskForPending(b), "free", FALSE)

\* A process starts, and writes its registration into the store.                        (INC-1)
Start(place) ==
    LET registration == [type |-> "StoreRegistration", broker |-> IdOf(place)]
    IN  /\ machine[place].broker = None /\ ~machine[place].registers /\ ~machine[place].cut
        /\ machine' = [machine EXCEPT ![place].registers = TRUE, ![place].starts = @ + 1]
        /\ network' = network (+) SetToBag({Flying(place, Controller, None, registration)})
        /\ broken' = {}
        /\ UNCHANGED <<control, time, history, budget>>

\* What is left is the machine, and what it has sent.
Crash(place, b) ==
    LET recorded == Served(history, IdOf(place), FALSE, FALSE)
    IN  /\ Affordable("crashes")
        /\ budget' = Paid("crashes")
        /\ machine' = [machine EXCEPT ![place].broker = None]
        /\ network' = AfterForgetting(network, place, {}, TRUE) (+) SetToBag(SessionIsGone(place, b))
        /\ history' = recorded.history
        /\ broken' = recorded.broken \intersect Judged
        /\ UNCHANGED <<control, time>>

CutLink(place) ==
    /\ ~machine[place].cut
    /\ Affordable("cuts")
    /\ budget' = Paid("cuts")
    /\ machine' = [machine EXCEPT ![place].cut = TRUE]
    /\ broken' = {}
    /\ UNCHANGED <<control, time, network, history>>

\* The process gives up what it asked while nothing came through.
HealLink(place, b) ==
    /\ machine[place].cut
    /\ ProcessStep(place, [machine[place] EXCEPT !.cut = FALSE], GiveUp(b, b.awaiting), network, history, FALSE)
    /\ UNCHANGED budget

\* The clock of a machine moves: once, or more often where it drifts.
ProcessTakesTurn(place) ==
    LET local == machine[place]
        Ticked(b) == IF local.moves = 2 THEN TickOfProcess(TickOfProcess(b)) ELSE TickOfProcess(b)
        after == IF local.broker = None THEN None ELSE Ticked(local.broker)
    IN  /\ HasTurn(local)
        /\ machine' = [MachinesAfterTurn EXCEPT ![place].broker = after, ![place].turn = 0, ![place].moves = 0]
        /\ control' = ControlAfterTurn
        /\ time' = TimeAfterTurn
        /\ WorkDone(place, local, Work(after), network, history, TRUE)
        /\ UNCHANGED budget

(***************************************************************************)
(* Physical time (model_check/brokers/time.py): a tick passes.  A clock    *)
(* may leave one out, or tick twice, within its bound.                     *)
(***************************************************************************)
PassTime(moves) ==
    LET ahead == [k \in Clocks |-> time.ahead[k] + moves[k] - 1]
        Movers(ks) == Cardinality({k \in ks : moves[k] > 0})
        left == Movers(Clocks)
        Turn(k) == IF moves[k] > 0 THEN left - Movers(1..(k - 1)) ELSE 0
        passed == Passed(history)
    IN  /\ time.left = 0
        /\ left > 0
        /\ \A k \in Clocks : ahead[k] \in (-Drift)..Drift
        /\ time' = [ahead |-> ahead, left |-> left]
        /\ control' = [control EXCEPT !.left = left, !.turn = Turn(1), !.moves = moves[1]]
        /\ machine' = [place \in Places |->
                        [machine[place] EXCEPT !.left = left, !.turn = Turn(ClockOf(place)),
                                               !.moves = moves[ClockOf(place)]]]
        /\ network' = AfterTick(network)
        /\ history' = passed.history
        /\ broken' = passed.broken \intersect Judged
        /\ UNCHANGED budget

(***************************************************************************)
(* Everything.                                                             *)
(***************************************************************************)
Arrive(m, net) == IF m.dest = Controller THEN DeliverToController(m, net) ELSE DeliverToProcess(m, net)

Deliver(m) == Arrive(m, network (-) SetToBag({m})) /\ UNCHANGED budget

DeliverACopy(m) ==
    /\ budget.duplicates > 0
    /\ Arrive(m, network)
    /\ budget' = Paid("duplicates")

Lose(m) ==
    /\ Loss = "always" \/ (Loss = "when-full" /\ BagCardinality(network) >= Capacity)
    /\ network' = network (-) SetToBag({m})
    /\ UNCHANGED <<control, machine, time, history, budget, broken>>

AtController ==
    \/ \E id \in Ids : TimeOut(id)
    \/ \E node \in Nodes : FailOver(node)
    \/ MoveLeaderAway
    \/ ControlTakesTurn

OfProcess(place, b) ==
    \/ Heartbeat(place, b)
    \/ LoseContact(place, b)
    \/ \E node \in Nodes : FindController(place, b, node)
    \/ \E api \in b.awaiting : TimeOutRequest(place, b, api)
    \/ ClientRequest(place, b)
    \/ ClientRequestDone(place, b)
    \/ Shutdown(place, b)
    \/ \E isr \in Wishes : ChangeIsr(place, b, isr)
    \/ AskForIsrAgain(place, b)
    \/ Crash(place, b)
    \/ CutLink(place)
    \/ HealLink(place, b)

AtMachine(place) ==
    IF machine[place].left > 0 THEN ProcessTakesTurn(place)
    ELSE IF machine[place].broker = None THEN Start(place)
    ELSE ~machine[place].broker.ended /\ OfProcess(place, machine[place].broker)

Moves == [Clocks -> IF Drift = 0 THEN {1} ELSE {0, 1, 2}]

Next ==
    /\ broken = {}
    /\ \/ \E m \in DOMAIN network : Deliver(m) \/ DeliverACopy(m) \/ Lose(m)
       \/ AtController
       \/ \E place \in Places : AtMachine(place)
       \/ IsTimed /\ \E moves \in Moves : PassTime(moves)
    /\ BagCardinality(network') <= Capacity

(***************************************************************************)
(* The beginning: a cluster that runs.  All know each other and the        *)
(* partition, and nothing is in flight.                                    *)
(***************************************************************************)
RunningIds == {IdOf(place) : place \in Running}
FirstLife(id) == Cardinality({other \in RunningIds : other <= id})
FirstLeaders == {k \in Ranks : Replicas[k] \in FirstIsr \intersect RunningIds}

FirstController ==
    [active |-> 1, epoch |-> 1,
     registrations |-> [id \in RunningIds |-> FirstLife(id)],
     lastTransaction |-> Cardinality(RunningIds),
     partition |-> IF Replicas = <<>> THEN None
                   ELSE [leader |-> Replicas[Smallest(FirstLeaders)], leaderEpoch |-> 0,
                         partitionEpoch |-> 0, isr |-> FirstIsr],
     brokers |-> [id \in Ids |->
                    IF id \notin RunningIds THEN NothingKnown
                    ELSE [incarnation |-> FirstLife(id), state |-> "ACTIVE", ticks |-> 0]]]

FirstProcess(id) ==
    [Starting(id, FirstLife(id)) EXCEPT
        !.controllerEpoch = 1, !.visible = Visible(FirstController), !.state = "ACTIVE", !.fenced = FALSE,
        !.partition = FirstController.partition]

Init ==
    /\ control = [controller |-> FirstController,
                  homes |-> [life \in {FirstLife(id) : id \in RunningIds} |->
                                CHOOSE place \in Running : FirstLife(IdOf(place)) = life],
                  left |-> 0, turn |-> 0, moves |-> 0]
    /\ machine = [place \in Places |->
                    [broker |-> IF place \in Running THEN FirstProcess(IdOf(place)) ELSE None,
                     registers |-> FALSE, cut |-> FALSE,
                     starts |-> IF place \in Running THEN 1 ELSE 0, left |-> 0, turn |-> 0, moves |-> 0]]
    /\ time = IF IsTimed THEN [ahead |-> [k \in Clocks |-> 0], left |-> 0] ELSE None
    /\ network = EmptyBag
    /\ history = [lives |-> <<>>, unanswered |-> {},
                  inactive |-> IF IsTimed THEN {IdOf(place) : place \in StartingLater} \ RunningIds ELSE {},
                  serving |-> IF IsTimed THEN RunningIds ELSE {}, since |-> <<>>]
    /\ budget = [timeouts |-> Timeouts, contactLosses |-> ContactLosses, requestTimeouts |-> RequestTimeouts,
                 failovers |-> Failovers, crashes |-> Crashes, cuts |-> Cuts, isrChanges |-> IsrChanges,
                 shutdowns |-> Shutdowns, requests |-> Requests, duplicates |-> Duplicates]
    /\ broken = {}

Spec == Init /\ [][Next]_vars

(***************************************************************************)
(* Invariants, under the names of spec/properties.toml: what single steps  *)
(* are judged by, see BrokersJudged.                                       *)
(***************************************************************************)
FencedBrokerServesNothingNew == "FencedBrokerServesNothingNew" \notin broken
IncarnationMonotone == "IncarnationMonotone" \notin broken
OneLiveIncarnation == "OneLiveIncarnation" \notin broken
IsrChangedByLeaderOnly == "IsrChangedByLeaderOnly" \notin broken
IsrWellFormed == "IsrWellFormed" \notin broken
InactiveBrokerIsInvisible == "InactiveBrokerIsInvisible" \notin broken
RejectedIsrChangeHasNoEffect == "RejectedIsrChangeHasNoEffect" \notin broken
InactiveBeforeSelfFenced == "InactiveBeforeSelfFenced" \notin broken
InactiveBrokerServesBriefly == "InactiveBrokerServesBriefly" \notin broken

(***************************************************************************)
(* Replicas, which a .cfg cannot write.                                    *)
(***************************************************************************)
NoReplicas == <<>>
Replica1 == <<1>>
Replicas12 == <<1, 2>>
Replicas21 == <<2, 1>>
Replicas123 == <<1, 2, 3>>
================================================================================
