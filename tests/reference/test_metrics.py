"""The gauges of raft-metrics: what each role shows."""

from __future__ import annotations

import re

import pytest

from kraftcheck.reference.frozen import replace
from kraftcheck.reference.metrics import NO_DIRECTORY, metrics
from kraftcheck.reference.protocol import KAFKA, Protocol, StateMachine
from kraftcheck.reference.replica import AddingVoter, Leader, RemovingVoter, Replica, UpdatingVoter
from kraftcheck.reference.voters import ReplicaKey, Voter
from kraftcheck.systems.kraft.text import parse_replica
from tests.reference.asking import ask

BEFORE = Protocol(state_machine=StateMachine.PRE_KIP996)


def gauges(
    replica: str | Replica, protocol: Protocol = KAFKA, *, static: bool = False
) -> dict[str, int | str]:
    found = parse_replica(replica) if isinstance(replica, str) else replica
    shown = metrics(protocol, found, static_voters_configured=static)
    assert len({metric.name for metric in shown}) == len(shown)
    return {metric.name: metric.value for metric in shown}


CASES = [
    # METRIC-1, METRIC-2.
    *(
        (replica, f"current-state={state}")
        for replica, state in (
            ("unattached", "unattached"), ("unattached epoch=5 voted=2", "unattached-voted"),
            ("candidate epoch=5", "candidate"), ("leader epoch=5 log=2@5", "leader"),
            ("follower epoch=5 leader=2", "follower"), ("follower epoch=5 leader=2 voted=3", "follower"),
            ("follower id=9 epoch=5 leader=2", "observer"), ("unattached id=9", "unattached"),
            ("resigned epoch=5", "unattached"), ("prospective epoch=5", "prospective"),
            ("prospective epoch=5 voted=2", "prospective-voted"),
        )
    ),
    # METRIC-3: a leader that resigned still names itself.
    ("unattached", "current-leader=-1"),
    ("unattached epoch=5 leader=3", "current-leader=3"),
    ("resigned epoch=5", "current-leader=1"),
    ("candidate", "current-leader=-1"),
    # METRIC-4.
    *(
        (replica, f"current-vote={vote} current-vote-directory-id={directory}")
        for replica, vote, directory in (
            ("unattached", -1, NO_DIRECTORY), ("unattached epoch=5 voted=2/B", 2, "B"),
            ("unattached epoch=5 voted=2", 2, NO_DIRECTORY),
            ("candidate id=1/A voters=1/A,2/B epoch=5", 1, "A"),
            ("leader id=1/A voters=1/A,2/B epoch=5 log=2@5", 1, "A"), ("resigned epoch=5", -1, NO_DIRECTORY),
        )
    ),
    # METRIC-5, METRIC-6.
    ("follower epoch=5 leader=2 log=2@2,1@4", "current-epoch=5 log-end-offset=3 log-end-epoch=4"),
    ("follower epoch=5 leader=2 log=2@2", "high-watermark=-1 number-unknown-voter-connections=0"),
    ("follower epoch=5 leader=2 log=2@2 hw=1", "high-watermark=1"),
]  # fmt: skip


@pytest.mark.parametrize(("replica", "shown"), CASES)
def test_gauges(replica: str, shown: str) -> None:
    found = gauges(replica)
    assert [f"{name}={found[name]}" for name in re.findall(r"([a-z-]+)=", shown)] == shown.split()


def test_current_state_before_kip996() -> None:
    states = ("unattached", "unattached epoch=5 voted=2", "candidate", "leader log=2@5", "follower leader=2")
    found = [gauges(state, BEFORE)["current-state"] for state in states]
    assert found == ["unattached", "voted", "candidate", "leader", "follower"]
    assert gauges("follower id=9 leader=2", BEFORE)["current-state"] == "observer"


def test_voters_are_shown_by_all_and_observers_by_the_leader() -> None:
    """METRIC-9."""
    assert gauges("follower epoch=5 leader=2")["number-of-voters"] == 3
    assert "number-of-observers" not in gauges("follower epoch=5 leader=2")
    leader = ask("leader epoch=5 log=2@5", "fetch-request from=9 offset=0 now=100").replica
    assert gauges(leader)["number-of-observers"] == 1


def test_a_voter_change_shows_while_it_is_under_way() -> None:
    leader = parse_replica("leader epoch=5 log=2@5")
    assert isinstance(leader.role, Leader)
    shown = {}
    voter = Voter(ReplicaKey(4, "D"))
    changes = (None, AddingVoter(-1, 7, voter, True), RemovingVoter(-1, 7, 2), UpdatingVoter(4, 7, voter))
    for change in changes:
        replica = replace(leader, role=replace(leader.role, change=change))
        shown[type(change).__name__] = gauges(replica)["uncommitted-voter-change"]
    assert shown == {"NoneType": 0, "AddingVoter": 1, "RemovingVoter": 1, "UpdatingVoter": 1}
    assert "uncommitted-voter-change" not in gauges("resigned epoch=5")


def test_static_voters_are_ignored_at_kraft_version_one() -> None:
    """METRIC-10, KVER-6."""
    static, dynamic = "unattached epoch=5", "unattached id=1/A voters=1/A,2/B kraft=1 epoch=5"
    assert gauges(static, static=True)["ignored-static-voters"] == 0
    assert gauges(dynamic, static=True)["ignored-static-voters"] == 1
    assert gauges(dynamic)["ignored-static-voters"] == 0
