"""DescribeQuorum: who leads, how far every replica is, and the times of KIP-836."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.reference.describe_quorum import OBSERVER_SESSION_MS
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.messages import DescribeQuorumResponse, ReplicaDescription, VoterNode
from kraftcheck.reference.progress import CAUGHT_UP_WITHIN_MS, has_caught_up
from kraftcheck.reference.protocol import KAFKA, KIP595, KIP853, KIP996, CaughtUp, Protocol
from kraftcheck.reference.replica import Leader
from kraftcheck.reference.voters import Endpoint, ReplicaKey
from kraftcheck.reference.work import Work
from kraftcheck.systems.kraft.text import parse_replica
from tests.examples import examples
from tests.reference.asking import Case, after, ask, check, response, table

LEADER = "leader epoch=5 log=2@2,1@5"
BEYOND_END = Protocol(caught_up=CaughtUp.BEYOND_END)
DESCRIBE = "describe-quorum-request from=-1 now=5000"
DOCUMENTS = {"kip996": KIP996, "kip853": KIP853, "kip595": KIP595}
APPEND = "append 7 | poll expired=linger"
NO_LEADER = "reply to -1: describe-quorum-response error=NOT_LEADER_OR_FOLLOWER"


def fetch(replica: int | str, offset: int, now: int, wait: int = 0) -> str:
    last = 5 if offset >= 3 else 2 if offset else 0
    return f"fetch-request from={replica} offset={offset} last-epoch={last} now={now} max-wait={wait}"


AT_END = fetch(2, 3, 1000)
OBSERVED = fetch(9, 3, 1000)
FORGOTTEN = 1000 + OBSERVER_SESSION_MS
#: What is left when replicas 1 (the leader) and 3 have been removed from the voters.
LEADING = parse_replica(LEADER)
assert isinstance(LEADING.role, Leader)
OWN, SECOND, THIRD = LEADING.role.progress
REMOVED = replace(LEADING, role=replace(LEADING.role, progress=(SECOND,), observers=(OWN, THIRD)))

CASES = [
    # Who answers, and the errors in order.
    *(
        Case(f"{state} does not answer", state, DESCRIBE,
             f"{NO_LEADER}; no answer epoch; no answer leader")
        for state in (
            "unattached", "prospective", "candidate epoch=5", "follower leader=2 epoch=5", "resigned",
        )
    ),
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
    Case("a replica never asks so an answer ends its process", "follower epoch=5 leader=2",
         "describe-quorum-response from=2 epoch=5 leader=2", "exits"),
    # Ends and times. Of each replica: end offset, last fetch, last time caught up.
    Case("what the leader reports", f"{LEADER} hw=2 progress=2:2", DESCRIBE,
         "answer epoch=5; answer leader=1; answer hw=2; answer voters=1:3:5000:5000,2:2:-:-,3:-:-:-;"
         " answer observers=none"),
    Case("voters have their directories", "leader id=1/A voters=1/A,2/B kraft=1 epoch=5 log=2@2,1@5",
         DESCRIBE, "answer voters=1/A:3:5000:5000,2/B:-:-:-"),
    *(
        Case(name, LEADER, f"{events} | {DESCRIBE}", f"answer voters={own},{second},3:-:-:-", protocol)
        for name, events, second, protocol in (
            ("its own entry by the documents", "poll", "2:-:-:-", KIP996),
            ("a fetch at the end is caught up", AT_END, "2:3:1000:1000", KAFKA),
            ("a fetch beyond the end at the fetch before was caught up then",
             f"{fetch(2, 0, 1000)} | {APPEND} | {fetch(2, 3, 1400)}", "2:3:1400:1000", KAFKA),
            ("a fetch that lags", f"{APPEND} | {fetch(2, 2, 1000)} | {fetch(2, 3, 1400)}", "2:3:1400:-",
             KAFKA),
            ("by the documents a fetch at the end does not count", AT_END, "2:3:1000:-", BEYOND_END),
            ("but one beyond it does", f"{AT_END} | {APPEND} | {fetch(2, 4, 1400)}", "2:4:1400:1000",
             BEYOND_END),
            ("a clock goes back", f"{AT_END} | {fetch(2, 3, 400)}", "2:3:1000:1000", KAFKA),
        )
        for own in [f"1:{3 + events.count('append')}:{'-' if protocol is KIP996 else 5000}:5000"]
    ),
    # It is tried anew when the high watermark moves, at the time of the fetch that moved it.
    Case("a waiting fetch counts again when it is answered", LEADER,
         f"{fetch(9, 3, 1000, wait=500)} | {fetch(2, 3, 1300)} | {DESCRIBE}",
         "answer observers=9:3:1300:1300"),
    Case("without a clock no time is reported", LEADER,
         f"{AT_END} | {OBSERVED} | describe-quorum-request from=-1",
         "answer voters=1:3:-:-,2:3:-:-,3:-:-:-; answer observers=9:3:-:-"),
    # Observers.
    Case("observers are forgotten after five minutes and only when asked", LEADER, f"""
        {OBSERVED}
        describe-quorum-request from=-1 now={FORGOTTEN - 1}  => answer observers=9:3:1000:1000
        describe-quorum-request from=-1 now={FORGOTTEN}      => answer observers=none; DESCRIBE-8
    """, "observers=none"),
    Case("a removed voter that never fetched is forgotten but the leader is not", REMOVED,
         f"describe-quorum-request from=-1 now={OBSERVER_SESSION_MS}",
         f"answer observers=1:3:{OBSERVER_SESSION_MS}:{OBSERVER_SESSION_MS}"),
]  # fmt: skip


@table(CASES)
def test_answer(case: Case) -> None:
    check(case)


def test_nodes_are_those_of_the_voters() -> None:
    answer = response(ask(after(LEADER, OBSERVED), DESCRIBE))
    assert isinstance(answer, DescribeQuorumResponse)
    assert [node.id for node in answer.nodes] == [1, 2, 3]
    assert answer.nodes[1] == VoterNode(2, (Endpoint("CONTROLLER", "node-2", 9093),))


@pytest.mark.parametrize(
    ("protocol", "events", "now", "may"),
    [
        (KAFKA, OBSERVED, 1000 + CAUGHT_UP_WITHIN_MS - 1, True),
        (KAFKA, OBSERVED, 1000 + CAUGHT_UP_WITHIN_MS, False),
        (KAFKA, f"{OBSERVED} | describe-quorum-request from=-1 now={FORGOTTEN}", 1001, False),
        # The reading of the documents does not keep observers out.
        (BEYOND_END, OBSERVED, 2000, True),
        (BEYOND_END, f"{APPEND} | {OBSERVED}", 2000, False),
    ],
)
def test_an_observer_that_has_caught_up_lately_may_become_a_voter(
    protocol: Protocol, events: str, now: int, may: bool
) -> None:
    assert has_caught_up(Work(protocol, after(LEADER, events, protocol), now), ReplicaKey(9)) is may


def test_nobody_has_caught_up_with_a_leader_that_has_appended_nothing_yet() -> None:
    """Kafka: its own end offset is unknown until the first append of its epoch."""
    role = LEADING.role
    assert isinstance(role, Leader)
    unknown = tuple(replace(entry, end_offset=None) for entry in role.progress)
    new = replace(LEADING, role=replace(role, progress=unknown))
    found = after(new, f"{AT_END} | {OBSERVED}").role
    assert isinstance(found, Leader)
    assert [entry.last_fetch_time for entry in (found.progress[1], *found.observers)] == [1000, 1000]
    assert not any(entry.caught_up or entry.last_caught_up_time for entry in found.observers)
    assert found.progress[1].last_caught_up_time is None


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
@examples(60)
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
            leader = after(leader, APPEND)
            continue
        end = leader.log.end_offset
        watched[what].fetches.append((now, min(offset, end), end))
        leader = after(leader, fetch(what, min(offset, end), now), protocol)
        answer = response(ask(leader, f"describe-quorum-request from=-1 now={now}", protocol))
        assert isinstance(answer, DescribeQuorumResponse)
        assert answer.voters[0].last_caught_up_time == now
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
