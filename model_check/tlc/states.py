"""The states of the checker compared with those of TLC, and the fields in which two states differ."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import takewhile
from pathlib import Path

import numpy as np

from kraftcheck.engine.graph import Graph
from kraftcheck.engine.system import PathStep
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kind import ModelSystem
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.kraft.step import Action, Also, Crash
from kraftcheck.tlc.parse import ParseError, StateReader
from kraftcheck.tlc.values import Function, InTla, State, Value, text

#: Among how many states of one side the most similar to a state of the other is searched.
_MOST_LIKE_AMONG = 200
#: The state variables of which each component has its own part.
_OF_COMPONENTS = frozenset({"replica", "disk", "machine"})


@dataclass(frozen=True, slots=True)
class OnlyOne:
    """A state that only one side has. ``unlike``: the places in which it differs from the most similar state
    that only the other side has, if there is one: place, value here, value there.
    """

    state: State
    unlike: tuple[tuple[str, str, str], ...] | None


@dataclass(frozen=True, slots=True)
class StatesCompared:
    """How many states both sides have, and how many only one side has, with examples. ``digest``: of the
    states, where both have the same.
    """

    common: int
    only_checker: int
    only_tlc: int
    examples_checker: tuple[OnlyOne, ...]
    examples_tlc: tuple[OnlyOne, ...]
    digest: str | None = None

    @property
    def same(self) -> bool:
        return not self.only_checker and not self.only_tlc


#: The fields of :class:`StatesCompared` that are numbers of states.
COUNTS = ("common", "only_checker", "only_tlc")
Key = tuple[tuple[str, str], ...]
Keyed = Mapping[Key, State]


def in_tla(value: object) -> InTla:
    """The kind in TLA+ that a scenario or a system belongs to."""
    found: InTla = kind_of(value).tlc.load()
    return found


def our_states(system: ModelSystem, graph: Graph) -> dict[Key, State]:
    """The states of ``graph``, which is that of ``system``. Raises NoFormError."""
    forms = in_tla(system).forms(system)
    return {_key(state): state for state in (forms.state(graph.state(n)) for n in range(graph.size))}


def generated_as_tlc_counts(graph: Graph) -> int:
    """How many states TLC says it has generated: the initial ones, and for each event the different states
    that it may lead to.

    The checker counts outcomes. A crash before an effect and a crash after it are two outcomes; if no state
    shows the effect, they are one for TLC, where the outcomes of an event are a set.
    """
    numbers: dict[Hashable, int] = {}
    group = [numbers.setdefault(_event(*label), len(numbers)) for label in graph.label_values]
    steps = np.stack((graph.sources, graph.targets, np.asarray(group, np.int32)[graph.labels]))
    return len(graph.initial) + int(np.unique(steps, axis=1).shape[1])


def _event(step: PathStep, action: Hashable) -> Hashable:
    """The event without its outcome: an action's detail ends with how a crash interrupts the step."""
    if not isinstance(action, Action):
        return (step.kind, step.component, step.message, step.duplicate, action)
    offered = tuple(takewhile(lambda each: not _cuts_short(each), action.also))
    return (step.kind, step.component, step.message, action.kind, action.about, offered)


def _cuts_short(part: Also | Crash) -> bool:
    return part is Also.RESTARTS or (isinstance(part, Crash) and not part.loses_power)


def their_states(dump: Path, variables: frozenset[str]) -> dict[Key, State]:
    """The states of a dump of TLC, of which ``variables`` are kept. Raises InputError."""
    found: dict[Key, State] = {}
    try:
        with dump.open(encoding="utf-8") as lines:
            for state in StateReader().dump(lines):
                kept = {name: value for name, value in state.items() if name in variables}
                if len(kept) < len(variables):
                    missing = ", ".join(sorted(variables - set(kept)))
                    raise InputError(f"TLC's dump: a state has no variable {missing}; the modules need it.")
                found[_key(kept)] = kept
    except ParseError as error:
        raise InputError(f"TLC's dump: {error}; it is no dump of states.") from None
    except UnicodeDecodeError:
        raise InputError("TLC's dump: not UTF-8 text; it is no dump of states.") from None
    except OSError as error:
        raise InputError(f"TLC's dump: cannot be read ({error.strerror}).") from None
    return found


