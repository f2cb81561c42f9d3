"""Fetch: which answer a fetcher gets and when, and what a follower makes of it."""

from __future__ import annotations

import pytest

from kraftcheck.reference.log import EpochEnd
from kraftcheck.reference.messages import FetchRequest
from kraftcheck.reference.protocol import KAFKA, Protocol
from kraftcheck.reference.replica import Leader
from kraftcheck.reference.voters import ReplicaKey
from tests.reference.asking import Case, armed, ask, check, fetched, sent, table

# Epoch 5 began at offset 3 and has two records.
LEADER = "leader id=1 epoch=5 log=2@2,1@3,2@5"
KEYED = "leader id=1/A voters=1/A,2/A,3/A epoch=5 log=1@5"
FOLLOWER = "follower id=1 epoch=5 leader=3 log=2@2,2@4 hw=1"
AHEAD = "follower id=1 epoch=5 leader=3 log=2@2,2@4 hw=3"
CAUGHT_UP = f"{LEADER} hw=5 progress=2:5"
NOT_LEADER = "answer error=NOT_LEADER_OR_FOLLOWER"

CASES = [
    # The checks in their order.
    *(
        Case(f"a request with {words}", f"{LEADER} cluster=own", f"fetch-request from=2 {words}",
             f"answer {error}; answer epoch=5; unchanged")
        for words, error in (
            ("cluster=other epoch=9", "top-error=INCONSISTENT_CLUSTER_ID"),
            ("partition=other-0 epoch=9", "top-error=INVALID_REQUEST"),
            ("epoch=9 offset=-1", "error=INVALID_REQUEST"),
            ("epoch=9 last-epoch=-1", "error=INVALID_REQUEST"),
            ("epoch=9 max-wait=-1", "error=INVALID_REQUEST"),
            ("epoch=4 last-epoch=5", "error=INVALID_REQUEST"),
            ("epoch=4 last-epoch=3", "error=FENCED_LEADER_EPOCH"),
            ("epoch=6", "error=UNKNOWN_LEADER_EPOCH"),
        )
    ),
    *(
        Case(f"{state} does not serve", f"{state} id=1 epoch=5", "fetch-request from=2",
             f"{NOT_LEADER}; {leader}")
        for state, leader in (
            ("unattached", "no answer leader"), ("prospective", "no answer leader"),
            ("candidate", "no answer leader"), ("follower leader=3", "answer leader=3"),
            ("resigned", "answer leader=1"),
        )
    ),
    Case("a leader that shuts down serves no more", f"{LEADER} shutting-down", "fetch-request from=2",
         "answer error=BROKER_NOT_AVAILABLE"),
    *(
        Case(f"replica {fetcher} may fetch", LEADER, f"fetch-request from={fetcher}", "answer records=0:2@2")
        for fetcher in (2, 9, -1)
    ),
    Case("the leader may not", LEADER, "fetch-request from=1", "answer error=UNKNOWN_SERVER_ERROR"),
    *(
        Case(f"{fetcher} is no voter and does not count", KEYED,
             f"fetch-request from={fetcher} offset=1 last-epoch=5",
             "progress=1:1 2:? (silent) 3:? (silent); contacts=none; high watermark=none")
        for fetcher in ("9", "-1", "2/B")
    ),
    # Fetches that wait.
    *(
        Case(f"a fetch {words} waits", f"{LEADER} {hw}", f"fetch-request from=9 {words}",
             "no reply; parked=9:5")
        for words, hw in (
            ("offset=5 last-epoch=5", "hw=none"),
            ("offset=5 last-epoch=5 hw=4", "hw=4 progress=2:4,3:4"),
            ("offset=5 last-epoch=5 hw=9223372036854775807", "hw=4 progress=2:4,3:4"),
        )
    ),
    *(
        Case(f"a fetch {words} does not wait", f"{LEADER} {hw}", f"fetch-request from=9 {words}",
             "reply to 9; parked=none")
        for words, hw in (
            ("offset=5 last-epoch=5 max-wait=0", "hw=none"),
            ("offset=4 last-epoch=5", "hw=none"),
            ("offset=9 last-epoch=5", "hw=none"),
            ("offset=5 last-epoch=5 hw=3", "hw=4 progress=2:4,3:4"),
            ("offset=5 last-epoch=4", "hw=none"),
        )
    ),
    Case("a waiting fetch is answered when records are appended", f"{CAUGHT_UP} pending=7",
         "fetch-request from=2 offset=5 last-epoch=5 hw=5 correlation=8 | poll expired=linger",
         "answer records=5:1@5; parked=none; append < reply < flush"),
    Case("a waiting fetch is answered when the high watermark moves", LEADER,
         "fetch-request from=9 offset=5 last-epoch=5 | fetch-request from=2 offset=5 last-epoch=5",
         "high watermark=5; reply to 9: fetch-response epoch=5 leader=1 hw=5;"
         " reply to 2: fetch-response epoch=5 leader=1 hw=5; reply to 9 < reply to 2"),
    Case("an expired wait ends once", CAUGHT_UP,
         "fetch-request from=2 offset=5 last-epoch=5 hw=5 | append 7 | fetch-wait-expired from=3", "nothing"),
    *(
        Case(f"waiting fetches end with the leadership by {event}", f"{LEADER} parked=3:5", event,
             f"{NOT_LEADER}; parked=none")
        for event in ("vote-response from=2 epoch=9 leader=2", "poll expired=check-quorum")
    ),
    # The fetcher.
    Case("one fetch at a time", "follower id=1 epoch=5 leader=3 awaiting=2", "poll", "no send"),
    Case("without a leader it asks the given node", "unattached id=1 epoch=5", "poll discovery=2",
         "only send to 2"),
    Case("without a leader and a node it asks none", "unattached id=1 epoch=5", "poll", "no send"),
    Case("it does not ask during the back-off", "unattached id=1 epoch=5 backoff=2", "poll discovery=2",
         "no send"),
    Case("it asks another than the leader that it backs off from",
         "follower id=1 epoch=5 leader=3 backoff=3", "poll discovery=2", "only send to 2"),
    Case("an observer whose fetch timer expired still fetches", "follower id=7 epoch=5 leader=3",
         "poll expired=fetch discovery=2", "Follower 5; send"),
    # The follower.
    Case("records are appended and flushed", FOLLOWER, "fetch-response from=3 records=4:2@5 hw=5",
         "end offset=6; high watermark=5; append at offset 4; append at offset 5;"
         " append at offset 4 < append at offset 5 < flush < commit;"
         " only arm timer fetch: fetch timeout; has fetched=yes"),
    *(
        Case(f"{identity} {'flushes' if flushes else 'does not flush'}",
             f"follower {identity} epoch=5 leader=3", "fetch-response from=3 records=0:1@5",
             "flush" if flushes else "no flush")
        for identity, flushes in (
            ("id=1", True), ("id=7", True), ("id=7 broker", False), ("id=1 broker", True)
        )
    ),
    Case("the high watermark goes no further than the log", FOLLOWER, "fetch-response from=3 hw=9",
         "high watermark=4"),
    Case("an answer without a high watermark keeps it", FOLLOWER, "fetch-response from=3",
         "high watermark=1"),
    Case("the same high watermark is not committed again", FOLLOWER, "fetch-response from=3 hw=1",
         "no commit"),
    Case("a smaller high watermark ends the process", FOLLOWER, "fetch-response from=3 hw=0", "exits"),
    Case("batches of a larger epoch are left out", FOLLOWER, "fetch-response from=3 records=4:1@5,1@6",
         "end offset=5"),
    Case("a gap ends the process", FOLLOWER, "fetch-response from=3 records=5:1@5", "exits"),
    # The high watermark is learned only from an answer that appends.
    Case("truncation", FOLLOWER, "fetch-response from=3 diverging=3@4 hw=3",
         "only truncate to offset 3; end offset=3; high watermark=1; only arm timer fetch: fetch timeout;"
         " has fetched=yes"),
    *(
        Case(f"truncation below the high watermark ends the process: {diverging}", AHEAD,
             f"fetch-response from=3 diverging={diverging}", "exits")
        for diverging in ("0@2", "1@3")
    ),
    *(
        Case(f"an answer of the epoch ends the process of a {state}", f"{state} id=1 epoch=5",
             "fetch-response from=3", "exits")
        for state in ("candidate", "leader log=1@5", "resigned", "prospective", "unattached")
    ),
    Case("an error with another leader", FOLLOWER,
         "fetch-response from=3 error=FENCED_LEADER_EPOCH epoch=6 leader=2", "leader=2"),
    Case("an error of the leader", FOLLOWER, "fetch-response from=3 error=BROKER_NOT_AVAILABLE",
         "awaiting=none; backing off=3"),
]  # fmt: skip


