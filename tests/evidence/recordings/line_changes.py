"""One change to one field of one line of a recording, and whether a comparison reports it at that line."""

from __future__ import annotations

import copy
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from kraftcheck.evidence.recordings.exceptions import (
    CLIENT_REQUEST,
    DROPPED_APPEND,
    OLDER_VERSION,
    UNKNOWN_FIELD,
    UNKNOWN_TOTAL,
    is_compared,
)
from kraftcheck.evidence.recordings.lockstep import compare
from kraftcheck.evidence.recordings.recording import NOT_RAFT, recording_of
from kraftcheck.reference.protocol import KAFKA, Protocol
from kraftcheck.support.errors import InputError

Json = dict[str, Any]
Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Change:
    """The lines with one change in line ``seq``: at ``path`` is ``value`` instead of ``before``."""

    lines: list[Json]
    seq: int
    path: Path
    before: Any
    value: Any

    @property
    def field(self) -> str:
        return ".".join(str(key) for key in self.path)

    def __str__(self) -> str:
        event = self.lines[self.seq].get("ev", "line without ev")
        return f"line {self.seq} ({event}), {self.field}: {self.before!r} -> {self.value!r}"


#: Any small JSON value.
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.integers() | st.text(max_size=3) | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=4,
)


def with_anything(lines: Sequence[Json], data: st.DataObject) -> None:
    """One field of one line of ``lines`` becomes any value."""
    line = data.draw(st.sampled_from(lines))
    *around, last = data.draw(st.sampled_from(list(places(line))))
    container: Any = line
    for key in around:
        container = container[key]
    container[last] = data.draw(ANYTHING)


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """The path of every value inside ``value``: of leaves, and of whole objects and lists."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from places(inner, (*path, index))


def message_ids(line: Json) -> Iterator[int]:
    """The ids of the messages that a line shows or lists."""
    for entry in (line, line.get("during", {}), *line.get("out", ())):
        if "mid" in entry:
            yield entry["mid"]


def with_message_ids(lines: Iterable[Json], number: Callable[[int], int]) -> list[Json]:
    """``lines`` with the id of every message ``number(id)`` instead, wherever it stands."""

    def renumbered(entry: Json) -> Json:
        return entry | {name: number(entry[name]) for name in ("mid", "re") if name in entry}

    changed = []
    for line in map(renumbered, lines):
        if "out" in line:
            line["out"] = [renumbered(sent) for sent in line["out"]]
        if "during" in line:
            line["during"] = renumbered(line["during"])
        changed.append(line)
    return changed


#: Names that stand in the same places: one legal name for another is the change that is easiest to miss.
NAMES = (
    ("Unattached", "Prospective", "Candidate", "Leader", "Follower", "Resigned"),
    ("Vote", "BeginQuorumEpoch", "EndQuorumEpoch", "Fetch"),
    ("req", "resp"),
    ("append", "resign", "shutdown"),
    ("commit", "leaderChange"),
    ("drop", "reset", "partition", "hostDown", "connectionReset", "connectionClosed"),
    ("REQUEST_TIMEOUT", "CONNECTION_REFUSED", "CONNECTION_RESET"),
    ("tick", "recv", "expire"),
)


def _follows_no_rule(value: list[Any]) -> bool:
    """Whether the order of a list is one that no rule fixes: requests that leave together, sets of nodes."""
    if all(isinstance(entry, dict) and "mid" in entry for entry in value):
        return sum(entry.get("kind") == "resp" for entry in value) < 2
    return not all(isinstance(entry, dict) for entry in value)


#: Lists of control records in the order of a hash table (``VOTER_ORDER``, ``GRANTING_VOTERS``).
UNORDERED = ("grantingVoters", "voters")


def others(value: Any, key: str | int = "") -> list[Any]:
    """Other values of the same type for the field ``key``."""
    if isinstance(value, dict):
        return [{**value, "zone": 1}]
    if isinstance(value, bool):
        return [not value, int(value)]
    if isinstance(value, int):
        return [value + 1, value - 1, value + 100_000, -value - 7, str(value), float(value)]
    if isinstance(value, float):
        return [value + 1]
    if isinstance(value, str):
        plausible = [name for names in NAMES if value in names for name in names if name != value]
        return [value + "?", value[:-1] if value else "x", "other", *plausible]
    if isinstance(value, list) and value:
        follows_none = _follows_no_rule(value) or key in UNORDERED
        turned = [value[::-1]] if value[::-1] != value and not follows_none else []
        return [value[:-1], [*value, value[-1]], value[1:], *turned]
    return [] if isinstance(value, list) else [7]


_REMOVED = "<removed>"


def _options(lines: Sequence[Json], seq: int, path: Path) -> list[Any]:
    """Other values at ``path`` of line ``seq``, ``null``, and no value at all."""
    before: Any = lines[seq]
    for key in path:
        before = before[key]
    return [*others(before, path[-1]), *([] if before is None else [None]), _REMOVED]


def _changed(lines: Sequence[Json], seq: int, path: Path, value: Any) -> Change:
    changed = list(lines)
    changed[seq] = copy.deepcopy(lines[seq])
    container: Any = changed[seq]
    for key in path[:-1]:
        container = container[key]
    key, before = path[-1], container[path[-1]]
    if value == _REMOVED:
        del container[key]
    else:
        container[key] = value
    return Change(changed, seq, path, before, value)


def change(lines: Sequence[Json], seq: int, path: Path, draw: random.Random) -> Change:
    """A change at ``path`` of line ``seq``: another value, ``null``, or no value at all."""
    return _changed(lines, seq, path, draw.choice(_options(lines, seq, path)))


def changes(lines: Sequence[Json], seq: int, path: Path) -> Iterator[Change]:
    """Every change at ``path`` of line ``seq``."""
    return (_changed(lines, seq, path, value) for value in _options(lines, seq, path))


def any_change(lines: Sequence[Json], draw: random.Random) -> Change:
    """A change anywhere: each kind of line has the same chance."""
    kinds: dict[tuple[str, str], list[int]] = defaultdict(list)
    for line in lines:
        kinds[line["ev"], line.get("api", "")].append(line["seq"])
    seq = draw.choice(draw.choice(list(kinds.values())))
    return change(lines, seq, draw.choice(list(places(lines[seq]))), draw)


Fields = dict[tuple[str, ...], list[tuple[int, Path]]]


def fields_of(lines: Sequence[Json]) -> Fields:
    """Every place in ``lines`` (line, path) by the field it is: kind of line, then names without indices."""
    found: Fields = defaultdict(list)
    for line in lines:
        kind = [str(line.get(name, "")) for name in ("ev", "api", "kind", "call")]
        for path in places(line):
            names = ("*" if isinstance(key, int) or key.isdigit() else key for key in path)
            found[(*kind, *names)].append((line["seq"], path))
    return found


def change_of(lines: Sequence[Json], fields: Fields, draw: random.Random) -> Change:
    """A change in one of ``fields``: each has the same chance, however seldom it is there."""
    seq, path = draw.choice(fields[draw.choice(sorted(fields))])
    return change(lines, seq, path, draw)


def is_written(lines: Sequence[Json], seq: int) -> bool:
    """Whether the record at the offset that the append of line ``seq`` was given is written in its epoch;
    an offset that is no number excuses nothing.
    """
    epoch, offset = lines[seq].get("epoch"), lines[seq].get("offset", -1)
    return not isinstance(offset, int) or any(
        batch["epoch"] == epoch and batch["base"] <= offset <= batch["last"]
        for line in lines[seq:]
        for operation in line.get("log", ())
        for batch in operation.get("batches", ())
    )


def is_reported(made: Change, protocol: Protocol = KAFKA) -> bool:
    """Whether a comparison reports the change at its line: a difference, or bad input that names the line.

    A field that is not compared at its line need not be, and one that is not known may be counted instead; an
    exception other than bad input is never right.
    """
    line = made.lines[made.seq]
    kinds = [str(line.get("ev")), *([CLIENT_REQUEST] if line.get("from") == -1 else [])]
    kinds += [DROPPED_APPEND] if line.get("call") == "append" and not is_written(made.lines, made.seq) else []
    excused = not all(is_compared(kind, made.field) for kind in kinds)
    try:
        report = compare(recording_of(made.lines), protocol)
    except InputError as error:
        return excused or f"line {made.seq + 1}" in str(error) or f"line {made.seq + 2}:" in str(error)
    counters = (report.compared, report.world, report.not_covered, report.skipped)
    assert sum(counter.total() for counter in counters) == report.recorded == len(made.lines)
    if isinstance(made.value, dict) and report.exceptions.keys() & {UNKNOWN_FIELD, UNKNOWN_TOTAL}:
        return True
    if made.field == "ver" and line.get("api") == NOT_RAFT and report.exceptions[OLDER_VERSION]:
        return True
    return excused or any(made.seq in (found.seq, found.shown_at) for found in report.differences)
