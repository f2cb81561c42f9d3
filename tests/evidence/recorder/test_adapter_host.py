"""The clock that the recorder keeps for an adapter: time-outs, back-offs and timers that no answer shows."""

from __future__ import annotations

import random
from typing import Any

from kraftcheck.evidence.adapters.answers import Answer
from kraftcheck.evidence.recorder.adapter_host import AdapterHost
from kraftcheck.reference.config import Times
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.events import Resign
from kraftcheck.reference.protocol import KAFKA
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.voters import ReplicaKey, static_voters

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
