"""Sequences written by hand: state that a replica must forget, changes of the voter set, snapshots.

They are in the files of ``sequences``: ``common.toml`` names replicas, disks and paths, each other file has
groups of sequences with the same replica and disk, and a fetch timeout of their own where minutes must pass
between two events. A line is a stimulus in the short form, or a path.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from kraftcheck.evidence.adapters.stimuli import Crash, DriveSequence, LateResponse, Pause, Start, Stimulus
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.events import Poll, ResponseReceived, Timer
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.protocol import KAFKA, Protocol, VoterChanges, VoterKeys
from kraftcheck.reference.replica import QuorumState, Replica
from kraftcheck.systems import short_form
from kraftcheck.systems.kraft.text.event import parse_event
from kraftcheck.systems.kraft.text.replica import parse_replica
from kraftcheck.systems.kraft.text.style import STYLE

#: The epoch of a replica where a line names none.
EPOCH = 5
#: The events after a sequence: its effect shows in the next steps of the replica.
AFTERWARDS = (Poll(), Poll((Timer.ELECTION, Timer.FETCH)), Poll())
#: The replicas and disks of common.toml on which sequences may begin; a disk that has a voter set only where
#: the version of the replica allows one.
_STATIC_REPLICAS = (
    "a static voter", "a static voter of five", "a static voter with a directory id, in a cluster",
)  # fmt: skip
_DYNAMIC_REPLICAS = (
    "a voter", "the only voter", "a voter of two", "an observer", "an observer that joins",
    "a voter with a new endpoint", "a static voter with a directory id, which supports version 1",
)  # fmt: skip
_LOGS = ("in epoch 5", "a log of epoch 1", "a log of epoch 2")
_SNAPSHOTS = ("a snapshot alone", "a snapshot and records after it", "a snapshot and all records")

#: The files for every protocol, for those that change voters as KIP-853 does, and for composite keys.
ALWAYS = ("forgetting", "impostors", "epochs", "hand_over")
KIP853 = ("voters", "finalizing", "snapshots", "describing")
COMPOSITE = ("composite",)


def scripts(protocol: Protocol) -> Iterator[DriveSequence]:
    """All sequences that are meaningful under ``protocol``, in a fixed order."""
    names = (*ALWAYS, *(KIP853 if protocol.voter_changes is VoterChanges.KIP853 else ()))
    for name in (*names, *(COMPOSITE if protocol.voter_keys is VoterKeys.COMPOSITE else ())):
        for sequence in _sequences(name):
            patience = max(protocol.fetch_timeout_ms, sequence.protocol.fetch_timeout_ms)
            yield replace(sequence, protocol=replace(protocol, fetch_timeout_ms=patience))


def beginnings(protocol: Protocol) -> tuple[tuple[Replica, Disk], ...]:
    """Replicas and the disks on which sequences under ``protocol`` may begin, in a fixed order."""
    pairs = [(replica, disk) for disk in (*_LOGS, *_SNAPSHOTS) for replica in _STATIC_REPLICAS]
    if protocol.voter_changes is VoterChanges.KIP853:
        pairs += [(replica, disk) for disk in _LOGS for replica in _DYNAMIC_REPLICAS]
    return tuple((_replica(replica), _disk(disk)) for replica, disk in pairs)


def _replica(name: str) -> Replica:
    return parse_replica(_load("common")["replicas"][name], name)


def _disk(name: str) -> Disk:
    found: Disk = short_form.parse(_load("common")["disks"][name], Disk, STYLE, name, "disk")
    return found


@cache
def _load(name: str) -> Mapping[str, Any]:
    place = files("kraftcheck.evidence.adapters") / "sequences" / f"{name}.toml"
    return tomllib.loads(place.read_text(encoding="utf-8"))


@cache
def _sequences(name: str) -> tuple[DriveSequence, ...]:
    common, found = _load("common"), []
    for group in _load(name)["group"]:
        identity, disk = _replica(group["replica"]), _disk(group["disk"])
        about = replace(identity, quorum_state=QuorumState(EPOCH))
        protocol = replace(KAFKA, fetch_timeout_ms=group.get("fetch-timeout-ms", KAFKA.fetch_timeout_ms))
        for title, text in group["sequences"].items():
            where = f"sequences/{name}.toml, {title!r}"
            stimuli = (Start(), *_stimuli(text, about, common["paths"], where), *AFTERWARDS)
            found.append(DriveSequence(f"script {group['area']}: {title}", protocol, identity, disk, stimuli))
    return tuple(found)


def _stimuli(text: str, about: Replica, paths: Mapping[str, str], where: str) -> Iterator[Stimulus]:
    for line in text.splitlines():
        head, _, rest = line.partition(" ")
        if line in paths:
            yield from _stimuli(paths[line], about, paths, where)
        elif head in ("start", "crash"):
            yield short_form.parse(line, Start | Crash, STYLE, where, "crash")
        elif line == "pause":
            yield Pause()
        elif head == "late":
            late = parse_event(rest, about, where)
            assert isinstance(late, ResponseReceived)
            yield LateResponse(late.source, late.response)
        else:
            yield parse_event(line, about, where)