@table(CASES)
def test_fetch(case: Case) -> None:
    check(case)


@pytest.mark.parametrize(
    ("offset", "last_epoch", "diverging"),
    [
        (0, 0, None),
        (0, 4, None),
        (2, 2, None),
        (1, 2, None),
        (3, 3, None),
        (5, 5, None),
        (3, 2, EpochEnd(2, 2)),
        (4, 4, EpochEnd(3, 3)),
        (3, 1, EpochEnd(1, 0)),  # all epochs of the leader are larger
        (9, 5, EpochEnd(5, 5)),
    ],
)
def test_positions(offset: int, last_epoch: int, diverging: EpochEnd | None) -> None:
    request = f"fetch-request from=2 offset={offset} last-epoch={last_epoch} max-wait=0"
    outcome = ask(LEADER, request)
    answer = fetched(outcome)
    assert answer.diverging == diverging
    assert isinstance(outcome.replica.role, Leader)
    known = outcome.replica.role.progress[1].end_offset
    if diverging is None:
        assert answer.batches == tuple(b for b in outcome.replica.log.batches if b.end_offset > offset)
        assert known == offset
    else:
        assert answer.batches == ()
        assert known is None  # no credit for a log that has diverged
        assert outcome.replica.role.contacts == ()
        assert armed(outcome) == {}


