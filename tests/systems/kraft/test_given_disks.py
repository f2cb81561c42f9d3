"""Scenarios whose replicas start on given disks (``replicas.disks``)."""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck.engine.steps import initial_states
from kraftcheck.reference.replica import Follower, Resigned, Unattached
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.kraft.history import History
from kraftcheck.systems.kraft.node import Ended, Node
from kraftcheck.systems.kraft.text import parse_disk, print_disk
from kraftcheck.systems.scenario import from_data

FIRST = "log=[3]@1,1@1 leaders=1:1 versions=1:1 sets=[2:1,2,3]"
DISKS = {
    "1": f"epoch=1 leader=1 voted=1/d1 {FIRST} committed=4",
    "2": f"epoch=1 leader=1 voted=1/d1 {FIRST}",
    "3": f"epoch=1 leader=1 {FIRST}",
}


def begun(disks: dict[str, str], **replicas: Any) -> tuple[list[Node], History, tuple[str, ...]]:
    """The nodes and the past with which a scenario begins, and the properties violated in the beginning."""
    data = {
        "name": "disks",
        "about": "Three voters start.",
        "replicas": {"voters": [1, 2, 3], "dynamic": True, "disks": disks, **replicas},
        "network": {"capacity": 8},
        "bounds": {"max-epoch": 4},
        "expect": {"verdict": "holds"},
    }
    scenario = from_data(data, "disks")
    system = kind_of(scenario).build(scenario)
    (state,) = initial_states(system)
    nodes = [each for each in state.locals if isinstance(each, Node)]
    assert isinstance(state.history, History)
    return nodes, state.history, tuple(sorted(system.broken_at_start))


def test_processes_start_on_their_disks() -> None:
    nodes, past, broken = begun(DISKS, stopped=[3])
    assert nodes[0].replica is not None and isinstance(nodes[0].replica.role, Resigned)
    assert nodes[1].replica is not None and isinstance(nodes[1].replica.role, Follower)
    assert nodes[0].replica.voters.ids == (1, 2, 3)
    assert nodes[2].died is Ended.STOPPED and nodes[2].disk.log == nodes[0].disk.log
    assert past.leaders == ((1, 1),) and [batch.end_offset for batch in past.committed] == [3, 4]
    assert {vote[:2] for vote in past.votes} == {(1, 1), (2, 1)} and broken == ()


def test_a_lost_disk_leaves_its_past_and_an_empty_one() -> None:
    lost = {**DISKS, "1": DISKS["1"] + " lost=d1-2"}
    nodes, past, _ = begun(lost)
    assert nodes[0].disk.log.end_offset == 0 and nodes[0].disk.directory == "d1-2"
    assert nodes[0].replica is not None and not nodes[0].replica.is_voter
    assert [batch.end_offset for batch in past.committed] == [3, 4]
    assert [key.directory for key, _, _ in past.gone] == ["d1"]


def test_a_deleted_prefix_is_in_a_snapshot() -> None:
    nodes, _, broken = begun({**DISKS, "2": DISKS["2"] + " start=3"})
    log = nodes[1].disk.log
    assert (log.start_offset, log.snapshots[0].id.end_offset, log.snapshots[0].id.epoch) == (3, 3, 1)
    assert log.snapshots[0].voters == log.voter_sets[-1][1] and broken == ()


def test_a_missing_quorum_state_starts_without_a_vote_that_the_past_has() -> None:
    nodes, past, _ = begun({**DISKS, "2": f"{FIRST} lost-vote=1:1/d1"})
    replica = nodes[1].replica
    assert replica is not None and isinstance(replica.role, Unattached)
    assert replica.epoch == 1 and replica.quorum_state.voted is None
    assert (2, 1) in {vote[:2] for vote in past.votes}


def test_what_disks_contradict_is_violated_in_the_beginning() -> None:
    _, _, broken = begun({**DISKS, "3": f"epoch=1 leader=3 {FIRST}"})
    assert broken == ("SingleLeaderPerEpoch",)


TEXTS = [
    "empty",
    "epoch=0",
    "directory=d3-2 epoch=1 leader=1",
    "epoch=3 leader=2 voted=2/d2 log=[3]@1,1@1,2@3 start=4 leaders=1:1,3:2 versions=1:1 sets=[2:1,2,3]",
    "log=2@1,1@2 leaders=1:3 committed=2 lost-vote=2:3 lost=d1-2",
]


@pytest.mark.parametrize("text", TEXTS)
def test_texts_are_read_as_they_are_printed(text: str) -> None:
    assert print_disk(parse_disk(text)) == text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "expected 'empty', or words such as"),
        ("leader=1", "expected an epoch next to a leader or a vote"),
        ("log=2@1,0@2", "an epoch without one leaves no trace"),
        ("log=2@1 start=3", "expected an offset up to the end of the log, 2, found 3"),
        ("log=[3]@1 committed=1", "expected an offset between two batches, found 1"),
        ("log=2@1 sets=[2:1]", "expected offsets of records, which the log has below 2, found 2"),
        ("log=2@1 sets=[1]", "expected an offset and the voters of the record there"),
        ("log=2@1 hw=2", "expected one of its fields"),
    ],
)
def test_bad_texts_are_refused(text: str, says: str) -> None:
    with pytest.raises(InputError, match=r"^disk") as refused:
        parse_disk(text)
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"disks": {"1": "log=1@1 sets=[0:1,9]"}}, "sets names replica 9, which the scenario does not have"),
        ({"disks": {"9": "empty"}}, "'9' is not one of the replicas 1, 2, 3"),
        ({"disks": {"1": "epoch=x"}}, "replicas.disks.1: disk.epoch: expected"),
        ({"disks": {"1": "empty"}, "initial-leader": 1}, "replicas.disks: goes without"),
        ({"disks": {"1": "epoch=9"}}, "begins in epoch 9, beyond bounds.max-epoch 4"),
    ],
)
def test_scenarios_that_contradict_themselves_are_refused(change: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError) as refused:
        begun(change.pop("disks"), **change)
    assert says in str(refused.value)
