"""Each reduction of the state space against the run without it, and the engine against the oracle."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kraftcheck.engine.explorer import explore
from kraftcheck.engine.reference_explorer import explore_naively
from kraftcheck.engine.system import GlobalState, Verdict
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Batch, LeaderChange, log_of
from kraftcheck.reference.messages import (
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
)
from kraftcheck.reference.replica import Follower, Leader, Replica, Resigned
from kraftcheck.systems.kraft import reductions
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.network import InFlight
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.scenario import shipped
from kraftcheck.systems.kraft.system import KRaftSystem
from kraftcheck.systems.scenario import Scenario
from tests.engine.replayed import asked_once
from tests.systems.kraft.small import changed

#: The oracle takes minutes for these, and some seconds for those.
NIGHTLY = ("two-voters-restart",)
SLOW = ("replace-disk-wrong-order", "single-controller-and-observers", "replace-disk", "unseen-voter-change")
MARKS = dict.fromkeys(NIGHTLY, pytest.mark.nightly) | dict.fromkeys(SLOW, pytest.mark.slow)
#: The same with less: one epoch, or two in which no client appends.
SMALLER: dict[str, dict[str, Any]] = {
    "two-voters-restart-one-epoch": {"bounds__max_epoch": 1},
    "two-voters-restart-no-appends": {"budgets__appends": 0},
}
ORACLE = [
    *(
        pytest.param(scenario, id=name, marks=MARKS.get(name, ()))
        for name, scenario in shipped().items()
        if "reference-explorer" in scenario.tags
    ),
    *(
        pytest.param(
            changed("two-voters-restart", budgets__timers=2, check__goals=[], **keys),
            id=name,
            marks=pytest.mark.slow,
        )
        for name, keys in SMALLER.items()
    ),
]


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize("scenario", ORACLE)
def test_engine_and_oracle_agree(scenario: Scenario) -> None:
    system = build(scenario)
    native = explore(system, threads=2)
    naive, states = explore_naively(asked_once(system))
    assert len(states) == naive.distinct
    assert (native.verdict, native.distinct, native.depth, native.levels) == (
        naive.verdict,
        naive.distinct,
        naive.depth,
        naive.levels,
    )
    assert native.generated + native.skipped == naive.generated
    assert native.constrained == naive.constrained
    assert native.reached_goals == naive.reached_goals
    assert {v.property for v in native.violations} == {v.property for v in naive.violations}


class _NothingExpires(KRaftSystem):
    def expiry(self, message: Any) -> int | None:
        return None


def _reachable_without_messages(states: set[GlobalState]) -> set[tuple[Any, ...]]:
    return {(state.locals, state.history, state.budgets) for state in states}


@pytest.mark.parametrize(
    "appends", [pytest.param(0, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.nightly)]
)
def test_expired_messages_change_nothing(appends: int) -> None:
    scenario = changed(
        "two-voters-restart",
        bounds__max_epoch=1,
        network__capacity=4,
        budgets__timers=2,
        budgets__appends=appends,
        check__goals=[],
    )
    system = build(scenario)
    with_expiry, states = explore_naively(asked_once(system))
    system.__class__ = _NothingExpires
    without, all_states = explore_naively(asked_once(system))
    assert with_expiry.verdict is without.verdict is Verdict.HOLDS
    assert with_expiry.distinct < without.distinct
    # Capacity may cut a step in the run whose network still holds expired messages, never the other way.
    assert _reachable_without_messages(all_states) <= _reachable_without_messages(states)


def _keep(replica: Replica, addable: frozenset[int] = frozenset(), *, timed: bool = False) -> Replica:
    return replica


def _batch(batch: Batch) -> Batch:
    records = tuple(
        replace(record, granting_voters=()) if isinstance(record, LeaderChange) else record
        for record in batch.records
    )
    return replace(batch, records=records)


def _without_unread_fields(state: GlobalState) -> tuple[Any, ...]:
    """The rest of a state when the fields that nothing reads are removed afterwards."""
    locals_ = []
    for local in state.locals:
        assert isinstance(local, Node)
        replica = local.replica
        if replica is not None:
            role = replica.role
            if isinstance(role, Leader):
                replica = reductions.without_unread_fields(replica)
            replica = replace(replica, log=log_like(replica))
        locals_.append((replica, log_like_disk(local)))
    return (tuple(locals_), len(state.messages), state.budgets)


def log_like(replica: Replica) -> Any:
    stripped = log_of(tuple(_batch(batch) for batch in replica.log.batches))
    return replace(stripped, epoch_starts=replica.log.epoch_starts)


def log_like_disk(node: Node) -> tuple[Any, ...]:
    return tuple(_batch(batch) for batch in node.disk.log.batches), node.disk.flushed


@pytest.mark.slow
def test_unread_fields_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = changed(
        "three-voters-elect", bounds__max_epoch=1, network__capacity=2, budgets__timers=2, check__goals=[]
    )
    _, reduced = explore_naively(asked_once(build(scenario)))
    monkeypatch.setattr(reductions, "without_unread_fields", _keep)
    _, full = explore_naively(asked_once(build(scenario)))
    monkeypatch.undo()
    assert len(full) > len(reduced)
    assert {_without_unread_fields(state) for state in full} == {
        _without_unread_fields(state) for state in reduced
    }


def _with_requests_for_idle_answers(state: GlobalState) -> tuple[Any, ...]:
    """A state of the run with idle answers, with what takes their place in the run without."""
    nodes = {number: cast(Node, local) for number, local in enumerate(state.locals, 1)}
    messages = []
    for message in cast(tuple[InFlight, ...], state.messages):
        payload, replica = message.payload, nodes[message.destination].replica
        if isinstance(payload, FetchRequest):
            message = replace(message, payload=replace(payload, high_watermark=None))
        elif isinstance(payload, FetchResponse) and replica is not None and _is_idle(payload, replica):
            log, cluster = replica.log, replica.cluster_id
            asked = FetchRequest(replica.epoch, replica.key, log.end_offset, log.last_epoch, None, 0, cluster)
            message = InFlight(message.destination, message.source, asked)
        elif isinstance(payload, EndQuorumEpochResponse) and _is_resigned(nodes[message.destination]):
            if payload.partition_error is ErrorCode.NONE:
                continue
            message = _announcement(message.destination, message.source, payload.epoch)
        messages.append(message)
    for id, node in nodes.items():
        if node.replica is not None and _is_resigned(node):
            again = [each.node for each in node.replica.connections if not each.awaiting]
            messages += [_announcement(id, peer, node.replica.epoch) for peer in again]
    return (
        tuple(map(_with_unread_acknowledgements, nodes.values())),
        frozenset(messages),
        state.history,
        state.budgets,
    )


def _is_idle(answer: FetchResponse, replica: Replica) -> bool:
    role = replica.role
    if not isinstance(role, Follower) or not role.has_fetched or answer.leader != replica.quorum_state.leader:
        return False
    if answer.partition_error is ErrorCode.NOT_LEADER_OR_FOLLOWER:
        return answer.epoch == replica.epoch and replica.high_watermark is not None
    news = answer.batches or answer.diverging or answer.high_watermark != replica.high_watermark
    return not news and answer.high_watermark is not None


def _is_resigned(node: Node) -> bool:
    return node.replica is not None and isinstance(node.replica.role, Resigned)


def _announcement(resigned: int, voter: int, epoch: int) -> InFlight:
    return InFlight(resigned, voter, EndQuorumEpochRequest(epoch, resigned, preferred_successors=()))


def _with_unread_acknowledgements(node: Node) -> Node:
    if node.replica is None or not isinstance(node.replica.role, Resigned):
        return node
    told = replace(node.replica.role, unacknowledged=())
    return replace(node, replica=replace(node.replica, role=told, connections=()))


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"replicas__voters": [1], "replicas__joining": [2, 3], "admin__steps": ["alter 2,3"]},
        {
            "replicas__voters": [1, 2],
            "replicas__joining": [],
            "admin__steps": ["alter 2"],
            "environment__timers": ["fetch", "election"],
            "budgets": {"admin": 1, "timers": 1, "crashes": 1},
            "bounds__max_epoch": 2,
        },
    ],
)
def test_idle_answers_change_nothing(changes: dict[str, Any]) -> None:
    name = "nightly-alter-quorum-to-three-others"
    both = {**changes, "replicas__stopped": [], "check__goals": []}
    with_them = build(changed(name, **both, network__idle_answers="in-flight"))
    without = build(changed(name, **both, network__idle_answers="left-out"))
    in_flight, every = explore_naively(asked_once(with_them))
    left_out, fewer = explore_naively(asked_once(without))
    assert in_flight.verdict is left_out.verdict
    assert len(fewer) < len(every)
    assert {_with_requests_for_idle_answers(state) for state in every} == {
        _with_requests_for_idle_answers(state) for state in fewer
    }
