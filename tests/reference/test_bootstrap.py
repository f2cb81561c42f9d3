"""From a formatted directory to the first leader, and how a new replica finds it."""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck.reference import log as logs
from kraftcheck.reference.bootstrap import (
    FirstVoters,
    FormattedDirectory,
    format_directory,
    ready_servers,
    replica_of,
    servers_of,
    static_voters_of,
)
from kraftcheck.reference.config import Config, Problem, ProcessRole
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import KRaftVersion, LeaderChange, Snapshot, SnapshotId, Voters
from kraftcheck.reference.replica import QuorumState, Replica
from kraftcheck.reference.voters import Endpoint, ReplicaKey, Voter, VoterSet, static_voters, voter_set
from tests.reference.asking import Case, after, check, table

SERVERS = ("node-1:9093", "node-2:9093")
CONTROLLER = (ProcessRole.CONTROLLER,)
LISTENS = (Endpoint("CONTROLLER", "node-1", 9093),)


def controller(node: int = 1, **fields: Any) -> Config:
    return Config(node, CONTROLLER, **({"bootstrap_servers": SERVERS} | fields))


def voters(*keys: tuple[int, str]) -> VoterSet:
    return voter_set(
        Voter(ReplicaKey(node, directory), (Endpoint("CONTROLLER", f"node-{node}", 9093),), 0, 1)
        for node, directory in keys
    )


THREE = voters((1, "A"), (2, "B"), (3, "C"))


def formatted(first: FirstVoters, config: Config | None = None, **more: Any) -> FormattedDirectory:
    found = format_directory(config or controller(), "cluster", "fresh", first, **more)
    assert isinstance(found, FormattedDirectory)
    return found


def process(directory: FormattedDirectory, config: Config | None = None) -> Replica:
    """A process before its first step."""
    found = replica_of(config or controller(), directory, LISTENS)
    assert isinstance(found, Replica)
    return found


#: A controller that joins later.
NEW = process(formatted(FirstVoters.NO_INITIAL_CONTROLLERS))


# Formatting.


def test_standalone_is_the_only_voter_and_leads_at_once() -> None:
    """BOOT-5, BOOT-6, INIT-8, LOG-4: the first leader writes the content of the checkpoint to the log."""
    directory = formatted(FirstVoters.STANDALONE, endpoints=LISTENS)
    assert (directory.voters, directory.kraft_version) == (voters((1, "fresh")), 1)
    leader = after(process(directory), "start | poll")
    (opening,) = (batch.records for batch in leader.log.batches)
    assert [type(record) for record in opening] == [LeaderChange, KRaftVersion, Voters]
    assert (leader.voters_offset, leader.high_watermark) == (2, 3)


def test_initial_controllers_share_one_checkpoint() -> None:
    """BOOT-7: a listed node takes its directory id from the list, another one a fresh one."""
    listed = formatted(FirstVoters.INITIAL_CONTROLLERS, initial=THREE)
    assert (listed.directory, listed.voters) == ("A", THREE)
    assert process(listed).is_voter
    other = formatted(FirstVoters.INITIAL_CONTROLLERS, controller(7), initial=THREE)
    assert (other.directory, other.voters) == ("fresh", THREE)
    assert not process(other, controller(7)).is_voter


def test_the_first_leader_of_several_initial_controllers_writes_their_set() -> None:
    granted = "vote-response from=2 granted | vote-response from=3 granted"
    directory = formatted(FirstVoters.INITIAL_CONTROLLERS, initial=THREE)
    leader = after(process(directory), f"start | poll expired=election | {granted} | poll")
    assert (leader.voters, leader.log.voter_sets, leader.high_watermark) == (THREE, ((2, THREE),), None)


def test_a_replica_that_joins_later_starts_as_observer_without_voters() -> None:
    """BOOT-8."""
    directory = formatted(FirstVoters.NO_INITIAL_CONTROLLERS)
    assert (directory.voters, directory.kraft_version, directory.directory) == (None, 0, "fresh")
    assert not NEW.is_voter
    check(Case("its start", NEW, "start", "Unattached 0; voters=none"))


def test_static_voters_come_from_the_configuration_alone() -> None:
    """BOOT-3: no directory ids, kraft.version 0, no checkpoint."""
    config = controller(bootstrap_servers=(), voters=("1@node-1:9093", "2@node-2:9093"))
    replica = process(formatted(FirstVoters.CONFIGURED, config), config)
    assert replica.voters == static_voters_of(config) == static_voters((1, 2))
    assert (replica.kraft_version, replica.is_voter) == (0, True)


def test_static_voters_are_ignored_where_there_is_a_checkpoint() -> None:
    """BOOT-4."""
    config = controller(voters=("1@node-1:9093", "9@node-9:9093"))
    assert process(formatted(FirstVoters.INITIAL_CONTROLLERS, initial=THREE), config).voters == THREE


