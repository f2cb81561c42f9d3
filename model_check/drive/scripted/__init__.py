"""Sequences written by hand, for what neither scenarios nor single events show: what a replica must forget,
and what scenarios have no notion of, changes of the voter set and snapshots.
"""

from __future__ import annotations

from collections.abc import Iterator

from model_check.drive.scripted import finalizing, forgetting, snapshots, voters
from model_check.drive.stimuli import DriveSequence
from reference.protocol import Protocol


def scripts(protocol: Protocol) -> Iterator[DriveSequence]:
    """All of them, in a fixed order."""
    for area in (forgetting, voters, finalizing, snapshots):
        yield from area.scripts(protocol)
