"""The clock that the recorder keeps for an adapter: time-outs, back-offs and timers that no answer shows."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest

from kraftcheck.evidence.adapters.answers import Answer
from kraftcheck.evidence.adapters.wire import EFFECTS, EVENTS
from kraftcheck.evidence.adapters.wire import STATE as SHOWN
from kraftcheck.evidence.recorder.adapter_host import AdapterHost, require_whole
from kraftcheck.reference.config import Times
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.events import Resign
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

    def __init__(self, *effects: list[dict[str, Any]]) -> None:
        self.effects, self.asked = list(effects), list[dict[str, Any]]()

    def exchange(self, asked: dict[str, Any], place: str) -> Answer:
        """The next effects."""
        self.asked.append(asked)
        return Answer(tuple(self.effects.pop(0)) if self.effects else (), STATE)


def started(session: Scripted) -> AdapterHost:
    """Replica 1 behind ``session``, started at 0 ms."""
    identity = Replica(ReplicaKey(1, "d1"), static_voters((1, 2, 3)))
    session_: Any = session
    return AdapterHost(session_, random.Random(1), KAFKA, Times(), {}, identity, Disk(), 0)


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
