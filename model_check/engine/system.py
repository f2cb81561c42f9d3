"""The subject of an exploration: a system of components, a network and an environment.

A *global state* is a tuple of component local states, a multiset of messages in flight, one history value,
and a tuple of budgets (counters of faults and inputs that the environment may still spend). Everything a
component does on an event depends on its local state and the event alone; so the engine can call the system
once for each (local state, event) pair and keep the outcomes in tables (local transition caching, as in
LTSmin's PINS interface: Blom, van de Pol, Weber, CAV 2010).

All values that a system hands to the engine (local states, messages, histories, labels, projections) must
be immutable, hashable, compare by value, and have a ``repr`` that depends on the value alone (no object
addresses, no unordered sets): the engine interns them and derives 64-bit fingerprints from the ``repr``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from msgspec import Struct

Local = Hashable
Message = Hashable
History = Hashable
Label = Hashable


class Loss(Enum):
    """When the network may remove a message.

    A message that is never delivered is the same as a lost one, so explicit loss adds behaviour only where
    the messages in flight are counted. ``WHEN_FULL`` offers it only in states where the network holds as many
    messages as its capacity allows; ``ALWAYS`` in every state; ``NEVER`` not at all.
    """

    NEVER = "never"
    WHEN_FULL = "when-full"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class Network:
    """An unordered network that holds at most ``capacity`` messages.

    A successor with more messages than ``capacity`` is not explored (a state constraint; the engine counts
    such successors and reports them). With ``duplicates`` a delivered message may also stay in flight,
    at the price of one unit of budget ``duplicate_budget`` (an index into ``System.budgets``; -1: free).
    """

    capacity: int
    loss: Loss = Loss.WHEN_FULL
    duplicates: bool = False
    duplicate_budget: int = -1


class Signal(Struct, frozen=True):
    """A notification of a step to all other components and all messages in flight at once.

    It is the only effect of a step on other components: a forgotten request (its answer must not arrive any
    more), a unit of time that is over on all clocks. ``component`` is the one that signals; ``destination``
    the receiving component, or ``None`` for all of them; ``content`` the kind of signal, where a system has
    several. The engine applies :meth:`System.signal_message` to every message in flight *before* the
    outcome's own sends are added, and :meth:`System.signal_local` to every other component.
    """

    component: int
    destination: int | None = None
    content: Hashable = None


class Outcome(Struct, frozen=True):
    """One possible result of one event at one component.

    action: its name in traces and on graph edges (hashable, readable with ``str``).
    local: the component's local state afterwards.
    sends: messages put into flight, in order.
    labels: the entries for the history, in order; each is passed to :meth:`System.record`.
    costs: indices into ``System.budgets``; each occurrence spends one unit. Without the budget the outcome
        is not enabled.
    signals: its notifications to all other components, applied in order before ``sends``.
    consumes: whether a delivered message leaves the network (``False``: it stays; ignored for actions of
        the environment).
    repeatable: whether a copy of the message may arrive in this way (``Network.duplicates``).
    violations: names of the properties that this very transition violates.
    goals: names of *sometimes* goals that this transition reaches.
    """

    action: Hashable
    local: Local
    sends: tuple[Message, ...] = ()
    labels: tuple[Label, ...] = ()
    costs: tuple[int, ...] = ()
    signals: tuple[Signal, ...] = ()
    consumes: bool = True
    repeatable: bool = True
    violations: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()


class Recorded(Struct, frozen=True):
    """The history after a label, with the properties that the label violated and the goals that it
    reached.
    """

    history: History
    violations: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GlobalState:
    """A full global state, as the reference explorer, traces and graphs use it.

    ``messages`` is the multiset of messages in flight as a tuple sorted by ``repr``.
    """

    locals: tuple[Local, ...]
    messages: tuple[Message, ...]
    history: History
    budgets: tuple[int, ...]


class SymmetryError(ValueError):
    """The system does not behave the same under a permutation that it names; the argument names the
    difference.
    """


class Invariant(Protocol):
    """A property of single global states, evaluated once per distinct projection of the state.

    ``holds`` must depend on its arguments alone: the projections of all components, in order, and the
    projection of the history.
    """

    @property
    def name(self) -> str: ...

    def project(self, component: int, local: Local) -> Hashable: ...

    def project_history(self, history: History) -> Hashable: ...

    def holds(self, projections: tuple[Hashable, ...], history: Hashable) -> bool: ...


class System(Protocol):
    """A closed system. Components are numbered from 0.

    ``budgets`` are the initial counters (0 to 255 each, at most 7 of them); ``budget_names`` name them in
    traces. ``goals`` are the names of the *sometimes* goals that a complete exploration must reach,
    ``properties`` the names of all safety properties that outcomes, records and invariants may report.

    Its class may have ``NO_ANSWER_DEPENDS_ON``: the names of attributes of which nothing depends that the
    other methods than :meth:`initial_states` answer, so that systems which differ in them alone share kept
    answers. Attributes of others count.
    """

    @property
    def name(self) -> str: ...
    @property
    def components(self) -> int: ...
    @property
    def network(self) -> Network: ...
    @property
    def budgets(self) -> tuple[int, ...]: ...
    @property
    def budget_names(self) -> tuple[str, ...]: ...
    @property
    def invariants(self) -> tuple[Invariant, ...]: ...
    @property
    def properties(self) -> tuple[str, ...]: ...
    @property
    def goals(self) -> tuple[str, ...]: ...
    @property
    def permutations(self) -> tuple[tuple[int, ...], ...]:
        """Permutations of the components under which the system behaves the same.

        They are a group; the identity comes first. Component c takes the place of component p[c]. Empty:
        there is none but the identity.
        """
        ...

    def renamed(self, permutation: int, value: Hashable) -> Hashable:
        """``value`` (a local state, message, label or history) under a permutation, given by its number."""
        ...

    def initial_states(self) -> Sequence[GlobalState]:
        """The initial states, in a fixed order."""
        ...

    def destination(self, message: Message) -> int:
        """The component that ``message`` is delivered to."""
        ...

    def deliver(self, component: int, local: Local, message: Message) -> Sequence[Outcome]:
        """The possible outcomes when ``message`` is delivered. Empty: the message cannot be delivered now."""
        ...

    def actions(self, component: int, local: Local) -> Sequence[Outcome]:
        """The steps that the environment may make ``component`` take without a message (timers, input,
        faults).
        """
        ...

    def within(self, component: int, local: Local) -> bool:
        """The state constraint on local states: successors with a local state outside are not explored."""
        ...

    def signal_message(self, signal: Signal, message: Message) -> Message | None:
        """``message`` after ``signal``: itself, another message, or ``None`` when it leaves the network."""
        ...

    def signal_local(self, signal: Signal, component: int, local: Local) -> Local:
        """The local state of another component after ``signal``."""
        ...

    def clock(self, component: int, local: Local) -> int:
        """The logical time at a component, by which messages expire there. Constant if none ever does.

        Below 2**62. A signal of another component must not change it (the engine checks that).
        """
        ...

    def expiry(self, message: Message) -> int | None:
        """The clock of its destination from which on delivering ``message`` changes nothing at all.

        The engine removes an expired message from the state at once, which leaves fewer states that behave
        alike. This is sound only if the delivery of an expired message never has an effect, now or later:
        an obligation of the system, to be tested by comparing with ``None`` (never expires).
        """
        ...

    def record(self, history: History, label: Label) -> Recorded:
        """The history after ``label``."""
        ...


class Plain:
    """A system that does nothing: the base of small ones, whose messages are tuples that begin with their
    destination.
    """

    name = "plain"
    components = 1
    network = Network(0, Loss.NEVER)
    budgets: tuple[int, ...] = ()
    budget_names: tuple[str, ...] = ()
    invariants: tuple[Invariant, ...] = ()
    properties: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    permutations: tuple[tuple[int, ...], ...] = ()

    def initial_states(self) -> Sequence[GlobalState]:
        return [GlobalState((0,) * self.components, (), 0, self.budgets)]

    def destination(self, message: Any) -> int:
        return int(message[0])

    def deliver(self, component: int, local: Any, message: Any) -> Sequence[Outcome]:
        return ()

    def actions(self, component: int, local: Any) -> Sequence[Outcome]:
        return ()

    def within(self, component: int, local: Any) -> bool:
        return True

    def signal_message(self, signal: Signal, message: Any) -> Any:
        return message

    def signal_local(self, signal: Signal, component: int, local: Any) -> Any:
        return local

    def clock(self, component: int, local: Any) -> int:
        return 0

    def expiry(self, message: Any) -> int | None:
        return None

    def renamed(self, permutation: int, value: Any) -> Any:
        return value

    def record(self, history: Any, label: Any) -> Recorded:
        return Recorded(history)


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits at which an exploration ends; reaching one makes the verdict *undetermined*.

    ``max_states``: distinct states; ``max_memory``: resident bytes of the process; ``max_depth``: levels;
    ``max_seconds``: wall time. ``None`` means no limit. ``over_capacity``: whether it continues where the
    network has no room for a step, which is pruned.
    """

    max_states: int | None = None
    max_memory: int | None = None
    max_depth: int | None = None
    max_seconds: float | None = None
    over_capacity: bool = True


