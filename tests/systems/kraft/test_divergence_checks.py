"""S-11 of single steps: the answer of a leader against its log, and a truncation against that answer."""

from __future__ import annotations

import pytest

from kraftcheck.reference.effects import Effect, Reply, Truncate
from kraftcheck.reference.events import Event, RequestReceived, ResponseReceived
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import EpochEnd, Log, truncate
from kraftcheck.reference.messages import FetchRequest, FetchResponse
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.systems.kraft.divergence_checks import violations
from kraftcheck.systems.kraft.node import Execution
from kraftcheck.systems.kraft.text import parse_replica

BROKEN = ["TruncationKeepsCommonPrefix"]


def _violated(before: Replica, event: Event, effect: Effect, log: Log | None = None) -> list[str]:
    after = replace(before, log=before.log if log is None else log)
    return list(violations(before, event, Execution((event,), (effect,), (), after)))


@pytest.mark.parametrize(
    ("epoch", "offset", "right"),
    [(2, 3, True), (1, 1, False), (2, 2, False), (2, 4, False), (1, 3, False), (3, 3, True)],
)
def test_a_leader_says_where_its_epochs_end(epoch: int, offset: int, right: bool) -> None:
    """The fetcher's log ends in epoch 3; the leader's records are of the epochs 1, 2, 2, 4 and 4."""
    leader = parse_replica("leader id=1 epoch=4 log=1@1,2@2,2@4 start=3")
    request = RequestReceived(2, FetchRequest(4, ReplicaKey(2), 3, 3, None, 0), 7)
    answer = Reply(2, FetchResponse(4, diverging=EpochEnd(epoch, offset)), 7)
    assert _violated(leader, request, answer) == ([] if right else BROKEN)
    waiting = replace(answer, correlation=6)  # of an earlier fetch, with a last epoch of its own
    assert _violated(leader, request, waiting) == []


@pytest.mark.parametrize(
    ("epoch", "end", "to", "right"),
    [
        (1, 1, 1, True),  # the leader has one record of epoch 1
        (1, 1, 0, False),
        (1, 5, 2, True),  # it has more of them than the follower
        (1, 5, 1, False),
        (2, 4, 2, True),  # it has an epoch that the follower has not
        (2, 4, 1, False),
        (3, 3, 3, True),
        (3, 3, 4, False),  # nothing is removed
    ],
)
def test_a_follower_keeps_what_it_may_share(epoch: int, end: int, to: int, right: bool) -> None:
    """Its records are of the epochs 1, 1, 3 and 3."""
    follower = parse_replica("follower id=2 epoch=4 leader=1 log=2@1,2@3")
    answer = ResponseReceived(1, FetchResponse(4, leader=1, diverging=EpochEnd(epoch, end)))
    assert _violated(follower, answer, Truncate(to), truncate(follower.log, to)) == ([] if right else BROKEN)
