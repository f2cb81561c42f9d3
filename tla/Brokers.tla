-------------------------------- MODULE Brokers --------------------------------
(***************************************************************************)
(* Brokers and their controller, in the draft (KIP-343) and as it shipped  *)
(* (KIP-631): processes on machines, a network, clocks, faults.            *)
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
(* The checker: model_check/systems/brokers/, model_check/engine/steps.py.         *)
(***************************************************************************)
EXTENDS BrokersProcessSteps

(***************************************************************************)
(* Physical time (model_check/systems/brokers/time.py): a tick passes.  A clock    *)
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

\* Nothing arrives twice over a session of the store.
OverASession(m) == m.payload.type \in {"StoreRegistration", "StoreRegistered", "SessionGone"}

DeliverACopy(m) ==
    /\ budget.duplicates > 0
    /\ ~OverASession(m)
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
    \/ RegisterAtController(place, b)
    \/ BeginToRead(place, b)
    \/ Heartbeat(place, b)
    \/ LoseContact(place, b)
    \/ \E node \in Nodes : FindController(place, b, node)
    \/ \E api \in b.awaiting : TimeOutRequest(place, b, api)
    \/ ClientRequest(place, b)
    \/ ClientRequestDone(place, b)
    \/ RequestShutdown(place, b)
    \/ \E isr \in ProposedIsrs : ChangeIsr(place, b, isr)
    \/ AskForIsrAgain(place, b)
    \/ Crash(place, b)
    \/ CutLink(place, b)
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
Begin == FirstController(RunningIds, FirstIsr)
LivesInStore == IF IsDraft THEN {FirstLife(RunningIds, id) : id \in RunningIds} ELSE {}
PlaceOfLife(life) == CHOOSE place \in Running : FirstLife(RunningIds, IdOf(place)) = life
Beginning(place) == IF place \in Running THEN FirstProcess(Begin, RunningIds, IdOf(place)) ELSE None

Init ==
    /\ control = [controller |-> Begin,
                  homes |-> [life \in LivesInStore |-> PlaceOfLife(life)],
                  silent |-> {}, leaving |-> <<>>, left |-> 0, turn |-> 0, moves |-> 0]
    /\ machine = [place \in Places |->
                    [broker |-> Beginning(place),
                     registers |-> FALSE, reads |-> FALSE, cut |-> FALSE,
                     starts |-> IF place \in Running THEN 1 ELSE 0, left |-> 0, turn |-> 0, moves |-> 0]]
    /\ time = IF IsTimed THEN [ahead |-> [k \in Clocks |-> 0], left |-> 0] ELSE None
    /\ network = EmptyBag
    /\ history = [lives |-> <<>>, unanswered |-> {},
                  serving |-> IF KeepsTicks THEN HeldLives(Begin) ELSE {}, since |-> <<>>]
    /\ budget = [timeouts |-> Timeouts, contactLosses |-> ContactLosses, requestTimeouts |-> RequestTimeouts,
                 failovers |-> Failovers, crashes |-> Crashes, cuts |-> Cuts, isrChanges |-> IsrChanges,
                 shutdowns |-> Shutdowns, requests |-> Requests, duplicates |-> Duplicates]
    /\ broken = {}

Spec == Init /\ [][Next]_vars

(***************************************************************************)
(* Invariants, under the names of spec/properties.toml: what single steps  *)
(* are judged by, see BrokersHistory, BrokersControlChecks and             *)
(* BrokersProcessChecks.                                                   *)
(***************************************************************************)
FencedBrokerServesNothingNew == "FencedBrokerServesNothingNew" \notin broken
IncarnationMonotone == "IncarnationMonotone" \notin broken
OneLiveIncarnation == "OneLiveIncarnation" \notin broken
IsrChangedByLeaderOnly == "IsrChangedByLeaderOnly" \notin broken
IsrWellFormed == "IsrWellFormed" \notin broken
InactiveBrokerIsInvisible == "InactiveBrokerIsInvisible" \notin broken
UnfencedBrokerHasCaughtUp == "UnfencedBrokerHasCaughtUp" \notin broken
RejectedIsrChangeHasNoEffect == "RejectedIsrChangeHasNoEffect" \notin broken
ShutdownHandsLeadersOver == "ShutdownHandsLeadersOver" \notin broken
LeavingBrokerIsNotChosen == "LeavingBrokerIsNotChosen" \notin broken
StopsOnlyWhenLetGo == "StopsOnlyWhenLetGo" \notin broken
AcceptedRequestsAreCompleted == "AcceptedRequestsAreCompleted" \notin broken
NewestRegistrationCounts == "NewestRegistrationCounts" \notin broken
SessionsSayWhatWasHeard == "SessionsSayWhatWasHeard" \notin broken
InactiveBeforeSelfFenced == "InactiveBeforeSelfFenced" \notin broken
InactiveBrokerServesBriefly == "InactiveBrokerServesBriefly" \notin broken
ContactCountsByItsRequest == "ContactCountsByItsRequest" \notin broken

(***************************************************************************)
(* Replicas, which a .cfg cannot write.                                    *)
(***************************************************************************)
NoReplicas == <<>>
Replicas1 == <<1>>
Replicas12 == <<1, 2>>
Replicas21 == <<2, 1>>
Replicas123 == <<1, 2, 3>>
================================================================================
