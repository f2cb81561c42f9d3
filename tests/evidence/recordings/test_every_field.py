"""Each kind of field of each kind of line, changed: it is noticed, or listed as not compared."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence

import pytest

from kraftcheck.evidence.recordings.exceptions import NOT_COMPARED
from kraftcheck.evidence.recordings.lockstep import compare
from kraftcheck.evidence.recordings.recording import recording_of
from tests.evidence.recordings.line_changes import Change, Json, change, changes, fields_of, is_reported
from tests.evidence.recordings.small_recording import eventful_recording, small_recording


def one_of_each(
    lines: Sequence[Json], seed: int, kinds: Iterable[tuple[str, ...]] | None = None
) -> Iterator[Change]:
    """One change of each kind of field, or of those in ``kinds``, at one of its places."""
    draw, fields = random.Random(seed), fields_of(lines)
    places = [draw.choice(fields[kind]) for kind in sorted(fields if kinds is None else kinds)]
    return (change(lines, seq, path, draw) for seq, path in places)


@pytest.mark.slow
def test_a_change_of_each_kind_of_field_is_noticed_or_listed() -> None:
    """Of each field of each API, at one kind of line; by night every change of all kinds."""
    lines = small_recording()
    chosen = {(api, *names): kind for kind in fields_of(lines) for _, api, _, _, *names in [kind]}
    made = one_of_each(lines, 1, chosen.values())
    assert [str(one) for one in made if not is_reported(one)] == []


@pytest.mark.nightly
def test_a_change_of_each_kind_of_field_of_every_event_is_noticed_or_listed() -> None:
    assert [str(made) for made in one_of_each(eventful_recording(), 2) if not is_reported(made)] == []


@pytest.mark.nightly
def test_every_change_of_each_kind_of_field_is_noticed_or_listed() -> None:
    lines, draw = small_recording(), random.Random(1)
    places = [draw.choice(there) for _, there in sorted(fields_of(lines).items())]
    made = [one for seq, path in places for one in changes(lines, seq, path)]
    assert [str(one) for one in made if not is_reported(one)] == []


def moved(lines: Sequence[Json]) -> Iterator[Change]:
    """Each line at each other ms that the lines before and after it allow, the next few at most."""
    for before, line, after in zip(lines, lines[1:], lines[2:], strict=False):
        near = range(max(before["t"], line["t"] - 3), min(after["t"], line["t"] + 3) + 1)
        for time in near:
            if time != line["t"]:
                changed = list(lines)
                changed[line["seq"]] = {**line, "t": time}
                yield Change(changed, line["seq"], ("t",), line["t"], time)


@pytest.mark.slow
def test_the_time_of_a_poll_is_compared_to_the_ms() -> None:
    ticks = [one for one in moved(small_recording()) if one.lines[one.seq]["ev"] in ("tick", "expire")]
    assert len(ticks) > 20
    assert [str(one) for one in ticks if not compare(recording_of(one.lines)).differences] == []


def test_a_message_that_travels_faster_or_slower_than_the_network_is_reported() -> None:
    lines = small_recording()
    network = lines[0]["network"]
    for shortest, longest in ((9, 12), (2, 7)):
        lines[0]["network"] = {**network, "delayMin": shortest, "delayMax": longest}
        found = compare(recording_of(lines)).differences
        assert {one.field for one in found} == {"t"} and {one.event.split()[0] for one in found} == {"recv"}


def test_no_time_is_excused_as_a_whole() -> None:
    excused = {event for each in NOT_COMPARED if "t" in each.fields for event in each.events}
    assert not excused & {"*", "tick", "expire", "inflight"}
