"""Each property says in words which part of it does not hold."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kraftcheck.engine.steps import initial_states
from kraftcheck.engine.system import GlobalState, Outcome
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Batch, Log, Value, log_of
from kraftcheck.reference.replica import Leader
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.systems.kind import Run
from kraftcheck.systems.kraft.build import build as build_system
from kraftcheck.systems.kraft.explain import explain
from kraftcheck.systems.kraft.explain_steps import SENTENCES, explain_step
from kraftcheck.systems.kraft.history import History
from kraftcheck.systems.kraft.labels import Committed, Elected, Label, Truncated, Voted
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.scenario import NAMES
from kraftcheck.systems.kraft.step import Action
from kraftcheck.systems.kraft.system import KRaftSystem
from tests.traces.trace_samples import UNSTABLE, scenario_of

SYSTEM: KRaftSystem = build_system(scenario_of(UNSTABLE))
START: GlobalState = initial_states(SYSTEM)[0]
ONE, OTHER, LATER = (Batch(0, 1, (Value(7),)), Batch(0, 1, (Value(8),)), Batch(0, 2, (Value(9),)))


def _label(violated: str, history: History, label: Label) -> str:
    before = replace(START, history=history)
    outcome = Outcome(Action("x", 1), START.locals[0], labels=(label,))
    return explain(SYSTEM, violated, before, START, outcome, None)[0]


@pytest.mark.parametrize(
    ("violated", "history", "label", "expected"),
    [
        ("SingleLeaderPerEpoch", History(leaders=((3, 2),)), Elected(1, 3),
         "Replica 1 becomes Leader of epoch 3, which replica 2 has led before."),
        ("NoReturnAfterLeading", History(leaders=((3, 1),)), Elected(1, 3),
         "Replica 1 becomes Leader of epoch 3 although it has led this epoch before."),
        ("NoReturnAfterLeading", History(leaders=((3, 1),)), Voted(1, 3, ReplicaKey(2)),
         "Replica 1 votes for replica 2 in epoch 3, which it has led itself."),
        ("VotedOncePerEpoch", History(votes=((1, 3, ReplicaKey(2)),)), Voted(1, 3, ReplicaKey(3)),
         "Replica 1 votes for replica 3 in epoch 3, in which it has voted for replica 2 before."),
        ("SelfVoteSurvivesRestart", History(votes=((1, 3, ReplicaKey(1)),)), Voted(1, 3, ReplicaKey(3)),
         "Replica 1 votes for replica 3 in epoch 3, in which it has voted for itself before."),
        ("StateMachineSafety", History(committed=(ONE,)), Committed(2, (OTHER,), None),
         "Replica 2 commits the Value at offset 0 of epoch 1, "
         "where the Value at offset 0 of epoch 1 was committed before."),
        ("CommitNeedsOwnEpoch", History(), Committed(2, (ONE,), 2),
         "Replica 2, Leader of epoch 2, commits up to the Value at offset 0 of epoch 1, "
         "of an earlier epoch."),
        ("HighWatermarkMonotone", History(committed=(ONE,), committed_epoch=1), Committed(2, (), 2),
         "Replica 2, Leader of epoch 2, knows only offset 0 as committed; "
         "the log was committed up to offset 1 before."),
        ("ReturningReplicaDeposesNobody", History(leaders=((1, 1),)), Elected(2, 2),
         "Replica 2 becomes Leader of epoch 2 although replica 1 leads epoch 1."),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isalnum() else "",
)  # fmt: skip
def test_history(violated: str, history: History, label: Any, expected: str) -> None:
    assert _label(violated, history, label) == expected


def test_truncation() -> None:
    found = _label("TruncationKeepsCommonPrefix", History(committed=(ONE,)), Truncated(1, (ONE,), 0, 1))
    assert found == "Replica 1 truncates a committed record: the Value at offset 0 of epoch 1."


def _state(logs: dict[int, Log], history: History = History()) -> GlobalState:  # noqa: B008
    locals_ = []
    for identity, local in zip(SYSTEM.identities, START.locals, strict=True):
        node = cast(Node, local)
        assert node.replica is not None
        log = logs.get(identity.id, node.replica.log)
        disk = replace(node.disk, log=log, flushed=log.end_offset)
        locals_.append(Node(replace(node.replica, log=log), disk))
    return GlobalState(tuple(locals_), (), history, START.budgets)


def _explain(violated: str, state: GlobalState) -> str:
    return " ".join(explain(SYSTEM, violated, START, state, None, None))


def test_logs() -> None:
    one, other = log_of((ONE,)), log_of((OTHER,))
    state = _state({1: one, 2: other, 3: Log()})
    assert _explain("RecordIdentity", state).startswith("At offset 0 of epoch 1, replica 1 holds")
    end = Batch(1, 2, (Value(1),))
    state = _state({1: log_of((ONE, end)), 2: log_of((OTHER, end)), 3: Log()})
    assert "Replicas 1 and 2 both hold the Value at offset 1 of epoch 2, and differ before it" in _explain(
        "LogMatching", state
    )


def test_gap() -> None:
    state = _state({1: log_of((ONE, Batch(3, 1, (Value(7), Value(8)))))})
    before, after = (cast(Node, each.locals[0]) for each in (START, state))
    found = explain_step("LogHasNoGap", 1, before, after, Run(False, (), (), (), (), 0))
    assert [*found] == ["The log of replica 1 starts at offset 0, and has the offsets 0, 3 to 4."]


def test_leader_completeness() -> None:
    history = History(committed=(LATER,), committed_epoch=1)
    assert _explain("LeaderCompleteness", _state({1: Log()}, history)) == (
        "Replica 1, Leader of epoch 1, lacks the Value at offset 0 of epoch 2, "
        "which was committed by the leader of epoch 1."
    )


def test_majority() -> None:
    state = _state({1: log_of((ONE,)), 2: Log(), 3: Log()}, History(committed=(ONE,), committed_epoch=1))
    for violated in ("HighWatermarkOnMajority", "AcknowledgedIsDurable"):
        assert "only replica 1 of 3 voters has it all; a majority is 2." in _explain(violated, state)


def test_known_leaders() -> None:
    node = cast(Node, START.locals[1])
    assert node.replica is not None
    confused = replace(node.replica, quorum_state=replace(node.replica.quorum_state, leader=2))
    locals_ = (START.locals[0], replace(node, replica=confused), START.locals[2])
    assert _explain("SingleKnownLeaderPerEpoch", replace(START, locals=locals_)).startswith(
        "In epoch 1, replica 1 takes replica 1 for the leader and replica 2 takes replica 2."
    )


def test_every_property_has_words() -> None:
    of_states = {
        "SingleKnownLeaderPerEpoch", "RecordIdentity", "LogMatching", "LeaderCompleteness",
        "HighWatermarkOnMajority", "AcknowledgedIsDurable",
        "CommittedSurvivesVoterChanges", "RemovedLeaderDoesNotCount",
    }  # fmt: skip
    of_history = {
        "SingleLeaderPerEpoch", "VotedOncePerEpoch", "SelfVoteSurvivesRestart", "NoReturnAfterLeading",
        "TruncationKeepsCommonPrefix", "CommitNeedsOwnEpoch", "StateMachineSafety",
        "ReturningReplicaDeposesNobody", "RefusalTellsCommittedSet", "RefusalIsUpToDate",
    }  # fmt: skip
    assert of_states | of_history | set(SENTENCES) >= set(
        NAMES.judged("always", "voter-changes", "on-request")
    )
    leader = cast(Node, START.locals[0]).replica
    assert leader is not None and isinstance(leader.role, Leader)
