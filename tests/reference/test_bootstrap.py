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
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Poll, Timer
from kraftcheck.reference.log import KRaftVersion, LeaderChange, Snapshot, SnapshotId, Voters
from kraftcheck.reference.messages import FetchRequest, FetchSnapshotResponse
from kraftcheck.reference.protocol import KAFKA
from kraftcheck.reference.replica import Follower, Leader, QuorumState, Replica, Resigned, Unattached
from kraftcheck.reference.step import Outcome, start, step
from kraftcheck.reference.voters import Endpoint, ReplicaKey, Voter, VoterSet, voter_set
from kraftcheck.systems.kraft.text import parse_replica
from tests.reference.asking import ask, response, role, sent

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
    found = replica_of(config or controller(), directory, LISTENS)
    assert isinstance(found, Replica)
    return found


def booted(directory: FormattedDirectory, config: Config | None = None) -> Outcome:
    return start(KAFKA, process(directory, config), Disk())


# Formatting.


def test_standalone_is_the_only_voter_and_leads_at_once() -> None:
    """BOOT-5, BOOT-6, INIT-8, LOG-4: the first leader writes the content of the checkpoint to the log."""
    directory = formatted(FirstVoters.STANDALONE, endpoints=LISTENS)
    assert directory.voters == voters((1, "fresh"))
    assert directory.kraft_version == 1
    outcome = booted(directory)
    assert role(outcome) == "Leader"
    leader = step(KAFKA, outcome.replica, Poll()).replica
    (opening,) = (batch.records for batch in leader.log.batches)
    kinds = [type(record) for record in opening]
    assert kinds == [LeaderChange, KRaftVersion, Voters]
    assert leader.voters_offset == 2
    assert leader.high_watermark == 3


def test_initial_controllers_share_one_checkpoint() -> None:
    """BOOT-7: a listed node takes its directory id from the list, another one a fresh one."""
    listed = formatted(FirstVoters.INITIAL_CONTROLLERS, initial=THREE)
    assert (listed.directory, listed.voters) == ("A", THREE)
    assert process(listed).is_voter
    other = formatted(FirstVoters.INITIAL_CONTROLLERS, controller(7), initial=THREE)
    assert (other.directory, other.voters) == ("fresh", THREE)
    assert not process(other, controller(7)).is_voter


def test_the_first_leader_of_several_initial_controllers_writes_their_set() -> None:
    replica = booted(formatted(FirstVoters.INITIAL_CONTROLLERS, initial=THREE)).replica
    for words in ("poll expired=election", "vote-response from=2 granted", "vote-response from=3 granted"):
        replica = ask(replica, words).replica
    assert isinstance(replica.role, Leader)
    leader = step(KAFKA, replica, Poll()).replica
    assert leader.voters == THREE
    assert leader.log.voter_sets == ((2, THREE),)
    assert leader.high_watermark is None


def test_a_replica_that_joins_later_starts_as_observer_without_voters() -> None:
    """BOOT-8."""
    directory = formatted(FirstVoters.NO_INITIAL_CONTROLLERS)
    assert (directory.voters, directory.kraft_version, directory.directory) == (None, 0, "fresh")
    outcome = booted(directory)
    assert outcome.replica.role == Unattached()
    assert len(outcome.replica.voters) == 0
    assert not outcome.replica.is_voter


def test_static_voters_come_from_the_configuration_alone() -> None:
    """BOOT-3: no directory ids, kraft.version 0, no checkpoint."""
    config = controller(bootstrap_servers=(), voters=("1@node-1:9093", "2@node-2:9093"))
    replica = process(formatted(FirstVoters.CONFIGURED, config), config)
    assert replica.voters == static_voters_of(config)
    assert [voter.key for voter in replica.voters.voters] == [ReplicaKey(1), ReplicaKey(2)]
    assert replica.kraft_version == 0
    assert replica.is_voter


def test_static_voters_are_ignored_where_there_is_a_checkpoint() -> None:
    """BOOT-4."""
    config = controller(voters=("1@node-1:9093", "9@node-9:9093"))
    replica = process(formatted(FirstVoters.INITIAL_CONTROLLERS, initial=THREE), config)
    assert replica.voters == THREE


@pytest.mark.parametrize("first", [FirstVoters.STANDALONE, FirstVoters.INITIAL_CONTROLLERS])
def test_static_voters_and_first_voters_exclude_each_other(first: FirstVoters) -> None:
    config = controller(voters=("1@node-1:9093",))
    found = format_directory(config, "cluster", "fresh", first, THREE)
    assert isinstance(found, Problem)
    assert found.rule == "BOOT-5"


def test_a_controller_must_be_told_of_first_voters_and_a_broker_need_not() -> None:
    assert isinstance(format_directory(controller(), "c", "d", FirstVoters.CONFIGURED), Problem)
    broker = Config(9, (ProcessRole.BROKER,), bootstrap_servers=SERVERS)
    directory = formatted(FirstVoters.CONFIGURED, broker)
    assert not process(directory, broker).can_become_voter


# Starting.


