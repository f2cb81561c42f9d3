"""The clock that the recorder keeps for an adapter: time-outs, back-offs and timers that no answer shows."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from kraftcheck.evidence.adapters.answers import Answer
from kraftcheck.evidence.adapters.wire import EFFECTS, EVENTS
from kraftcheck.evidence.adapters.wire import STATE as SHOWN
from kraftcheck.evidence.recorder.adapter_host import AdapterHost, RefusedError, require_whole
from kraftcheck.evidence.recordings.wire import write_message
from kraftcheck.reference.config import Times
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.events import RequestReceived, Resign, ResponseReceived
from kraftcheck.reference.messages import (
    AddRaftVoterRequest,
    FetchRequest,
    FetchResponse,
    UpdateRaftVoterRequest,
)
from kraftcheck.reference.protocol import KAFKA
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.voters import ReplicaKey, static_voters
from kraftcheck.support.errors import InputError

STATE = {
    "state": "Follower",
    "epoch": 1,
    "leader": 2,
    "leo": 0,
    "lastEpoch": 0,
    "hw": -1,
    "voters": [[1], [2], [3]],
    "votersOffset": -1,
    "kraftVersion": 0,
    "isVoter": True,
}


class Scripted:
    """Answers each step with the next effects; remembers what it was asked."""

    def __init__(self, *effects: list[dict[str, Any]], state: dict[str, Any] = STATE) -> None:
        self.effects, self.asked, self.state = list(effects), list[dict[str, Any]](), state
        self.refuses: str | None = None

    def exchange(self, asked: dict[str, Any], place: str) -> Answer:
        """The next effects."""
        self.asked.append(asked)
        if self.refuses is not None:
            return Answer((), {}, self.refuses)
        return Answer(tuple(self.effects.pop(0)) if self.effects else (), self.state)


def started(session: Scripted, servers: Mapping[int, int] | None = None) -> AdapterHost:
    """Replica 1 behind ``session``, started at 0 ms."""
    identity = Replica(ReplicaKey(1, "d1"), static_voters((1, 2, 3)))
    session_: Any = session
    return AdapterHost(session_, random.Random(1), KAFKA, Times(), servers or {}, identity, Disk(), 0)


def timer(name: str, ms: int) -> dict[str, Any]:
    """The effect that arms a timer."""
    return {"effect": "timer", "timer": name, "ms": ms}


def test_an_election_timer_that_ran_out_in_a_pause_stays_so_in_the_next_role() -> None:
    session = Scripted([timer("election", 1999)], [timer("election", 1)])
    host = started(session)
    host.begin()
    host.feed(Resign(1), 5_000)
    assert max(host.due()) <= 1999


def test_a_restarted_timer_that_no_state_shows_is_known_until_the_next_step() -> None:
    host = started(Scripted([], [timer("fetch", 2000)], [timer("update-voter", 2000)]))
    shown = []
    for now in (1, 2, 3):
        host.begin()
        host.round(now)
        shown.append(host.arms_unshown())
    assert shown == [False, True, False]


def fetches(to: int, correlation: int) -> dict[str, Any]:
    """The effect that sends a Fetch."""
    data = write_message(FetchRequest(1, ReplicaKey(1, "d1"), 0, 0, None, 500))
    return {"effect": "request", "to": to, "correlationId": correlation, "api": "Fetch", "data": data}


def answered(host: AdapterHost, source: int, correlation: int, now: int) -> None:
    """An answer arrives to the request with the recorder's number ``correlation``."""
    host.begin()
    host.feed(ResponseReceived(source, FetchResponse(1), correlation, now), now)


Asks = Callable[[AdapterHost, int, int], None]


def asked_to_add(host: AdapterHost, id: int, now: int) -> None:
    """A client asks to make ``id`` a voter."""
    host.feed(RequestReceived(-1, AddRaftVoterRequest(ReplicaKey(id, "d"), (), True), 77, now), now)


def asked_to_update(host: AdapterHost, id: int, now: int) -> None:
    """Voter ``id`` reports itself."""
    host.feed(RequestReceived(id, UpdateRaftVoterRequest(1, ReplicaKey(id, "d"), (), 0, 1), 77, now), now)


def kinds_asked(session: Scripted) -> list[str]:
    """The kinds of the steps so far."""
    return [asked["type"] for asked in session.asked]


#: The time of an answer, and the back-off that it may start.
AT, BACKOFF = 100, 20


def test_an_answer_may_start_a_back_off_which_ends_at_its_time() -> None:
    session = Scripted([], [fetches(2, 0)])
    host = started(session)
    host.begin()
    host.round(1)
    answered(host, 2, 0, AT)
    assert AT + BACKOFF in host.due()
    host.round(AT + BACKOFF - 1)
    assert "backoffExpired" not in kinds_asked(session)
    host.round(AT + BACKOFF)
    assert kinds_asked(session)[-2:] == ["backoffExpired", "poll"]
    assert not list(host.due()) or min(host.due()) > AT + BACKOFF


