"""The past as far as properties need it next to the current state, and the properties judged on it.

The history is kept as small as it can be: in a correct protocol most of it is a function of the current
state, so that it adds few states.
"""

from __future__ import annotations

from itertools import pairwise

from kraftcheck.engine.system import Recorded
from kraftcheck.reference.frozen import Frozen, replace
from kraftcheck.reference.log import Snapshot
from kraftcheck.reference.types import Ascending, Epoch, LogStart, ReplicaId
from kraftcheck.reference.voters import ReplicaKey, VoterSet, static_voters
from kraftcheck.systems.kraft import assignments, labels, membership
from kraftcheck.systems.kraft.membership import Keys, Origin, Prefix


class History(Frozen):
    """leaders: the leader of each epoch; votes: the last epoch and candidate of each replica's vote;
    committed: the longest prefix known to be committed; committed_epoch: the latest epoch whose leader
    decided so.

    Where the voter set may change or snapshots are taken, ``origin`` is the effective voter set and version
    before any record. voters: the set by which the last commit was decided; gone: the replicas that have lost
    their disks, with the contents of their logs and the start offsets; gone_votes: the last votes of these
    replicas.
    """

    leaders: Ascending[tuple[Epoch, ReplicaId]] = ()
    votes: Ascending[tuple[ReplicaId, Epoch, ReplicaKey]] = ()
    committed: Prefix = ()
    committed_epoch: Epoch = 0
    origin: Origin | None = None
    voters: Keys = ()
    gone: Ascending[tuple[ReplicaKey, Prefix, LogStart]] = ()
    gone_votes: Ascending[tuple[ReplicaKey, Epoch, ReplicaKey]] = ()


def record(history: History, label: labels.Label) -> Recorded:
    """``history`` after ``label``, and the properties that the label violates and the goals that it
    reaches.
    """
    if isinstance(label, labels.Elected):
        return _record_elected(history, label)
    if isinstance(label, labels.Voted):
        return _record_voted(history, label)
    if isinstance(label, labels.Committed):
        return _record_committed(history, label)
    if isinstance(label, labels.Snapshotted):
        violated = not _is_committed_prefix(history, label.snapshot)
        return Recorded(history, ("SnapshotIsCommittedPrefix",) if violated else ())
    if isinstance(label, labels.Acknowledged):
        violated = not _may_acknowledge(history, label)
        return Recorded(history, ("VoterChangeAcknowledgedWhenCommitted",) if violated else ())
    if isinstance(label, labels.Altered):
        assert history.origin is not None
        violated = not assignments.has_named(history.origin, history.committed, label.target)
        return Recorded(history, ("AlterQuorumReachesItsTarget",) if violated else ())
    if isinstance(label, labels.Refused):
        return _record_refused(history, label)
    if isinstance(label, labels.Wiped):
        return Recorded(_after_wipe(history, label))
    if isinstance(label, labels.Restored):
        return Recorded(_after_restoring(history, label.key))
    return _record_truncated(history, label)


def _may_acknowledge(history: History, label: labels.Acknowledged) -> bool:
    """S-38: the change is the requested one and is committed, or the client asked not to wait for the
    commit.
    """
    if label.batch is None:
        return False
    sets = membership.sets_in(label.batch)
    if label.added is not None and not any(label.added in voters.keys for voters in sets):
        return False
    return label.early or label.batch in history.committed


def _record_truncated(history: History, label: labels.Truncated) -> Recorded:
    start = label.before[0].base_offset if label.before else 0
    committed = membership.from_offset(history.committed, start)
    held = label.before[: len(committed)]
    agree = next((n for n, batch in enumerate(held) if batch != committed[n]), len(held))
    goals: tuple[str, ...] = ("GoalDivergenceTruncated",)
    cut = [batch for batch in label.before[label.kept :] if not membership.opens_epoch(batch)]
    if any(membership.has_voters(batch) or assignments.is_in(batch) for batch in cut):
        goals += ("GoalVoterChangeReverted",)
    # The leader of a smaller epoch need not have what a later one has committed.
    violated = label.kept < agree and history.committed_epoch <= label.epoch
    return Recorded(history, ("TruncationKeepsCommonPrefix",) if violated else (), goals)


