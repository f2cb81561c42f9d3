"""Fetch: which answer a fetcher gets and when, and what a follower makes of it."""

from __future__ import annotations

import pytest

from kraftcheck.reference.effects import AppendBatch, Duration, Flush, HighWatermark, Reply, Truncate
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Timer
from kraftcheck.reference.log import EpochEnd
from kraftcheck.reference.messages import FetchRequest, FetchResponse
from kraftcheck.reference.protocol import KAFKA, Protocol
from kraftcheck.reference.replica import Connection, Follower, Leader
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.systems.kraft.text import parse_replica
from tests.reference.asking import armed, ask, fetched, of_kind, response, role, sent

# Epoch 5 began at offset 3 and has two records.
LEADER = "leader id=1 epoch=5 log=2@2,1@3,2@5"


@pytest.mark.parametrize(
    ("words", "error", "top_level"),
    [
        ("cluster=other epoch=9", ErrorCode.INCONSISTENT_CLUSTER_ID, True),
        ("partition=other-0 epoch=9", ErrorCode.INVALID_REQUEST, True),
        ("epoch=9 offset=-1", ErrorCode.INVALID_REQUEST, False),
        ("epoch=9 last-epoch=-1", ErrorCode.INVALID_REQUEST, False),
        ("epoch=9 max-wait=-1", ErrorCode.INVALID_REQUEST, False),
        ("epoch=4 last-epoch=5", ErrorCode.INVALID_REQUEST, False),
        ("epoch=4 last-epoch=3", ErrorCode.FENCED_LEADER_EPOCH, False),
        ("epoch=6", ErrorCode.UNKNOWN_LEADER_EPOCH, False),
    ],
)
def test_checks_in_order(words: str, error: ErrorCode, top_level: bool) -> None:
    before = parse_replica(f"{LEADER} cluster=own")
    outcome = ask(before, f"fetch-request from=2 {words}")
    answer = response(outcome)
    assert (answer.error if top_level else answer.partition_error) is error
    assert answer.epoch == 5
    assert outcome.replica == before


@pytest.mark.parametrize("state", ["unattached", "prospective", "candidate", "follower leader=3", "resigned"])
def test_only_the_leader_serves(state: str) -> None:
    answer = response(ask(f"{state} id=1 epoch=5", "fetch-request from=2"))
    assert answer.partition_error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert answer.leader == {"follower leader=3": 3, "resigned": 1}.get(state)


def test_a_leader_that_shuts_down_serves_no_more() -> None:
    answer = response(ask(f"{LEADER} shutting-down", "fetch-request from=2"))
    assert answer.partition_error is ErrorCode.BROKER_NOT_AVAILABLE


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


@pytest.mark.parametrize(
    ("words", "parked"),
    [
        ("offset=5 last-epoch=5", True),
        ("offset=5 last-epoch=5 max-wait=0", False),
        ("offset=4 last-epoch=5", False),
        ("offset=9 last-epoch=5", False),
        ("offset=5 last-epoch=5 hw=4", True),
        ("offset=5 last-epoch=5 hw=3", False),
        ("offset=5 last-epoch=5 hw=9223372036854775807", True),
        ("offset=5 last-epoch=4", False),
    ],
)
def test_when_a_fetch_waits(words: str, parked: bool) -> None:
    hw = "hw=4 progress=2:4,3:4" if "hw=" in words else "hw=none"
    outcome = ask(f"{LEADER} {hw}", f"fetch-request from=9 {words}")
    assert bool(outcome.replica.parked) == parked
    assert bool(of_kind(outcome, Reply)) != parked


def test_a_parked_fetch_is_answered_when_records_are_appended() -> None:
    leader = f"{LEADER} hw=5 progress=2:5 pending=7"
    waiting = ask(leader, "fetch-request from=2 offset=5 last-epoch=5 hw=5 correlation=8").replica
    outcome = ask(waiting, "poll expired=linger")
    assert [batch.base_offset for batch in fetched(outcome).batches] == [5]
    assert outcome.replica.parked == ()
    kinds = [type(effect) for effect in outcome.effects]
    assert kinds.index(AppendBatch) < kinds.index(Reply) < kinds.index(Flush)


