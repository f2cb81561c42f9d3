"""Brokers as the engine sees them: the controller, processes, time, a network, faults, properties."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

from kraftcheck.engine.system import GlobalState, Invariant, Network, Outcome, Recorded, Signal
from kraftcheck.reference.brokers.messages import MetadataUpdate
from kraftcheck.reference.frozen import replace
from kraftcheck.systems.brokers import control, machine, replication, time
from kraftcheck.systems.brokers import history as histories
from kraftcheck.systems.brokers.history import History, Label
from kraftcheck.systems.brokers.network import (
    OVER_A_SESSION,
    TIME,
    ClocksMove,
    InFlight,
    MetadataReplaced,
    ProcessEnded,
    Record,
    RequestForgotten,
    Silenced,
    TurnTaken,
    after_forgetting,
    after_tick,
)
from kraftcheck.systems.brokers.places import Control, Machine, Time
from kraftcheck.systems.brokers.step import Step
from kraftcheck.systems.brokers.wiring import Wiring


@dataclass(frozen=True, slots=True)
class LeaderHoldsCommitted:
    """The process that leads the partition in its current epoch holds all committed records.

    A shipped process leads once it has registered and caught up with its registration (HBK-9).
    """

    wiring: Wiring
    name: str = "CommittedPartitionDataSurvives"

    def project(self, component: int, local: Hashable) -> Hashable:
        if isinstance(local, Control):
            return tuple((each.leader, each.leader_epoch) for each in local.controller.durable.partitions)
        if not isinstance(local, Machine) or local.broker is None:
            return None
        known = replication.led_partition(self.wiring, local)
        if known is None:
            return None
        return (known.leader, known.leader_epoch), local.log

    def project_history(self, history: Hashable) -> Hashable:
        return cast(History, history).committed

    def holds(self, projections: tuple[Hashable, ...], history: Hashable) -> bool:
        current = cast(tuple[tuple[int | None, int], ...], projections[0])
        committed = cast(tuple[Record, ...], history)
        leaders = (cast(tuple[tuple[int, int], tuple[Record, ...]], each) for each in projections[1:] if each)
        return all(log[: len(committed)] == committed for led, log in leaders if led in current)


class BrokerSystem:
    """Brokers and their controller as a :class:`kraftcheck.engine.system.System`.

    Components are the controller, the machines of processes, and time where clocks run.
    """

    permutations: tuple[tuple[int, ...], ...] = ()
    #: Where a search begins, how much it may spend, of what the engine keeps account, and what it looks for.
    NO_ANSWER_DEPENDS_ON: ClassVar[frozenset[str]] = frozenset(
        {"name", "_begin", "budgets", "network", "goals"}
    )

    def __init__(
        self,
        name: str,
        wiring: Wiring,
        network: Network,
        begin: GlobalState,
        budget_names: tuple[str, ...],
        properties: tuple[str, ...],
        goals: tuple[str, ...],
        serves_at_most: int | None,
    ) -> None:
        self.name = name
        self.wiring = wiring
        self.network = network
        self.components = len(begin.locals)
        self.budgets = begin.budgets
        self.budget_names = budget_names
        self.properties = properties
        self.goals = goals
        self.places: tuple[str, ...] = (*wiring.places, TIME)[: self.components]
        self._begin = begin
        self._index: Mapping[str, int] = {place: number for number, place in enumerate(self.places)}
        self._judged = frozenset(properties)
        self._serves_at_most = serves_at_most
        held = LeaderHoldsCommitted(wiring)
        self.invariants: tuple[Invariant, ...] = (held,) if held.name in self._judged else ()

    def initial_states(self) -> Sequence[GlobalState]:
        """One initial state."""
        return [self._begin]

    def destination(self, message: Hashable) -> int:
        """The component that ``message`` is addressed to."""
        return self._index[cast(InFlight, message).destination]

    def deliver(self, component: int, local: Hashable, message: Hashable) -> Sequence[Outcome]:
        """The outcomes of the delivery of a message."""
        steps = self.deliver_steps(component, local, message)
        found = [self.judge(component, step.outcome) for step in steps]
        if isinstance(cast(InFlight, message).payload, OVER_A_SESSION):
            return [replace(outcome, repeatable=False) for outcome in found]
        return found

    def actions(self, component: int, local: Hashable) -> Sequence[Outcome]:
        """The outcomes of steps without a message: timers, requests of the environment, time and faults."""
        return [self.judge(component, step.outcome) for step in self.action_steps(component, local)]

    def deliver_steps(self, component: int, local: Hashable, message: Hashable) -> list[Step]:
        """As :meth:`deliver`, with the execution of each outcome for traces."""
        arrived = cast(InFlight, message)
        if isinstance(local, Control):
            return list(control.deliver(self.wiring, local, arrived))
        return list(machine.deliver(self.wiring, component, cast(Machine, local), arrived))

    def action_steps(self, component: int, local: Hashable) -> list[Step]:
        """As :meth:`actions`, with the execution of each outcome for traces."""
        if isinstance(local, Control):
            return list(control.actions(self.wiring, local))
        if isinstance(local, Time):
            return list(time.actions(self.wiring, component, local))
        return list(machine.actions(self.wiring, component, cast(Machine, local)))

    def judge(self, component: int, outcome: Outcome) -> Outcome:
        """``outcome`` with the violations that this scenario checks, and the labels that they depend on."""
        kept = tuple(name for name in outcome.violations if name in self._judged)
        labels = tuple(label for label in outcome.labels if self._matters(cast(Label, label)))
        if kept == outcome.violations and labels == outcome.labels:
            return outcome
        return replace(outcome, violations=kept, labels=labels)

    def _matters(self, label: Label) -> bool:
        """Whether a property that this scenario checks depends on ``label``."""
        before_fenced = "InactiveBeforeSelfFenced" in self._judged
        match label:
            case histories.Committed() | histories.Crashed() | histories.LaterProcessLeads():
                return True
            case histories.HeartbeatAccepted():
                monotone = {"IncarnationMonotone", "OneLiveIncarnation"}
                return before_fenced or bool(self._judged & monotone)
            case histories.HeartbeatAnswered():
                return before_fenced
            case histories.Served(without_controller=False) | histories.TickEnded():
                return self._serves_at_most is not None
        return before_fenced or self._serves_at_most is not None

    def within(self, component: int, local: Hashable) -> bool:
        """Always: budgets bound the steps."""
        return True

    def signal_message(self, signal: Signal, message: Hashable) -> Hashable | None:
        """See :mod:`kraftcheck.systems.brokers.network`."""
        content, flying = signal.content, cast(InFlight, message)
        if isinstance(content, ClocksMove):
            return after_tick(flying, self.wiring.environment.delay)
        if isinstance(content, MetadataReplaced):
            assert signal.destination is not None
            place = self.places[signal.destination]
            old = flying.destination == place and isinstance(flying.payload, MetadataUpdate)
            return None if old else message
        if isinstance(content, ProcessEnded | RequestForgotten):
            api = content.api if isinstance(content, RequestForgotten) else None
            return after_forgetting(flying, self.places[signal.component], api)
        return message

    def signal_local(self, signal: Signal, component: int, local: Hashable) -> Hashable:
        """Ticks and turns change every local state; silence changes that of the controller."""
        place = cast(Control | Machine | Time, local)
        if isinstance(signal.content, ClocksMove) and not isinstance(place, Time):
            return time.begin_turns(place, component, signal.content.moves)
        if isinstance(signal.content, TurnTaken):
            return time.next_turn(place)
        if isinstance(signal.content, Silenced) and isinstance(place, Control):
            return control.with_silence(place, signal.content)
        return local

    def clock(self, component: int, local: Hashable) -> int:
        """Nothing expires."""
        return 0

    def expiry(self, message: Hashable) -> int | None:
        """Nothing expires."""
        return None

    def renamed(self, permutation: int, value: Hashable) -> Hashable:
        """``value``: there is only the identity."""
        return value

    def record(self, history: Hashable, label: Hashable) -> Recorded:
        """See :func:`kraftcheck.systems.brokers.history.record`; with the violations that are checked."""
        found = histories.record(
            cast(History, history), cast(Label, label), self._serves_at_most, self._judged
        )
        kept = tuple(name for name in found.violations if name in self._judged)
        return found if kept == found.violations else replace(found, violations=kept)


def machines(state: GlobalState) -> Iterator[Machine]:
    """The machines of a state, in order of their components."""
    return (local for local in state.locals if isinstance(local, Machine))


def control_of(state: GlobalState) -> Control:
    """The controller in a state."""
    (found,) = (local for local in state.locals if isinstance(local, Control))
    return found
