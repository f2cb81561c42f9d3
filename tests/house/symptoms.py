"""The logs and disks that the runbooks read: those of ``docs/runbooks/NAME.md`` by its NAME."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from kraftcheck.evidence.disks.disk import LOG_FOLDER, QUORUM_STATE
from tests.evidence.logs.log_lines import change, state, text_of
from tests.laboratory.disks.written import DATA, Batch, Disk, Leader, VoterSet, write_disk
from tests.laboratory.logs.render import Drawn, directory

THREE = (Disk(1, state=(1, 1, 1)), Disk(2), Disk(3))
BEGIN = THREE[0].log[0]
TIMEOUT = "Transitioning to Prospective state due to fetch timeout"
LOST_FETCHES = (
    "Did not receive fetch request from the majority of the voters within 3000ms. Current fetched voters are "
    "[], and voters are []"
)
#: A part of a log: from which millisecond on, and the messages.
Part = tuple[int, Iterable[str]]


def _log(folder: Path, node: int, *parts: Part) -> None:
    (folder / "logs").mkdir(exist_ok=True)
    text = b"".join(text_of(messages, node, start=start) for start, messages in parts)
    (folder / "logs" / f"controller-{node}.log").write_bytes(text)


def _disks(folder: Path, *disks: Disk) -> None:
    for each in disks:
        write_disk(folder / "disks", each)


def _asked(voter: int, candidate: int, epoch: int, end: int, answer: str, *, pre_vote: bool) -> str:
    """A request for a vote from a candidate whose log ends at ``end``, and the answer."""
    return (
        f"Vote request VoteRequestData(clusterId='c', voterId={voter}, topics=[TopicData(topicName="
        f"'__cluster_metadata', partitions=[PartitionData(partitionIndex=0, replicaEpoch={epoch}, replicaId="
        f"{candidate}, replicaDirectoryId={directory(candidate)}, voterDirectoryId={directory(voter)}, "
        f"lastOffsetEpoch={epoch}, lastOffset={end}, preVote={str(pre_vote).lower()})])]) with epoch {epoch} "
        f"is {answer}"
    )


def _no_leader(folder: Path) -> None:
    """The leader, 3, is gone; the log of 1 is shorter than that of 2, whose requests do not reach 1."""
    for node in (1, 2):
        start, follower = state("Unattached", 3, node), state("Follower", 3, node, leader=3)
        asks = state("Prospective", 3, node, leader=3, granted=frozenset({node}))
        parts: list[Part] = [(0, [*change(start, None), *change(follower, start)])]
        parts.append((5_000 + node, [TIMEOUT, *change(asks, follower)]))
        for again in range(1, 4):
            at = 5_000 + 2_000 * again
            if node == 2:
                parts.append((at, [_asked(2, 1, 3, 41, "rejected", pre_vote=True)]))
            ended = "Election timed out before receiving sufficient vote responses"
            parts.append((at + 500 + node, [ended, *change(replace(asks, timeout=1000 + again), asks)]))
            asks = replace(asks, timeout=1000 + again)
        _log(folder, node, *parts)
    _disks(folder, THREE[0], replace(THREE[1], log=(*THREE[1].log, DATA)))


def _keeps_changing(folder: Path) -> None:
    """Each leader loses its followers after three seconds, and the other one is elected."""
    states: dict[int, Drawn] = {}
    parts: dict[int, list[Part]] = {}
    for node in (1, 2, 3):
        states[node] = state("Unattached", 4, node)
        parts[node] = [(0, change(states[node], None))]

    def moves(node: int, at: int, new: Drawn, *before: str) -> None:
        parts[node].append((at, [*before, *change(new, states[node])]))
        states[node] = new

    for epoch in (5, 6, 7, 8):
        leader, at = 1 + epoch % 2, 4_000 * (epoch - 4)
        granted, known = frozenset({leader, 3}), states[leader].leader
        prospective = state("Prospective", epoch - 1, leader, leader=known, granted=granted)
        moves(leader, at, prospective, *([TIMEOUT] if known else []))
        moves(leader, at + 30, state("Candidate", epoch, leader, voted=leader, granted=granted))
        moves(leader, at + 60, state("Leader", epoch, leader, start=10 * epoch))
        high = f"LogOffsetMetadata(offset={10 * epoch + 1}, metadata=Optional.empty)"
        first = f"High watermark set to Optional[{high}] for the first time for epoch {epoch} based on 1"
        parts[leader].append((at + 80, [first]))
        for node in {1, 2, 3} - {leader}:
            moves(node, at + 85, state("Unattached", epoch, node))
            moves(node, at + 99, state("Follower", epoch, node, leader=leader))
        moves(leader, at + 3_060, state("Resigned", epoch, leader), LOST_FETCHES)
    for node, each in parts.items():
        _log(folder, node, *each)


def _does_not_start(folder: Path) -> None:
    """Node 3 exits as soon as it has started, three times; its disk then has an empty quorum-state."""
    start = state("Unattached", 6, 3, leader=1)
    fault = (
        "ERROR Encountered fatal fault: Unexpected error in raft IO thread (org.apache.kafka.server.fault."
        "ProcessTerminatingFaultHandler)\njava.lang.IllegalStateException: Cannot transition to Follower "
        "without a leader endpoint for epoch 6 and leader 1\n\tat org.apache.kafka.raft.QuorumState"
    )
    (folder / "logs").mkdir()
    with (folder / "logs" / "controller-3.log").open("wb") as file:
        for second in (1, 31, 91):
            file.write(text_of(change(start, None), 3, start=1000 * second))
            file.write(f"[2026-01-01 00:{second // 60:02}:{second % 60:02},500] {fault}\n".encode())
    _disks(folder, *THREE)
    (folder / "disks" / "node-3" / LOG_FOLDER / QUORUM_STATE).write_bytes(b"")


def _lags(folder: Path) -> None:
    _disks(folder, *THREE[:2], replace(THREE[2], log=(BEGIN,)))


def _voter_change(folder: Path) -> None:
    """The leader has a voter set with 4; no other replica has fetched it."""
    added = Batch(1, (VoterSet((1, 2, 3, 4)),))
    whole = (BEGIN, DATA)
    _disks(
        folder,
        replace(THREE[0], log=(*whole, added)),
        replace(THREE[1], log=whole),
        replace(THREE[2], log=whole),
        Disk(4, log=(BEGIN,), snapshots={}),
    )


def _new_directory(folder: Path) -> None:
    """Node 3 was formatted again: a directory id that no voter set has."""
    _disks(folder, *THREE[:2], Disk(3, log=(), state=(1, 1, -1), snapshots={}, directories=7))


def _majority(folder: Path) -> None:
    _disks(folder, THREE[0])


def _two_leaders(folder: Path) -> None:
    """Nodes 1 and 3 led epoch 2, and each has records of its own in it."""
    led = {1: (Batch(2, (Leader(1),)), Batch(2)), 3: (Batch(2, (Leader(3),)), Batch(2), Batch(2))}
    _disks(
        folder,
        *(
            replace(
                each, log=(BEGIN, DATA, *led.get(each.id, led[1])), state=(2, 3 if each.id == 3 else 1, -1)
            )
            for each in THREE
        ),
    )
    for node in (1, 3):
        granted = frozenset({node, 2})
        states = [
            state("Unattached", 1, node),
            state("Prospective", 1, node, granted=granted),
            state("Candidate", 2, node, voted=node, granted=granted),
            state("Leader", 2, node, start=6),
        ]
        lines = [*change(states[0], None)]
        for old, new in pairwise(states):
            lines += change(new, old)
        _log(folder, node, (1_000 * node, lines))


def _static(folder: Path) -> None:
    """Three static voters of kraft.version 0."""
    log = (Batch(1, (Leader(1),)), DATA, DATA)
    _disks(
        folder,
        *(Disk(id, log=log, state=(1, 1, -1), snapshots={}, configured=(1, 2, 3)) for id in (1, 2, 3)),
    )


SYMPTOMS: dict[str, Callable[[Path], None]] = {
    "no-leader": _no_leader,
    "leader-changes": _keeps_changing,
    "does-not-start": _does_not_start,
    "controller-lags": _lags,
    "voter-change-unfinished": _voter_change,
    "disk-lost": _new_directory,
    "unknown-directory-id": _new_directory,
    "majority-lost": _majority,
    "two-leaders": _two_leaders,
    "upgrade-refused": _static,
}
