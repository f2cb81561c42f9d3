"""A leader's duties: the high watermark against an oracle, check-quorum, appends, resignation, times."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.reference import progress
from kraftcheck.reference.effects import AppendBatch, HighWatermark
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Batch, LeaderChange, Value
from kraftcheck.reference.protocol import KAFKA, Protocol
from kraftcheck.reference.replica import Leader, Progress
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.reference.work import Work
from kraftcheck.systems.kraft.text import parse_replica
from tests.reference.asking import Case, after, ask, check, of_kind, table


def expected_high_watermark(ends: list[int | None], start: int, current: int | None) -> int | None:
    """The largest offset that a majority holds above a record of the epoch, if it is larger than before."""
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
    assert work.replica.high_watermark == expected_high_watermark(ends, start, current)
    assert moved == (work.replica.high_watermark != current)
    assert [effect for effect in work.effects if isinstance(effect, HighWatermark)] == (
        [HighWatermark(work.replica.high_watermark or 0)] if moved else []
    )


def test_a_leader_that_is_no_voter_does_not_count_itself() -> None:
    leader = parse_replica("leader id=1 epoch=5 log=1@5")
    removed = replace(leader, bootstrap_voters=parse_replica("unattached voters=2,3").bootstrap_voters)
    work = Work(KAFKA, removed)
    progress.count_own_log(work)
    assert isinstance(work.replica.role, Leader)
    assert [(entry.id, entry.end_offset) for entry in work.replica.role.progress] == [(2, None), (3, None)]


LEADER = "leader id=1 epoch=5 log=1@5"
TWO_EPOCHS = "leader id=1 epoch=5 log=2@3,2@5"
FIVE = "leader id=1 voters=1,2,3,4,5 epoch=5 log=1@5"
FETCH_2 = "fetch-request from=2 offset=1 last-epoch=5 max-wait=0"
FETCH_3 = "fetch-request from=3 offset=1 last-epoch=5 max-wait=0"
FETCH_9 = "fetch-request from=9 offset=1 last-epoch=5"
KEPT = "only arm timer check-quorum: 1.5 times the fetch timeout"
FOLLOWED = "begin-quorum-epoch-request from=2 epoch=6"

CASES = [
    Case("a fetch says what a voter holds", TWO_EPOCHS, "fetch-request from=2 offset=4 last-epoch=5",
         "progress=1:4 2:4 3:? (silent); high watermark=4"),
    Case("and may go back", TWO_EPOCHS,
         "fetch-request from=2 offset=4 last-epoch=5 | fetch-request from=2 offset=0",
         "progress=1:4 2:0 3:? (silent); high watermark=4"),
    Case("records of older epochs alone are not committed", TWO_EPOCHS,
         "fetch-request from=2 offset=2 last-epoch=3", "high watermark=none"),
    Case("but with one of this epoch", TWO_EPOCHS, "fetch-request from=2 offset=3 last-epoch=5",
         "high watermark=3"),
    # Check-quorum.
    Case("one fetcher keeps the leader of three voters", LEADER, FETCH_2, f"{KEPT}; contacts=none"),
    Case("one fetcher keeps the leader of two voters", "leader id=1 voters=1,2 epoch=5 log=1@5", FETCH_2,
         f"{KEPT}; contacts=none"),
    Case("one fetcher of five voters is too few", FIVE, FETCH_2, "no arm timer; contacts=2"),
    Case("two are enough", FIVE, f"{FETCH_2} | {FETCH_3}", f"{KEPT}; contacts=none"),
    Case("the same voter counts once", FIVE, f"{FETCH_2} | {FETCH_2} | {FETCH_2}", "no arm timer"),
    # The high watermark moved, and 2 was answered after the timer.
    Case("a waiting fetch that is tried again counts again", FIVE,
         f"fetch-request from=2 offset=1 last-epoch=5 | {FETCH_3}", f"{KEPT}; contacts=2"),
    Case("without check-quorum nothing is counted", LEADER, "fetch-request from=2", "no arm timer",
         Protocol(check_quorum=False)),
    # A fetch of an observer counts the voters anew that were heard from.
    Case("a single voter needs no other", "leader id=1 voters=1 epoch=5 log=1@5 hw=1", FETCH_9, KEPT),
    Case("a voter set that has shrunk may need no more than were heard from", f"{LEADER} contacts=4", FETCH_9,
         f"{KEPT}; contacts=none"),
    Case("a fetch of an observer is no contact", f"{FIVE} contacts=2", FETCH_9, "no arm timer; contacts=2"),
    # Appending.
    Case("the epoch is opened at the first poll", "leader id=1 epoch=5 log=2@3 granting=1,2", "poll",
         "append at offset 2, epoch 5: LeaderChange(1); flush up to offset 3;"
         " progress=1:3 2:? (silent) 3:? (silent)"),
    Case("values wait for the linger time", LEADER, "append 7,8",
         "accepted the last record gets offset 2; only arm timer linger: append linger"),
    Case("which runs once", LEADER, "append 7,8 | append 9", "no arm timer"),
    Case("a poll before its end appends nothing", LEADER, "append 7,8 | append 9 | poll", "nothing"),
    Case("they are appended as one batch", LEADER, "append 7,8 | append 9 | poll expired=linger",
         "only append at offset 1, epoch 5: 7 8 9; pending=none"),
    Case("control records are never mixed with values", "leader id=1 epoch=5",
         "append 7 | poll expired=linger", "only append at offset 0, epoch 5: LeaderChange(1); pending=7"),
    # Kafka: BatchAccumulator.forceDrain resets the linger timer; the next append starts it again.
    Case("values behind a control batch wait for their own linger time", "leader id=1 epoch=5", """
        append 7             => arm timer linger: append linger
        append 8             => no arm timer
        poll                 => only append at offset 0, epoch 5: LeaderChange(1); pending=7+8
        poll                 => nothing
        poll expired=linger  => only append at offset 1, epoch 5: 7 8; pending=none
    """),
    Case("a single voter commits before it flushes", "leader id=1 voters=1 epoch=5 log=1@5 pending=7 hw=1",
         "poll expired=linger", "commit < flush"),
    Case("an append for an earlier epoch is refused", LEADER, "append 7 epoch=4", "refused"),
    Case("an append for a later epoch is refused", LEADER, "append 7 epoch=6", "refused"),
    Case("a follower refuses an append", "follower id=1 leader=2 epoch=5", "append 7", "refused"),
    # Resigning.
    Case("the state machine requests it", LEADER, "resign", "resign requested=yes; no refused"),
    Case("for an earlier epoch", LEADER, "resign epoch=4", "resign requested=none; no refused"),
    Case("for a later epoch", LEADER, "resign epoch=6", "resign requested=none; refused"),
    Case("of a follower", "follower id=1 leader=2 epoch=5", "resign", "refused"),
    Case("of a follower for an earlier epoch", "follower id=1 leader=2 epoch=5", "resign epoch=4",
         "no refused"),
    # A graceful shutdown.
    Case("begins", LEADER, "shutdown", "shutting down=yes"),
    Case("the leader resigns", LEADER, "shutdown | poll", "Resigned 5"),
    Case("and informs the voters", LEADER, "shutdown | poll | poll", "send to 2; send to 3"),
    Case("until another leads", LEADER, f"shutdown | poll | poll | {FOLLOWED} | poll", "stop"),
    *(
        Case(f"is complete for {replica}", f"{replica} shutting-down", "poll", "stop; no persist")
        for replica in ("follower id=1 leader=2", "unattached id=7", "leader id=1 voters=1 log=1@1")
    ),
    *(
        Case(f"is not complete for {replica}", f"{replica} shutting-down", "poll", "no stop; no persist")
        for replica in ("unattached id=1", "candidate id=1")
    ),
]  # fmt: skip


@table(CASES)
def test_leader(case: Case) -> None:
    check(case)


def test_batches() -> None:
    opened = ask("leader id=1 epoch=5 log=2@3 granting=1,2", "poll")
    assert of_kind(opened, AppendBatch) == [AppendBatch(Batch(2, 5, (LeaderChange(1, (1, 2, 3), (1, 2)),)))]
    appended = ask(after(LEADER, "append 7,8"), "poll expired=linger")
    assert of_kind(appended, AppendBatch) == [AppendBatch(Batch(1, 5, (Value(7), Value(8))))]


TWO, NINE = ReplicaKey(2), ReplicaKey(9)
BEHIND = "fetch-request from={} offset=1 last-epoch=5 {}"
AT_END = "fetch-request from={} offset=2 last-epoch=5 {}"
#: Behind the leader now, but at what the leader had at the previous fetch.
ONE_BEHIND = "append 7 | poll expired=linger | fetch-request from={} offset=2 last-epoch=5 {}"


@pytest.mark.parametrize(
    ("source", "events", "known"),
    [
        # Times of KIP-836, and what a leader knows of a replica without a clock.
        (2, [(BEHIND, "now=100")], Progress(TWO, 1, True, 100, 2, None)),
        (2, [(AT_END, "now=200")], Progress(TWO, 2, True, 200, 2, 200, True)),
        (2, [(AT_END, "now=200"), (ONE_BEHIND, "now=300")], Progress(TWO, 2, True, 300, 3, 200, True)),
        (9, [(BEHIND, "")], Progress(NINE, 1, True, None, 2)),
        (9, [(BEHIND, ""), (ONE_BEHIND, "")], Progress(NINE, 2, True, None, 3, caught_up=True)),
    ],
)
def test_progress(source: int, events: list[tuple[str, str]], known: Progress) -> None:
    fetches = " | ".join(event.format(source, now) for event, now in events)
    role = after("leader id=1 epoch=5 log=2@5", fetches).role
    assert isinstance(role, Leader)
    assert known in (*role.progress, *role.observers)
