"""What a kind of system provides, so that every command can explore it, show it and ask about it.

A kind of system (replicas of a quorum, brokers and their controller) is a :class:`Model`. Everything outside
``model_check/systems/kraft`` and ``model_check/systems/brokers`` that is about systems in general goes
through it; :func:`kraftcheck.systems.kinds.model_of` finds the model that a scenario, a system or a value of
it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from kraftcheck.engine.liveness import Lasso, Withheld
from kraftcheck.engine.system import GlobalState, Outcome, PathStep, System, Violation
from kraftcheck.support.errors import InputError

if TYPE_CHECKING:
    from kraftcheck.engine.graph import Graph
    from kraftcheck.engine.representatives import Represent
    from kraftcheck.reference.config import Problem
    from kraftcheck.systems.guards import Guard
    from kraftcheck.systems.scenario import Scenario

#: What the name of the scenario of a run that leads to an initial state ends with.
PRELUDE = "-prelude"

#: What traces call a component: the id of a replica, or a name.
Place = int | str


class Flying(Protocol):
    """A message in flight: from one component to another."""

    @property
    def source(self) -> Place: ...
    @property
    def destination(self) -> Place: ...
    @property
    def payload(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class Run:
    """What the reference did: the events fed to a component, what decided, and its effects in order.

    ``start`` tells that the process started; ``events`` then holds only what followed.
    ``short`` are the events in the short form (:mod:`kraftcheck.systems.kraft.text.short_form`).
    ``completed`` counts the effects that happened before the process ended; it is the number of effects where
    no fault cut the run short.
    """

    start: bool
    events: tuple[Any, ...]
    short: tuple[str, ...]
    rules: tuple[str, ...]
    effects: tuple[Any, ...]
    completed: int


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of one *eventually* property.

    Of a violation: its ``lasso``; or ``dead_end``, the way to a state with room for what the goal takes, from
    which it is out of reach within the bounds. ``open_states`` of ``states`` are without
    that room, and the goal lies beyond the bounds from there, if anywhere. ``closed``: no step leads beyond
    the bounds, so that with relative epochs what is said holds for any number of elections.

    ``spent``: the names of the budgets without which nothing can be said: what would be a violation keeps
    steps from being taken that fairness promises, and only because these budgets are spent. ``withheld``: the
    names of the classes of these steps.
    """

    name: str
    lasso: Lasso | None = None
    dead_end: Lasso | None = None
    open_states: int = 0
    states: int = 0
    closed: bool = False
    spent: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()

    @property
    def violated(self) -> bool:
        return self.lasso is not None or self.dead_end is not None

    @property
    def holds(self) -> bool:
        return not self.violated and not self.spent

    @property
    def stem(self) -> int:
        """Steps before the cycle, or to the dead end; 0 if the property holds."""
        found = self.lasso or self.dead_end
        return 0 if found is None else len(found.stem)

    @property
    def cycle(self) -> int:
        """Steps of the cycle; 0 if there is none."""
        return 0 if self.lasso is None else len(self.lasso.cycle)


def kept_open(system: System, name: str, withheld: Withheld) -> Judged:
    """That nothing can be said of the property ``name`` because of budgets of ``system``."""
    spent = tuple(system.budget_names[index] for index in withheld.budgets)
    return Judged(name, spent=spent, withheld=withheld.classes)


class Step(Protocol):
    """An outcome, with what a trace shows of it."""

    @property
    def outcome(self) -> Outcome: ...


class ModelSystem(System, Protocol):
    """A system whose components have names and whose steps can be told."""

    @property
    def places(self) -> tuple[Place, ...]:
        """What traces call the components, in order."""
        ...

    def deliver_steps(self, component: int, local: Any, message: Any) -> Sequence[Step]:
        """As :meth:`deliver`, with what a trace shows of each outcome, before it is judged."""
        ...

    def action_steps(self, component: int, local: Any) -> Sequence[Step]:
        """As :meth:`actions`, with what a trace shows of each outcome, before it is judged."""
        ...

    def judge(self, component: int, outcome: Outcome) -> Outcome:
        """``outcome`` with the violations that the scenario asks about."""
        ...


class BrokenPrelude(InputError):
    """The run that leads to the initial state violates properties, so that nothing comes after it.

    ``scenario`` is the run's, ``system`` that of ``scenario``; ``violations`` end with the run's last step.
    """

    def __init__(
        self, message: str, scenario: Scenario, system: ModelSystem, violations: tuple[Violation, ...]
    ) -> None:
        super().__init__(message)
        self.scenario = scenario
        self.system = system
        self.violations = violations


class Words(Protocol):
    """What people read of a model's values, and what is in the files."""

    @property
    def legend(self) -> str:
        """How to read a trace."""
        ...

    @property
    def growing(self) -> frozenset[str]:
        """The fields of the history that only grow, of which a trace tells what is new."""
        ...

    @property
    def following(self) -> frozenset[str]:
        """Fields that follow from others: hidden unless nothing else of the component changed."""
        ...

    def fields(self, local: Any) -> Mapping[str, str]:
        """The fields of a local state, by name."""
        ...

    def history_fields(self, history: Any) -> Mapping[str, str]:
        """What the properties remember of the past, by name."""
        ...

    def label(self, message: Any) -> str:
        """A message in a few words."""
        ...

    def start_lines(self, local: Any) -> list[str]:
        """A component at the beginning: what is not empty."""
        ...

    def short_events(self, events: Sequence[Any], local: Any) -> tuple[str, ...]:
        """Events in the short form, as they happen to a component."""
        ...

    def describe_effect(self, effect: Any) -> tuple[str, str]:
        """The name of an effect, and what it does."""
        ...


