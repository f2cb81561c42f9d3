"""Which part of a property of single steps does not hold, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from kraftcheck.reference.effects import Reply, Send, Transition, Truncate
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Event, RequestReceived
from kraftcheck.reference.messages import (
    DescribeQuorumResponse,
    FetchRequest,
    Request,
    Response,
    VoteRequest,
    VoteResponse,
)
from kraftcheck.reference.replica import AddingVoter, Leader, QuorumState, Replica
from kraftcheck.reference.transitions import role_name
from kraftcheck.systems.kind import Run
from kraftcheck.systems.kraft import assignments, membership, names
from kraftcheck.systems.kraft.membership import Origin
from kraftcheck.systems.kraft.network import CLIENT
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.text.event import message_words
from kraftcheck.systems.kraft.text.style import print_key, print_keys


@dataclass(frozen=True, slots=True)
class _Case:
    """A replica before and after a step (``None``: not running), and the result of the reference."""

    id: int
    before: Replica | None
    after: Replica | None
    node: Node
    run: Run

    @property
    def event(self) -> Event | None:
        """The first event that the replica handles."""
        return self.run.events[0] if self.run.events else None

    @property
    def request(self) -> Request | None:
        """The request that it handles."""
        return self.event.request if isinstance(self.event, RequestReceived) else None

    @property
    def replies(self) -> list[Response]:
        return [effect.response for effect in self.run.effects if isinstance(effect, Reply)]


def explain_step(violated: str, replica_id: int, before: Node, after: Node, run: Run) -> Iterator[str]:
    """The sentences that describe the fault in the step of ``replica_id``; none if the fault is not known."""
    explainer = _EXPLAINERS.get(violated)
    if explainer is not None:
        yield from explainer(_Case(replica_id, before.replica, after.replica, after, run))


def _transitions(case: _Case) -> Iterator[Transition]:
    for effect in case.run.effects:
        if isinstance(effect, Transition):
            yield effect


def _fatal(case: _Case) -> Iterator[str]:
    yield f"The process of replica {case.id} exits: {case.node.end}."


def _legal(case: _Case) -> Iterator[str]:
    taken = ", ".join(f"{each.source} → {each.target}" for each in _transitions(case))
    who = "observer" if case.before is not None and not case.before.is_voter else "voter"
    yield f"Replica {case.id}, a {who}, goes {taken}; the table of transitions does not allow that."


def _only_from_prospective(case: _Case) -> Iterator[str]:
    for each in _transitions(case):
        if each.target == "Candidate":
            yield f"Replica {case.id} becomes Candidate of epoch {each.epoch} coming from {each.source}."


def _resigned(case: _Case) -> Iterator[str]:
    for each in _transitions(case):
        if each.source == "Resigned":
            yield f"Replica {case.id}, Resigned, becomes {each.target} in epoch {each.epoch}, which it led."
    if case.after is not None and case.after.quorum_state.leader == case.id:
        yield f"Replica {case.id} is {role_name(case.after.role)} of the epoch it leads itself."


def _observer_election(case: _Case) -> Iterator[str]:
    if case.after is not None:
        yield f"Replica {case.id} is no voter, and becomes {role_name(case.after.role)}."


def _disturbed(case: _Case) -> Iterator[str]:
    if case.before is None:
        return
    for each in _transitions(case):
        if each.epoch > case.before.epoch:
            role = f"{each.source} of epoch {case.before.epoch}"
            yield f"A message makes replica {case.id}, {role}, {each.target} of epoch {each.epoch}."
            return


def _epoch(case: _Case) -> Iterator[str]:
    if case.before is not None and case.after is not None:
        yield f"The epoch of replica {case.id} goes back from {case.before.epoch} to {case.after.epoch}."


def _log_epochs(case: _Case) -> Iterator[str]:
    if case.after is not None:
        epochs = ", ".join(str(batch.epoch) for batch in case.after.log.batches)
        yield f"The log of replica {case.id}, at epoch {case.after.epoch}, holds records of epochs {epochs}."


def _vote_kept(case: _Case) -> Iterator[str]:
    if case.before is not None and case.after is not None:
        old, new = case.before.quorum_state.voted, case.after.quorum_state.voted
        now = "it has no vote" if new is None else f"its vote is for replica {new.id}"
        was = "" if old is None else f" for replica {old.id}"
        yield f"Replica {case.id} had voted{was} in epoch {case.after.epoch}; after the step {now}."


def _high_watermark(case: _Case) -> Iterator[str]:
    if case.before is not None and case.after is not None:
        yield f"The high watermark of replica {case.id} goes back from {case.before.high_watermark} to " + (
            f"{case.after.high_watermark}."
        )


def _own_tail(case: _Case) -> Iterator[str]:
    if case.after is not None:
        yield (
            f"Leader {case.id} counts its own log up to the high watermark {case.after.high_watermark}, "
            f"of which only what is below offset {case.node.disk.flushed} is flushed."
        )


def _truncation(case: _Case) -> Iterator[str]:
    for effect in case.run.effects:
        if isinstance(effect, Truncate) and case.before is not None:
            yield (
                f"Replica {case.id} truncates its log to offset {effect.offset}, below its high watermark "
                f"{case.before.high_watermark}."
            )


def _compares_epoch_first(case: _Case) -> Iterator[str]:
    request = case.request
    if isinstance(request, VoteRequest) and case.before is not None:
        log = case.before.log
        yield f"Replica {case.id}, whose log ends at offset {log.end_offset} of epoch {log.last_epoch}, " + (
            f"grants its vote to replica {request.candidate.id}, whose log ends at offset "
            f"{request.end_offset} of epoch {request.last_epoch}."
        )


def _pre_vote_epoch(case: _Case) -> Iterator[str]:
    for effect in case.run.effects:
        if isinstance(effect, Send) and isinstance(effect.request, VoteRequest) and effect.request.pre_vote:
            yield f"Replica {case.id} sends a pre-vote for epoch {effect.request.epoch}, which is new."
            return


def _pre_vote_effect(case: _Case) -> Iterator[str]:
    if any(isinstance(answer, VoteResponse) and answer.granted for answer in case.replies):
        yield f"Replica {case.id} changes its state or restarts a timer in granting a pre-vote."


def _fetching_follower(case: _Case) -> Iterator[str]:
    request = case.request
    if isinstance(request, VoteRequest) and case.before is not None:
        yield (
            f"Replica {case.id}, a {role_name(case.before.role)} in touch with its quorum, grants the "
            f"pre-vote of replica {request.candidate.id}."
        )


def _observers(case: _Case) -> Iterator[str]:
    request = case.request
    if isinstance(request, FetchRequest):
        yield (
            f"Replica {request.replica.id} is no voter, but its Fetch moves the high watermark of Leader "
            f"{case.id} or counts for check-quorum."
        )


def _too_few_heard(case: _Case) -> Iterator[str]:
    role = None if case.before is None else case.before.role
    event = case.event
    if case.before is not None and isinstance(role, Leader) and isinstance(event, RequestReceived):
        heard = sorted({*role.contacts, event.source})
        among = ", ".join(map(str, case.before.voters.ids))
        yield (
            f"Leader {case.id} starts its check-quorum timer over having heard from "
            f"{', '.join(map(str, heard))}; its voters are {among}."
        )


def _kept_waiting(case: _Case) -> Iterator[str]:
    waiting = () if case.after is None else case.after.parked
    who = ", ".join(str(parked.source) for parked in waiting)
    yield f"Replica {case.id} is Resigned and keeps a fetch of {who} waiting."


def _voter_sets(case: _Case) -> list[str]:
    if case.after is None:
        return []
    origin = Origin(case.after.bootstrap_voters, case.after.bootstrap_kraft_version)
    history = membership.history_of(origin, case.after.log)
    return [f"{{{print_keys(voters.keys)}}} at kraft.version {version}" for _, voters, version in history]


def _log_of_voters(case: _Case) -> Iterator[str]:
    yield f"Replica {case.id} has in its log the voter sets {', then '.join(_voter_sets(case))}."


def _acts_by(case: _Case) -> Iterator[str]:
    if case.after is not None:
        yield f"Replica {case.id} acts by the voter set {{{print_keys(case.after.voters.keys)}}}."
        yield from _log_of_voters(case)


def _refused(case: _Case) -> Iterator[str]:
    for answer in case.replies:
        error = getattr(answer, "error", None)
        if isinstance(error, ErrorCode) and error is not ErrorCode.NONE:
            yield f"Leader {case.id} tells the admin client {error.name}."
            yield from _log_of_voters(case)


def _change(case: _Case) -> Iterator[str]:
    if case.before is not None:
        yield (
            f"Leader {case.id} changes the voter set, with a high watermark of {case.before.high_watermark} "
            + (
                f"in epoch {case.before.epoch}; the voter sets of its log are, in order: "
                f"{', then '.join(_voter_sets(case))}."
            )
        )


def _unanswered(case: _Case) -> Iterator[str]:
    role = case.before.role if case.before is not None else None
    change = role.change if isinstance(role, Leader) else None
    what = (
        f"the addition of {print_key(change.voter.key)}" if isinstance(change, AddingVoter) else "a removal"
    )
    if any(isinstance(effect, Reply) and effect.to == CLIENT for effect in case.run.effects):
        yield f"{what.capitalize()} was under way at Leader {case.id}; who asked for it is told once more."
        return
    yield f"{what.capitalize()} was under way at Leader {case.id}; it is no more, and nobody was told."


def _snapshot(case: _Case) -> Iterator[str]:
    if case.after is not None:
        ends = ", ".join(str(one.id.end_offset) for one in case.after.log.snapshots) or "no offset"
        start, committed = case.after.log.start_offset, case.after.high_watermark
        yield (
            f"Replica {case.id} keeps snapshots up to {ends}; its log starts at {start} and its high "
            f"watermark is {committed}."
        )


def _another(case: _Case) -> Iterator[str]:
    request = case.request
    if isinstance(request, FetchRequest):
        yield f"A Fetch of {print_key(request.replica)} counts at Leader {case.id} for another replica."
    elif isinstance(request, VoteRequest) and request.voter is not None:
        yield f"Replica {case.id} grants a vote that {print_key(request.voter)} was asked for."
    elif case.after is not None:
        yield f"{print_key(case.after.key)} is elected by votes for the replica that it was before."


def _append_accepted(case: _Case) -> Iterator[str]:
    yield f"Leader {case.id} promises another offset for an append than that at which it is in its log."


def _described(case: _Case) -> Iterator[str]:
    answer = next((each for each in case.replies if isinstance(each, DescribeQuorumResponse)), None)
    if answer is None:
        yield f"A time that Leader {case.id} has noted of a replica goes back."
        return
    words = " ".join(message_words(answer))
    yield f"Replica {case.id} answers {words} (a replica: its end offset, last fetch, last caught up)."
    for node in answer.nodes:
        if not node.endpoints:
            yield f"It does not say where voter {node.id} listens."
    if case.node.clock is not None:
        yield f"Its clock shows {case.node.clock.now}."
        for known in case.node.clock.fetches:
            times = ", ".join(f"{time} (log ended at {end})" for time, end in known.ends)
            yield f"Replica {print_key(known.key)} has fetched up to {known.held}, at {times}."


def _assigned(case: _Case) -> Iterator[str]:
    replica = case.after or case.before
    if replica is None:
        return
    known = [each for _, each in assignments.assignments_of(replica.log.batches)]
    steps = ", ".join(f"{_set(each.voters)} on the way to {_set(each.wanted)}" for each in known) or "none"
    yield (
        f"Replica {case.id} has a high watermark of {replica.high_watermark or 'none'}; the assignments of "
        f"its log are, in order: {steps}."
    )


def _set(ids: Iterable[int]) -> str:
    return "{" + ",".join(map(str, ids)) + "}"


def _torn_quorum_state(case: _Case) -> Iterator[str]:
    voted = None if case.before is None else case.before.quorum_state
    held = "nothing" if voted is None else _quorum_state(voted)
    yield (
        f"The process of replica {case.id} is killed while it writes its quorum-state file: before the step "
        f"that held {held}, and what a start finds there was never written as a whole."
    )


def _quorum_state(state: QuorumState) -> str:
    voted = "no vote" if state.voted is None else f"a vote for {print_key(state.voted)}"
    return f"epoch {state.epoch}, leader {state.leader or 'unknown'} and {voted}"


_EXPLAINERS: Mapping[str, Callable[[_Case], Iterator[str]]] = {
    names.QUORUM_STATE_IS_ATOMIC: _torn_quorum_state,
    names.NO_FATAL: _fatal,
    names.STABLE_LEADERSHIP: _disturbed,
    names.REMOVED_VOTER_DISTURBS_NOBODY: _disturbed,
    names.TRANSITIONS_LEGAL: _legal,
    names.CANDIDATE_FROM_PROSPECTIVE: _only_from_prospective,
    names.RESIGNED_LEAVES_ITS_EPOCH: _resigned,
    names.OBSERVERS_STAND_NO_ELECTION: _observer_election,
    names.EPOCH_MONOTONE: _epoch,
    names.LOG_EPOCHS_MONOTONE: _log_epochs,
    names.VOTE_KEPT: _vote_kept,
    names.HIGH_WATERMARK_MONOTONE: _high_watermark,
    names.OWN_TAIL_FLUSHED: _own_tail,
    names.NO_TRUNCATION_BELOW_HIGH_WATERMARK: _truncation,
    names.VOTE_COMPARES_EPOCH_FIRST: _compares_epoch_first,
    names.PRE_VOTE_CREATES_NO_EPOCH: _pre_vote_epoch,
    names.PRE_VOTE_HAS_NO_EFFECT: _pre_vote_effect,
    names.FETCHING_FOLLOWER_REJECTS: _fetching_follower,
    names.OBSERVERS_DO_NOT_COUNT: _observers,
    names.CHECK_QUORUM_NEEDS_MAJORITY: _too_few_heard,
    names.RESIGNED_KEEPS_NOBODY_WAITING: _kept_waiting,
    names.SNAPSHOT_IS_COMMITTED: _snapshot,
    names.ONE_CHANGE_AT_A_TIME: _log_of_voters,
    names.VOTER_SET_NOT_EMPTY: _log_of_voters,
    names.KRAFT_VERSION_MONOTONE: _log_of_voters,
    names.CHANGE_ACKNOWLEDGED_WHEN_COMMITTED: _log_of_voters,
    names.ALTER_REACHES_TARGET: _assigned,
    names.CHANGE_NEEDS_COMMIT: _change,
    names.CHANGE_ANSWERED: _unanswered,
    names.CHANGE_AS_ASKED: _change,
    names.ADDED_VOTER_IS_READY: _change,
    names.WIPED_REPLICA_IS_ANOTHER: _another,
    names.APPEND_IS_COMMITTED: _append_accepted,
    names.VOTERS_OF_THE_LOG: _acts_by,
    names.REFUSAL_TELLS_COMMITTED_SET: _refused,
    names.REFUSAL_IS_UP_TO_DATE: _refused,
    names.DESCRIBE_TIMES_MONOTONE: _described,
    names.DESCRIPTION_IS_THE_LEADERS: _described,
}
