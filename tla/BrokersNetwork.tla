----------------------------- MODULE BrokersNetwork -----------------------------
(***************************************************************************)
(* What brokers and their controller run on: machines, a network, clocks,  *)
(* and what the environment may do.                                        *)
(*                                                                         *)
(* The checker: model_check/systems/brokers/network.py, places.py, time.py.        *)
(***************************************************************************)
EXTENDS BrokersProcessChecks, Bags

CONSTANTS
    Running,            \* the machines of processes that run in the beginning: "broker-1", ...
    StartingLater,      \* machines whose process starts later; "broker-1b": a second one with the id 1
    Nodes,              \* the nodes that may be the controller, of which 1 begins
    FirstIsr,           \* the ISR in the beginning
    \* the network
    Capacity,           \* messages in flight at most
    Loss,               \* "never", "when-full" or "always"
    \* the environment
    ProposedIsrs,       \* the ISRs that a leader may propose
    Sessions,           \* whether the store notices that a process is gone (the draft)
    SilentOnly,         \* whether only the time-outs of processes end that are gone or cut off
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
ASSUME SilentOnly => ~IsTimed

(***************************************************************************)
(* homes: where the process with an incarnation runs (the draft).  silent: *)
(* incarnations of processes that are gone or cut off, with SilentOnly.    *)
(* leaving: BrokersControlChecks.  registers: a process starts and awaits  *)
(* its registration in the store (the draft); reads: it is reading the     *)
(* metadata log (what shipped); starts counts processes.                   *)
(***************************************************************************)
VARIABLES
    control,    \* [controller, homes, silent, leaving, left, turn, moves]
    machine,    \* place -> [broker, registers, reads, cut, starts, left, turn, moves]; broker: None if none runs
    time,       \* [ahead, left]: by how many ticks each clock is ahead; None: no clock runs
    network,    \* bag of messages in flight
    history,    \* what properties need to know beyond the current state (BrokersHistory)
    budget,     \* what the environment may still do
    broken      \* the properties that the last step broke; {} in all that is explored further

vars == <<control, machine, time, network, history, budget, broken>>

RunningLives ==
    {life \in {IF machine[place].broker = None THEN None
               ELSE IF machine[place].broker.ended THEN None
               ELSE machine[place].broker.incarnation : place \in Places} : life # None}

(***************************************************************************)
(* Messages.  A message is [source, dest, node, answerable, age, payload]; *)
(* node is the controller node that it goes to or comes from.  A process   *)
(* that forgets its requests takes the answers on their way to it out of   *)
(* the network, and what it asked, and has not arrived, becomes            *)
(* unanswerable.                                                           *)
(***************************************************************************)
Flying(source, dest, node, payload) ==
    [source |-> source, dest |-> dest, node |-> node, answerable |-> TRUE, age |-> 0, payload |-> payload]

RequestTypes == {"MetadataHeartbeatRequest", "IsrChangeRequest",
                 "BrokerRegistrationRequest", "BrokerHeartbeatRequest", "AlterPartitionRequest"}
IsRequest(m) == m.payload.type \in RequestTypes

ApiOf(m) ==
    LET Of(types) == m.payload.type \in types
    IN  CASE Of({"BrokerRegistrationRequest", "BrokerRegistrationResponse"}) -> "registration"
          [] Of({"MetadataHeartbeatRequest", "MetadataHeartbeatResponse"}) -> "heartbeat"
          [] Of({"BrokerHeartbeatRequest", "BrokerHeartbeatResponse"}) -> "heartbeat"
          [] Of({"IsrChangeRequest", "IsrChangeResponse"}) -> "isr"
          [] Of({"AlterPartitionRequest", "AlterPartitionResponse"}) -> "isr"
          [] OTHER -> "none"

RECURSIVE SumOf(_, _)
SumOf(f, S) == IF S = {} THEN 0 ELSE LET x == CHOOSE y \in S : TRUE IN f[x] + SumOf(f, S \ {x})

\* The bag net with After(m) in the place of each m, of those that are kept.
Mapped(net, kept, After(_)) ==
    [a \in {After(m) : m \in kept} |-> SumOf(net, {m \in kept : After(m) = a})]

\* After the process at place has forgotten its requests of these kinds, or is gone.
AfterForgetting(net, place, apis, gone) ==
    LET Meant(m) == gone \/ ApiOf(m) \in apis
        \* Nobody reads for the process that starts there next.
        ReadsForNobody(m) == gone /\ m.source = place /\ m.payload.type = "ReadMetadata"
        kept == {m \in DOMAIN net : ~(m.dest = place /\ Meant(m)) /\ ~ReadsForNobody(m)}
        After(m) == IF m.source = place /\ IsRequest(m) /\ Meant(m) THEN [m EXCEPT !.answerable = FALSE]
                    ELSE m
    IN  Mapped(net, kept, After)

AfterTick(net) ==
    LET After(m) == [m EXCEPT !.age = @ + 1]
    IN  IF Delay = None THEN net ELSE Mapped(net, {m \in DOMAIN net : m.age < Delay}, After)

\* The network once the controller has sent some messages.
WithSent(net, sent) ==
    LET IsUpdate(m) == m.payload.type = "MetadataUpdate"
        old == {m \in DOMAIN net : IsUpdate(m) /\ \E newer \in sent : IsUpdate(newer) /\ newer.dest = m.dest}
        left == [m \in DOMAIN net \ (IF NewestMetadata THEN old ELSE {}) |-> net[m]]
    IN  left (+) SetToBag(sent)

(***************************************************************************)
(* Silence, where time-outs depend on it: the controller hears no more     *)
(* from a process, or does again.                                          *)
(***************************************************************************)
WithSilence(incarnation, silent) ==
    IF ~SilentOnly THEN control
    ELSE [control EXCEPT !.silent = IF silent THEN @ \union {incarnation} ELSE @ \ {incarnation}]

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
================================================================================
