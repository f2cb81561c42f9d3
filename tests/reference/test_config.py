"""Configuration: what keeps a process from starting, and how long its timers run."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck import spec
from kraftcheck.reference.config import (
    AUTO_JOIN,
    BOOTSTRAP_SERVERS,
    NODE_ID,
    VOTERS,
    Config,
    ProcessRole,
    Times,
    connection_span,
    parse_address,
    parse_voter,
    problems,
    span,
)
from kraftcheck.reference.effects import Duration, SuccessorBackoff
from kraftcheck.reference.voters import Endpoint

BROKER, CONTROLLER = ProcessRole.BROKER, ProcessRole.CONTROLLER
SOUND: dict[str, Any] = {"roles": (CONTROLLER,), "bootstrap_servers": ("node-1:9093",)}


def config(node: int = 1, **fields: Any) -> Config:
    return Config(node, **{**SOUND, **fields})


@pytest.mark.parametrize(
    "sound",
    [
        config(),
        config(bootstrap_servers=(), voters=("1@node-1:9093", "2@[::1]:9093")),
        config(voters=("1@node-1:9093",)),
        config(9, roles=(BROKER,), voters=("1@node-1:9093",)),
        config(roles=(BROKER, CONTROLLER), voters=("1@node-1:9093",)),
        config(auto_join=True),
    ],
)
def test_what_starts(sound: Config) -> None:
    assert problems(sound) == ()


@pytest.mark.parametrize(
    ("wrong", "key", "rule"),
    [
        (config(-1), NODE_ID, "CONFIG-10"),
        (config(bootstrap_servers=()), VOTERS, "BOOT-12"),
        (config(bootstrap_servers=("node-1",)), BOOTSTRAP_SERVERS, "CONFIG-1"),
        (config(bootstrap_servers=("node-1:99999",)), BOOTSTRAP_SERVERS, "CONFIG-1"),
        (config(voters=("1@node-1:9093", "node-2:9093")), VOTERS, "CONFIG-2"),
        (config(voters=("1@node-1:9093", "x@node-2:9093")), VOTERS, "CONFIG-2"),
        (config(voters=("1@0.0.0.0:9093",)), VOTERS, "CONFIG-16"),
        (config(voters=("2@node-2:9093",)), VOTERS, "CONFIG-2"),
        (config(roles=(BROKER,), voters=("1@node-1:9093",)), VOTERS, "CONFIG-2"),
        (config(roles=(BROKER,), auto_join=True), AUTO_JOIN, "CONFIG-14"),
        (config(times=Times(append_linger=-1)), "controller.quorum.append.linger.ms", "CONFIG-17"),
    ],
)
def test_what_does_not_start(wrong: Config, key: str, rule: str) -> None:
    (found,) = problems(wrong)
    assert (found.key, found.rule) == (key, rule)
    assert found.reason


def test_everything_wrong_is_named() -> None:
    found = problems(config(-1, roles=(BROKER,), bootstrap_servers=("",), voters=("@",), auto_join=True))
    assert [problem.rule for problem in found] == ["CONFIG-10", "CONFIG-2", "CONFIG-1", "CONFIG-14"]


def test_keys_are_those_of_the_specification() -> None:
    assert {NODE_ID, VOTERS, BOOTSTRAP_SERVERS, AUTO_JOIN} <= set(spec.load().configs)


@given(st.text("0123456789@:[]-.xé \n", max_size=20))
def test_any_text_is_an_entry_or_not(text: str) -> None:
    parsed = parse_voter(text)
    if parsed is not None:
        node, endpoint = parsed
        assert int(text.partition("@")[0]) == node
        assert 0 <= endpoint.port <= 65535
    address = parse_address(text)
    assert address is None or address.host in text


def test_an_entry() -> None:
    assert parse_voter("3@node-3:9093") == (3, Endpoint("CONTROLLER", "node-3", 9093))
    assert parse_address("[::1]:9093") == Endpoint("CONTROLLER", "::1", 9093)


# Times.

DEFAULTS = {
    "controller.quorum.election.timeout.ms": Times().election_timeout,
    "controller.quorum.fetch.timeout.ms": Times().fetch_timeout,
    "controller.quorum.election.backoff.max.ms": Times().election_backoff_max,
    "controller.quorum.append.linger.ms": Times().append_linger,
    "controller.quorum.request.timeout.ms": Times().request_timeout,
    "controller.quorum.retry.backoff.ms": Times().retry_backoff,
}


@pytest.mark.parametrize("key", DEFAULTS)
def test_defaults_are_those_of_the_specification(key: str) -> None:
    assert str(DEFAULTS[key]) == spec.load().configs[key].default


SPANS = {
    Duration.ELECTION_TIMEOUT: (1000, 1999),
    Duration.ELECTION_BACKOFF: (0, 1049), Duration.SEPARATE_BACKOFF: (0, 1049),
    Duration.FETCH_TIMEOUT: (2000, 2000), Duration.CHECK_QUORUM_TIMEOUT: (3000, 3000),
    Duration.BEGIN_QUORUM_EPOCH_INTERVAL: (1000, 1000), Duration.UPDATE_VOTER_PERIOD: (2000, 2000),
    Duration.REQUEST_TIMEOUT: (2000, 2000), Duration.LINGER: (25, 25), Duration.NONE: (0, 0),
    Duration.FOREVER: None, Duration.REMAINING: None,
}  # fmt: skip


def test_how_long_timers_run_by_default() -> None:
    found = {each: span(Times(), each) for each in SPANS}
    assert {each: time and (time.low, time.high) for each, time in found.items()} == SPANS
    rest = set(Duration) - set(SPANS)
    assert all(span(Times(), each) is not None for each in rest)


def test_the_back_off_of_successors_is_bounded() -> None:
    spans = [span(Times(), SuccessorBackoff(position, 3)) for position in range(4)]
    assert [found.low for found in spans if found is not None] == [0, 250, 500, 1000]


def test_connections() -> None:
    assert connection_span(Times(), awaiting=True).low == 2000
    assert connection_span(Times(), awaiting=False).low == 20


@given(st.integers(0, 10**6))
def test_an_election_timeout_is_drawn_from_once_to_twice_the_configured_time(time: int) -> None:
    """TIMER-2: 0 stays 0."""
    found = span(Times(election_timeout=time), Duration.ELECTION_TIMEOUT)
    assert found is not None
    assert time == found.low <= found.high
    assert found.high < max(2 * time, 1)
