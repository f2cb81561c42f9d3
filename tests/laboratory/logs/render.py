"""Log lines as Apache Kafka writes them, of any release: the inverse of reading them.

For measurements and tests. The forms are those of ``forms.toml``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from kraftcheck.evidence.logs.releases import forms
from kraftcheck.evidence.logs.states import ROLES

RAFT: Final = "org.apache.kafka.raft"


@dataclass(frozen=True, slots=True)
class Drawn:
    """A state to print. ``high``: the high watermark; ``start``: where the epoch of a leader starts."""

    role: str
    node: int
    epoch: int
    voters: tuple[int, ...]
    leader: int | None = None
    voted: int | None = None
    high: int | None = None
    timeout: int = 1000
    start: int = 0
    granted: frozenset[int] = frozenset()

    def with_high(self, high: int | None) -> Drawn:
        """The same state with another high watermark."""
        return replace(self, high=high)


def directory(node: int) -> str:
    """A directory id for a node."""
    return f"D{node:021d}"


def state_text(state: Drawn, release: str) -> str:
    """The state as ``release`` prints it."""
    word, names = _form(state.role, release)
    at = _at(release)
    fields = ", ".join(f"{name}={_FIELDS[name](state, at)}" for name in names)
    if release in ("3.8", "3.9") and state.role == "Candidate":
        fields = fields.replace(", epoch=", ",epoch=")
    return f"{word}({fields.replace('rack: null), ', 'rack: null) ')})"


@cache
def _form(role: str, release: str) -> tuple[str, tuple[str, ...]]:
    """The word and the fields of a state of ``role``."""
    return next(
        form for form, found in forms().states.items() if ROLES[form[0].encode()] == role and release in found
    )


def _at(release: str) -> int:
    return forms().releases.index(release)


def _key(node: int, at: int) -> str:
    shown = f"Optional[{directory(node)}]" if at < _at("4.0") else directory(node)
    return f"ReplicaKey(id={node}, directoryId={shown})"


def offset_text(offset: int) -> str:
    """A printed LogOffsetMetadata."""
    place = f"(segmentBaseOffset=0,relativePositionInSegment={offset * 68})"
    return f"LogOffsetMetadata(offset={offset}, metadata=Optional[{place}])"


def _high(state: Drawn) -> str:
    return "Optional.empty" if state.high is None else f"Optional[{offset_text(state.high)}]"


def _vote(state: Drawn, voter: int) -> str:
    return "GRANTED" if voter in state.granted else "UNRECORDED"


def _election(state: Drawn, at: int) -> str:
    votes = ", ".join(
        f"{one}=VoterState(replicaKey={_key(one, at)}, state={_vote(state, one)})" for one in state.voters
    )
    opening, closing = ("[", "]") if at >= _at("4.2") else ("(", ")")
    return f"EpochElection{opening}voterStates={{{votes}}}{closing}"


def _vote_states(state: Drawn, at: int) -> str:
    if at == _at("3.9"):
        votes = (f"{one}={RAFT}.CandidateState$VoterState@{one + 4096:x}" for one in state.voters)
    else:
        votes = (f"{one}={_vote(state, one)}" for one in state.voters)
    return "{" + ", ".join(votes) + "}"


def _voted_key(state: Drawn, at: int) -> str:
    if at >= _at("4.0"):
        return "Optional.empty" if state.voted is None else f"Optional[{_key(state.voted, at)}]"
    return "null" if state.voted is None else _key(state.voted, at)


def _leader_id(state: Drawn, at: int) -> str:
    if state.role == "Follower":
        return str(state.leader)
    return "OptionalInt.empty" if state.leader is None else f"OptionalInt[{state.leader}]"


def _leader(state: Drawn, at: int) -> str:
    named = f"node-{state.leader}:9093 (id: {state.leader} rack: null)"
    return named if at == _at("3.8") else str(state.leader)


def endpoints(node: int | None) -> str:
    """The printed endpoints of a node."""
    return f"Endpoints(endpoints={{ListenerName(CONTROLLER)=node-{node}/<unresolved>:9093}})"


def voter_node(node: int, at: int, key: str | None = None) -> str:
    """A printed VoterNode; ``key``: another directory id than the node's."""
    versions = "SupportedVersionRange[min_version:0, max_version:1]"
    shown = key or _key(node, at)
    return f"VoterNode(voterKey={shown}, listeners={endpoints(node)}, supportedKRaftVersion={versions})"


