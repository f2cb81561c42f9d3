"""Sequences written by hand, for cases that neither scenarios nor single events show: state that a replica
must forget, and features that scenarios do not model, changes of the voter set and snapshots.
"""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.evidence.adapters.scripted import describing, finalizing, forgetting, snapshots, voters
from kraftcheck.evidence.adapters.stimuli import DriveSequence
from kraftcheck.reference.protocol import Protocol, VoterChanges


def scripts(protocol: Protocol) -> Iterator[DriveSequence]:
    """All sequences that are meaningful under ``protocol``, in a fixed order."""
    yield from forgetting.scripts(protocol)
    if protocol.voter_changes is VoterChanges.KIP853:
        for area in (voters, finalizing, snapshots, describing):
            yield from area.scripts(protocol)