def test_a_parked_fetch_is_answered_when_the_high_watermark_moves() -> None:
    waiting = ask(LEADER, "fetch-request from=9 offset=5 last-epoch=5").replica
    outcome = ask(waiting, "fetch-request from=2 offset=5 last-epoch=5")
    assert outcome.replica.high_watermark == 5
    replies = [effect for effect in outcome.effects if isinstance(effect, Reply)]
    assert [reply.to for reply in replies] == [9, 2]
    for reply in replies:
        assert isinstance(reply.response, FetchResponse)
        assert reply.response.high_watermark == 5


def test_a_parked_fetch_that_waited_in_vain_gets_the_answer_of_its_arrival() -> None:
    leader = f"{LEADER} hw=5 progress=2:5"
    waiting = ask(leader, "fetch-request from=2 offset=5 last-epoch=5 hw=5").replica
    prepared = waiting.parked[0].response
    later = ask(waiting, "append 7").replica
    outcome = ask(later, "fetch-wait-expired from=2")
    assert fetched(outcome) == prepared
    assert outcome.replica.parked == ()
    assert ask(later, "fetch-wait-expired from=3").effects == ()


@pytest.mark.parametrize("event", ["vote-response from=2 epoch=9 leader=2", "poll expired=check-quorum"])
def test_parked_fetches_end_with_leadership(event: str) -> None:
    outcome = ask(f"{LEADER} parked=3:5", event)
    answer = fetched(outcome)
    assert answer.partition_error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert outcome.replica.parked == ()


def test_who_may_fetch() -> None:
    for fetcher in ("2", "9", "-1"):
        assert fetched(ask(LEADER, f"fetch-request from={fetcher}")).batches
    answer = response(ask(LEADER, "fetch-request from=1"))
    assert answer.partition_error is ErrorCode.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize(("offset", "last_epoch"), [(3, 2), (4, 4), (3, 1), (9, 5)])
def test_whoever_has_the_leaders_id_is_told_first_where_the_logs_part(offset: int, last_epoch: int) -> None:
    """The id is looked at where the fetch is recorded, which only a valid one is (FETCH-18)."""
    words = f"offset={offset} last-epoch={last_epoch} max-wait=0"
    found = [fetched(ask(LEADER, f"fetch-request from={fetcher} {words}")) for fetcher in (1, 2)]
    assert found[0] == found[1]
    assert found[0].diverging is not None


@pytest.mark.parametrize("fetcher", ["9", "-1", "2/B"])
def test_only_voters_count(fetcher: str) -> None:
    leader = "leader id=1/A voters=1/A,2/A,3/A epoch=5 log=1@5"
    outcome = ask(leader, f"fetch-request from={fetcher} offset=1 last-epoch=5")
    assert isinstance(outcome.replica.role, Leader)
    assert [entry.end_offset for entry in outcome.replica.role.progress] == [1, None, None]
    assert outcome.replica.role.contacts == ()
    assert outcome.replica.high_watermark is None


# The fetcher.


def test_what_a_follower_asks_for() -> None:
    request = sent(ask("follower id=1 epoch=5 leader=3 log=2@2,1@4 hw=2", "poll"))[3]
    assert request == FetchRequest(5, ReplicaKey(1), 3, 4, 2, KAFKA.fetch_max_wait_ms)
    assert sent(ask("follower id=1 epoch=5 leader=3 awaiting=2", "poll")) == {}


def test_whom_a_replica_asks() -> None:
    assert set(sent(ask("unattached id=1 epoch=5", "poll discovery=2"))) == {2}
    assert sent(ask("unattached id=1 epoch=5", "poll")) == {}
    assert sent(ask("unattached id=1 epoch=5 backoff=2", "poll discovery=2")) == {}
    assert set(sent(ask("follower id=1 epoch=5 leader=3 backoff=3", "poll discovery=2"))) == {2}