@pytest.mark.parametrize("first", [FirstVoters.STANDALONE, FirstVoters.INITIAL_CONTROLLERS])
def test_static_voters_and_first_voters_exclude_each_other(first: FirstVoters) -> None:
    found = format_directory(controller(voters=("1@node-1:9093",)), "cluster", "fresh", first, THREE)
    assert isinstance(found, Problem)
    assert found.rule == "BOOT-5"


def test_what_does_not_start() -> None:
    """A controller without first voters, an unformatted directory, and neither voters nor servers."""
    directory = formatted(FirstVoters.NO_INITIAL_CONTROLLERS)
    for found, rule in (
        (format_directory(controller(), "c", "d", FirstVoters.CONFIGURED), "BOOT-5"),
        (replica_of(controller(), None), "BOOT-9"),
        (replica_of(controller(bootstrap_servers=()), directory), "BOOT-12"),
    ):
        assert isinstance(found, Problem)
        assert found.rule == rule


def test_a_broker_needs_no_first_voters() -> None:
    broker = Config(9, (ProcessRole.BROKER,), bootstrap_servers=SERVERS)
    assert not process(formatted(FirstVoters.CONFIGURED, broker), broker).can_become_voter


def test_a_fresh_directory_is_not_the_old_voter() -> None:
    """ID-7: the same node, formatted anew after the loss of its disk."""
    assert not THREE.is_voter(NEW.key)


OF_SNAPSHOT = replace(
    process(FormattedDirectory("cluster", "A")),
    log=logs.reset_to(Snapshot(SnapshotId(21, 4), THREE, 1, (7,))),
)


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        (QuorumState(), "Unattached 4"),
        (QuorumState(3, 2), "Unattached 4"),
        (QuorumState(4, 2), "Follower 4"),
        (QuorumState(4, 1), "Resigned 4"),
        (QuorumState(5, None, ReplicaKey(2, "B")), "Unattached 5"),
    ],
)
def test_a_start_from_a_snapshot_finds_voters_and_epoch_there(stored: QuorumState, expected: str) -> None:
    """INIT-10: the snapshot says who votes, whatever formatting left; INIT-2, INIT-3, INIT-5, INIT-6."""
    before = replace(OF_SNAPSHOT, quorum_state=stored)
    check(Case("start", before, "start", f"{expected}; high watermark=none"))
    replica = after(before, "start")
    assert (replica.voters, replica.kraft_version, replica.is_voter) == (THREE, 1, True)


# Looking for the leader.


def test_bootstrap_servers_have_ids_of_their_own() -> None:
    assert servers_of(controller()).ids == (-2, -3)
    static = controller(bootstrap_servers=(), voters=("2@node-2:9093", "1@node-1:9093"))
    assert servers_of(static).ids == (1, 2)


@pytest.mark.parametrize(
    ("events", "ready"),
    [
        ("start", (-2, -3)),
        ("start | poll discovery=-3", ()),
        # A server that failed is left alone for a while.
        ("start | poll discovery=-2 | fetch-response from=-2 epoch=-1 top-error=BROKER_NOT_AVAILABLE", (-3,)),
    ],
)
def test_servers_that_may_be_asked(events: str, ready: tuple[int, ...]) -> None:
    assert ready_servers(after(NEW, events), servers_of(controller())).ids == ready


LEADER = "leader id=1/A voters=1/A,2/B kraft=1 epoch=5 log=2@2,1@5"
CASES = [
    Case("the checkpoint is never sent", LEADER, "fetch-snapshot-request from=2/B snapshot=0@0",
         "answer error=SNAPSHOT_NOT_FOUND; BOOT-10"),
    Case("another snapshot that is not there", LEADER, "fetch-snapshot-request from=2/B snapshot=7@3",
         "no BOOT-10"),
    Case("BOOT-13: a new controller asks a server and follows the leader that it names", NEW, """
        start
        poll discovery=-3  => send to -3: fetch-request
        fetch-response from=-3 epoch=4 leader=2 error=NOT_LEADER_OR_FOLLOWER  => Follower 4; leader=2
    """),
    # BeginQuorumEpoch reaches the node, though its directory is another one.
    Case("BOOT-13: a leader that still lists the id finds the new replica itself", NEW,
         "start | begin-quorum-epoch-request from=2 epoch=4 to=1/A cluster=cluster",
         "answer error=INVALID_VOTER_KEY; Follower 4"),
    Case("an observer has no election however long it waits", NEW, "start | poll expired=election",
         "Unattached 0; leader=none"),
]  # fmt: skip


@table(CASES)
def test_looking_for_the_leader(case: Case) -> None:
    check(case)