def test_nothing_starts_on_a_directory_that_nobody_formatted() -> None:
    found = replica_of(controller(), None)
    assert isinstance(found, Problem)
    assert found.rule == "BOOT-9"


def test_nothing_starts_that_could_find_neither_voters_nor_leader() -> None:
    directory = formatted(FirstVoters.STANDALONE, endpoints=LISTENS)
    found = replica_of(controller(bootstrap_servers=()), directory)
    assert isinstance(found, Problem)
    assert found.rule == "BOOT-12"


def test_a_fresh_directory_is_not_the_old_voter() -> None:
    """ID-7: the same node, formatted anew after the loss of its disk."""
    again = process(formatted(FirstVoters.NO_INITIAL_CONTROLLERS))
    assert not THREE.is_voter(again.key)


def snapshot_disk(stored: QuorumState) -> Disk:
    """A disk whose log begins with a snapshot at 21 that holds voters 1, 2 and 3."""
    log = logs.reset_to(Snapshot(SnapshotId(21, 4), THREE, 1, (7,)))
    return Disk(stored, log, log.end_offset)


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        (QuorumState(), Unattached),
        (QuorumState(3, 2), Unattached),
        (QuorumState(4, 2), Follower),
        (QuorumState(4, 1), Resigned),
        (QuorumState(5, None, ReplicaKey(2, "B")), Unattached),
    ],
)
def test_a_start_from_a_snapshot_finds_voters_and_epoch_there(stored: QuorumState, expected: type) -> None:
    """INIT-10: the snapshot says who votes, whatever formatting left; INIT-2, INIT-3, INIT-5, INIT-6."""
    identity = process(FormattedDirectory("cluster", "A"))
    replica = start(KAFKA, identity, snapshot_disk(stored)).replica
    assert replica.voters == THREE
    assert replica.kraft_version == 1
    assert replica.is_voter
    assert isinstance(replica.role, expected)
    assert replica.epoch == max(stored.epoch, 4)
    assert replica.high_watermark is None


# The checkpoint stays where it is.


def test_the_checkpoint_is_never_sent() -> None:
    """BOOT-10: neither by Fetch at offset 0 nor by FetchSnapshot."""
    leader = "leader id=1/A voters=1/A,2/B kraft=1 epoch=5 log=2@2,1@5"
    outcome = ask(leader, "fetch-snapshot-request from=2/B snapshot=0@0")
    answer = response(outcome)
    assert isinstance(answer, FetchSnapshotResponse)
    assert answer.partition_error is ErrorCode.SNAPSHOT_NOT_FOUND
    assert "BOOT-10" in outcome.rules
    assert "BOOT-10" not in ask(leader, "fetch-snapshot-request from=2/B snapshot=7@3").rules


# Looking for the leader.


def test_bootstrap_servers_have_ids_of_their_own() -> None:
    assert servers_of(controller()).ids == (-2, -3)
    static = controller(bootstrap_servers=(), voters=("2@node-2:9093", "1@node-1:9093"))
    assert servers_of(static).ids == (1, 2)


def test_a_new_controller_asks_a_server_and_follows_whom_it_names() -> None:
    """BOOT-13."""
    servers = servers_of(controller())
    replica = booted(formatted(FirstVoters.NO_INITIAL_CONTROLLERS)).replica
    assert ready_servers(replica, servers).ids == (-2, -3)
    asked = step(KAFKA, replica, Poll(discovery=-3))
    assert isinstance(sent(asked)[-3], FetchRequest)
    assert ready_servers(asked.replica, servers).ids == ()
    told = "fetch-response from=-3 epoch=4 leader=2 error=NOT_LEADER_OR_FOLLOWER correlation=none"
    found = ask(asked.replica, told).replica
    assert isinstance(found.role, Follower)
    assert found.quorum_state.leader == 2


def test_a_server_that_failed_is_left_alone_for_a_while() -> None:
    servers = servers_of(controller())
    replica = booted(formatted(FirstVoters.NO_INITIAL_CONTROLLERS)).replica
    asked = step(KAFKA, replica, Poll(discovery=-2)).replica
    failed = ask(asked, "fetch-response from=-2 epoch=-1 top-error=BROKER_NOT_AVAILABLE").replica
    assert ready_servers(failed, servers).ids == (-3,)


def test_a_leader_that_still_lists_the_id_finds_the_new_replica_itself() -> None:
    """BOOT-13: BeginQuorumEpoch reaches the node, though its directory is another one."""
    replica = booted(formatted(FirstVoters.NO_INITIAL_CONTROLLERS)).replica
    outcome = ask(replica, "begin-quorum-epoch-request from=2 epoch=4 to=1/A cluster=cluster")
    answer = response(outcome)
    assert getattr(answer, "partition_error", None) is ErrorCode.INVALID_VOTER_KEY
    assert isinstance(outcome.replica.role, Follower)


def test_an_observer_has_no_election_however_long_it_waits() -> None:
    replica = booted(formatted(FirstVoters.NO_INITIAL_CONTROLLERS)).replica
    outcome = step(KAFKA, replica, Poll((Timer.ELECTION,)))
    assert outcome.replica.role == Unattached()
    assert parse_replica("unattached").role == Unattached()
