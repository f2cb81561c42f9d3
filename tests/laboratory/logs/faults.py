"""Faults to plant in made-up logs of clusters: for every check, something that it must find.

They write what no walk of the reference would. `Cluster.planting` lets the walk go on afterwards, so that
nothing that follows contradicts anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from kraftcheck.evidence.logs.releases import forms
from tests.laboratory.logs.fleet import Cluster
from tests.laboratory.logs.node_log import Place

#: Where the problem is, and the line at which it may be reported instead, the two contradicting each other.
Planted = tuple[Place, Place | None]


@dataclass(frozen=True, slots=True)
class Fault:
    """A kind of fault.

    ``plant`` takes a cluster in which all nodes follow a leader or lead and know the same, and a follower
    that is a voter with logs; ``since`` is the first release whose lines show it.
    """

    plant: Callable[[Cluster, int], Planted]
    since: str = "3.5"
    shown_in_39: bool = True
    """Release 3.9 prints elections without votes."""
    dynamic: bool = False
    """It needs a voter set in the log."""

    def shows_in(self, release: str, *, dynamic: bool) -> bool:
        """Whether lines of ``release`` show it; ``dynamic``: of a cluster with the voter set in the log."""
        if self.dynamic and not dynamic:
            return False
        known = forms().releases
        return known.index(release) >= known.index(self.since) and (self.shown_in_39 or release != "3.9")


def _other(cluster: Cluster, *nodes: int) -> int:
    """A voter with logs that is none of ``nodes`` and does not lead."""
    able = (one for one in cluster.voters if one not in (*nodes, cluster.absent))
    return next(one for one in able if cluster.states[one].role != "Leader")


def _any(cluster: Cluster, *nodes: int) -> int:
    return next(one for one in cluster.voters if one not in nodes)


def _log_end(cluster: Cluster, node: int, end: int) -> Place:
    epoch = cluster.states[node].epoch
    text = f"Follower end offset updated to OffsetAndEpoch[offset={end}, epoch={epoch}] after append"
    return cluster.say(node, text, level="TRACE")


def _lead(cluster: Cluster, node: int) -> None:
    cluster.stand(node)
    cluster.win(node, cluster.voters)


def _transition_legal(cluster: Cluster, node: int) -> Planted:
    state = cluster.states[node]
    same = cluster.make("Unattached", node, state.epoch, leader=state.leader, voted=state.voted)
    return cluster.change(node, same)[1], None


def _same_state(cluster: Cluster, node: int) -> Planted:
    state = cluster.states[node]
    cluster.states[node] = replace(state, timeout=state.timeout + 1)
    return cluster.hop(node)[0], None


def _durable_first(cluster: Cluster, node: int) -> Planted:
    new = cluster.make("Unattached", node, cluster.epoch + 1)
    return cluster.change(node, new, attempted=False)[1], None


def _epoch_monotone(cluster: Cluster, node: int) -> Planted:
    smaller = cluster.make("Unattached", node, cluster.states[node].epoch - 1, high=None)
    return cluster.change(node, smaller)[1], None


def _one_vote(cluster: Cluster, node: int) -> Planted:
    cluster.hop(node)
    first = _any(cluster, node)
    cluster.vote(node, first)
    role = "Unattached" if cluster.since("3.9") else "Voted"
    state = cluster.make(role, node, cluster.epoch, voted=_any(cluster, node, first))
    return cluster.start(node, state)[1], None


def _vote_kept(cluster: Cluster, node: int) -> Planted:
    cluster.hop(node)
    cluster.vote(node, _any(cluster, node))
    return cluster.start(node, cluster.make("Unattached", node, cluster.epoch))[1], None


def _one_leader(cluster: Cluster, node: int) -> Planted:
    other, epoch = _other(cluster, node), cluster.epoch + 1
    here = cluster.follow(node, epoch, _any(cluster, node, other))[1]
    return here, cluster.follow(other, epoch, node)[1]


def _leader_kept(cluster: Cluster, node: int) -> Planted:
    state = cluster.states[node]
    kept = cluster.make("Prospective", node, state.epoch, leader=state.leader, voted=state.voted)
    cluster.change(node, replace(kept, granted=frozenset({node})))
    return cluster.change(node, cluster.make("Unattached", node, state.epoch, voted=state.voted))[1], None


def _no_return(cluster: Cluster, node: int) -> Planted:
    _lead(cluster, node)
    return cluster.start(node, cluster.make("Unattached", node, cluster.epoch))[1], None


def _own_leader(cluster: Cluster, node: int) -> Planted:
    return cluster.follow(node, cluster.epoch + 1, node)[1], None


def _own_id(cluster: Cluster, node: int) -> Planted:
    other = _any(cluster, node)
    cluster.misnamed.add(node)
    return cluster.stand(node, named=other, voted=other)[1], None


def _election_majority(cluster: Cluster, node: int) -> Planted:
    cluster.stand(node)
    return cluster.win(node, (node,))[1], None


def _observer_election(cluster: Cluster, node: int) -> Planted:
    others = tuple(one for one in cluster.voters if one != node)
    return cluster.stand(node, voters=others, granted=frozenset())[1], None


def _pre_vote_answer(cluster: Cluster, node: int) -> Planted:
    return cluster.answer(node, _any(cluster, node), pre_vote=True), None


def _vote_answer(cluster: Cluster, node: int) -> Planted:
    return cluster.answer(node, _any(cluster, node)), None


def _vote_log(cluster: Cluster, node: int) -> Planted:
    _log_end(cluster, node, cluster.end + 1)
    cluster.hop(node)
    candidate = _any(cluster, node)
    cluster.vote(node, candidate)
    return cluster.answer(node, candidate, last=(0, 0)), None


def _votes_agree(cluster: Cluster, node: int) -> Planted:
    other = _other(cluster, node)
    cluster.stand(other)
    cluster.hop(node, cluster.epoch)
    cluster.vote(node, _any(cluster, node, other))
    return cluster.win(other, cluster.voters)[1], None


def _high_monotone(cluster: Cluster, node: int) -> Planted:
    return cluster.high_watermark(node, cluster.end - 1), None


def _high_majority(cluster: Cluster, node: int) -> Planted:
    cluster.restart(node)  # where its log ends is not known then
    _lead(cluster, node)
    high = cluster.end
    ends = dict.fromkeys(cluster.voters, high - 1) | {node: high}
    return cluster.high_watermark(node, high, ends), None


def _high_own_epoch(cluster: Cluster, node: int) -> Planted:
    _lead(cluster, node)
    return cluster.high_watermark(node, cluster.states[node].start), None


def _high_log_end(cluster: Cluster, node: int) -> Planted:
    _log_end(cluster, node, cluster.end + 1)
    cluster.end += 5
    return cluster.high_watermark(node, cluster.end), None


def _leader_complete(cluster: Cluster, node: int) -> Planted:
    cluster.restart(node)
    cluster.stand(node)
    return cluster.win(node, cluster.voters, start=cluster.end - 1)[1], None


def _no_truncation(cluster: Cluster, node: int) -> Planted:
    leader = cluster.states[node].leader
    return cluster.say(
        node, f"Truncated to offset {cluster.end - 1} from Fetch response from leader {leader}"
    ), None


def _log_end_order(cluster: Cluster, node: int) -> Planted:
    _log_end(cluster, node, cluster.end + 1)
    return _log_end(cluster, node, cluster.end + 1), None


def _log_epochs(cluster: Cluster, node: int) -> Planted:
    _log_end(cluster, node, cluster.end + 1)
    epoch = cluster.states[node].epoch - 1
    text = (
        f"Follower end offset updated to OffsetAndEpoch[offset={cluster.end + 2}, epoch={epoch}] after append"
    )
    return cluster.say(node, text, level="TRACE"), None


def _set_step(cluster: Cluster, node: int) -> Planted:
    cluster.restart(node)
    return cluster.read_voters(node, cluster.end + 10, cluster.voters[2:]), None


def _set_order(cluster: Cluster, node: int) -> Planted:
    cluster.restart(node)
    return cluster.read_voters(node, cluster.set_offset, cluster.voters), None


def _set_own_epoch(cluster: Cluster, node: int) -> Planted:
    cluster.restart(node)
    _lead(cluster, node)
    return cluster.read_voters(node, cluster.end + 5, cluster.voters[1:]), None


def _set_committed(cluster: Cluster, node: int) -> Planted:
    other, offset = _other(cluster, node), cluster.end
    places = []
    cluster.end += 3
    for number, one in enumerate((node, other)):
        cluster.restart(one)
        voters = tuple(voter for voter in cluster.voters if voter != cluster.voters[number])
        places.append(cluster.read_voters(one, offset, voters))
    epoch = cluster.epoch + 1
    for one in (node, other):
        cluster.change(one, cluster.make("Unattached", one, epoch, high=cluster.end))
    return places[0], places[1]


def _version_monotone(cluster: Cluster, node: int) -> Planted:
    cluster.restart(node)
    return cluster.read_version(node, 1, 0), None


def _fatal(cluster: Cluster, node: int) -> Planted:
    return cluster.fail(node, "made up"), None


#: Name of a check → what it must find.
FAULTS: Final[Mapping[str, Fault]] = MappingProxyType(
    {
        "TransitionsLegal": Fault(_transition_legal),
        "same-state": Fault(_same_state),
        "durable-first": Fault(_durable_first, since="3.9"),
        "EpochMonotone": Fault(_epoch_monotone),
        "VotedOncePerEpoch": Fault(_one_vote),
        "VoteKeptWithinEpoch": Fault(_vote_kept, since="3.9"),
        "SingleKnownLeaderPerEpoch": Fault(_one_leader),
        "leader-kept": Fault(_leader_kept, since="4.0"),
        "no-return": Fault(_no_return),
        "ResignedLeavesItsEpoch": Fault(_own_leader),
        "own-id": Fault(_own_id),
        "election-majority": Fault(_election_majority, shown_in_39=False),
        "ObserversStandNoElection": Fault(_observer_election),
        "FetchingFollowerRejectsPreVote": Fault(_pre_vote_answer, since="4.0"),
        "vote-answer": Fault(_vote_answer),
        "VoteComparesEpochFirst": Fault(_vote_log),
        "votes-agree": Fault(_votes_agree, shown_in_39=False),
        "HighWatermarkMonotone": Fault(_high_monotone),
        "HighWatermarkOnMajority": Fault(_high_majority),
        "CommitNeedsOwnEpoch": Fault(_high_own_epoch),
        "StateMachineSafety": Fault(_high_log_end),
        "LeaderCompleteness": Fault(_leader_complete),
        "NoTruncationBelowHighWatermark": Fault(_no_truncation),
        "log-end": Fault(_log_end_order),
        "LogEpochsMonotone": Fault(_log_epochs),
        "OneVoterChangeAtATime": Fault(_set_step, since="3.9", dynamic=True),
        "voter-set-order": Fault(_set_order, since="3.9", dynamic=True),
        "VoterChangeNeedsOwnEpochCommit": Fault(_set_own_epoch, since="3.9", dynamic=True),
        "CommittedSurvivesVoterChanges": Fault(_set_committed, since="3.9", dynamic=True),
        "KRaftVersionMonotone": Fault(_version_monotone, since="3.9", dynamic=True),
        "NoFatal": Fault(_fatal),
    }
)
