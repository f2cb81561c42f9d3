"""Configuration: what a process is given before it starts, what is wrong with it, and how long timers run.

Steps never read it: timers are events, and voters are part of the replica. A host of the reference takes
from here when those events happen. Keys, former keys and defaults: ``spec/configs.toml``.

Source: KIP-595, KIP-853 (configurations); Kafka: QuorumConfig, KafkaConfig.validateValues,
QuorumState.randomElectionTimeoutMs, LeaderState.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum

from kraftcheck.reference.effects import Duration, SuccessorBackoff
from kraftcheck.reference.end_quorum_epoch import successor_backoff_ms
from kraftcheck.reference.frozen import Frozen
from kraftcheck.reference.types import InSequence, Milliseconds, Name, Positive, ReplicaId, Sentence
from kraftcheck.reference.voters import Endpoint

VOTERS = "controller.quorum.voters"
BOOTSTRAP_SERVERS = "controller.quorum.bootstrap.servers"
AUTO_JOIN = "controller.quorum.auto.join.enable"
NODE_ID = "node.id"

#: The key of each configured time.
_TIME_NAMES = {
    "election_timeout": "controller.quorum.election.timeout.ms",
    "fetch_timeout": "controller.quorum.fetch.timeout.ms",
    "election_backoff_max": "controller.quorum.election.backoff.max.ms",
    "append_linger": "controller.quorum.append.linger.ms",
    "request_timeout": "controller.quorum.request.timeout.ms",
    "retry_backoff": "controller.quorum.retry.backoff.ms",
}

#: The length in ms by which Kafka 3.9 and 4.0 vary the longest election back-off
#: (RaftUtil.binaryExponentialElectionBackoffMs; in 3.9.1 and 4.0.0 not at all).
_BACKOFF_BASE = 50

#: A host that stands for no address in particular; nothing can be sent to it.
NON_ROUTABLE_HOST = "0.0.0.0"

_ADDRESS = re.compile(r"(?:\[(?P<bracketed>[^\]]+)\]|(?P<host>[^:@\s\[\]]+)):(?P<port>[0-9]{1,5})")


class ProcessRole(Enum):
    """What a process is: process.roles."""

    BROKER = "broker"
    CONTROLLER = "controller"


# Times.


class Times(Frozen):
    """The configured times, in ms, with the defaults of Kafka. ``update_voter_period`` is no time of Kafka's
    configuration and counts fetch timeouts.
    """

    election_timeout: Milliseconds = 1000
    fetch_timeout: Milliseconds = 2000
    election_backoff_max: Milliseconds = 1000
    append_linger: Milliseconds = 25
    request_timeout: Milliseconds = 2000
    retry_backoff: Milliseconds = 20
    update_voter_period: Positive = 1


class Span(Frozen):
    """How long something lasts, in ms: at least ``low``, at most ``high``; and the rules that say so."""

    low: Milliseconds
    high: Milliseconds
    rules: InSequence[Name]


def span(times: Times, duration: Duration | SuccessorBackoff) -> Span | None:
    """How long a timer armed with ``duration`` runs; ``None``: for ever, or on from what is left of it."""
    if isinstance(duration, SuccessorBackoff):
        exact = successor_backoff_ms(duration, times.election_backoff_max)
        return Span(exact, exact, ("CONFIG-6",))
    election, fetch = times.election_timeout, times.fetch_timeout
    match duration:
        case Duration.NONE:
            return Span(0, 0, ())
        case Duration.ELECTION_TIMEOUT:
            return Span(election, max(election, 2 * election - 1), ("TIMER-2", "CONFIG-5"))
        case Duration.ELECTION_BACKOFF | Duration.SEPARATE_BACKOFF:
            return Span(0, times.election_backoff_max + _BACKOFF_BASE - 1, ("CONFIG-6",))
        case Duration.ELECTION_JITTER:
            return Span(0, times.election_backoff_max, ("CONFIG-6",))
        case Duration.FETCH_TIMEOUT:
            return _exactly(fetch, "CONFIG-4")
        case Duration.CHECK_QUORUM_TIMEOUT:
            return _exactly(fetch * 3 // 2, "CONFIG-4")
        case Duration.BEGIN_QUORUM_EPOCH_INTERVAL:
            return _exactly(fetch // 2, "CONFIG-4")
        case Duration.UPDATE_VOTER_PERIOD:
            return _exactly(fetch * times.update_voter_period, "CONFIG-4")
        case Duration.REQUEST_TIMEOUT:
            return _exactly(times.request_timeout, "CONFIG-7")
        case Duration.LINGER:
            return _exactly(times.append_linger, "CONFIG-11")
        case _:
            return None


def _exactly(milliseconds: int, rule: str) -> Span:
    return Span(milliseconds, milliseconds, (rule,))


def connection_span(times: Times, *, awaiting: bool) -> Span:
    """How long an answer is awaited, or how long a node is left alone after a failure."""
    return (
        _exactly(times.request_timeout, "CONFIG-7") if awaiting else _exactly(times.retry_backoff, "CONFIG-8")
    )


# What a process is configured to be.


class Config(Frozen):
    """What concerns the quorum. Voters are ``id@host:port``, bootstrap servers ``host:port``."""

    node_id: ReplicaId
    roles: InSequence[ProcessRole]
    voters: InSequence[Name] = ()
    bootstrap_servers: InSequence[Name] = ()
    auto_join: bool = False
    times: Times = Times()

    @property
    def is_controller(self) -> bool:
        return ProcessRole.CONTROLLER in self.roles


class Problem(Frozen):
    """Why a process does not start: the key that is wrong, what is wrong with it, and the rule."""

    key: Name
    reason: Sentence
    rule: Name


def problems(config: Config) -> tuple[Problem, ...]:
    """Everything that keeps a process with this configuration from starting; Kafka stops at the first."""
    return tuple(_problems(config))


def _problems(config: Config) -> Iterator[Problem]:
    if config.node_id < 0:
        yield Problem(NODE_ID, f"must be 0 or more, found {config.node_id}", "CONFIG-10")
    for entry in config.voters:
        yield from _voter_problems(entry)
    for server in config.bootstrap_servers:
        if parse_address(server) is None:
            yield Problem(BOOTSTRAP_SERVERS, f"{server!r} is not host:port", "CONFIG-1")
    if not config.voters and not config.bootstrap_servers:
        yield Problem(VOTERS, f"this or {BOOTSTRAP_SERVERS} must be set", "BOOT-12")
    for field, name in _TIME_NAMES.items():
        if getattr(config.times, field) < 0:
            yield Problem(name, "must be 0 ms or more", "CONFIG-17")
    yield from _role_problems(config)


def _voter_problems(entry: str) -> Iterator[Problem]:
    parsed = parse_voter(entry)
    if parsed is None:
        yield Problem(VOTERS, f"{entry!r} is not id@host:port", "CONFIG-2")
    elif parsed[1].host == NON_ROUTABLE_HOST:
        yield Problem(VOTERS, f"{entry!r} cannot be reached: no node has that address", "CONFIG-16")


def _role_problems(config: Config) -> Iterator[Problem]:
    listed = any(parsed[0] == config.node_id for parsed in map(parse_voter, config.voters) if parsed)
    if config.is_controller and config.voters and not listed:
        yield Problem(VOTERS, f"a controller must be listed, and {config.node_id} is not", "CONFIG-2")
    if not config.is_controller and listed:
        yield Problem(VOTERS, f"a broker must not be listed, and {config.node_id} is", "CONFIG-2")
    if config.auto_join and not config.is_controller:
        yield Problem(AUTO_JOIN, "is for controllers only", "CONFIG-14")


def parse_voter(entry: str) -> tuple[int, Endpoint] | None:
    """The id and the address of an entry ``id@host:port``; ``None`` if it is none."""
    number, at, address = entry.partition("@")
    endpoint = parse_address(address)
    if not at or endpoint is None or re.fullmatch(r"-?[0-9]{1,10}", number) is None:
        return None
    return int(number), endpoint


def parse_address(text: str) -> Endpoint | None:
    """The endpoint ``host:port`` on the listener of the controllers; ``None`` if it is none."""
    match = _ADDRESS.fullmatch(text)
    if match is None or int(match["port"]) > 65535:
        return None
    return Endpoint("CONTROLLER", match["bracketed"] or match["host"], int(match["port"]))
