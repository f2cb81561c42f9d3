"""The interface of a kind of system, so that every command can explore it, show it and query it.

A kind of system (replicas of a quorum, brokers and their controller) is a :class:`Kind`. Code that works for
every kind uses its kind's ``Kind`` alone; :func:`kraftcheck.systems.kinds.kind_of` finds the kind that a
scenario, a system or a value of it belongs to.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from kraftcheck.engine.fairness import Lasso, Withheld
from kraftcheck.engine.system import GlobalState, Outcome, PathStep, System, Violation
from kraftcheck.support.errors import InputError
from kraftcheck.systems.hindrance import Hindrance
from kraftcheck.systems.switches import Switches

if TYPE_CHECKING:
    from kraftcheck.engine.graph import Graph
    from kraftcheck.engine.representatives import Represent
    from kraftcheck.reference.config import Problem
    from kraftcheck.systems.guards import Guard
    from kraftcheck.systems.reading import Form
    from kraftcheck.systems.scenario import Scenario

#: The suffix of the name of a scenario for the run that leads to an initial state.
INITIAL_PREFIX = "-initial-prefix"

#: The name of a component in traces: the id of a replica, or a word.
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
    """A run of the reference: the events fed to a component, the rules that decided, and its effects in
    order.

    With ``start`` the process started; ``events`` then has only the later events. ``short`` are the events in
    the short form (:mod:`kraftcheck.systems.short_form`). ``completed`` counts the effects that happened
    before the process ended; it is the number of effects where no fault cut the run short.
    """

    start: bool
    events: tuple[Any, ...]
    short: tuple[str, ...]
    rules: tuple[str, ...]
    effects: tuple[Any, ...]
    completed: int


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict on one *eventually* property.

    Of a violation: its ``lasso``; or ``dead_end``, the path to a state that has room for the steps to the
    goal and from which no path within the bounds reaches it. ``open_states`` of ``states`` have no such room:
    from there the goal is outside the bounds, if it can be reached at all. ``closed``: no step leads outside
    the bounds, so that with relative epochs the verdict holds for any number of elections.

    ``spent``: the names of the budgets that leave the verdict open: only because they are spent does a cycle
    never take steps that fairness promises. ``withheld``: the names of the classes of these steps.
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
    """The open verdict on the property ``name``, because of budgets of ``system``."""
    spent = tuple(system.budget_names[index] for index in withheld.budgets)
    return Judged(name, spent=spent, withheld=withheld.classes)


class Step(Protocol):
    """An outcome, with the details that a trace shows."""

    @property
    def outcome(self) -> Outcome: ...


class ModelSystem(System, Protocol):
    """A system whose components have names and whose steps can be shown."""

    @property
    def places(self) -> tuple[Place, ...]:
        """The names of the components in traces, in order."""
        ...

    def deliver_steps(self, component: int, local: Any, message: Any) -> Sequence[Step]:
        """As :meth:`deliver`, each outcome with its part in a trace, before it is judged."""
        ...

    def action_steps(self, component: int, local: Any) -> Sequence[Step]:
        """As :meth:`actions`, each outcome with its part in a trace, before it is judged."""
        ...

    def judge(self, component: int, outcome: Outcome) -> Outcome:
        """``outcome`` with the violations that the scenario judges."""
        ...


class BrokenInitialPrefix(InputError):
    """The run that leads to the initial state violates properties, so that the exploration ends there.

    ``scenario`` is the run's, ``system`` that of ``scenario``; ``violations`` end with the run's last step.
    """

    def __init__(
        self, message: str, scenario: Scenario, system: ModelSystem, violations: tuple[Violation, ...]
    ) -> None:
        super().__init__(message)
        self.scenario = scenario
        self.system = system
        self.violations = violations


@dataclass(frozen=True, slots=True)
class Words:
    """The values of a kind as text for people.

    ``legend``: the instructions for reading a trace; ``growing``: the fields of the history that only grow,
    of which a trace shows the new entries; ``following``: fields that follow from others, hidden unless
    nothing else of the component changed; ``telling``: those whose changes a summary of a trace tells.
    ``fields`` gives the fields of a local state by name, ``history_fields`` the past that the properties
    read, ``start_lines`` the fields of a component at the beginning that are not empty, ``label`` a message
    in a few words, ``short_events`` events in the short
    form, as they happen to a component, ``describe_effect`` the name of an effect and its description.

    ``summary`` gives a local state in a line. ``remarks`` gives sentences on what a step of a component
    means, such as how many votes it has: from its states before and after, the message and the runs.

    ``notation``: the signs in these texts, by a regular expression that finds them, each with what it means;
    ``requested``: the actions for which the admin client asks; ``minor``: a regular expression of the words
    of a message that a picture leaves out.
    """

    legend: str
    growing: frozenset[str]
    following: frozenset[str]
    telling: tuple[str, ...]
    fields: Callable[[Any], Mapping[str, str]]
    history_fields: Callable[[Any], Mapping[str, str]]
    label: Callable[[Any], str]
    start_lines: Callable[[Any], list[str]]
    short_events: Callable[[Sequence[Any], Any], tuple[str, ...]]
    describe_effect: Callable[[Any], tuple[str, str]]
    summary: Callable[[Any], str]
    remarks: Callable[[Any, Any, Any, Sequence[Run]], Iterator[str]]
    notation: Sequence[tuple[str, str]] = ()
    requested: frozenset[str] = frozenset()
    minor: str = ""


@dataclass(frozen=True, slots=True)
class Files:
    """The JSON forms of a kind's values in trace files: of tuples of events and of effects, of a component
    with its local state, and of a message.
    """

    events: Form
    effects: Form
    local: Form
    message: Form


class Liveness:
    """The judgement of *eventually* properties of a kind, on the graph of a system that absorbs.

    ``judging``: the module with its functions ``judge`` and ``lassos_of``, which needs all of the engine.
    """

    def __init__(self, judging: Part) -> None:
        self._judging = judging

    def representative(self, system: Any, scenario: Any) -> Represent | None:
        """The function that maps states to representatives, if the scenario asks for it."""
        return None

    def judge(self, system: Any, graph: Graph, wanted: Any, represent: Represent | None) -> Judged:
        """The verdict on the property ``wanted``."""
        judged: Judged = self._judging.load().judge(system, graph, wanted, represent)
        return judged

    def lassos_of(
        self, system: Any, graph: Graph, wanted: Any, represent: Represent | None
    ) -> Iterator[Lasso]:
        """Behaviours that violate the property ``wanted``."""
        found: Iterator[Lasso] = self._judging.load().lassos_of(system, graph, wanted, represent)
        return found

    def closes(self, system: Any, scenario: Any, begin: GlobalState, end: GlobalState) -> bool:
        """Whether the steps from ``begin`` to ``end`` can be repeated from there."""
        return begin == end

    def with_room(
        self, system: Any, scenario: Any, path: Sequence[PathStep], initial: int
    ) -> tuple[ModelSystem, Scenario]:
        """``system`` and ``scenario`` with the bounds that ``path`` needs, as it was found without them."""
        return system, scenario

    def rooms(self, scenario: Any, steps: int) -> Iterator[Any]:
        """``scenario`` with each bound that :meth:`with_room` may give so many steps, its own first."""
        yield scenario


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a kind that is imported on first use: ``module``, or ``module:name``."""

    name: str

    def load(self) -> Any:
        """The part itself."""
        return resolve_name(f"kraftcheck.{self.name}")