def _key(state: State) -> Key:
    return tuple((name, text(state[name])) for name in sorted(state))


def digest_of(states: Keyed) -> str:
    """The digest of a set of states: 64 hexadecimal digits."""
    lines = ("".join(f"{name} = {value}\n" for name, value in key) for key in sorted(states))
    return sha256("\n".join(lines).encode()).hexdigest()


def compare(ours: Keyed, theirs: Keyed, examples: int = 3) -> StatesCompared:
    """The two sets of states, with at most ``examples`` of the states that only one side has."""
    left, right = sorted(ours.keys() - theirs.keys()), sorted(theirs.keys() - ours.keys())
    if not left and not right:
        return all_common(ours)
    return StatesCompared(
        common=len(ours.keys() & theirs.keys()),
        only_checker=len(left),
        only_tlc=len(right),
        examples_checker=tuple(_only(key, ours, right, theirs) for key in left[:examples]),
        examples_tlc=tuple(_only(key, theirs, left, ours) for key in right[:examples]),
    )


def all_common(states: Keyed) -> StatesCompared:
    """The comparison where both sides have these states."""
    return StatesCompared(len(states), 0, 0, (), (), digest_of(states))


def _only(key: Key, own: Keyed, other_keys: list[Key], other: Keyed) -> OnlyOne:
    state = own[key]
    among = (other[each] for each in other_keys[:_MOST_LIKE_AMONG])
    differences = [tuple(unlike(state, each)) for each in among]
    return OnlyOne(state, min(differences, key=len, default=None))


def unlike(one: State, other: State) -> Iterator[tuple[str, str, str]]:
    """The differences of two states: a place such as ``replica[1].role.name`` and both values there."""
    for name in sorted({*one, *other}):
        if name not in one or name not in other:
            here, there = (text(side[name]) if name in side else "absent" for side in (one, other))
            yield name, here, there
        else:
            yield from _unlike(name, one[name], other[name])


def _unlike(place: str, one: Value, other: Value) -> Iterator[tuple[str, str, str]]:
    if text(one) == text(other):
        return
    both = (_parts(one), _parts(other))
    if both[0] is None or both[1] is None or set(both[0]).isdisjoint(both[1]):
        yield place, text(one), text(other)
        return
    for key in sorted({*both[0], *both[1]}):
        inside = [part.get(key) for part in both if part is not None]
        if inside[0] is None or inside[1] is None:
            here, there = ("absent" if each is None else text(each) for each in inside)
            yield place + key, here, there
        else:
            yield from _unlike(place + key, inside[0], inside[1])


def _parts(value: Value) -> dict[str, Value] | None:
    """The parts of a function or sequence, by the text that selects them."""
    if isinstance(value, tuple):
        return {f"[{number}]": each for number, each in enumerate(value, 1)}
    if isinstance(value, Function):
        return {
            f".{key}" if isinstance(key, str) and key.isidentifier() else f"[{text(key)}]": each
            for key, each in value.pairs
        }
    return None


def lines_of(state: State) -> Iterator[str]:
    """A state as text: a line for each variable, or for each member of a sequence or a bag."""
    for name in sorted(state):
        value = state[name]
        if name == "network" and isinstance(value, Function):
            for message, count in value.pairs:
                yield f"{name}: {text(message)}" + ("" if count == 1 else f" ×{text(count)}")
        elif isinstance(value, tuple | Function) and (parts := _parts(value)) and name in _OF_COMPONENTS:
            for key, each in parts.items():
                yield f"{name}{key} = {text(each)}"
        else:
            yield f"{name} = {text(value)}"
