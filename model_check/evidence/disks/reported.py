"""What a running quorum reports of itself, held against the disks: ``kafka-metadata-quorum.sh describe``
(``--status`` and ``--replication``), and the raft metrics of a node in Prometheus' text format.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kraftcheck.evidence.disks.disk import StoredDisk
from kraftcheck.evidence.disks.observations import Observation, named
from kraftcheck.evidence.disks.quorum import Quorum
from kraftcheck.evidence.disks.records import VoterKey
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import read_text

_STATUS = re.compile(r"(\w+):\s+(.*)")
_NUMBER = re.compile(r"-?\d{1,19}", re.ASCII)
_NODE = re.compile(r"\d{1,10}", re.ASCII)
_DIRECTORY = re.compile(r"[A-Za-z0-9_-]{22}", re.ASCII)
#: A sample of the raft metrics, by the names that the JMX exporter and Strimzi give to them.
_METRIC = re.compile(r"kafka_server_raft_?metrics_(\w+?)(?:\{[^}]*\})?\s+(\S+)(?:\s+-?\d+)?", re.I)
#: The metrics that are held against the disks.
_COMPARED: Final = frozenset({"high_watermark", "log_end_offset", "current_epoch"})
_STATUS_HINT: Final = "give the output of kafka-metadata-quorum.sh describe --status or --replication"
_METRICS_HINT: Final = "give the raft metrics of one node in Prometheus' text format"


@dataclass(frozen=True, slots=True)
class Described:
    """Of ``describe --status``: epoch, leader, high watermark, voters; of ``--replication``: the ``ends`` of
    logs by node, as the leader knows them. None, or empty, where the text does not say it.
    """

    where: str
    epoch: int | None = None
    leader: int | None = None
    high_watermark: int | None = None
    voters: tuple[VoterKey, ...] = ()
    ends: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Metrics:
    """The raft metrics of ``node`` (``KafkaRaftMetrics``) by their names, with underscores."""

    where: str
    node: int
    values: Mapping[str, int]


def read_described(path: Path) -> Described:
    """What ``path`` has of ``describe``, both outputs one after the other included. Raises InputError."""
    status: dict[str, str] = {}
    ends: dict[int, int] = {}
    columns: list[str] = []
    for line in read_text(path, "the output of kafka-metadata-quorum.sh").splitlines():
        cells = line.split()
        if "NodeId" in cells and "LogEndOffset" in cells:
            columns = cells
        elif columns and len(cells) >= len(columns) and all(map(_NUMBER.fullmatch, cells[:1])):
            row = dict(zip(columns, cells, strict=False))
            node = _number(row["NodeId"], f"{path}: NodeId", _STATUS_HINT)
            ends[node] = _number(row["LogEndOffset"], f"{path}: LogEndOffset", _STATUS_HINT)
        elif found := _STATUS.fullmatch(line.strip()):
            status[found[1]] = found[2]
    if not ends and "LeaderEpoch" not in status:
        raise InputError(f"{path}: has neither a LeaderEpoch nor a table with LogEndOffset; {_STATUS_HINT}.")

    def number(key: str) -> int | None:
        found = _number(status[key], f"{path}: {key}", _STATUS_HINT) if key in status else -1
        return None if found < 0 else found

    voters = _voters(status.get("CurrentVoters", "[]"), f"{path}: CurrentVoters")
    return Described(
        str(path), number("LeaderEpoch"), number("LeaderId"), number("HighWatermark"), voters, ends
    )


def _number(text: str, where: str, hint: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise InputError(f"{where}: is {text!r}, not a number; {hint}.")
    return int(text)


def _voters(text: str, where: str) -> tuple[VoterKey, ...]:
    """``[1,2,3]`` up to 3.9, later ``[{"id": 1, "directoryId": "…", "endpoints": […]}]``."""
    try:
        found = json.loads(text)
        return tuple(map(_voter, found))
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InputError(f"{where}: is no list of voters; {_STATUS_HINT}.") from None


def _voter(data: Any) -> VoterKey:
    if isinstance(data, int):
        return VoterKey(data, None)
    directory = data.get("directoryId") if isinstance(data, dict) else None
    if not isinstance(data["id"], int) or not (directory is None or _DIRECTORY.fullmatch(directory)):
        raise ValueError
    return VoterKey(data["id"], directory)


def read_metrics(text: str) -> Metrics:
    """The metrics of ``NODE=FILE``. Raises InputError."""
    node, mark, name = text.partition("=")
    if not mark or not _NODE.fullmatch(node):
        raise InputError(f"--metrics: {text!r} is no NODE=FILE; say which node the metrics are of.")
    path, values = Path(name), dict[str, int]()
    for line in read_text(path, "metrics in Prometheus' text format").splitlines():
        found = _METRIC.fullmatch(line.strip())
        if found:
            try:
                value = int(float(found[2]))
            except (ValueError, OverflowError):
                continue  # NaN: an average of nothing
            if abs(value) < 2**63:
                values[found[1].lower()] = value
    if not values.keys() & _COMPARED:
        names = " or ".join(f"kafka_server_raft_metrics_{each}" for each in sorted(_COMPARED))
        raise InputError(f"{path}: has no metric {names}; {_METRICS_HINT}.")
    return Metrics(str(path), int(node), values)


# -- against the disks ------------------------------------------------------------------------------


def held_against(quorum: Quorum, described: list[Described], metrics: list[Metrics]) -> list[Observation]:
    """Where the disks do not have what the quorum reports."""
    found: list[Observation] = []
    for one in described:
        found += _described(quorum, one)
    for each in metrics:
        found += _of_a_node(quorum, each)
    return found


def _described(quorum: Quorum, one: Described) -> Iterator[Observation]:
    if one.high_watermark is not None:
        yield from _high_watermark(quorum, one.where, one.high_watermark)
    latest = max((disk.state.epoch for disk in quorum.disks if disk.state is not None), default=-1)
    if one.epoch is not None and latest > one.epoch:
        text = f"{one.where} is of epoch {one.epoch}; the disks have epoch {latest}."
        yield Observation("older-report", False, (), text)
    yield from _leader(quorum, one)
    for node, end in sorted(one.ends.items()):
        for disk in _of(quorum, node):
            if disk.end < end:
                yield _behind(disk, one.where, end, one.epoch, one.high_watermark)
    newest = quorum.committed.voters
    keys = () if newest is None else newest.voters.keys
    if one.voters and keys and not _same(one.voters, keys):
        yield Observation(
            "reported-voters-differ",
            True,
            (),
            f"{one.where} has the voters {named(one.voters, whole=True)}; the committed set on the disks "
            f"is {named(keys, whole=True)}.",
        )


def _high_watermark(quorum: Quorum, where: str, high_watermark: int) -> Iterator[Observation]:
    best = quorum.best
    if best is not None and best.end < high_watermark:
        yield Observation(
            "committed-records-missing",
            True,
            (),
            f"{where} has the high watermark {high_watermark:,}, but no disk has records beyond offset "
            f"{best.end:,}: the disks are older copies, or committed records are lost.",
        )


def _of_a_node(quorum: Quorum, one: Metrics) -> Iterator[Observation]:
    values = one.values
    yield from _high_watermark(quorum, one.where, values.get("high_watermark", -1))
    for disk in _of(quorum, one.node):
        if disk.end < values.get("log_end_offset", -1):
            known, high = values.get("current_epoch"), values.get("high_watermark")
            yield _behind(disk, one.where, values["log_end_offset"], known, high)
        epoch = values.get("current_epoch", -1)
        if disk.state is not None and disk.state.epoch < epoch:
            yield Observation(
                "epoch-is-lost",
                True,
                (disk.name,),
                f"node {disk.name} reports epoch {epoch} ({one.where}), but its quorum-state has epoch "
                f"{disk.state.epoch}: the disk is an older copy, or the file was not written through.",
            )


def _behind(
    disk: StoredDisk, where: str, end: int, epoch: int | None, high_watermark: int | None
) -> Observation:
    """A disk has less than its node reported. Above the high watermark a later leader may have removed it."""
    text = f"node {disk.name} had the log to offset {end:,} ({where}), its disk to {disk.end:,}"
    later = disk.state is not None and (epoch is None or disk.state.epoch > epoch)
    if later and (high_watermark is None or disk.end >= high_watermark):
        text += ": the rest may have been truncated since, as it was not committed."
        return Observation("log-is-shorter", False, (disk.name,), text)
    text += ": the disk is an older copy, or the node has lost records that it acknowledged."
    return Observation("log-is-shorter", True, (disk.name,), text, ("restart-before-write-back",))


def _leader(quorum: Quorum, one: Described) -> Iterator[Observation]:
    """The leader of the reported epoch against those that the disks name."""
    if one.leader is None or one.epoch is None:
        return
    for disk in quorum.disks:
        stored = {leader for epoch, leader, _ in disk.leaders() if epoch == one.epoch}
        if disk.state is not None and disk.state.epoch == one.epoch and disk.state.leader is not None:
            stored.add(disk.state.leader)
        if stored - {one.leader}:
            text = (
                f"{one.where} has leader {one.leader} of epoch {one.epoch}; the disk of node {disk.name} has "
            )
            text += ", ".join(map(str, sorted(stored))) + "."
            yield Observation("two-leaders", True, (disk.name,), text, ("second-leader-of-epoch",))


def _same(reported: tuple[VoterKey, ...], stored: tuple[VoterKey, ...]) -> bool:
    """Whether two sets name the same voters; a directory that one does not name makes no difference."""
    known = {each.id: each.directory for each in stored}
    return known.keys() == {each.id for each in reported} and all(
        None in (each.directory, known[each.id]) or each.directory == known[each.id] for each in reported
    )


def _of(quorum: Quorum, node: int) -> Iterator[StoredDisk]:
    return (disk for disk in quorum.disks if disk.key is not None and disk.key.id == node)
