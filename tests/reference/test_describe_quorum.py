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
from tests.reference.asking import Case, ask, check, response, table

LEADER = "leader epoch=5 log=2@2,1@5"
BEYOND_END = Protocol(caught_up=CaughtUp.BEYOND_END)
DESCRIBE = "describe-quorum-request from=-1 now=100"
DOCUMENTS = {"kip996": KIP996, "kip853": KIP853, "kip595": KIP595}


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


CASES = [
    *(
        Case(f"{preset} names the leader in the error", "follower epoch=5 leader=2", DESCRIBE,
             "answer epoch=5; answer leader=2; answer error=NOT_LEADER_OR_FOLLOWER", protocol)
        for preset, protocol in DOCUMENTS.items()
    ),
    *(
        Case(f"{preset} without a leader", "unattached epoch=5", DESCRIBE, "answer error; no answer leader",
             protocol)
        for preset, protocol in DOCUMENTS.items()
    ),
    *(
        Case(f"another partition is refused before anything else by {role}", role,
             "describe-quorum-request from=-1 partition=other-0",
             "answer error=UNKNOWN_TOPIC_OR_PARTITION; DESCRIBE-11; no DESCRIBE-1")
        for role in ("unattached", LEADER)
    ),
    Case("a leader that shuts down still answers", f"{LEADER} shutting-down", DESCRIBE,
         "reply; no answer error"),
    Case("the high watermark may not be known", LEADER, DESCRIBE, "answer hw=none"),
]  # fmt: skip


@table(CASES)
def test_answer(case: Case) -> None:
    check(case)


def test_a_replica_never_asks_so_an_answer_ends_its_process() -> None:
    replica = parse_replica("follower epoch=5 leader=2 awaiting=2")
    outcome = step(KAFKA, replica, ResponseReceived(2, DescribeQuorumResponse(5, 2)))
    assert outcome.fatal is not None


def test_what_the_leader_reports() -> None:
    answer = describe(LEADER + " hw=2 progress=2:2", 100)
    assert (answer.epoch, answer.leader, answer.high_watermark) == (5, 1, 2)
    assert [each.key.id for each in answer.voters] == [1, 2, 3]
    assert [each.end_offset for each in answer.voters] == [3, 2, None]
    assert answer.observers == ()
    assert answer.nodes[1] == VoterNode(2, (Endpoint("CONTROLLER", "node-2", 9093),))
    keyed = describe("leader id=1/A voters=1/A,2/B kraft=1 epoch=5 log=2@2,1@5", 100)
    assert [each.key for each in keyed.voters] == [ReplicaKey(1, "A"), ReplicaKey(2, "B")]


# Times.

#: What happens before a request at 5000: ``(replica, offset, time)`` is a fetch, ``None`` an append.
Happened = tuple[tuple[int, int, int] | None, ...]


def after(happened: Happened, protocol: Protocol = KAFKA) -> Replica:
    leader = parse_replica(LEADER)
    for each in happened:
        leader = append(leader) if each is None else fetch(leader, *each, protocol)
    return leader


@pytest.mark.parametrize(
    ("happened", "replica", "times", "protocol"),
    [
        pytest.param((), 1, (5000, 5000), KAFKA, id="its own entry"),
        pytest.param((), 1, (None, 5000), KIP996, id="its own entry by the documents"),
        pytest.param((), 2, (None, None), KAFKA, id="a replica that has not fetched"),
        pytest.param(((2, 3, 1000),), 2, (1000, 1000), KAFKA, id="a fetch at the end is caught up"),
        pytest.param(
            ((2, 0, 1000), None, (2, 3, 1400)), 2, (1400, 1000), KAFKA,
            id="a fetch beyond the end at the fetch before was caught up then",
        ),
        pytest.param((None, (2, 2, 1000), (2, 3, 1400)), 2, (1400, None), KAFKA, id="a fetch that lags"),
        pytest.param(
            ((2, 3, 1000),), 2, (1000, None), BEYOND_END,
            id="by the documents a fetch at the end does not count",
        ),
        pytest.param(
            ((2, 3, 1000), None, (2, 4, 1400)), 2, (1400, 1000), BEYOND_END, id="but one beyond it does"
        ),
        pytest.param(((2, 3, 1000), (2, 3, 400)), 2, (1000, 1000), KAFKA, id="a clock goes back"),
        pytest.param(((9, 3, 1000),), 9, (1000, 1000), KAFKA, id="an observer"),
    ],
)  # fmt: skip
def test_times(
    happened: Happened, replica: int, times: tuple[int | None, int | None], protocol: Protocol
) -> None:
    answer = describe(after(happened, protocol), 5000, protocol)
    found = entry(answer, replica)
    assert (found.last_fetch_time, found.last_caught_up_time) == times
    fetched = [each[1] for each in happened if each is not None and each[0] == replica]
    assert found.end_offset == (fetched[-1] if fetched else 3 if replica == 1 else None)
    assert (found in answer.observers) is (replica == 9)