class Files(Protocol):
    """The JSON of a model's values in trace files: of which types events and effects are, and both ways for
    local states and messages. Readers raise InputError, with the place in the file.
    """

    @property
    def events(self) -> Any: ...
    @property
    def effects(self) -> Any: ...
    def encode_local(self, place: Place, local: Any) -> dict[str, Any]: ...
    def decode_local(self, data: Any, where: str) -> tuple[Place, Any]: ...
    def encode_message(self, message: Any) -> dict[str, Any]: ...
    def decode_message(self, data: Any, where: str) -> Any: ...


class Liveness(Protocol):
    """How a model judges *eventually* properties, on the graph of a system that absorbs."""

    def representative(self, system: Any, scenario: Any) -> Represent | None:
        """What makes representatives of states, where the scenario asks for it."""
        ...

    def judge(self, system: Any, graph: Graph, wanted: Any, represent: Represent | None) -> Judged: ...
    def lassos_of(
        self, system: Any, graph: Graph, wanted: Any, represent: Represent | None
    ) -> Iterator[Lasso]: ...
    def closes(self, system: Any, scenario: Any, begin: GlobalState, end: GlobalState) -> bool:
        """Whether what has led from ``begin`` to ``end`` may be done again from there."""
        ...

    def with_room(
        self, system: Any, scenario: Any, path: Sequence[PathStep], initial: int
    ) -> tuple[ModelSystem, Scenario]:
        """``system`` and ``scenario`` with the bounds that ``path`` needs, as it was found without them."""
        ...


class Variants(Protocol):
    """The variants of the protocol that a model's scenarios choose from: a preset, and switches changed."""

    @property
    def presets(self) -> tuple[str, ...]: ...
    @property
    def switches(self) -> tuple[str, ...]: ...
    def chosen(
        self, scenario: Any, preset: str | None, switches: Mapping[str, Any], where: str
    ) -> dict[str, Any]:
        """The table ``protocol`` of ``scenario`` with another preset (``None``: its own, with the switches
        that it has) and more switches. Raises InputError, which names ``where``.
        """
        ...


class Model(Protocol):
    """A kind of system.

    ``name`` is what its components are called together, as the table of its scenarios that tells the kind.
    ``values`` are the classes of its scenarios, systems, local states, messages, histories and effects.
    ``faults``: the budgets whose units are faults, and not what operators, clients or clocks do. ``fields``:
    what of local states is asked for in graphs, with "-" for blanks; ``projection``: on which of them graphs
    are projected unless others are named. ``asking``: the functions by which its steps ask the reference.
    """

    @property
    def name(self) -> str: ...
    @property
    def values(self) -> tuple[type, ...]: ...
    @property
    def faults(self) -> frozenset[str]: ...
    @property
    def fields(self) -> tuple[str, ...]: ...
    @property
    def projection(self) -> tuple[str, ...]: ...
    @property
    def asking(self) -> tuple[Callable[..., Any], ...]: ...
    @property
    def words(self) -> Words: ...
    @property
    def files(self) -> Files: ...
    @property
    def liveness(self) -> Liveness: ...
    @property
    def variants(self) -> Variants: ...

    def build(self, scenario: Any, where: str | None = None, *, absorbs: bool = False) -> ModelSystem:
        """The system of a scenario. Raises InputError where it contradicts itself, and BrokenPrelude.

        ``absorbs``: a step beyond the bounds is not cut, but leads to where nothing happens any more: for
        *eventually* properties it must still count as possible.
        """
        ...

    def interchangeable(self, system: Any, scenario: Any) -> tuple[int, ...]:
        """The components up to whose renaming states are looked at, which ``system`` is told. Raises
        InputError where a scenario asks for it in vain.
        """
        ...

    def runs(self, step: Any, local: Any) -> tuple[Run, ...]:
        """What the reference did in a step of a component that was in this local state."""
        ...

    def undelivered(self, system: Any, place: Place, runs: Sequence[Run]) -> tuple[Any, ...]:
        """The messages that ``runs`` sent into cut links."""
        ...

    def explain(
        self,
        system: Any,
        violated: str,
        before: GlobalState,
        after: GlobalState,
        outcome: Outcome | None,
        run: Run | None,
    ) -> tuple[str, ...]:
        """The sentences that say which part of a violated property does not hold."""
        ...

    def guards(self) -> Mapping[str, Guard]:
        """By place the guards of the reference through which its steps run."""
        ...

    def covered(self, step: Any) -> Iterator[tuple[str, str]]:
        """What a step covers if it is taken."""
        ...

    def to_cover(self, systems: Sequence[Any]) -> Mapping[str, Sequence[str]]:
        """By kind what there is to cover by the variants of the protocol that ``systems`` run; without any,
        by all variants.
        """
        ...

    def bounds(self, scenario: Any) -> list[tuple[str, str]]:
        """Tables and keys of the bounds of a scenario beside its budgets and its network's capacity."""
        ...

    def misconfigured(self, system: Any) -> tuple[Problem, ...]:
        """What is wrong with the configuration that a system runs, which is explored all the same."""
        ...

    def promises(self, scenario: Any) -> Iterator[tuple[str, int, Any]]:
        """A number that a scenario promises, by its key: the scenario with each value of it, the strictest
        first, and promising nothing else.
        """
        ...

    def used(self, scenario: Any, states: Sequence[GlobalState]) -> Any:
        """``scenario`` with these bounds as a behaviour through ``states`` needs them."""
        ...

    def prelude(self, scenario: Any) -> Any | None:
        """The scenario of the run that leads to the initial state, if there is such a run."""
        ...


def called(place: Place) -> str:
    """What a component is called where it does not stand alone: ``replica 2``, or its name."""
    return f"replica {place}" if isinstance(place, int) else place


def place_of(system: ModelSystem, component: int) -> Place:
    """What a component is called."""
    return system.places[component]
