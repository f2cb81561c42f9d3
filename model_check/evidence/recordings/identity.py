"""The configuration and disk of a process in a recorded run.

Source: the recorder's setting: voters under kraft.version 1 start from a bootstrap checkpoint with the
voter set; other nodes start empty with the initial voters as bootstrap servers; under kraft.version 0
every node has the voters as static configuration.
"""

from __future__ import annotations

from kraftcheck.evidence.recordings.lines import ConfigLine, StartLine
from kraftcheck.evidence.recordings.recording import StepEvent
from kraftcheck.evidence.recordings.wire import LISTENER
from kraftcheck.evidence.recordings.wire_records import UncoveredMessageError, read_quorum_state
from kraftcheck.reference import log as logs
from kraftcheck.reference.bootstrap import FIRST_SERVER
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.log import Batch
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.voters import Endpoint, ReplicaKey, Voter, VoterSet, static_voters, voter_set
from kraftcheck.support.errors import InputError

#: The newest kraft.version that the recorded release supports.
MAX_KRAFT_VERSION = 1


def bootstrap_servers(config: ConfigLine) -> dict[int, int]:
    """The nodes asked for a leader, by the id under which connections to them are kept."""
    initial = sorted(node.id for node in config.nodes if node.initial_voter)
    if config.initial_kraft_version == 0:
        return {node: node for node in initial}
    return {FIRST_SERVER - index: node for index, node in enumerate(initial)}


def endpoints_of(node: int) -> tuple[Endpoint, ...]:
    """The endpoint of a controller of a recorded run."""
    return (Endpoint(LISTENER, f"node-{node}", 9093),)


def identity_of(
    config: ConfigLine, node: int, directory: str, *, can_become_voter: bool, auto_join: bool
) -> Replica:
    """The process that a ``start`` line begins, before it reads its disk."""
    voters, kraft_version = _bootstrap(config, node, directory)
    return Replica(
        key=ReplicaKey(node, directory),
        bootstrap_voters=voters,
        bootstrap_kraft_version=kraft_version,
        endpoints=endpoints_of(node) if can_become_voter else (),
        can_become_voter=can_become_voter,
        auto_join=auto_join,
        max_kraft_version=MAX_KRAFT_VERSION,
        cluster_id=config.cluster_id,
        next_correlation=0,
    )


def _bootstrap(config: ConfigLine, node: int, found: str) -> tuple[VoterSet, int]:
    initial = [entry for entry in config.nodes if entry.initial_voter]
    if config.initial_kraft_version == 0:
        return static_voters(entry.id for entry in initial), 0
    if all((entry.id, entry.directory) != (node, found) for entry in initial):
        return VoterSet(), 0
    voters = voter_set(
        Voter(ReplicaKey(entry.id, entry.directory), endpoints_of(entry.id), 0, MAX_KRAFT_VERSION)
        for entry in initial
    )
    return voters, config.initial_kraft_version


def disk_found(event: StepEvent, start: StartLine, known: dict[tuple[int, int], Batch]) -> Disk:
    """The disk of a ``start`` line. Raises UncoveredMessageError where not all of it is shown."""
    if start.state.snapshot is not None or start.state.log_start is not None:
        raise UncoveredMessageError("a disk with a snapshot")
    quorum_state = read_quorum_state(event.shown["persisted"], event.where)
    batches = []
    for base, _, epoch, _, _ in start.log_batches:
        content = known.get((base, epoch))
        if content is None:
            raise UncoveredMessageError("a batch whose content no line shows")
        batches.append(content)
    if batches and batches[0].base_offset > 0:
        raise UncoveredMessageError("a log that starts with a snapshot")
    try:
        log = logs.log_of(tuple(batches))
    except ValueError as error:
        raise InputError(f"{event.where}: {error}.") from None
    return Disk(quorum_state, log, log.end_offset)
