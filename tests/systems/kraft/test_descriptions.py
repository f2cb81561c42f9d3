"""DescribeQuorum in the model: clocks, what is kept of fetches, and what the answers are held against."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kraftcheck.checking.run import check
from kraftcheck.engine.reference_explorer import explore_naively
from kraftcheck.reference.events import FetchWaitExpired, RequestReceived
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.messages import DescribeQuorumRequest, FetchRequest
from kraftcheck.reference.protocol import KAFKA
from kraftcheck.reference.replica import Leader, Replica
from kraftcheck.reference.step import step
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.systems.kraft import clock as clocks
from kraftcheck.systems.kraft import description_checks
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.clock import Clock, Fetches
from kraftcheck.systems.kraft.network import CLIENT
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.system import KRaftSystem
from kraftcheck.systems.kraft.text import parse_replica
from kraftcheck.systems.scenario import shipped
from kraftcheck.traces import json_form
from kraftcheck.traces.replay import replay
from tests.systems.kraft.small import changed

TWO, OBSERVER = ReplicaKey(2), ReplicaKey(9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["describe-quorum", "describe-quorum-observer"])
def test_the_oracle_finds_the_same(name: str) -> None:
    naive, _ = explore_naively(build(shipped()[name]))
    assert naive.distinct == shipped()[name].expect.states
    assert not naive.violations


def test_to_be_asked_makes_no_states() -> None:
    asked = check(changed("single-voter", admin={"describes": True}))
    assert asked.exploration.distinct == 495
    assert not asked.exploration.violations
    assert "DescriptionIsTheLeaders" in asked.system.properties


def test_a_trace_with_a_clock_is_read_and_replayed() -> None:
    result = check(shipped()["kip836-caught-up-beyond-end"])
    assert result.exploration.distinct == 4
    (trace,) = result.traces()
    assert trace.finding is not None
    assert "Its clock shows 0." in trace.finding.reasons
    assert "Replica 2 has fetched up to 1, at 0 (log ended at 1)." in trace.finding.reasons
    again = json_form.decode(json_form.encode(trace), "the trace")
    assert replay(again) is None


# Bad input.


# Clocks.


def moves(system: KRaftSystem, component: int, node: Node) -> list[int]:
    found = []
    for each in system.action_steps(component, node):
        after = cast(Node, each.outcome.local).clock
        assert after is not None and node.clock is not None
        if after.now != node.clock.now:
            found.append(after.now)
    return found


def test_the_clock_moves_where_a_replica_leads() -> None:
    system = build(changed("describe-quorum", environment__tick=5))
    leader, follower = system.nodes
    assert leader.clock is not None and follower.clock == Clock()
    assert moves(system, 0, leader) == [5]
    assert moves(system, 0, replace(leader, clock=replace(leader.clock, now=10))) == [15, 5]
    assert moves(system, 1, follower) == []
    forward = build(changed("describe-quorum", environment__clock="forward"))
    assert moves(forward, 0, replace(leader, clock=replace(leader.clock, now=10))) == [11]


def test_a_stopped_process_keeps_its_clock_and_forgets_the_fetches() -> None:
    system = build(changed("describe-quorum", budgets__crashes=1))
    fetches = (Fetches(TWO, 1, 1, ((0, 1),), (0, 1), 0),)
    node = replace(system.nodes[0], clock=Clock(3, fetches))
    crashed = [each for each in system.action_steps(0, node) if each.restarted is not None]
    assert crashed
    assert all(cast(Node, each.outcome.local).clock == Clock(3) for each in crashed)


# What is kept of fetches.

LEADER = "leader epoch=5 log=2@2,1@5 hw=3 progress=2:3"


def fetch(offset: int, last_epoch: int = 5, who: ReplicaKey = TWO, wait: int = 0) -> RequestReceived:
    request = FetchRequest(5, who, offset, last_epoch, high_watermark=3, max_wait_ms=wait)
    return RequestReceived(who.id, request, now=0)


def taken(leader: Replica, event: Any, clock: Clock) -> tuple[Replica, Clock]:
    outcome = step(KAFKA, leader, event)
    return outcome.replica, clocks.after(clock, leader, event, outcome.effects, outcome.replica)


def test_a_fetch_is_kept_with_the_end_of_the_log() -> None:
    leader = parse_replica(LEADER)
    _, clock = taken(leader, fetch(2, last_epoch=2), Clock(4))
    assert clock == Clock(4, (Fetches(TWO, 2, 2, ((4, 3),), (4, 3)),))
    _, clock = taken(leader, fetch(3), replace(clock, now=7))
    assert clock.fetches == (Fetches(TWO, 3, 3, ((4, 3), (7, 3)), (7, 3), 7),)
    assert clock.fetches[0].last == 7


def test_a_fetch_that_diverges_is_none() -> None:
    _, clock = taken(parse_replica(LEADER), fetch(3, last_epoch=2), Clock())
    assert clock == Clock()


def test_a_fetch_that_waits_counts_when_it_comes_and_when_it_is_answered() -> None:
    leader, clock = taken(parse_replica(LEADER), fetch(3, wait=500), Clock())
    assert leader.parked and clock.fetches[0].ends == ((0, 3),)
    _, expired = taken(leader, FetchWaitExpired(2), replace(clock, now=9))
    assert expired.fetches == clock.fetches
    system = build(shipped()["describe-quorum-parked"])
    node = system.nodes[0]
    (arrived,) = system.deliver_steps(0, node, system.initial_states()[0].messages[0])  # type: ignore[arg-type]
    waiting = cast(Node, arrived.outcome.local)
    assert waiting.replica is not None and waiting.replica.parked and waiting.clock is not None
    later = replace(waiting, clock=replace(waiting.clock, now=9))
    (appended,) = (
        each for each in system.action_steps(0, later) if str(each.outcome.action) == "append at 1"
    )
    found = cast(Node, appended.outcome.local).clock
    assert found is not None and found.fetches[0].ends == ((0, 1), (9, 2))


def test_what_a_leader_has_seen_is_gone_with_its_epoch() -> None:
    clock = Clock(4, (Fetches(TWO, 2, 2, ((4, 3),), (4, 3)),))
    newer = RequestReceived(2, FetchRequest(6, TWO, 3, 5, 3, 0), now=4)
    assert taken(parse_replica("leader epoch=5 log=2@2,1@5"), newer, clock)[1] == clock
    ended = parse_replica("follower epoch=6 leader=2")
    assert clocks.after(clock, parse_replica(LEADER), newer, (), ended) == Clock(4)


def test_observers_are_forgotten_with_the_answer() -> None:
    clock = Clock(
        300_000, (Fetches(OBSERVER, 2, 2, ((0, 3),), (0, 3)), Fetches(TWO, 3, 3, ((0, 3),), (0, 3)))
    )
    leader = parse_replica(LEADER)
    asked = RequestReceived(CLIENT, DescribeQuorumRequest(), now=300_000)
    assert [each.key for each in taken(leader, asked, clock)[1].fetches] == [TWO]
    other = RequestReceived(CLIENT, DescribeQuorumRequest("other-0"), now=300_000)
    assert taken(leader, other, clock)[1] == clock


# The properties.


def violated(leader: Replica, clock: Clock | None, event: RequestReceived | None = None) -> tuple[str, ...]:
    now = None if clock is None else clock.now
    asked = event or RequestReceived(CLIENT, DescribeQuorumRequest(), now=now)
    outcome = step(KAFKA, leader, asked)
    return description_checks.violations(KAFKA, leader, asked, outcome.effects, outcome.replica, clock)


def leader_with(last_fetch: int | None, caught_up: int | None) -> Replica:
    leader = parse_replica(LEADER)
    assert isinstance(leader.role, Leader)
    own, second, third = leader.role.progress
    second = replace(second, last_fetch_time=last_fetch, leader_end_offset=3, last_caught_up_time=caught_up)
    return replace(leader, role=replace(leader.role, progress=(own, second, third)))


SEEN = Fetches(TWO, 3, 3, ((4, 3), (7, 4)), (7, 4), 4)


@pytest.mark.parametrize(
    ("last_fetch", "caught_up", "expected"),
    [
        (7, 4, ()),
        (8, 4, ("DescribeTimesMonotone",)),
        (4, 4, ("DescribeTimesMonotone",)),
        (7, 7, ("DescribeTimesMonotone",)),
        (7, 5, ("DescribeTimesMonotone",)),
        (7, None, ("DescriptionIsTheLeaders",)),
        (None, 4, ("DescribeTimesMonotone",)),
    ],
)
def test_times_are_held_against_what_the_clock_showed(
    last_fetch: int | None, caught_up: int | None, expected: tuple[str, ...]
) -> None:
    assert violated(leader_with(last_fetch, caught_up), Clock(9, (SEEN,))) == expected


def test_times_must_not_go_back() -> None:
    before, after = leader_with(7, 4), leader_with(7, None)
    found = description_checks.violations(KAFKA, before, fetch(3), (), after, Clock(9, (SEEN,)))
    assert found == ("DescribeTimesMonotone",)
    assert not description_checks.violations(KAFKA, after, fetch(3), (), before, Clock(9, (SEEN,)))
    elected = replace(after, quorum_state=replace(after.quorum_state, epoch=6))
    assert not description_checks.violations(KAFKA, before, fetch(3), (), elected, Clock(9, (SEEN,)))


def test_who_is_silent_is_told_nothing_about() -> None:
    assert violated(parse_replica("leader epoch=5 log=2@2,1@5"), Clock(9, (SEEN,))) == (
        "DescriptionIsTheLeaders",
        "DescribeTimesMonotone",
    )


def test_without_an_answer_the_description_is_wrong() -> None:
    leader = parse_replica(LEADER)
    asked = RequestReceived(CLIENT, DescribeQuorumRequest())
    assert description_checks.violations(KAFKA, leader, asked, (), leader, None) == (
        "DescriptionIsTheLeaders",
    )
    assert violated(leader, None) == ()
    assert violated(parse_replica("follower epoch=5 leader=2"), None) == ()