def test_a_leader_does_not_wake_up_for_a_back_off() -> None:
    """It looks at connections only in a poll that announces it, and notices nothing else before its time."""
    leads = {**STATE, "state": "Leader", "leader": 1, "epochStart": 0, "progress": {}}
    session = Scripted([], [fetches(2, 0)], state=leads)
    host = started(session)
    host.begin()
    host.round(1)
    answered(host, 2, 0, AT)
    assert AT + BACKOFF not in host.due()
    host.round(AT + BACKOFF)
    assert kinds_asked(session)[-2:] == ["backoffExpired", "poll"]


def test_a_late_answer_starts_the_back_off_as_if_nothing_had_timed_out() -> None:
    """Kafka takes it for a failure as long as it has not looked at the connection again."""
    forgets = [{"effect": "forgetRequests", "node": 2}]
    session = Scripted([], [fetches(2, 0)], forgets)
    host = started(session)
    host.begin()
    host.round(1)
    late = 1 + Times().request_timeout
    asked_to_add(host, 2, late)
    assert kinds_asked(session)[-2:] == ["requestTimedOut", "request"]
    answered(host, 2, 0, late + 5)
    assert late + 5 + BACKOFF in host.due()
    # The second answer to the same request starts none.
    asked_to_add(host, 2, late + 5 + BACKOFF)
    asked = len(session.asked)
    answered(host, 2, 0, late + 60)
    asked_to_add(host, 2, late + 60 + BACKOFF)
    assert kinds_asked(session)[asked:] == ["response", "request"]


@pytest.mark.parametrize("asks", [asked_to_add, asked_to_update])
def test_only_the_connection_that_a_step_looks_at_notices_its_time_out(asks: Asks) -> None:
    """A leader that is to probe a voter looks at the connection to that voter alone."""
    session = Scripted([], [fetches(2, 0), fetches(3, 1)])
    host = started(session)
    host.begin()
    host.round(1)
    asks(host, 3, 1 + Times().request_timeout)
    assert [asked["node"] for asked in session.asked if asked["type"] == "requestTimedOut"] == [3]


def test_forgetting_every_request_ends_every_back_off() -> None:
    session = Scripted([], [fetches(2, 0)], [], [{"effect": "forgetRequests", "node": None}])
    host = started(session)
    host.begin()
    host.round(1)
    answered(host, 2, 0, AT)
    host.feed(Resign(1), AT + 1)
    host.round(AT + BACKOFF)
    assert "backoffExpired" not in kinds_asked(session)


def test_every_bootstrap_server_is_tried_with_the_timers_that_are_expired() -> None:
    servers = {-2: 2, -3: 3}
    session = Scripted([timer("fetch", 50)], [fetches(-2, 0)], [], [fetches(-3, 1)], [])
    host = started(session, servers)
    for server, correlation in ((-2, 0), (-3, 1)):
        host.begin()
        host.round(1 + correlation)
        answered(host, server, correlation, 45)
    host.begin()
    host.round(51)
    polls = [asked for asked in session.asked if asked["type"] == "poll"][-2:]
    assert {poll["discovery"] for poll in polls} == set(servers)
    assert [poll["expired"] for poll in polls] == [["fetch"], ["fetch"]]


def test_what_is_left_of_the_election_timer_after_a_back_off_is_not_the_back_off() -> None:
    """Kafka 3.9 and 4.0: the election timer of a candidate that has lost runs on below its back-off."""
    session = Scripted([timer("election", 1999)], [timer("election", 1049)], [timer("election", 1399)])
    host = started(session)
    (drawn,) = host.due()
    host.begin()
    host.feed(Resign(1), 500)
    assert list(host.due()) == [1549]
    host.feed(Resign(1), 600)
    assert list(host.due()) == [drawn]


def test_a_process_that_the_implementation_has_not_is_refused_in_its_words() -> None:
    session = Scripted()
    session.refuses = "no process of this release makes itself a voter"
    with pytest.raises(RefusedError, match="cannot start a process") as caught:
        started(session)
    assert caught.value.reason == session.refuses


def declaring(missing: str) -> Any:
    """A session whose adapter declares all but ``missing``."""
    declared = {
        kind: frozenset(names) - {missing}
        for kind, names in (("events", EVENTS), ("effects", EFFECTS), ("state", SHOWN))
    }
    return SimpleNamespace(capabilities=SimpleNamespace(name="some", ordered=True, **declared))


@pytest.mark.parametrize("lacking", ["upgradeKRaftVersion", "pendingUpdate"])
def test_what_only_some_releases_have_may_be_missing(lacking: str) -> None:
    require_whole(declaring(lacking))


def test_a_state_without_the_log_end_cannot_be_recorded() -> None:
    with pytest.raises(InputError, match=r"capabilities.state: leo"):
        require_whole(declaring("leo"))
