"""DescribeQuorum: who leads, how far every replica is, and the times of KIP-836."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.reference.describe_quorum import OBSERVER_SESSION_MS
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import ResponseReceived
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.messages import DescribeQuorumResponse, ReplicaDescription, VoterNode
from kraftcheck.reference.progress import CAUGHT_UP_WITHIN_MS, has_caught_up
from kraftcheck.reference.protocol import KAFKA, KIP595, KIP853, KIP996, CaughtUp, Protocol
from kraftcheck.reference.replica import Leader, Progress, Replica
from kraftcheck.reference.step import Outcome, step
from kraftcheck.reference.voters import Endpoint, ReplicaKey
from kraftcheck.reference.work import Work
from kraftcheck.systems.kraft.text import parse_replica
from tests.reference.asking import ask, response

LEADER = "leader epoch=5 log=2@2,1@5"
BEYOND_END = Protocol(caught_up=CaughtUp.BEYOND_END)
DOCUMENTS = pytest.mark.parametrize(
    "preset",
    [pytest.param(KIP996, id="kip996"), pytest.param(KIP853, id="kip853"), pytest.param(KIP595, id="kip595")],
)


def described(outcome: Outcome) -> DescribeQuorumResponse:
    answer = response(outcome)
    assert isinstance(answer, DescribeQuorumResponse)
    return answer


def describe(replica: str | Replica, now: int, protocol: Protocol = KAFKA) -> DescribeQuorumResponse:
    return described(ask(replica, f"describe-quorum-request from=-1 now={now}", protocol))


def entry(answer: DescribeQuorumResponse, replica: int) -> ReplicaDescription:
    (found,) = (each for each in (*answer.voters, *answer.observers) if each.key.id == replica)
    return found


def fetch(
    replica: Replica, source: int | str, offset: int, now: int, protocol: Protocol = KAFKA, wait: int = 0
) -> Replica:
    last = 5 if offset >= 3 else 2 if offset else 0
    words = f"fetch-request from={source} offset={offset} last-epoch={last} now={now} max-wait={wait}"
    return ask(replica, words, protocol).replica


def append(replica: Replica) -> Replica:
    return ask(ask(replica, "append 7").replica, "poll expired=linger").replica


# Who answers, and the errors in order.


@pytest.mark.parametrize(
    "role", ["unattached", "prospective", "candidate epoch=5", "follower leader=2 epoch=5", "resigned"]
)
def test_only_the_leader_answers(role: str) -> None:
    answer = describe(role, 100)
    assert answer == DescribeQuorumResponse(partition_error=ErrorCode.NOT_LEADER_OR_FOLLOWER)


@DOCUMENTS
def test_the_documents_say_whom_to_ask_instead(preset: Protocol) -> None:
    answer = describe("follower epoch=5 leader=2", 100, preset)
    assert (answer.epoch, answer.leader) == (5, 2)
    assert answer.partition_error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert describe("unattached epoch=5", 100, preset).leader is None


@pytest.mark.parametrize("role", ["unattached", LEADER])
def test_another_partition_is_refused_before_anything_else(role: str) -> None:
    outcome = ask(role, "describe-quorum-request from=-1 partition=other-0")
    assert described(outcome).partition_error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert "DESCRIBE-11" in outcome.rules
    assert "DESCRIBE-1" not in outcome.rules


def test_a_leader_that_shuts_down_still_answers() -> None:
    assert describe(LEADER + " shutting-down", 100).partition_error is ErrorCode.NONE


def test_a_replica_never_asks_so_an_answer_ends_its_process() -> None:
    replica = parse_replica("follower epoch=5 leader=2 awaiting=2")
    outcome = step(KAFKA, replica, ResponseReceived(2, DescribeQuorumResponse(5, 2)))
    assert outcome.fatal is not None


def test_what_the_leader_tells() -> None:
    answer = describe(LEADER + " hw=2 progress=2:2", 100)
    assert (answer.epoch, answer.leader, answer.high_watermark) == (5, 1, 2)
    assert [each.key.id for each in answer.voters] == [1, 2, 3]
    assert [each.end_offset for each in answer.voters] == [3, 2, None]
    assert answer.observers == ()
    assert answer.nodes[1] == VoterNode(2, (Endpoint("CONTROLLER", "node-2", 9093),))


def test_the_high_watermark_may_not_be_known() -> None:
    assert describe(LEADER, 100).high_watermark is None


def test_version_two_tells_directories() -> None:
    answer = describe("leader id=1/A voters=1/A,2/B kraft=1 epoch=5 log=2@2,1@5", 100)
    assert [each.key for each in answer.voters] == [ReplicaKey(1, "A"), ReplicaKey(2, "B")]


# Times.


def test_the_leaders_own_entry() -> None:
    own = entry(describe(LEADER, 5000), 1)
    assert (own.last_fetch_time, own.last_caught_up_time) == (5000, 5000)
    own = entry(describe(LEADER, 5000, KIP996), 1)
    assert (own.last_fetch_time, own.last_caught_up_time) == (None, 5000)


def test_a_replica_that_has_not_fetched_has_no_times() -> None:
    silent = entry(describe(LEADER, 5000), 2)
    assert (silent.last_fetch_time, silent.last_caught_up_time) == (None, None)


def test_a_fetch_at_the_end_is_caught_up() -> None:
    leader = fetch(parse_replica(LEADER), 2, 3, 1000)
    assert entry(describe(leader, 5000), 2) == ReplicaDescription(ReplicaKey(2), 3, 1000, 1000)


def test_a_fetch_beyond_the_end_at_the_fetch_before_was_caught_up_then() -> None:
    leader = fetch(parse_replica(LEADER), 2, 0, 1000)
    leader = append(leader)
    leader = fetch(leader, 2, 3, 1400)
    assert entry(describe(leader, 5000), 2) == ReplicaDescription(ReplicaKey(2), 3, 1400, 1000)


def test_a_fetch_that_lags_is_not_caught_up() -> None:
    leader = fetch(append(parse_replica(LEADER)), 2, 2, 1000)
    leader = fetch(leader, 2, 3, 1400)
    assert entry(describe(leader, 5000), 2) == ReplicaDescription(ReplicaKey(2), 3, 1400, None)


def test_the_documents_never_count_a_fetch_at_the_end() -> None:
    leader = fetch(parse_replica(LEADER), 2, 3, 1000, BEYOND_END)
    assert entry(describe(leader, 5000, BEYOND_END), 2).last_caught_up_time is None
    leader = fetch(append(leader), 2, 4, 1400, BEYOND_END)
    assert entry(describe(leader, 5000, BEYOND_END), 2).last_caught_up_time == 1000


def test_a_clock_that_goes_back_moves_no_time() -> None:
    leader = fetch(fetch(parse_replica(LEADER), 2, 3, 1000), 2, 3, 400)
    assert entry(describe(leader, 5000), 2) == ReplicaDescription(ReplicaKey(2), 3, 1000, 1000)


def test_a_parked_fetch_counts_again_when_it_is_answered() -> None:
    """It is tried anew when the high watermark moves, at the time of the fetch that moved it."""
    leader = fetch(parse_replica(LEADER), 9, 3, 1000, wait=500)
    leader = fetch(leader, 2, 3, 1300)
    assert entry(describe(leader, 5000), 9).last_fetch_time == 1300


def test_without_a_clock_no_time_is_told() -> None:
    leader = fetch(fetch(parse_replica(LEADER), 2, 3, 1000), 9, 3, 1000)
    answer = described(ask(leader, "describe-quorum-request from=-1"))
    times = {(each.last_fetch_time, each.last_caught_up_time) for each in answer.voters + answer.observers}
    assert times == {(None, None)}
    assert [each.key.id for each in answer.observers] == [9]


# Observers.


def test_observers_are_told_apart_from_voters() -> None:
    answer = describe(fetch(parse_replica(LEADER), 9, 3, 1000), 5000)
    assert answer.observers == (ReplicaDescription(ReplicaKey(9), 3, 1000, 1000),)
    assert all(node.id != 9 for node in answer.nodes)


def test_observers_are_forgotten_after_five_minutes_and_only_when_asked() -> None:
    leader = fetch(parse_replica(LEADER), 9, 3, 1000)
    asked = ask(leader, f"describe-quorum-request from=-1 now={1000 + OBSERVER_SESSION_MS - 1}")
    assert len(described(asked).observers) == 1
    asked = ask(leader, f"describe-quorum-request from=-1 now={1000 + OBSERVER_SESSION_MS}")
    assert described(asked).observers == ()
    assert "DESCRIBE-8" in asked.rules
    role = asked.replica.role
    assert isinstance(role, Leader)
    assert role.observers == ()
    assert not has_caught_up(Work(KAFKA, asked.replica), ReplicaKey(9))


def test_a_former_voter_that_never_fetched_is_forgotten_but_the_leader_is_not() -> None:
    """What is left when replicas 1 (the leader) and 3 have been removed from the voters."""
    leader = parse_replica(LEADER)
    assert isinstance(leader.role, Leader)
    own, second, third = leader.role.progress
    role = replace(leader.role, progress=(second,), observers=(own, third))
    answer = describe(replace(leader, role=role), OBSERVER_SESSION_MS)
    assert [each.key.id for each in answer.observers] == [1]
    assert entry(answer, 1).last_caught_up_time == OBSERVER_SESSION_MS


def test_an_observer_that_fetched_an_hour_ago_may_not_become_a_voter() -> None:
    leader = fetch(parse_replica(LEADER), 9, 3, 1000)
    latest = 1000 + CAUGHT_UP_WITHIN_MS
    assert has_caught_up(Work(KAFKA, leader, latest - 1), ReplicaKey(9))
    assert not has_caught_up(Work(KAFKA, leader, latest), ReplicaKey(9))


def test_the_documents_reading_of_caught_up_does_not_keep_observers_out() -> None:
    leader = fetch(parse_replica(LEADER), 9, 3, 1000, BEYOND_END)
    assert has_caught_up(Work(BEYOND_END, leader, 2000), ReplicaKey(9))
    leader = fetch(append(parse_replica(LEADER)), 9, 3, 1000, BEYOND_END)
    assert not has_caught_up(Work(BEYOND_END, leader, 2000), ReplicaKey(9))


# S-42, over sequences with a clock.


@dataclass
class Watched:
    """What is known of one replica besides what the leader tells."""

    fetches: list[tuple[int, int, int]] = field(default_factory=list)
    """Of each fetch: time, offset, and the leader's end offset at that time."""
    told: tuple[int, int] = (-1, -1)