def test_an_answer_has_at_most_so_many_batches() -> None:
    answer = fetched(ask(LEADER, "fetch-request from=2", Protocol(fetch_max_batches=2)))
    assert [batch.base_offset for batch in answer.batches] == [0, 1]


def test_an_expired_wait_gets_the_answer_of_the_arrival() -> None:
    leader = f"{LEADER} hw=5 progress=2:5"
    waiting = ask(leader, "fetch-request from=2 offset=5 last-epoch=5 hw=5").replica
    prepared = waiting.parked[0].response
    later = ask(waiting, "append 7").replica
    outcome = ask(later, "fetch-wait-expired from=2")
    assert fetched(outcome) == prepared
    assert outcome.replica.parked == ()


@pytest.mark.parametrize(("offset", "last_epoch"), [(3, 2), (4, 4), (3, 1), (9, 5)])
def test_even_the_id_of_the_leader_is_first_answered_where_the_logs_diverge(
    offset: int, last_epoch: int
) -> None:
    """The id is looked at where the fetch is recorded, which only a valid one is (FETCH-18)."""
    words = f"offset={offset} last-epoch={last_epoch} max-wait=0"
    found = [fetched(ask(LEADER, f"fetch-request from={fetcher} {words}")) for fetcher in (1, 2)]
    assert found[0] == found[1]
    assert found[0].diverging is not None


def test_what_a_follower_asks_for() -> None:
    request = sent(ask("follower id=1 epoch=5 leader=3 log=2@2,1@4 hw=2", "poll"))[3]
    assert request == FetchRequest(5, ReplicaKey(1), 3, 4, 2, KAFKA.fetch_max_wait_ms)
