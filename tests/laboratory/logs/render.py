"""Log lines as production writes them, of any release: the inverse of reading them.

For measurements and tests. The forms are those of ``forms.toml``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from kraftcheck.evidence.logs.releases import forms

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
    return _ROLES[state.role](state, forms().releases.index(release))


def _at(release: str) -> int:
    return forms().releases.index(release)


def _key(node: int, at: int) -> str:
    shown = f"Optional[{directory(node)}]" if at < _at("4.0") else directory(node)
    return f"ReplicaKey(id={node}, directoryId={shown})"


def _optional_key(node: int | None, at: int) -> str:
    return "Optional.empty" if node is None else f"Optional[{_key(node, at)}]"


def _optional_id(node: int | None) -> str:
    return "OptionalInt.empty" if node is None else f"OptionalInt[{node}]"


def offset_text(offset: int) -> str:
    """A printed LogOffsetMetadata."""
    place = f"(segmentBaseOffset=0,relativePositionInSegment={offset * 68})"
    return f"LogOffsetMetadata(offset={offset}, metadata=Optional[{place}])"


def _high(state: Drawn) -> str:
    return "Optional.empty" if state.high is None else f"Optional[{offset_text(state.high)}]"


def _voters(state: Drawn) -> str:
    return "[" + ", ".join(str(one) for one in state.voters) + "]"


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


def _unattached(state: Drawn, at: int) -> str:
    voters, timeout = _voters(state), state.timeout
    if at >= _at("4.0"):
        return (
            f"UnattachedState(epoch={state.epoch}, leaderId={_optional_id(state.leader)}, "
            f"votedKey={_optional_key(state.voted, at)}, voters={voters}, electionTimeoutMs={timeout}, "
            f"highWatermark={_high(state)})"
        )
    if at == _at("3.9"):
        voted = "null" if state.voted is None else _key(state.voted, at)
        return (
            f"Unattached(epoch={state.epoch}, votedKey={voted}, voters={voters}, "
            f"electionTimeoutMs={timeout}, highWatermark={_high(state)})"
        )
    return f"Unattached(epoch={state.epoch}, voters={voters}, electionTimeoutMs={timeout})"


def _voted(state: Drawn, at: int) -> str:
    voters, timeout = _voters(state), state.timeout
    assert state.voted is not None
    if at == _at("3.8"):
        return (
            f"Voted(epoch={state.epoch}, votedKey={_key(state.voted, at)}, voters={voters}, "
            f"electionTimeoutMs={timeout}, highWatermark={_high(state)})"
        )
    return f"Voted(epoch={state.epoch}, votedId={state.voted}, voters={voters}, electionTimeoutMs={timeout})"


def _prospective(state: Drawn, at: int) -> str:
    retries = "retries=1, " if at == _at("4.0") else ""
    return (
        f"ProspectiveState(epoch={state.epoch}, leaderId={_optional_id(state.leader)}, {retries}"
        f"votedKey={_optional_key(state.voted, at)}, epochElection={_election(state, at)}, "
        f"electionTimeoutMs={state.timeout}, highWatermark={_high(state)})"
    )


def _candidate(state: Drawn, at: int) -> str:
    local = f"localId={state.node}, localDirectoryId={directory(state.node)}"
    end = f"highWatermark={_high(state)}, electionTimeoutMs={state.timeout})"
    if at >= _at("4.0"):
        retries = "retries=1, " if at == _at("4.0") else ""
        election = _election(state, at)
        return f"CandidateState({local}, epoch={state.epoch}, {retries}epochElection={election}, {end}"
    if at >= _at("3.8"):
        votes = _vote_states(state, at)
        return f"CandidateState({local},epoch={state.epoch}, retries=1, voteStates={votes}, {end}"
    if at >= _at("3.5"):
        votes = _vote_states(state, at)
        return (
            f"CandidateState(localId={state.node}, epoch={state.epoch}, retries=1, voteStates={votes}, {end}"
        )
    return (
        f"CandidateState(localId={state.node}, epoch={state.epoch}, retries=1, "
        f"electionTimeoutMs={state.timeout})"
    )


def replica_state(node: int, end: int | None, at: int) -> str:
    """A voter as a leader prints it."""
    who = f"replicaKey={_key(node, at)}" if at >= _at("3.9") else f"nodeId={node}"
    shown = "Optional.empty" if end is None else f"Optional[{offset_text(end)}]"
    times = "lastFetchTimestamp=-1, lastCaughtUpTimestamp=-1, hasAcknowledgedLeader=true"
    return f"ReplicaState({who}, endOffset={shown}, {times})"


def _leader(state: Drawn, at: int) -> str:
    if at >= _at("4.1"):
        endpoints = f"Endpoints(endpoints={{ListenerName(CONTROLLER)=node-{state.node}/<unresolved>:9093}})"
        versions = "SupportedVersionRange[min_version:0, max_version:1]"
        key = _key(state.node, at)
        local = f"localVoterNode=VoterNode(voterKey={key}, listeners={endpoints}, "
        local += f"supportedKRaftVersion={versions})"
    elif at >= _at("3.9"):
        local = f"localReplicaKey={_key(state.node, at)}"
    else:
        local = f"localId={state.node}"
    voters = ", ".join(f"{one}={replica_state(one, None, at)}" for one in state.voters)
    return (
        f"Leader({local}, epoch={state.epoch}, epochStartOffset={state.start}, "
        f"highWatermark={_high(state)}, voterStates={{{voters}}})"
    )


def _follower(state: Drawn, at: int) -> str:
    endpoints = f"Endpoints(endpoints={{ListenerName(CONTROLLER)=node-{state.leader}/<unresolved>:9093}})"
    if at >= _at("4.0"):
        voted = f"votedKey={_optional_key(state.voted, at)}, "
        middle = f"leader={state.leader}, leaderEndpoints={endpoints}, {voted}"
    elif at == _at("3.9"):
        middle = f"leader={state.leader}, leaderEndpoints={endpoints}, "
    elif at == _at("3.8"):
        middle = f"leader=node-{state.leader}:9093 (id: {state.leader} rack: null) "
    else:
        middle = f"leaderId={state.leader}, "
    return (
        f"FollowerState(fetchTimeoutMs={state.timeout}, epoch={state.epoch}, {middle}"
        f"voters={_voters(state)}, highWatermark={_high(state)}, fetchingSnapshot=Optional.empty)"
    )


def _resigned(state: Drawn, at: int) -> str:
    others = [one for one in state.voters if one != state.node]
    keys = [_key(one, at) if at >= _at("3.9") else str(one) for one in others]
    return (
        f"ResignedState(localId={state.node}, epoch={state.epoch}, voters={_voters(state)}, "
        f"electionTimeoutMs={state.timeout}, unackedVoters={others}, "
        f"preferredSuccessors=[{', '.join(keys)}])"
    )


_ROLES: Final[dict[str, Callable[[Drawn, int], str]]] = {
    "Unattached": _unattached,
    "Voted": _voted,
    "Prospective": _prospective,
    "Candidate": _candidate,
    "Leader": _leader,
    "Follower": _follower,
    "Resigned": _resigned,
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
