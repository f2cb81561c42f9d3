"""Every printed form of a state, in every release."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.evidence.history.facts import NOT_SHOWN, Key
from kraftcheck.evidence.logs.releases import forms, span
from kraftcheck.evidence.logs.states import LoggedState, Unreadable, fields, parse_state
from tests.evidence.logs.log_lines import RELEASES, shown, state
from tests.laboratory.logs.render import Drawn, state_text

SAMPLES = tomllib.loads(Path(__file__).with_name("printed_states.toml").read_text())["state"]
each_sample = pytest.mark.parametrize(
    "sample", SAMPLES, ids=lambda one: f"{one['text'][:30]} {one['releases']}"
)


def said(sample: dict[str, Any], name: str) -> object:
    """The value of a field in a sample."""
    found = sample.get(name, NOT_SHOWN)
    if isinstance(found, list):
        return Key(found[0], found[1] if len(found) > 1 else None)
    return None if found == "none" else found


@each_sample
def test_a_printed_state_is_read(sample: dict[str, Any]) -> None:
    found = parse_state(sample["text"].encode())
    assert (span(found.releases), found.role, found.epoch) == (
        sample["releases"],
        sample["role"],
        sample["epoch"],
    )
    what = {"leader": found.leader, "voted": found.voted, "high-watermark": found.high_watermark}
    assert what == {name: said(sample, name) for name in what}


@each_sample
def test_every_cut_of_a_printed_state_is_unreadable(sample: dict[str, Any]) -> None:
    for end in range(len(sample["text"])):
        with pytest.raises(Unreadable):
            parse_state(sample["text"][:end].encode())


def test_every_form_has_a_sample() -> None:
    found = set()
    for word, _, rest in (sample["text"].partition("(") for sample in SAMPLES):
        found.add((word, tuple(name.decode() for name in fields(rest[:-1].encode()))))
    # 4.1 prints no `retries` and the round brackets of 4.0: the form is that of 4.2 but for the brackets.
    assert found >= set(forms().states)
    assert {word for word, _ in found} == {word for word, _ in forms().states}


def test_granted_votes_are_read() -> None:
    found = parse_state(
        b"CandidateState(localId=1, epoch=7, retries=1, voteStates={1=GRANTED, 2=UNRECORDED, 3=REJECTED}, "
        b"highWatermark=Optional.empty, electionTimeoutMs=1666)"
    )
    assert (found.granted, found.electorate) == (frozenset({1}), frozenset({1, 2, 3}))


DRAWN = [
    state("Unattached", 5, leader=2, voted=3, high=4),
    state("Prospective", 5, leader=2, voted=3, high=4, granted=frozenset({1, 3})),
    state("Candidate", 5, voted=1, granted=frozenset({1, 3})),
    state("Leader", 5, start=7),
    state("Follower", 5, leader=2, voted=3, high=4),
    state("Resigned", 5),
    state("Voted", 5, voted=2),
]

#: The releases that have a state, where not all do.
HAVE = {"Prospective": RELEASES[7:], "Voted": RELEASES[:6]}


@pytest.mark.parametrize(
    ("drawn", "release"),
    [(drawn, release) for drawn in DRAWN for release in HAVE.get(drawn.role, RELEASES)],
    ids=lambda value: value if isinstance(value, str) else value.role,
)
def test_what_a_release_prints_is_read_back(drawn: Drawn, release: str) -> None:
    found = parse_state(state_text(drawn, release).encode())
    voted = found.voted.id if isinstance(found.voted, Key) else found.voted
    what = (found.role, found.epoch, found.leader, voted)
    assert release in found.releases
    assert tuple("hidden" if one is NOT_SHOWN else one for one in what) == shown(drawn, release)


@given(st.binary(max_size=200))
def test_bytes_that_are_no_state_are_unreadable(noise: bytes) -> None:
    follower = b"FollowerState(" + noise + b")"
    leader = b"Leader(epoch=1, epochStartOffset=" + noise + b")"
    for text in (noise, follower, leader):
        try:
            found = parse_state(text)
        except Unreadable:
            continue
        assert isinstance(found, LoggedState)