def _record_elected(history: History, label: labels.Elected) -> Recorded:
    violations: list[str] = []
    for epoch, leader in history.leaders:
        if epoch == label.epoch:
            same = leader == label.replica
            violations.append("NoReturnAfterLeading" if same else "SingleLeaderPerEpoch")
    if history.leaders:
        violations += ["ReturningReplicaDeposesNobody", "RemovedVoterDisturbsNobody"]
    goals: tuple[str, ...] = ("GoalLeaderElected",)
    sets = committed_sets(history)
    if sets and any(sets[-1].find(leader) is None for _, leader in history.leaders):
        goals += ("GoalRemovedLeaderReplaced",)
    leaders = tuple(sorted({*history.leaders, (label.epoch, label.replica)}))
    return Recorded(replace(history, leaders=leaders), tuple(violations), goals)


def _record_voted(history: History, label: labels.Voted) -> Recorded:
    violations: list[str] = []
    for voter, epoch, candidate in history.votes:
        if (voter, epoch) == (label.voter, label.epoch) and not is_same_vote(
            voter, candidate, label.candidate
        ):
            own = candidate.id == voter
            violations.append("SelfVoteSurvivesRestart" if own else "VotedOncePerEpoch")
            violations.append("VotedOncePerEpoch")
    reborn = any(key.id == label.voter for key, _, _ in history.gone)
    led = (label.epoch, label.voter) in history.leaders
    if led and label.candidate.id != label.voter and not reborn:
        violations.append("NoReturnAfterLeading")
    others = tuple(vote for vote in history.votes if vote[0] != label.voter or vote[1] > label.epoch)
    newest = any(vote[0] == label.voter for vote in others)
    vote = (label.voter, label.epoch, label.candidate)
    votes = others if newest else tuple(sorted((*others, vote), key=_by_voter))
    return Recorded(replace(history, votes=votes), tuple(dict.fromkeys(violations)))


def is_same_vote(voter: int, one: ReplicaKey, other: ReplicaKey) -> bool:
    """Whether two votes of ``voter`` are for one candidate: for one key, or both for the voter itself.

    Another property (S-28) covers a replica that votes for itself on another disk.
    """
    return membership.same_voter(one, other) or one.id == voter == other.id


def _record_committed(history: History, label: labels.Committed) -> Recorded:
    violations: list[str] = []
    known = membership.from_offset(history.committed, label.start)
    known_end, end = membership.end_of(history.committed), membership.end_of(label.prefix, label.start)
    common = min(len(known), len(label.prefix))
    if known[:common] != label.prefix[:common] or known_end < label.start:
        violations.append("StateMachineSafety")
    committed_epoch, voters = history.committed_epoch, history.voters
    if label.leader_epoch is not None:
        if not label.prefix or label.prefix[-1].epoch != label.leader_epoch:
            violations.append("CommitNeedsOwnEpoch")
        # An old leader only learns of records that were committed before; it may be further behind.
        if end > known_end and not assignments.may_be_in_force(history.committed, label.assignment):
            violations.append("AlterQuorumReachesItsTarget")
        if label.leader_epoch > committed_epoch and end < known_end:
            violations.append("HighWatermarkMonotone")
        committed_epoch = max(committed_epoch, label.leader_epoch)
        voters = label.voters if end > known_end else voters
    longer = history.committed
    if end > known_end:
        longer = history.committed[: len(history.committed) - len(known)] + label.prefix
    after = replace(history, committed=longer, committed_epoch=committed_epoch, voters=voters)
    return Recorded(after, tuple(violations), _commit_goals(after, label))


def _commit_goals(history: History, label: labels.Committed) -> tuple[str, ...]:
    goals = ["GoalRecordCommitted"]
    if membership.values_of(label.prefix):
        goals.append("GoalValueCommitted")
    sets = committed_sets(history)
    for before, after in pairwise(sets):
        new = membership.added(before, after)
        goals += ["GoalVoterAdded"] if new else []
        goals += ["GoalVoterRemoved"] if membership.removed(before, after) else []
        if any(known.id == key.id and known != key for key in new for one in sets for known in one.keys):
            goals.append("GoalDiskReplaced")
        if any(entry.key in before.keys and entry not in before.voters for entry in after.voters):
            goals.append("GoalVoterUpdated")
    if history.origin is not None:
        goals += assignments.goals(history.committed)
        finalized = _finalized(history.origin, history.committed)[1]
        goals += ["GoalKRaftVersionUpgraded"] if finalized > history.origin.kraft_version else []
    return tuple(dict.fromkeys(goals))