_STEPS = st.lists(
    st.tuples(st.sampled_from(["2", "3", "9", "append"]), st.integers(0, 6), st.integers(-50, 900)),
    max_size=25,
)


def _times(found: ReplicaDescription) -> tuple[int, int]:
    fetched, caught_up = found.last_fetch_time, found.last_caught_up_time
    return -1 if fetched is None else fetched, -1 if caught_up is None else caught_up


@pytest.mark.parametrize("protocol", [KAFKA, BEYOND_END], ids=["at-end", "beyond-end"])
@given(steps=_STEPS, steady=st.booleans())
def test_describe_times_are_monotone(
    protocol: Protocol, steps: list[tuple[str, int, int]], steady: bool
) -> None:
    """S-42 DescribeTimesMonotone: times lie in the past, never decrease, and say what they claim."""
    leader, now = parse_replica(LEADER), 1000
    watched = {"2": Watched(), "3": Watched(), "9": Watched()}
    for what, offset, passed in steps:
        now += max(passed, 0) if steady else passed
        if what == "append":
            leader = append(leader)
            continue
        end = leader.log.end_offset
        watched[what].fetches.append((now, min(offset, end), end))
        leader = fetch(leader, what, min(offset, end), now, protocol)
        answer = describe(leader, now, protocol)
        assert entry(answer, 1).last_caught_up_time == now
        for known in (*answer.voters[1:], *answer.observers):
            _check(known, watched[str(known.key.id)], now if steady else None)


def _check(known: ReplicaDescription, watched: Watched, now: int | None) -> None:
    fetched, caught_up = _times(known)
    assert caught_up <= fetched
    assert fetched == max((time for time, _, _ in watched.fetches), default=-1)
    assert fetched >= watched.told[0]
    assert caught_up >= watched.told[1]
    watched.told = (fetched, caught_up)
    if now is None:
        return
    assert fetched <= now
    if caught_up >= 0:
        held = max(offset for _, offset, _ in watched.fetches)
        assert held >= min(end for time, _, end in watched.fetches if time == caught_up)


def test_progress_without_times_is_what_a_new_leader_starts_with() -> None:
    leader = parse_replica(LEADER)
    assert isinstance(leader.role, Leader)
    assert all(
        each == Progress(each.key, each.end_offset, each.acknowledged) for each in leader.role.progress
    )