#: No limits.
UNLIMITED = Limits()


class Verdict(Enum):
    """``HOLDS``: the bounded space is exhausted, no property is violated and every goal was reached.
    ``VIOLATED``: a safety property is violated, or the space is exhausted and a goal was never reached.
    ``UNDETERMINED``: a limit was reached first.
    """

    HOLDS = "holds within bounds"
    VIOLATED = "violated"
    UNDETERMINED = "undetermined"


def verdict_of(violated: bool, limit: str | None, missing_goals: tuple[str, ...]) -> Verdict:
    """The verdict: a violation outweighs a limit, a limit outweighs goals not reached."""
    if violated:
        return Verdict.VIOLATED
    if limit is not None:
        return Verdict.UNDETERMINED
    return Verdict.VIOLATED if missing_goals else Verdict.HOLDS


def split_goals(system: System, reached: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(reached, missing): the system's goals in its order; reached goals it does not list come last."""
    seen = set(reached)
    extra = tuple(sorted(seen.difference(system.goals)))
    hit = tuple(goal for goal in system.goals if goal in seen) + extra
    return hit, tuple(goal for goal in system.goals if goal not in seen)


def check_property(system: System, name: str) -> str:
    """``name``, if the system lists it as a property; otherwise ``ValueError``."""
    if name not in system.properties:
        raise ValueError(f"{name!r} was violated but is not among the system's properties")
    return name


@dataclass(frozen=True, slots=True)
class Violation:
    """A violated property and the number of steps of the shortest path to it.

    ``path`` has one entry per step: see :class:`PathStep`; the last one is the violating step. It starts
    in the state ``initial`` (an index into :meth:`System.initial_states`).
    """

    property: str
    depth: int
    path: tuple[PathStep, ...]
    initial: int = 0


@dataclass(frozen=True, slots=True)
class PathStep:
    """One step of a path, enough to replay it on the system without the engine's tables.

    ``kind`` is ``deliver``, ``act`` or ``lose``; ``message`` the message delivered or lost (``None`` for
    ``act``); ``choice`` the index into the sequence that :meth:`System.deliver` or
    :meth:`System.actions` returned; ``duplicate`` whether the delivered message stayed in flight.
    """

    kind: str
    component: int
    message: Message | None
    choice: int
    duplicate: bool = False


@dataclass(frozen=True, slots=True)
class Exploration:
    """The result of an exploration; counts are exact and independent of the number of threads.

    ``distinct``: distinct states found; ``states``: those and their images under the system's symmetry, which
    were not explored; ``generated``: successors generated, constrained ones excluded; ``skipped``: successors
    left out because the same steps were generated in another order; ``depth``: number of the last level
    (initial states are level 0); ``levels``: new states per level; ``constrained``: successors pruned by the
    state constraint or the network's capacity, by reason (``"capacity"``, ``"within"``); ``missing_goals``:
    goals not reached; ``calls``: calls of ``System.deliver`` and ``System.actions``;
    ``collision_probability``: upper estimate of the chance that any two distinct states share a fingerprint;
    ``visited_bytes``, ``spilled_bytes``: of the visited set in memory at the end, and of its parts on disk;
    ``walks``: random walks that were taken to their end, in a simulation.
    """

    verdict: Verdict
    distinct: int
    generated: int
    depth: int
    levels: tuple[int, ...]
    violations: tuple[Violation, ...]
    reached_goals: tuple[str, ...]
    missing_goals: tuple[str, ...]
    constrained: dict[str, int] = field(default_factory=dict)
    deadlocks: int = 0
    calls: int = 0
    seconds: float = 0.0
    states: int = 0
    skipped: int = 0
    peak_memory: int = 0
    visited_bytes: int = 0
    spilled_bytes: int = 0
    collision_probability: float = 0.0
    limit: str | None = None
    walks: int = 0


class Interrupted(KeyboardInterrupt):
    """The user ended an exploration; ``found`` is its result so far."""

    def __init__(self, found: Exploration) -> None:
        super().__init__()
        self.found = found
