"""The report on the disks of a quorum, for people and for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from kraftcheck.evidence.disks.batches import Batch
from kraftcheck.evidence.disks.disk import StoredDisk
from kraftcheck.evidence.disks.observations import Observation, named
from kraftcheck.evidence.disks.quorum import Quorum
from kraftcheck.support.terminal import Console, entry, heading, say

Data = dict[str, Any]
_COLUMN = 13


def as_json(quorum: Quorum, found: list[Observation], *, records: bool) -> Data:
    """The machine-readable form; ``records``: with all batches."""
    return {
        "nodes": [_node(disk, records) for disk in quorum.disks],
        "committed": {"below": quorum.committed.below, "why": quorum.committed.why},
        "observations": [asdict(each) for each in found],
    }


def _node(disk: StoredDisk, records: bool) -> Data:
    state, voters = disk.state, disk.voter_sets[-1:]
    data: Data = {
        "name": disk.name,
        "folder": str(disk.folder),
        "meta": None if disk.meta is None else asdict(disk.meta),
        "quorum_state": None if state is None else asdict(state),
        "log_start": disk.start,
        "log_end": disk.end,
        "last_epoch": disk.last_epoch,
        "kraft_version": disk.kraft_version,
        "voters": [asdict(each) for each in disk.voters],
        "voters_offset": voters[0].offset if voters else None,
        "snapshots": [
            {
                "file": each.file,
                "end": each.end,
                "epoch": each.epoch,
                "bytes": each.bytes,
                "whole": each.is_whole,
            }
            for each in disk.snapshots
        ],
        "segments": list(disk.segments),
        "ignored": list(disk.ignored),
        "damage": [asdict(each) for each in disk.damage],
    }
    return data | ({"batches": [_batch(each) for each in disk.batches]} if records else {})


def _batch(batch: Batch) -> Data:
    return {
        "base": batch.base,
        "last": batch.last,
        "epoch": batch.epoch,
        "bytes": batch.size,
        "kinds": list(batch.kinds),
    }


def print_report(out: Console, quorum: Quorum, found: list[Observation], *, records: bool) -> None:
    """Print each disk, what they say together, and what does not fit."""
    for disk in quorum.disks:
        _print_disk(out, disk, records)
    heading(out, "The quorum")
    committed = quorum.committed
    text = "nothing is known to be committed"
    if committed.below:
        text = f"at least all records below offset {committed.below:,}: {committed.why}"
    entry(out, "committed", text, column=_COLUMN)
    for each in found:
        see = f" ({', '.join(each.see)})" if each.see else ""
        style = "red" if each.is_problem else ""
        label = "problem" if each.is_problem else "note"
        entry(out, label, each.text + see, style, column=_COLUMN)
    count = sum(each.is_problem for each in found)
    say(out, f"{count} {'problem' if count == 1 else 'problems'}", "bold red" if count else "bold green")


def _print_disk(out: Console, disk: StoredDisk, records: bool) -> None:
    heading(out, f"Node {disk.name}: {disk.folder}")
    for label, text in _lines(disk):
        entry(out, label, text, column=_COLUMN)
    for batch in disk.batches if records else ():
        out.print(f"    {batch.base:>9,} to {batch.last:>9,}  epoch {batch.epoch}  {', '.join(batch.kinds)}")


def _lines(disk: StoredDisk) -> list[tuple[str, str]]:
    meta, state = disk.meta, disk.state
    identity = "no meta.properties that can be read"
    if meta is not None:
        identity = f"directory {meta.directory or 'without an id'}, cluster {meta.cluster or 'without an id'}"
    election = "no quorum-state that can be read"
    if state is not None:
        leader = "no leader known" if state.leader is None else f"leader {state.leader}"
        vote = "no vote" if state.vote is None else f"vote for {state.vote.id}"
        election = f"epoch {state.epoch}, {leader}, {vote}"
    log = f"offsets {disk.start:,} to {disk.end - 1:,}, last epoch {disk.last_epoch}"
    if disk.end == disk.start:
        log = f"empty, at offset {disk.start:,}"
    if len(disk.segments) > 1:
        log += f", in {len(disk.segments)} segments"
    voters = "none"
    if disk.voter_sets:
        voters = f"{named(disk.voters)}, of {_source(disk)}; kraft.version {disk.kraft_version}"
    elif disk.voters:
        voters = f"{named(disk.voters)}, of the configuration; kraft.version {disk.kraft_version}"
    lines = [("identity", identity), ("election", election), ("log", log)]
    if disk.snapshots:
        text = ", ".join(f"up to offset {each.end:,}, epoch {each.epoch}" for each in disk.snapshots)
        lines.append(("snapshots", text))
    return [*lines, ("voters", voters)]


def _source(disk: StoredDisk) -> str:
    at, snapshot = disk.voter_sets[-1].offset, disk.snapshot
    if at == -1:
        return "the formatted disk"
    is_from_snapshot = snapshot is not None and at == snapshot.end - 1
    return f"the snapshot up to offset {at + 1:,}" if is_from_snapshot else f"offset {at:,}"
