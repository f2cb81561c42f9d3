"""Finalizing kraft.version 1: from static voters to voter sets in the log.

Source: KIP-853 (Upgrade); Kafka: KafkaRaftClient.upgradeKRaftVersion,
LeaderState.maybeAppendUpgradedKRaftVersion.
"""

from __future__ import annotations

from kraftcheck.reference import voter_changes
from kraftcheck.reference.effects import CallFailed, Fatal
from kraftcheck.reference.events import UpgradeKRaftVersion
from kraftcheck.reference.fatal import FatalReason, RefusalReason
from kraftcheck.reference.log import KRaftVersion, Voters
from kraftcheck.reference.replica import Leader
from kraftcheck.reference.voters import VoterSet
from kraftcheck.reference.work import Work


def upgrade(work: Work, event: UpgradeKRaftVersion) -> None:
    """Append the new level and the voter set that it needs, in one batch, or say why not."""
    role = work.replica.role
    work.by("KVER-2")
    if not isinstance(role, Leader) or event.epoch != work.replica.epoch:
        work.emit(CallFailed(RefusalReason.NOT_LEADER))
        return
    known = newest(work)
    if event.version == known:
        return
    if event.version < known:
        work.by("KVER-4")
        work.emit(CallFailed(RefusalReason.VERSION_DECREASES))
        return
    voters = _reported(work, role)
    if not all(voter.supports(event.version) for voter in voters.voters):
        work.by("KVER-3", "KVER-5")
        work.emit(CallFailed(RefusalReason.VERSION_NOT_SUPPORTED))
        return
    if any(voter.key.directory is None for voter in voters.voters):
        raise work.exit(Fatal(FatalReason.VOTER_WITHOUT_DIRECTORY), "KVER-5")
    work.by("KVER-5", "VSET-1", "VSET-2")
    voter_changes.append_control(work, (KRaftVersion(event.version), Voters(voters)))


def newest(work: Work) -> int:
    """The effective level, or the one that a leader has queued and not appended yet."""
    role = work.replica.role
    assert isinstance(role, Leader)
    queued = [
        record.version for batch in role.pending for record in batch if isinstance(record, KRaftVersion)
    ]
    return queued[-1] if queued else work.replica.kraft_version


def _reported(work: Work, role: Leader) -> VoterSet:
    """The static voters as they described themselves, and the leader as it knows itself."""
    voters = work.replica.voters.with_entry(work.replica.own_entry)
    for entry in role.reported:
        voters = voters.with_entry(entry)
    return voters