def _record_refused(history: History, label: labels.Refused) -> Recorded:
    agree = [_agrees(known, label) for known in committed_sets(history)]
    about_the_request = label.adding == label.has_id
    true = any(agree) and about_the_request
    violations: tuple[str, ...] = () if true else ("RefusalTellsCommittedSet",)
    if not agree[-1]:
        violations += ("RefusalIsUpToDate",)
    goal = "GoalToldDuplicateVoter" if label.has_id else "GoalToldVoterNotFound"
    return Recorded(history, violations, (goal,))


def _agrees(voters: VoterSet, label: labels.Refused) -> bool:
    if label.has_id:
        return label.key.id in voters.ids
    return label.key not in voters.keys or len(voters) == 1


def committed_sets(history: History) -> list[VoterSet]:
    """The voter sets that were committed, the one before any record first; none where they cannot change."""
    if history.origin is None:
        return []
    assigned = [static_voters(each.voters) for _, each in assignments.assignments_of(history.committed)]
    sets = [voters for batch in history.committed for voters in membership.sets_in(batch)]
    return [history.origin.voters, *sets, *assigned]


def _finalized(origin: Origin, prefix: Prefix) -> tuple[VoterSet, int]:
    voters, version = origin.voters, origin.kraft_version
    for batch in prefix:
        voters, version = [voters, *membership.sets_in(batch)][-1], membership.version_after(batch, version)
    return voters, version


def _is_committed_prefix(history: History, snapshot: Snapshot) -> bool:
    """Whether the contents of a snapshot agree with the committed records before its end."""
    end = snapshot.id.end_offset
    below = tuple(batch for batch in history.committed if batch.end_offset <= end)
    if history.origin is None or not below or membership.end_of(below) != end:
        return False
    voters, version = _finalized(history.origin, below)
    expected = (below[-1].epoch, voters if version >= 1 else None, version, membership.values_of(below))
    return expected == (snapshot.id.epoch, snapshot.voters, snapshot.kraft_version, snapshot.values)


def _after_wipe(history: History, label: labels.Wiped) -> History:
    """A key with a directory never returns; without a directory, the same voter continues with nothing."""
    if not label.another:
        return history
    gone = tuple(sorted((*history.gone, (label.key, label.held, label.start)), key=lambda one: one[0]))
    votes = tuple(vote for vote in history.votes if vote[0] != label.key.id)
    own = {(label.key, *vote[1:]) for vote in history.votes if vote[0] == label.key.id}
    gone_votes = tuple(sorted({*history.gone_votes, *own}, key=_by_key))
    return replace(history, gone=gone, votes=votes, gone_votes=gone_votes)


def _after_restoring(history: History, key: ReplicaKey) -> History:
    """The disk of ``key`` is back in its place, and with it the votes that the replica keeps there."""
    gone = tuple(one for one in history.gone if one[0] != key)
    own = {(key.id, *vote[1:]) for vote in history.gone_votes if vote[0] == key}
    gone_votes = tuple(vote for vote in history.gone_votes if vote[0] != key)
    votes = tuple(sorted({*history.votes, *own}, key=_by_voter))
    return replace(history, gone=gone, votes=votes, gone_votes=gone_votes)


def _by_voter(vote: tuple[int, int, ReplicaKey]) -> tuple[int, int, int, str]:
    voter, epoch, candidate = vote
    return (voter, epoch, candidate.id, candidate.directory or "")


def _by_key(vote: tuple[ReplicaKey, int, ReplicaKey]) -> tuple[int, str, int, int, str]:
    key, epoch, candidate = vote
    return (key.id, key.directory or "", epoch, candidate.id, candidate.directory or "")
