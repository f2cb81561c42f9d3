"""A leader's duties: the high watermark against a naive model, check-quorum, appends, resignation, times."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.reference import progress
from kraftcheck.reference.effects import (
    AppendAccepted,
    AppendBatch,
    CallFailed,
    Duration,
    Flush,
    HighWatermark,
    Stop,
)
from kraftcheck.reference.events import Timer
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Batch, LeaderChange, Value
from kraftcheck.reference.protocol import KAFKA, Protocol
from kraftcheck.reference.replica import Leader, Progress, Replica
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.reference.work import Work
from kraftcheck.systems.kraft.text import parse_replica
from tests.reference.asking import armed, ask, of_kind, persisted, role, sent


def naive_high_watermark(ends: list[int | None], start: int, current: int | None) -> int | None:
    """The largest offset that a majority holds and that has a record of the epoch below it, if it is news."""
    majority = len(ends) // 2 + 1
    held = [
        offset
        for offset in range(start + 1, 20)
        if sum(end is not None and end >= offset for end in ends) >= majority
    ]
    reached = max(held, default=None)
    if reached is None or (current is not None and reached <= current):
        return current
    return reached


@given(
    st.lists(st.none() | st.integers(0, 12), min_size=1, max_size=7),
    st.integers(0, 8),
    st.none() | st.integers(0, 12),
)
def test_the_high_watermark_is_what_a_majority_holds(
    ends: list[int | None], start: int, current: int | None
) -> None:
    voters = ",".join(str(n) for n in range(1, len(ends) + 1))
    leader = parse_replica(f"leader id=1 voters={voters} epoch=5")
    assert isinstance(leader.role, Leader)
    entries = tuple(Progress(ReplicaKey(voter), end) for voter, end in enumerate(ends, start=1))
    state = replace(leader.role, progress=entries, epoch_start_offset=start)
    work = Work(KAFKA, replace(leader, role=state, high_watermark=current))
    moved = progress.advance_high_watermark(work)
    assert work.replica.high_watermark == naive_high_watermark(ends, start, current)
    assert moved == (work.replica.high_watermark != current)
    assert [effect for effect in work.effects if isinstance(effect, HighWatermark)] == (
        [HighWatermark(work.replica.high_watermark or 0)] if moved else []
    )


def ends(replica: Replica) -> list[int | None]:
    assert isinstance(replica.role, Leader)
    return [entry.end_offset for entry in replica.role.progress]


def test_a_fetch_says_what_a_voter_holds_and_may_go_back() -> None:
    leader = "leader id=1 epoch=5 log=2@3,2@5"
    first = ask(leader, "fetch-request from=2 offset=4 last-epoch=5")
    assert ends(first.replica) == [4, 4, None]
    assert first.replica.high_watermark == 4
    lost = ask(first.replica, "fetch-request from=2 offset=0")
    assert ends(lost.replica) == [4, 0, None]
    assert lost.replica.high_watermark == 4


def test_records_of_older_epochs_are_committed_only_with_one_of_this() -> None:
    leader = "leader id=1 epoch=5 log=2@3,2@5"
    assert ask(leader, "fetch-request from=2 offset=2 last-epoch=3").replica.high_watermark is None
    assert ask(leader, "fetch-request from=2 offset=3 last-epoch=5").replica.high_watermark == 3


def test_a_leader_that_is_no_voter_does_not_count_itself() -> None:
    leader = parse_replica("leader id=1 epoch=5 log=1@5")
    removed = replace(leader, bootstrap_voters=parse_replica("unattached voters=2,3").bootstrap_voters)
    work = Work(KAFKA, removed)
    progress.count_own_log(work)
    assert isinstance(work.replica.role, Leader)
    assert [(entry.id, entry.end_offset) for entry in work.replica.role.progress] == [(2, None), (3, None)]


# Check-quorum.


@pytest.mark.parametrize(
    ("voters", "fetchers", "kept"),
    [("1,2,3", 1, True), ("1,2,3,4,5", 1, False), ("1,2,3,4,5", 2, True), ("1,2", 1, True)],
)
def test_a_majority_that_fetches_keeps_the_leader_in_office(voters: str, fetchers: int, kept: bool) -> None:
    replica = parse_replica(f"leader id=1 voters={voters} epoch=5 log=1@5")
    for fetcher in range(2, 2 + fetchers):
        outcome = ask(replica, f"fetch-request from={fetcher} offset=1 last-epoch=5 max-wait=0")
        replica = outcome.replica
    assert (armed(outcome) == {Timer.CHECK_QUORUM: Duration.CHECK_QUORUM_TIMEOUT}) == kept
    assert isinstance(replica.role, Leader)
    assert (replica.role.contacts == ()) == kept


def test_a_parked_fetch_that_is_tried_again_counts_again() -> None:
    waiting = ask(
        "leader id=1 voters=1,2,3,4,5 epoch=5 log=1@5", "fetch-request from=2 offset=1 last-epoch=5"
    )
    outcome = ask(waiting.replica, "fetch-request from=3 offset=1 last-epoch=5 max-wait=0")
    assert armed(outcome) == {Timer.CHECK_QUORUM: Duration.CHECK_QUORUM_TIMEOUT}
    assert isinstance(outcome.replica.role, Leader)
    assert outcome.replica.role.contacts == (
        2,
    )  # the high watermark moved, and 2 was answered after the timer


def test_the_same_voter_counts_once() -> None:
    replica = parse_replica("leader id=1 voters=1,2,3,4,5 epoch=5 log=1@5")
    for _ in range(3):
        outcome = ask(replica, "fetch-request from=2 offset=1 last-epoch=5 max-wait=0")
        replica = outcome.replica
        assert armed(outcome) == {}


def test_without_check_quorum_nothing_is_counted() -> None:
    outcome = ask("leader id=1 epoch=5 log=1@5", "fetch-request from=2", Protocol(check_quorum=False))
    assert armed(outcome) == {}


# Appending.


def test_the_epoch_is_opened_at_the_first_poll() -> None:
    outcome = ask("leader id=1 epoch=5 log=2@3 granting=1,2", "poll")
    assert of_kind(outcome, AppendBatch) == [AppendBatch(Batch(2, 5, (LeaderChange(1, (1, 2, 3), (1, 2)),)))]
    assert outcome.effects[-1] == Flush(3)
    assert ends(outcome.replica) == [3, None, None]


def test_values_wait_for_the_linger_time() -> None:
    leader = "leader id=1 epoch=5 log=1@5"
    queued = ask(leader, "append 7,8")
    assert of_kind(queued, AppendAccepted) == [AppendAccepted(2)]
    assert armed(queued) == {Timer.LINGER: Duration.LINGER}
    more = ask(queued.replica, "append 9")
    assert armed(more) == {}
    assert ask(more.replica, "poll").effects == ()
    outcome = ask(more.replica, "poll expired=linger")
    assert of_kind(outcome, AppendBatch) == [AppendBatch(Batch(1, 5, (Value(7), Value(8), Value(9))))]
    assert isinstance(outcome.replica.role, Leader)
    assert outcome.replica.role.pending == ()


def test_control_records_are_never_mixed_with_values() -> None:
    opening = ask("leader id=1 epoch=5", "append 7").replica
    outcome = ask(opening, "poll")
    assert [len(batch.batch.records) for batch in outcome.effects if isinstance(batch, AppendBatch)] == [1, 1]


def test_a_single_voter_commits_before_it_flushes() -> None:
    outcome = ask("leader id=1 voters=1 epoch=5 log=1@5 pending=7 hw=1", "poll expired=linger")
    kinds = [type(effect) for effect in outcome.effects]
    assert kinds.index(HighWatermark) < kinds.index(Flush)


@pytest.mark.parametrize("words", ["append 7 epoch=4", "append 7 epoch=6"])
def test_an_append_for_another_epoch_is_refused(words: str) -> None:
    assert of_kind(ask("leader id=1 epoch=5 log=1@5", words), CallFailed)
    assert of_kind(ask("follower id=1 leader=2 epoch=5", "append 7"), CallFailed)


# Times (KIP-836).


def test_times_of_a_voter() -> None:
    leader = "leader id=1 epoch=5 log=2@5"
    behind = ask(leader, "fetch-request from=2 offset=1 last-epoch=5 now=100").replica
    assert isinstance(behind.role, Leader)
    assert behind.role.progress[1] == Progress(ReplicaKey(2), 1, True, 100, 2, None)
    caught_up = ask(behind, "fetch-request from=2 offset=2 last-epoch=5 now=200").replica
    assert isinstance(caught_up.role, Leader)
    assert caught_up.role.progress[1] == Progress(ReplicaKey(2), 2, True, 200, 2, 200, True)
    appended = ask(ask(caught_up, "append 7").replica, "poll expired=linger").replica
    # Behind the leader now, but at what the leader had at the previous fetch.
    again = ask(appended, "fetch-request from=2 offset=2 last-epoch=5 now=300").replica
    assert isinstance(again.role, Leader)
    assert again.role.progress[1] == Progress(ReplicaKey(2), 2, True, 300, 3, 200, True)


def test_who_has_caught_up_is_known_without_a_clock() -> None:
    leader = "leader id=1 epoch=5 log=2@5"
    behind = ask(leader, "fetch-request from=9 offset=1 last-epoch=5").replica
    assert isinstance(behind.role, Leader)
    assert behind.role.observers == (Progress(ReplicaKey(9), 1, True, None, 2),)
    appended = ask(ask(behind, "append 7").replica, "poll expired=linger").replica
    # Behind the leader still, but at what the leader had at the previous fetch.
    again = ask(appended, "fetch-request from=9 offset=2 last-epoch=5").replica
    assert isinstance(again.role, Leader)
    assert again.role.observers == (Progress(ReplicaKey(9), 2, True, None, 3, caught_up=True),)


# Check quorum.


def test_a_fetch_of_an_observer_counts_the_voters_heard_from_anew() -> None:
    """A single voter needs nobody; and a voter set that has shrunk may need no more than were heard from."""
    single = ask("leader id=1 voters=1 epoch=5 log=1@5 hw=1", "fetch-request from=9 offset=1 last-epoch=5")
    assert armed(single) == {Timer.CHECK_QUORUM: Duration.CHECK_QUORUM_TIMEOUT}
    shrunk = "leader id=1 voters=1,2,3 epoch=5 log=1@5 contacts=4"
    outcome = ask(shrunk, "fetch-request from=9 offset=1 last-epoch=5")
    assert armed(outcome) == {Timer.CHECK_QUORUM: Duration.CHECK_QUORUM_TIMEOUT}
    assert isinstance(outcome.replica.role, Leader)
    assert outcome.replica.role.contacts == ()


def test_a_fetch_of_an_observer_is_no_contact() -> None:
    leader = "leader id=1 voters=1,2,3,4,5 epoch=5 log=1@5 contacts=2"
    outcome = ask(leader, "fetch-request from=9 offset=1 last-epoch=5")
    assert armed(outcome) == {}
    assert isinstance(outcome.replica.role, Leader)
    assert outcome.replica.role.contacts == (2,)


# Giving up.


@pytest.mark.parametrize(
    ("replica", "event", "requested", "refused"),
    [
        ("leader id=1 epoch=5 log=1@5", "resign", True, False),
        ("leader id=1 epoch=5 log=1@5", "resign epoch=4", False, False),
        ("leader id=1 epoch=5 log=1@5", "resign epoch=6", False, True),
        ("follower id=1 leader=2 epoch=5", "resign", False, True),
        ("follower id=1 leader=2 epoch=5", "resign epoch=4", False, False),
    ],
)
def test_a_request_to_resign(replica: str, event: str, requested: bool, refused: bool) -> None:
    outcome = ask(replica, event)
    leads = outcome.replica.role
    assert (isinstance(leads, Leader) and leads.resign_requested) == requested
    assert bool(of_kind(outcome, CallFailed)) == refused


def test_a_graceful_shutdown() -> None:
    begun = ask("leader id=1 epoch=5 log=1@5", "shutdown").replica
    assert begun.shutting_down
    resigned = ask(begun, "poll")
    assert role(resigned) == "Resigned"
    told = ask(resigned.replica, "poll")
    assert set(sent(told)) == {2, 3}
    followed = ask(told.replica, "begin-quorum-epoch-request from=2 epoch=6").replica
    assert of_kind(ask(followed, "poll"), Stop) == [Stop()]


@pytest.mark.parametrize(
    ("replica", "stops"),
    [
        ("follower id=1 leader=2", True),
        ("unattached id=7", True),
        ("leader id=1 voters=1 log=1@1", True),
        ("unattached id=1", False),
        ("candidate id=1", False),
    ],
)
def test_when_a_shutdown_is_complete(replica: str, stops: bool) -> None:
    outcome = ask(f"{replica} shutting-down", "poll")
    assert bool(of_kind(outcome, Stop)) == stops
    assert persisted(outcome) == ()