FOLLOWER = "follower id=1 epoch=5 leader=3 log=2@2,2@4 hw=1"


def test_records_are_appended_and_flushed() -> None:
    outcome = ask(FOLLOWER, "fetch-response from=3 records=4:2@5 hw=5")
    assert outcome.replica.log.end_offset == 6
    assert outcome.replica.high_watermark == 5
    kinds = [type(effect) for effect in outcome.effects]
    assert kinds[:4] == [AppendBatch, AppendBatch, Flush, HighWatermark]
    assert armed(outcome) == {Timer.FETCH: Duration.FETCH_TIMEOUT}
    assert isinstance(outcome.replica.role, Follower)
    assert outcome.replica.role.has_fetched


@pytest.mark.parametrize(
    ("identity", "flushes"), [("id=1", True), ("id=7", True), ("id=7 broker", False), ("id=1 broker", True)]
)
def test_who_flushes(identity: str, flushes: bool) -> None:
    outcome = ask(f"follower {identity} epoch=5 leader=3", "fetch-response from=3 records=0:1@5")
    assert bool(of_kind(outcome, Flush)) == flushes


def test_the_high_watermark_goes_no_further_than_the_log_and_never_back() -> None:
    assert ask(FOLLOWER, "fetch-response from=3 hw=9").replica.high_watermark == 4
    assert ask(FOLLOWER, "fetch-response from=3").replica.high_watermark == 1
    assert of_kind(ask(FOLLOWER, "fetch-response from=3 hw=1"), HighWatermark) == []
    assert ask(FOLLOWER, "fetch-response from=3 hw=0").fatal is not None


def test_batches_of_a_larger_epoch_are_left_out() -> None:
    outcome = ask(FOLLOWER, "fetch-response from=3 records=4:1@5,1@6")
    assert outcome.replica.log.end_offset == 5


def test_a_gap_kills() -> None:
    assert ask(FOLLOWER, "fetch-response from=3 records=5:1@5").fatal is not None


def test_truncation() -> None:
    outcome = ask(FOLLOWER, "fetch-response from=3 diverging=3@4 hw=3")
    assert of_kind(outcome, Truncate) == [Truncate(3)]
    assert outcome.replica.log.end_offset == 3
    assert outcome.replica.high_watermark == 1  # only learned from an answer that appends
    assert armed(outcome) == {Timer.FETCH: Duration.FETCH_TIMEOUT}
    assert isinstance(outcome.replica.role, Follower)
    assert outcome.replica.role.has_fetched


@pytest.mark.parametrize("diverging", ["0@2", "1@3"])
def test_truncation_below_the_high_watermark_kills(diverging: str) -> None:
    high = "follower id=1 epoch=5 leader=3 log=2@2,2@4 hw=3"
    assert ask(high, f"fetch-response from=3 diverging={diverging}").fatal is not None


@pytest.mark.parametrize("state", ["candidate", "leader log=1@5", "resigned", "prospective", "unattached"])
def test_an_answer_of_the_epoch_that_reaches_no_follower_kills(state: str) -> None:
    assert ask(f"{state} id=1 epoch=5", "fetch-response from=3").fatal is not None


def test_an_observer_whose_fetch_timer_expired_still_fetches() -> None:
    outcome = ask("follower id=7 epoch=5 leader=3", "poll expired=fetch discovery=2")
    assert role(outcome) == "Follower"
    assert sent(outcome)


def test_errors_of_the_leader() -> None:
    fenced = ask(FOLLOWER, "fetch-response from=3 error=FENCED_LEADER_EPOCH epoch=6 leader=2")
    assert fenced.replica.quorum_state.leader == 2
    busy = ask(FOLLOWER, "fetch-response from=3 error=BROKER_NOT_AVAILABLE")
    assert busy.replica.connections == (Connection(3, False),)