class Kind(ABC):
    """A kind of system, with everything that it provides; :mod:`kraftcheck.systems.kinds` lists the kinds.

    ``name`` is the name of the table that only its scenarios have; ``scenario``: the class of these.
    ``values`` are the classes of its scenarios, systems, local states, messages, histories and effects.
    ``faults``: the budgets whose units are faults, and not events of operators, clients or clocks; ``waits``:
    the kinds of actions by which a wait ends, such as a timer.
    ``fields``: the fields of local states that graphs can show, with "-" for blanks; ``projection``: those on
    which graphs are projected by default. ``asking``: the functions by which its steps ask the reference.

    ``vectors``: the candidates for test vectors, :class:`kraftcheck.vectors.candidates.Candidates`; ``tlc``:
    the form of states in TLA+, :class:`kraftcheck.tlc.values.InTla`.

    The default of a method is right for a kind without the feature.
    """

    name: ClassVar[str]
    scenario: ClassVar[type[Any]]
    values: ClassVar[tuple[type, ...]]
    faults: ClassVar[frozenset[str]]
    waits: ClassVar[frozenset[str]]
    fields: ClassVar[tuple[str, ...]]
    projection: ClassVar[tuple[str, ...]]
    asking: ClassVar[tuple[Callable[..., Any], ...]]
    words: ClassVar[Words]
    files: ClassVar[Files]
    liveness: ClassVar[Liveness]
    variants: ClassVar[Switches[Any]]
    vectors: ClassVar[Part]
    tlc: ClassVar[Part]

    @abstractmethod
    def build(self, scenario: Any, where: str | None = None, *, absorbs: bool = False) -> ModelSystem:
        """The system of a scenario. Raises InputError where it contradicts itself, and BrokenInitialPrefix.

        ``absorbs``: a step outside the bounds is not pruned, but leads to a state without successors: for
        *eventually* properties it must still count as possible.
        """

    @abstractmethod
    def runs(self, step: Any, local: Any) -> tuple[Run, ...]:
        """The run of the reference in a step of a component that was in this local state."""

    @abstractmethod
    def explain(
        self,
        system: Any,
        violated: str,
        before: GlobalState,
        after: GlobalState,
        outcome: Outcome | None,
        run: Run | None,
    ) -> tuple[str, ...]:
        """The sentences that describe the part of a violated property that does not hold."""

    @abstractmethod
    def guards(self) -> Mapping[str, Guard]:
        """By place the guards of the reference through which its steps run."""

    @abstractmethod
    def covered(self, step: Any) -> Iterator[tuple[str, str]]:
        """The coverage targets that a step reaches if it is taken."""

    @abstractmethod
    def to_cover(self, systems: Sequence[Any]) -> Mapping[str, Sequence[str]]:
        """The coverage targets, by their sort, of the variants of the protocol that ``systems`` run; without
        any, of all variants.
        """

    def up_to_renaming(self, system: Any, scenario: Any) -> tuple[Any, tuple[int, ...]]:
        """``system`` as the scenario wants it explored, up to the renaming of components, and these
        components. Raises InputError where no two components are interchangeable.
        """
        return system, ()

    def undelivered(self, system: Any, place: Place, runs: Sequence[Run]) -> tuple[Any, ...]:
        """The messages that ``runs`` sent into cut links."""
        return ()

    def hindrances(self, system: Any, component: int, local: Any) -> Iterator[Hindrance]:
        """The events without a message that scenarios can have and that cannot happen to a component in this
        local state, whatever the budgets.
        """
        yield from ()

    def bounds(self, scenario: Any) -> list[tuple[str, str]]:
        """Tables and keys of the bounds of a scenario, without its budgets and its network's capacity."""
        return []

    def misconfigured(self, system: Any) -> tuple[Problem, ...]:
        """The problems of the configuration that a system runs; it is explored nevertheless."""
        return ()

    def promises(self, scenario: Any) -> Iterator[tuple[str, int, Any]]:
        """A number that a scenario promises, by its key: the scenario with each value of it, the strictest
        first, and promising nothing else.
        """
        yield from ()

    def used(self, scenario: Any, states: Sequence[GlobalState]) -> Any:
        """``scenario`` with these bounds as a behaviour through ``states`` needs them."""
        return scenario

    def initial_prefix(self, scenario: Any) -> Any | None:
        """The scenario of the run that leads to the initial state, if there is such a run."""
        return None


def called(place: Place) -> str:
    """The name of a component in a sentence: ``replica 2``, or its word."""
    return f"replica {place}" if isinstance(place, int) else place