def replica_state(node: int, end: int | None, at: int) -> str:
    """A voter as a leader prints it."""
    who = f"replicaKey={_key(node, at)}" if at >= _at("3.9") else f"nodeId={node}"
    shown = "Optional.empty" if end is None else f"Optional[{offset_text(end)}]"
    times = "lastFetchTimestamp=-1, lastCaughtUpTimestamp=-1, hasAcknowledgedLeader=true"
    return f"ReplicaState({who}, endOffset={shown}, {times})"


def _voter_states(state: Drawn, at: int) -> str:
    voters = (f"{one}={replica_state(one, None, at)}" for one in state.voters)
    return "{" + ", ".join(voters) + "}"


def _successors(state: Drawn, at: int) -> str:
    keys = (_key(one, at) if at >= _at("3.9") else str(one) for one in _others(state))
    return f"[{', '.join(keys)}]"


def _others(state: Drawn) -> list[int]:
    return [one for one in state.voters if one != state.node]


#: Each field of a state, as a release prints it.
_FIELDS: Final[dict[str, Callable[[Drawn, int], object]]] = {
    "epoch": lambda state, at: state.epoch,
    "leaderId": _leader_id,
    "leader": _leader,
    "leaderEndpoints": lambda state, at: endpoints(state.leader),
    "votedKey": _voted_key,
    "votedId": lambda state, at: state.voted,
    "voters": lambda state, at: list(state.voters),
    "electionTimeoutMs": lambda state, at: state.timeout,
    "fetchTimeoutMs": lambda state, at: state.timeout,
    "highWatermark": lambda state, at: _high(state),
    "retries": lambda state, at: 1,
    "epochElection": _election,
    "voteStates": _vote_states,
    "localId": lambda state, at: state.node,
    "localDirectoryId": lambda state, at: directory(state.node),
    "localReplicaKey": lambda state, at: _key(state.node, at),
    "localVoterNode": lambda state, at: voter_node(state.node, at),
    "epochStartOffset": lambda state, at: state.start,
    "voterStates": _voter_states,
    "fetchingSnapshot": lambda state, at: "Optional.empty",
    "unackedVoters": lambda state, at: _others(state),
    "preferredSuccessors": _successors,
}


def transition_messages(
    new: Drawn, old: Drawn | None, release: str, stored: bool | None = None
) -> Iterator[str]:
    """The messages on a change from ``old`` (None: start) to ``new``.

    ``stored``: whether it is written to the quorum-state file first; None: as it mostly is with these roles.
    """
    text, at = state_text(new, release), forms().releases.index(release)
    before = "null" if old is None else state_text(old, release)
    durable = old is None or (new.role not in ("Prospective", "Resigned") if stored is None else stored)
    if durable and at >= _at("3.9"):
        yield f"Attempting durable transition to {text} from {before}"
    yield (
        f"Completed transition to {text} from {before}"
        if at >= _at("3.5")
        else f"Completed transition to {text}"
    )


def context(node: int, release: str) -> str:
    """The log context of a node."""
    return f"[RaftManager {'id' if forms().releases.index(release) >= _at('3.5') else 'nodeId'}={node}] "


def record(time: str, node: int, message: str, release: str, logger: str, level: str = "INFO") -> str:
    """A whole line in the shipped pattern."""
    return f"[{time}] {level} {context(node, release)}{message} ({RAFT}.{logger})\n"