def test_a_waiting_fetch_counts_again_when_it_is_answered() -> None:
    """It is tried anew when the high watermark moves, at the time of the fetch that moved it."""
    leader = fetch(fetch(parse_replica(LEADER), 9, 3, 1000, wait=500), 2, 3, 1300)
    assert entry(describe(leader, 5000), 9).last_fetch_time == 1300


def test_without_a_clock_no_time_is_reported() -> None:
    answer = described(ask(after(((2, 3, 1000), (9, 3, 1000))), "describe-quorum-request from=-1"))
    times = {(each.last_fetch_time, each.last_caught_up_time) for each in answer.voters + answer.observers}
    assert times == {(None, None)}
    assert [each.key.id for each in answer.observers] == [9]


# Observers.


def test_observers_are_forgotten_after_five_minutes_and_only_when_asked() -> None:
    leader = after(((9, 3, 1000),))
    assert describe(leader, 1000 + OBSERVER_SESSION_MS - 1).observers == (
        ReplicaDescription(ReplicaKey(9), 3, 1000, 1000),
    )
    assert all(node.id != 9 for node in describe(leader, 5000).nodes)
    asked = ask(leader, f"describe-quorum-request from=-1 now={1000 + OBSERVER_SESSION_MS}")
    assert described(asked).observers == ()
    assert "DESCRIBE-8" in asked.rules
    role = asked.replica.role
    assert isinstance(role, Leader)
    assert role.observers == ()
    assert not has_caught_up(Work(KAFKA, asked.replica), ReplicaKey(9))


def test_a_removed_voter_that_never_fetched_is_forgotten_but_the_leader_is_not() -> None:
    """What is left when replicas 1 (the leader) and 3 have been removed from the voters."""
    leader = parse_replica(LEADER)
    assert isinstance(leader.role, Leader)
    own, second, third = leader.role.progress
    role = replace(leader.role, progress=(second,), observers=(own, third))
    answer = describe(replace(leader, role=role), OBSERVER_SESSION_MS)
    assert [each.key.id for each in answer.observers] == [1]
    assert entry(answer, 1).last_caught_up_time == OBSERVER_SESSION_MS


@pytest.mark.parametrize(
    ("protocol", "happened", "now", "may"),
    [
        (KAFKA, ((9, 3, 1000),), 1000 + CAUGHT_UP_WITHIN_MS - 1, True),
        (KAFKA, ((9, 3, 1000),), 1000 + CAUGHT_UP_WITHIN_MS, False),
        # The reading of the documents does not keep observers out.
        (BEYOND_END, ((9, 3, 1000),), 2000, True),
        (BEYOND_END, (None, (9, 3, 1000)), 2000, False),
    ],
)
def test_an_observer_that_has_caught_up_lately_may_become_a_voter(
    protocol: Protocol, happened: Happened, now: int, may: bool
) -> None:
    assert has_caught_up(Work(protocol, after(happened, protocol), now), ReplicaKey(9)) is may


# S-42, over sequences with a clock.


@dataclass
class Watched:
    """What is known of one replica next to what the leader reports."""

    fetches: list[tuple[int, int, int]] = field(default_factory=list)
    """Of each fetch: time, offset, and the leader's end offset at that time."""
    reported: tuple[int, int] = (-1, -1)


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
    assert fetched >= watched.reported[0]
    assert caught_up >= watched.reported[1]
    watched.reported = (fetched, caught_up)
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
