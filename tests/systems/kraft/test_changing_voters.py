"""Changing voters: what the environment offers, what the history keeps, and the properties judged on it."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kraftcheck.checking.run import check
from kraftcheck.engine.explorer import explore
from kraftcheck.engine.reference_explorer import explore_naively
from kraftcheck.engine.system import GlobalState, Verdict
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import (
    Batch,
    KRaftVersion,
    LeaderChange,
    Log,
    Snapshot,
    SnapshotId,
    Value,
    Voters,
)
from kraftcheck.reference.replica import Follower, Leader, Progress, Replica
from kraftcheck.reference.voters import ReplicaKey, Voter, VoterSet, static_voters, voter_set
from kraftcheck.systems.kraft import administration, initial_prefix, membership, reductions
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.history import History, record
from kraftcheck.systems.kraft.labels import (
    Acknowledged,
    Committed,
    Elected,
    Refused,
    Restored,
    Snapshotted,
    Truncated,
    Voted,
    Wiped,
)
from kraftcheck.systems.kraft.membership import Origin
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.step import Action
from kraftcheck.systems.kraft.system import KRaftSystem
from kraftcheck.systems.scenario import Scenario, shipped
from tests.systems.kraft.small import alone, changed


def test_a_removal_that_timed_out_leaves_its_leader_in_office() -> None:
    result = check(shipped()["finding-leader-removal-timed-out"])
    assert result.as_expected, result.differences
    (judged,) = result.judged
    assert not judged.holds
    assert judged.cycle == 2
    leader = [node for step in result.traces()[0].steps for id, node in step.nodes if id == 1][-1].replica
    assert leader is not None
    assert isinstance(leader.role, Leader)
    assert not leader.is_voter


def test_a_removal_that_does_not_time_out_ends_with_another_leader_or_none() -> None:
    scenario = changed(
        "finding-leader-removal-timed-out", budgets__timers=0, check__goals=["GoalVoterRemoved"]
    )
    result = check(scenario)
    assert result.as_expected, result.differences
    assert [judged.holds for judged in result.judged] == [True]


# The beginning.


def _small(**keys: Any) -> Scenario:
    return alone(**{"environment": {"timers": [], "power-loss": False}, **keys})


def _replicas(system: KRaftSystem) -> list[Replica]:
    found = [cast(Node, local).replica for local in system.initial_states()[0].locals]
    return [replica for replica in found if replica is not None]


def test_an_initial_leader_begins_where_everybody_follows_and_has_everything() -> None:
    replicas = {"voters": [1, 2, 3], "joining": [4], "dynamic": True, "initial-leader": 2}
    system = build(_small(replicas=replicas))
    leader = _replicas(system)[1]
    assert isinstance(leader.role, Leader)
    for replica in _replicas(system):
        assert replica.quorum_state.leader == 2
        assert replica.log.end_offset == replica.high_watermark == leader.log.end_offset
        assert replica.voters.keys == tuple(ReplicaKey(n, f"d{n}") for n in (1, 2, 3))
    history = cast(History, system.initial_states()[0].history)
    assert history.leaders == ((1, 2),)
    assert membership.end_of(history.committed) == leader.high_watermark


def test_the_states_in_which_an_initial_leader_begins_are_reached_by_the_model_itself() -> None:
    """The initial prefix takes only steps that the engine would take."""
    replicas = {"voters": [1], "joining": [2], "dynamic": True, "initial-leader": 1}
    begun = build(_small(replicas=replicas)).initial_states()[0]
    del replicas["initial-leader"]
    environment = {"timers": ["election"], "discovery": True, "power-loss": False}
    _, states = explore_naively(build(_small(replicas=replicas, environment=environment)))
    assert begun in states


def test_fresh_replicas_have_only_just_started() -> None:
    replicas = {"voters": [1], "joining": [2, 3], "dynamic": True, "initial-leader": 1, "fresh": [3]}
    roles = [replica.role for replica in _replicas(build(_small(replicas=replicas)))]
    assert isinstance(roles[1], Follower)
    assert not isinstance(roles[2], Follower)


def test_a_replica_with_the_checkpoint_knows_the_voters() -> None:
    replicas = {"voters": [1], "joining": [2, 3], "dynamic": True, "with-checkpoint": [3]}
    known = [replica.voters.ids for replica in _replicas(build(_small(replicas=replicas)))]
    assert known == [(1,), (), (1,)]


# The administrator.


def test_directories_of_disks_that_replace_each_other() -> None:
    names_ = [administration.first_directory(3)]
    for _ in range(2):
        names_.append(administration.next_directory(names_[-1]))
    assert names_ == ["d3", "d3-2", "d3-3"]


def _requests(order: str, steps: list[str], **leader: Any) -> list[str]:
    replicas = {"voters": [1, 2], "joining": [3], "dynamic": True, "initial-leader": 1}
    budgets = {"admin": 1}
    system = build(_small(replicas=replicas, admin={"steps": steps, "order": order}, budgets=budgets))
    replica = replace(_replicas(system)[0], **leader)
    listed = order == "listed"
    found = administration.requests(system.wiring.steps, listed, replica)
    return [f"{step.verb} {step}".strip() for step, _ in found]


def test_listed_steps_are_asked_for_in_their_order() -> None:
    assert _requests("listed", ["add 2", "remove 1", "add 3"]) == ["remove 1/d1"]
    assert _requests("listed", ["add 1", "add 2"]) == []
    assert _requests("listed", ["remove 2"], high_watermark=None) == []
    assert _requests("listed", ["remove 2/d2-2"]) == []


def test_steps_in_any_order_are_asked_for_whether_or_not_they_make_sense() -> None:
    steps = ["add 2", "remove 1"]
    assert _requests("any", steps) == ["add 2/d2", "remove 1/d1"]
    assert _requests("any", steps, high_watermark=None) == ["add 2/d2", "remove 1/d1"]


# The history.

ONE, TWO, TWO_AGAIN = (ReplicaKey(1, "d1"), ReplicaKey(2, "d2"), ReplicaKey(2, "d2-2"))


def _set(*keys: ReplicaKey) -> VoterSet:
    return VoterSet(tuple(Voter(key, (), 0, 1) for key in keys))


ORIGIN = Origin(_set(ONE, TWO), 1)
OPENING = Batch(0, 1, (LeaderChange(1, (1, 2), ()),))
ALONE = Batch(1, 1, (Voters(_set(ONE)),))
AGAIN = Batch(2, 1, (Voters(_set(ONE, TWO_AGAIN)),))
START = History(origin=ORIGIN)


def _after(history: History, *labels: Any) -> tuple[History, set[str], set[str]]:
    violated: set[str] = set()
    reached: set[str] = set()
    for label in labels:
        recorded = record(history, label)
        history = cast(History, recorded.history)
        violated |= set(recorded.violations)
        reached |= set(recorded.goals)
    return history, violated, reached


def test_commits_tell_who_was_added_removed_and_replaced() -> None:
    _, violated, reached = _after(START, Committed(1, (OPENING, ALONE), 1, 0, (ONE,)))
    assert (violated, "GoalVoterRemoved" in reached) == (set(), True)
    assert "GoalVoterAdded" not in reached
    _, _, reached = _after(START, Committed(1, (OPENING, ALONE, AGAIN), 1, 0, (ONE, TWO_AGAIN)))
    assert {"GoalVoterAdded", "GoalDiskReplaced"} <= reached
    upgraded = Batch(0, 1, (KRaftVersion(1), Voters(_set(ONE, TWO))))
    static = History(origin=Origin(static_voters([1, 2]), 0))
    _, _, reached = _after(static, Committed(1, (upgraded,), 1))
    assert "GoalKRaftVersionUpgraded" in reached
    assert not {"GoalVoterAdded", "GoalVoterRemoved"} & reached


def test_a_log_that_begins_with_a_snapshot_continues_what_is_committed() -> None:
    value = Batch(2, 1, (Value(7),))
    history, violated, _ = _after(
        START,
        Committed(1, (OPENING, ALONE), 1, 0, (ONE,)),
        Committed(1, (value,), 1, 2, (ONE,)),
        Committed(2, (), None, 2, (ONE,)),
    )
    assert history.committed == (OPENING, ALONE, value)
    assert violated == set()
    _, violated, _ = _after(START, Committed(1, (value,), 1, 2))
    assert "StateMachineSafety" in violated
    _, violated, _ = _after(history, Truncated(2, (value,), 0, 1))
    assert violated == {"TruncationKeepsCommonPrefix"}


def test_a_leader_need_not_have_what_a_later_one_has_committed() -> None:
    value = Batch(2, 1, (Value(7),))
    history, _, _ = _after(START, Committed(3, (OPENING, ALONE, value, Batch(3, 3, (Value(8),))), 3))
    _, violated, reached = _after(history, Truncated(4, (OPENING, ALONE, value), 2, 2))
    assert (violated, reached) == (set(), {"GoalDivergenceTruncated"})


def test_a_success_that_is_not_committed_is_a_violation() -> None:
    history, _, _ = _after(START, Committed(1, (OPENING,), 1))
    for batch, right in ((OPENING, True), (ALONE, False), (None, False)):
        _, violated, _ = _after(history, Acknowledged(1, batch))
        assert (violated == set()) is right


def test_snapshots_say_what_is_committed() -> None:
    history, _, _ = _after(START, Committed(1, (OPENING, ALONE, Batch(2, 1, (Value(7),))), 1))
    good = Snapshot(SnapshotId(3, 1), _set(ONE), 1, (7,))
    bad = (
        replace(good, values=()),
        replace(good, voters=_set(ONE, TWO)),
        replace(good, kraft_version=2),
        replace(good, id=SnapshotId(3, 2)),
        replace(good, id=SnapshotId(4, 1)),
    )
    assert _after(history, Snapshotted(1, good))[1] == set()
    for snapshot in bad:
        assert _after(history, Snapshotted(1, snapshot))[1] == {"SnapshotIsCommittedPrefix"}


def test_a_wiped_replica_is_another_only_where_keys_have_directories() -> None:
    voted = (Elected(1, 1), Voted(2, 1, ReplicaKey(1)))
    history, _, _ = _after(START, *voted, Wiped(TWO, (OPENING,), 0, another=True), Voted(2, 1, ReplicaKey(2)))
    assert history.gone == ((TWO, (OPENING,), 0),)
    _, violated, _ = _after(
        START, *voted, Wiped(TWO, (OPENING,), 0, another=True), Voted(2, 1, ReplicaKey(2))
    )
    assert violated == set()
    _, violated, _ = _after(
        START, *voted, Wiped(TWO, (OPENING,), 0, another=False), Voted(2, 1, ReplicaKey(2))
    )
    assert violated == {"VotedOncePerEpoch"}


def test_a_vote_is_for_a_key_and_not_for_whoever_has_its_id() -> None:
    voted = Voted(1, 3, TWO)
    assert _after(START, voted, Voted(1, 3, TWO))[1] == set()
    assert _after(START, voted, Voted(1, 3, ReplicaKey(2)))[1] == set()
    assert _after(START, voted, Voted(1, 3, TWO_AGAIN))[1] == {"VotedOncePerEpoch"}
    assert _after(START, Voted(2, 3, TWO), Voted(2, 3, TWO_AGAIN))[1] == set()


def test_a_disk_that_comes_back_brings_its_votes() -> None:
    lost = (Voted(2, 3, ReplicaKey(1)), Wiped(TWO, (), 0, another=True))
    back = (Wiped(TWO_AGAIN, (), 0, another=True), Restored(TWO))
    history, violated, _ = _after(START, *lost, Voted(2, 3, ReplicaKey(2)), *back)
    assert (history.votes, history.gone_votes, violated) == (
        ((2, 3, ReplicaKey(1)),),
        ((TWO_AGAIN, 3, ReplicaKey(2)),),
        set(),
    )
    assert _after(history, Voted(2, 3, ReplicaKey(2)))[1] == {"VotedOncePerEpoch"}
    assert _after(history, Voted(2, 3, ReplicaKey(1)), Voted(2, 4, ReplicaKey(2)))[1] == set()
    again, _, _ = _after(history, Wiped(TWO, (), 0, another=True), Restored(TWO_AGAIN))
    assert _after(again, Voted(2, 3, ReplicaKey(1)))[1] == {"VotedOncePerEpoch", "SelfVoteSurvivesRestart"}


# Membership.


def test_voter_sets_are_read_from_records_and_snapshots() -> None:
    log = Log((OPENING, ALONE))
    assert [voters.keys for _, voters, _ in membership.history_of(ORIGIN, log)] == [(ONE, TWO), (ONE,)]
    snapshot = Snapshot(SnapshotId(2, 1), _set(ONE), 1)
    behind = Log((AGAIN,), start_offset=2, snapshots=(snapshot,))
    assert membership.newest(ORIGIN, behind) == _set(ONE, TWO_AGAIN)
    assert membership.history_of(ORIGIN, behind)[0] == (2, _set(ONE), 1)


def test_a_static_entry_is_every_directory() -> None:
    assert membership.matches(ReplicaKey(2), TWO)
    assert not membership.matches(TWO, ReplicaKey(2))
    assert not membership.matches(TWO, TWO_AGAIN)
    assert membership.added(static_voters([1, 2]), _set(ONE, TWO)) == ()


# Reductions.


def _keep(replica: Replica, addable: frozenset[int] = frozenset(), *, timed: bool = False) -> Replica:
    return replica


def _reduced(state: GlobalState, addable: frozenset[int]) -> tuple[Any, ...]:
    locals_ = []
    for local in state.locals:
        node = cast(Node, local)
        shown = None if node.replica is None else reductions.without_unread_fields(node.replica, addable)
        shown = None if shown is None else replace(shown, log=Log(_shapes(shown.log)))
        locals_.append((shown, _shapes(node.disk.log), node.disk.flushed, node.died))
    return (tuple(locals_), len(state.messages), state.budgets)


def _shapes(log: Log) -> tuple[Batch, ...]:
    """The batches without who granted the votes, which the reduction leaves out of new records."""
    return tuple(
        replace(
            batch,
            records=tuple(
                replace(entry, granting_voters=()) if isinstance(entry, LeaderChange) else entry
                for entry in batch.records
            ),
        )
        for batch in log.batches
    )


@pytest.mark.slow
def test_unread_fields_change_nothing_where_voters_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = changed(
        "voters-grow-1-to-3",
        replicas={"voters": [1], "joining": [2], "dynamic": True},
        admin={"steps": ["add 2"], "order": "any"},
        budgets={"admin": 2, "appends": 1},
        network={"capacity": 2},
        environment={"timers": [], "power-loss": False, "discovery": True},
        bounds={"max-epoch": 1},
        check={},
    )
    system = build(scenario)
    addable = system.wiring.addable
    _, reduced = explore_naively(system)
    monkeypatch.setattr(reductions, "without_unread_fields", _keep)
    _, full = explore_naively(build(scenario))
    monkeypatch.undo()
    assert len(full) > len(reduced)
    assert {_reduced(state, addable) for state in full} == {_reduced(state, addable) for state in reduced}


def test_only_replicas_that_may_be_added_are_remembered() -> None:
    entry = Progress(ReplicaKey(3, "d3"), 2, True, None, 2, None, True)
    other = replace(entry, key=ReplicaKey(4, "d4"))
    role = Leader(0, (), (), observers=(entry, other))
    kept = reductions.without_unread_fields(Replica(ONE, VoterSet(), role=role), frozenset({3})).role
    assert isinstance(kept, Leader)
    assert kept.observers == (Progress(entry.key, 2, caught_up=True),)


def test_nothing_expires_where_disks_may_be_wiped() -> None:
    keeps = build(shipped()["replace-disk"])
    drops = build(changed("replace-disk", budgets={"admin": 2}, check={}, environment__wipes_at=[]))
    message = replace(keeps.initial_states()[0].messages[0], answerable=False)  # type: ignore[type-var]
    assert keeps.expiry(message) is None
    assert drops.expiry(message) is not None


@pytest.mark.slow
def test_threads_do_not_change_the_answer() -> None:
    system = build(shipped()["replace-disk"])
    one, two = (explore(system, threads=threads) for threads in (1, 2))
    assert one.verdict is two.verdict is Verdict.HOLDS
    assert (one.distinct, one.generated, one.levels) == (two.distinct, two.generated, two.levels)


def test_the_initial_prefix_has_a_bound_on_its_steps() -> None:
    system = build(_small(replicas={"voters": [1, 2]}, network={"capacity": 3, "cut": ["1-2"]}))
    assert not initial_prefix.InitialPrefix(system, (0, 1), judged=True).run(0)


def test_a_refusal_tells_what_has_been_committed() -> None:
    """DUPLICATE_VOTER of an id that no committed set has, or that only an older one has, is violated."""
    refused = [Refused(_KEYS[3], True, True), Refused(_KEYS[1], False, False)]
    origin = Origin(voter_set(Voter(_KEYS[id]) for id in (1, 2)), 1)
    told = [record(History(origin=origin), label).violations for label in refused]
    assert told == [("RefusalTellsCommittedSet", "RefusalIsUpToDate")] * 2
    batch = Batch(0, 1, (Voters(voter_set(Voter(_KEYS[id]) for id in (2, 3))),))
    later = History(origin=origin, committed=(batch,))
    assert [record(later, label).violations for label in refused] == [(), ()]
    older = record(later, Refused(_KEYS[1], True, True))
    assert older.violations == ("RefusalIsUpToDate",)
    assert older.goals == ("GoalToldDuplicateVoter",)


_KEYS = {id: ReplicaKey(id, f"d{id}") for id in (1, 2, 3)}


def test_a_disk_that_is_put_back_is_the_one_that_was_taken_out() -> None:
    """The process starts with what it had, as who it was, and the other disk can be put back in turn."""
    budgets = {"admin": 2, "wipes": 1, "restores": 2}
    system = build(changed("replace-disk", budgets=budgets))
    begun = cast(Node, system.initial_states()[0].locals[2])
    wiped, back, again = begun, begun, begun
    for kind in ("wipe", "restore", "restore"):
        (step,) = (step for step in system.action_steps(2, again) if step.outcome.action.kind == kind)
        wiped, back, again = back, again, cast(Node, step.outcome.local)
    assert [node.key(3).directory for node in (wiped, back, again)] == ["d3-2", "d3", "d3-2"]
    assert back.disk.log == begun.disk.log and back.replaced is not None
    assert back.replaced.log == Log() and again.replaced == back.disk
    polled = [cast(Node, step.outcome.local) for step in system.action_steps(2, wiped)]
    assert all(node.replaced is not None for node in polled)


@pytest.mark.slow
def test_snapshots_have_the_size_that_the_scenario_gives() -> None:
    """A snapshot of two bytes, fetched one byte at a time, takes one answer more."""
    sizes = {}
    for size in (1, 2):
        environment = {"timers": [], "discovery": True, "snapshot-size": size}
        protocol = {"set": {"fetch-snapshot-max-bytes": 1}}
        scenario = changed("observer-loads-snapshot", environment=environment, protocol=protocol)
        result = check(scenario)
        assert "GoalSnapshotLoaded" in result.exploration.reached_goals
        sizes[size] = result.exploration.distinct
    assert sizes[1] < sizes[2]


@pytest.mark.parametrize("prefix", ["deleted", "kept"])
def test_the_log_keeps_what_a_snapshot_stands_for_where_the_scenario_says_so(prefix: str) -> None:
    system = build(changed("snapshot-beside-log", environment={"snapshot-prefix": prefix, "crashes-at": [2]}))
    found = [step.outcome for step in system.action_steps(0, system.nodes[0])]
    (written,) = (each for each in found if cast(Action, each.action).kind == "snapshot")
    replica = cast(Node, written.local).replica
    assert replica is not None and len(replica.log.snapshots) == 1
    assert bool(replica.log.batches) == (prefix == "kept")
    assert (replica.log.start_offset == 0) == (prefix == "kept")
