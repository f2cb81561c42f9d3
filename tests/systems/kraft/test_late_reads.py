"""Answers whose records are read later than they are prepared."""

from __future__ import annotations

import pytest

from kraftcheck.reference.disk import Disk
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Log
from kraftcheck.reference.messages import FetchResponse
from kraftcheck.systems.kraft import late_reads
from kraftcheck.systems.kraft.network import InFlight
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.text import parse_replica

BEFORE = parse_replica("leader epoch=1 log=2@1 start=0 id=1 voters=1,2").log
AFTER = parse_replica("follower epoch=2 leader=2 log=1@1,1@2 id=1 voters=1,2").log
SHORTER = parse_replica("follower epoch=2 leader=2 log=1@1 id=1 voters=1,2").log
PREPARED = InFlight(1, 4, FetchResponse(1, 1, batches=BEFORE.batches[1:]))


def node(log: Log) -> Node:
    replica = replace(parse_replica("follower epoch=2 leader=2 id=1 voters=1,2"), log=log)
    return Node(replica, Disk(log=log), unread=PREPARED)


def test_the_records_are_those_that_take_the_place_of_others_meanwhile() -> None:
    (step,) = late_reads.read(node(AFTER))
    assert step.outcome.sends == (InFlight(1, 4, FetchResponse(1, 1, batches=AFTER.batches[1:])),)
    assert step.outcome.local == replace(node(AFTER), unread=None)


@pytest.mark.parametrize("log", [BEFORE, SHORTER])
def test_nothing_else_arrives_if_the_records_are_the_same_or_gone(log: Log) -> None:
    assert not list(late_reads.read(node(log)))


@pytest.mark.parametrize(
    ("forgetful", "peer", "dropped"), [(4, None, True), (4, 1, True), (4, 2, False), (3, 1, False)]
)
def test_an_answer_that_nobody_awaits_is_dropped(forgetful: int, peer: int | None, dropped: bool) -> None:
    assert (late_reads.forgotten(node(AFTER), forgetful, peer, 1).unread is None) == dropped
