"""The part of a property of single steps that does not hold, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from kraftcheck.reference import messages
from kraftcheck.reference.effects import Reply, Send, Transition, Truncate
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Event, RequestReceived
from kraftcheck.reference.replica import AddingVoter, Leader, Replica, UpdatingVoter
from kraftcheck.reference.transitions import role_name
from kraftcheck.systems.kind import Run
from kraftcheck.systems.kraft import assignments, membership
from kraftcheck.systems.kraft.network import CLIENT, request_of
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
    def request(self) -> messages.Request | None:
        """The request that it handles."""
        return request_of(self.event)

    @property
    def replies(self) -> list[messages.Response]:
        return [effect.response for effect in self.run.effects if isinstance(effect, Reply)]

    @property
    def transitions(self) -> list[Transition]:
        return [effect for effect in self.run.effects if isinstance(effect, Transition)]

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles before and after the step."""
        return tuple("" if each is None else role_name(each.role) for each in (self.before, self.after))

    @property
    def voter_sets(self) -> str:
        """The voter sets in the log after the step."""
        if self.after is None:
            return ""
        history = membership.own_history(self.after)
        sets = (f"{{{print_keys(voters.keys)}}} at kraft.version {version}" for _, voters, version in history)
        return ", then ".join(sets)


def explain_step(violated: str, replica_id: int, before: Node, after: Node, run: Run) -> Iterator[str]:
    """The sentences that describe the fault in the step of ``replica_id``; none if the fault is not known."""
    case = _Case(replica_id, before.replica, after.replica, after, run)
    words = SENTENCES.get(violated, "")
    if callable(words):
        yield from words(case)
    elif words and (case.before or "{before." not in words) and (case.after or "{after." not in words):
        for found in _FOUND[violated](case) if violated in _FOUND else (None,):
            yield words.format(case=case, id=case.id, before=case.before, after=case.after, found=found)


def _legal(case: _Case) -> Iterator[str]:
    taken = ", ".join(f"{each.source} → {each.target}" for each in case.transitions)
    who = "observer" if case.before is not None and not case.before.is_voter else "voter"
    yield f"Replica {case.id}, a {who}, goes {taken}; the table of transitions does not allow that."


def _resigned(case: _Case) -> Iterator[str]:
    for each in case.transitions:
        if each.source == "Resigned":
            yield f"Replica {case.id}, Resigned, becomes {each.target} in epoch {each.epoch}, which it led."
    if case.after is not None and case.after.quorum_state.leader == case.id:
        yield f"Replica {case.id} is {role_name(case.after.role)} of the epoch it leads itself."


def _log_epochs(case: _Case) -> Iterator[str]:
    if case.after is not None:
        epochs = ", ".join(str(batch.epoch) for batch in case.after.log.batches)
        yield f"The log of replica {case.id}, at epoch {case.after.epoch}, holds records of epochs {epochs}."


def _log_gap(case: _Case) -> Iterator[str]:
    if case.after is not None:
        log = case.after.log
        ranges = [(batch.base_offset, batch.end_offset - 1) for batch in log.batches]
        held = ", ".join(str(base) if base == last else f"{base} to {last}" for base, last in ranges)
        yield f"The log of replica {case.id} starts at offset {log.start_offset}, and has the offsets {held}."


def _vote_kept(case: _Case) -> Iterator[str]:
    if case.before is not None and case.after is not None:
        old, new = case.before.quorum_state.voted, case.after.quorum_state.voted
        now = "it has no vote" if new is None else f"its vote is for replica {new.id}"
        was = "" if old is None else f" for replica {old.id}"
        yield f"Replica {case.id} had voted{was} in epoch {case.after.epoch}; after the step {now}."


def _too_few_heard(case: _Case) -> Iterator[str]:
    role = None if case.before is None else case.before.role
    if case.before is not None and isinstance(role, Leader) and isinstance(case.event, RequestReceived):
        heard = sorted({*role.contacts, case.event.source})
        yield (
            f"Leader {case.id} restarts its check-quorum timer, but since the last time it has heard from "
            f"{', '.join(map(str, heard))} only: that is no majority of its voters "
            f"{', '.join(map(str, case.before.voters.ids))}."
        )


def _kept_waiting(case: _Case) -> Iterator[str]:
    waiting = () if case.after is None else case.after.parked
    who = ", ".join(str(parked.source) for parked in waiting)
    if waiting:
        yield f"Replica {case.id} is {case.roles[1]} and keeps a fetch of {who} waiting."
    else:
        yield f"Replica {case.id} has resigned and no longer says so to a voter that has not answered."


def _leader_endpoints(case: _Case) -> Iterator[str]:
    if case.after is not None:
        known = ", ".join(f"{each.name} {each.host}:{each.port}" for each in case.after.leader_endpoints)
        leader = case.after.quorum_state.leader
        yield f"Replica {case.id} follows leader {leader} at {known or 'no endpoint'}; it should know others."


def _acts_by(case: _Case) -> Iterator[str]:
    if case.after is not None:
        yield f"Replica {case.id} acts by the voter set {{{print_keys(case.after.voters.keys)}}}."
        yield f"Replica {case.id} has in its log the voter sets {case.voter_sets}."


def _refused(case: _Case) -> Iterator[str]:
    for answer in case.replies:
        error = getattr(answer, "error", None)
        if isinstance(error, ErrorCode) and error is not ErrorCode.NONE:
            yield f"Leader {case.id} replies {error.name} to the admin client."
            yield f"Replica {case.id} has in its log the voter sets {case.voter_sets}."


def _unanswered(case: _Case) -> Iterator[str]:
    role = case.before.role if case.before is not None else None
    change = role.change if isinstance(role, Leader) else None
    what = "A removal"
    if isinstance(change, AddingVoter):
        what = f"The addition of {print_key(change.voter.key)}"
    elif isinstance(change, UpdatingVoter):
        what = f"The update of {print_key(change.voter.key)}"
    if any(isinstance(effect, Reply) and effect.to == CLIENT for effect in case.run.effects):
        yield f"{what} was under way at Leader {case.id}; the client gets a second answer."
    else:
        ended = "has ended or is committed"
        yield f"{what} was under way at Leader {case.id}; it {ended}, and the client got no answer."


def _returned(case: _Case) -> Iterator[str]:
    """The voters that the newest set of the log has, that the one before it has not, and that an older one
    had.
    """
    if case.after is None:
        return
    sets = [(end - 1, voters.keys) for end, voters, _ in membership.own_history(case.after)]
    for key in sets[-1][1]:
        had = [at for at, (_, keys) in enumerate(sets[:-1]) if key in keys]
        if had and key not in sets[-2][1]:
            yield (
                f"Leader {case.id} makes {print_key(key)} a voter again because that replica asks for it, "
                f"although the voter set at offset {sets[had[-1] + 1][0]} had removed it."
            )


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
    if isinstance(request, messages.FetchRequest):
        yield f"A Fetch of {print_key(request.replica)} counts at Leader {case.id} for another replica."
    elif isinstance(request, messages.VoteRequest) and request.voter is not None:
        yield f"Replica {case.id} grants a vote that {print_key(request.voter)} was asked for."
    elif case.after is not None:
        yield f"{print_key(case.after.key)} is elected by votes for the replica that it was before."


def _described(case: _Case) -> Iterator[str]:
    answer = next((each for each in case.replies if isinstance(each, messages.DescribeQuorumResponse)), None)
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
    held = "nothing"
    if case.before is not None:
        state = case.before.quorum_state
        voted = "no vote" if state.voted is None else f"a vote for {print_key(state.voted)}"
        held = f"epoch {state.epoch}, leader {state.leader or 'unknown'} and {voted}"
    yield (
        f"The process of replica {case.id} is killed while it writes its quorum-state file: before the step "
        f"that held {held}, and what a start finds there was never written as a whole."
    )


def _requested(case: _Case, kind: type) -> Iterable[object]:
    return (case.request,) if isinstance(case.request, kind) else ()


def _disturbing(case: _Case) -> Iterable[object]:
    return [each for each in case.transitions if case.before and each.epoch > case.before.epoch][:1]


def _pre_votes(case: _Case) -> Iterable[object]:
    requests = [effect.request for effect in case.run.effects if isinstance(effect, Send)]
    return [each for each in requests if isinstance(each, messages.VoteRequest) and each.pre_vote][:1]


#: The parts of a case for each of which there is a sentence.
_FOUND: Mapping[str, Callable[[_Case], Iterable[object]]] = {
    "ReturningReplicaDeposesNobody": _disturbing,
    "RemovedVoterDisturbsNobody": _disturbing,
    "CandidateOnlyFromProspective": lambda case: (
        each for each in case.transitions if each.target == "Candidate"
    ),
    "NoTruncationBelowHighWatermark": lambda case: (
        effect for effect in case.run.effects if isinstance(effect, Truncate)
    ),
    "TruncationKeepsCommonPrefix": lambda case: (
        effect for effect in case.run.effects if isinstance(effect, Truncate)
    ),
    "VoteComparesEpochFirst": partial(_requested, kind=messages.VoteRequest),
    "FetchingFollowerRejectsPreVote": partial(_requested, kind=messages.VoteRequest),
    "ObserversDoNotCount": partial(_requested, kind=messages.FetchRequest),
    "PreVoteCreatesNoEpoch": _pre_votes,
    "PreVoteGrantHasNoEffect": lambda case: (
        each for each in case.replies if isinstance(each, messages.VoteResponse) and each.granted
    ),
}

_DISTURBED = (
    "A message makes replica {id}, {found.source} of epoch {before.epoch}, {found.target} of epoch "
    "{found.epoch}."
)
_VOTERS_OF_THE_LOG = "Replica {id} has in its log the voter sets {case.voter_sets}."
_CHANGE = (
    "Leader {id} changes the voter set, with a high watermark of {before.high_watermark} in epoch "
    "{before.epoch}; the voter sets of its log are, in order: {case.voter_sets}."
)

#: By property a sentence, or a function that gives the sentences. There is none about the state of a replica
#: that does not run.
SENTENCES: Mapping[str, str | Callable[[_Case], Iterator[str]]] = {
    "QuorumStateIsAtomic": _torn_quorum_state,
    "AppendIsAtomic": "A batch in the log of replica {id} has a part of an append without the rest.",
    "TimersStartForCause": (
        "Replica {id} starts a timer without a cause for it, or does not start one although it has a cause."
    ),
    "TimersRunTheirTime": "Replica {id} starts a timer with another duration than that of the timer.",
    "ElectionsWaitForTimers": (
        "Replica {id} begins an election although no timer of it has expired and nobody has asked it to."
    ),
    "WaitsAreTimed": "Replica {id} waits for something, and no timer ends the wait.",
    "ExpiriesAreHandled": "A timer of replica {id} has expired, and the replica goes on as if it had not.",
    "NoFatal": "The process of replica {id} exits: {case.node.end}.",
    "ReturningReplicaDeposesNobody": _DISTURBED,
    "RemovedVoterDisturbsNobody": _DISTURBED,
    "TransitionsLegal": _legal,
    "CandidateOnlyFromProspective": (
        "Replica {id} becomes Candidate of epoch {found.epoch} coming from {found.source}."
    ),
    "ResignedLeavesItsEpoch": _resigned,
    "ObserversStandNoElection": "Replica {after.id} is no voter, and becomes {case.roles[1]}.",
    "EpochMonotone": "The epoch of replica {id} goes back from {before.epoch} to {after.epoch}.",
    "LogEpochsMonotone": _log_epochs,
    "LogHasNoGap": _log_gap,
    "VoteKeptWithinEpoch": _vote_kept,
    "HighWatermarkMonotone": (
        "The high watermark of replica {id} goes back from {before.high_watermark} to {after.high_watermark}."
    ),
    "OwnTailCountsWhenFlushed": (
        "Leader {id} counts its own log up to the high watermark {after.high_watermark}, of which only what "
        "is below offset {case.node.disk.flushed} is flushed."
    ),
    "NoTruncationBelowHighWatermark": (
        "Replica {id} truncates its log to offset {found.offset}, below its high watermark "
        "{before.high_watermark}."
    ),
    "TruncationKeepsCommonPrefix": (
        "Replica {id} truncates its log, which ends at offset {before.log.end_offset}, to offset "
        "{found.offset}."
    ),
    "VoteComparesEpochFirst": (
        "Replica {id}, whose log ends at offset {before.log.end_offset} of epoch {before.log.last_epoch}, "
        "grants its vote to replica {found.candidate.id}, whose log ends at offset {found.end_offset} of "
        "epoch {found.last_epoch}."
    ),
    "PreVoteCreatesNoEpoch": "Replica {id} sends a pre-vote for epoch {found.epoch}, which is new.",
    "PreVoteGrantHasNoEffect": ("Replica {id} changes its state or restarts a timer in granting a pre-vote."),
    "FetchingFollowerRejectsPreVote": (
        "Replica {before.id}, a {case.roles[0]} in contact with its quorum, grants the pre-vote of replica "
        "{found.candidate.id}."
    ),
    "ObserversDoNotCount": (
        "Replica {found.replica.id} is no voter, but its Fetch moves the high watermark of Leader {id} or "
        "counts for check-quorum."
    ),
    "CheckQuorumNeedsMajority": _too_few_heard,
    "ResignedKeepsNobodyWaiting": _kept_waiting,
    "StartsOnKnownDisk": (
        "Replica {id} starts on a disk of which its software does not know a file or the id, or writes to it "
        "first; or it does not start on another disk."
    ),
    "LateCallsAreRefused": (
        "Leader {id} of epoch {before.epoch} does what its state machine has called for in epoch "
        "{case.event.epoch}."
    ),
    "ResignationIsHeeded": "Replica {id} has a reason to resign, has polled, and still leads.",
    "LeaderEndpointsAreKnown": _leader_endpoints,
    "SnapshotIsCommittedPrefix": _snapshot,
    "OneVoterChangeAtATime": _VOTERS_OF_THE_LOG,
    "VoterSetNotEmpty": _VOTERS_OF_THE_LOG,
    "KRaftVersionMonotone": _VOTERS_OF_THE_LOG,
    "VoterChangeAcknowledgedWhenCommitted": _VOTERS_OF_THE_LOG,
    "AlterQuorumReachesItsTarget": _assigned,
    "VoterChangeNeedsOwnEpochCommit": _CHANGE,
    "VoterChangeIsAnswered": _unanswered,
    "VoterChangeIsAsAsked": _CHANGE,
    "AddedVoterIsReady": _CHANGE,
    "RemovedVoterStaysRemoved": _returned,
    "WipedReplicaIsAnother": _another,
    "AcknowledgedAppendIsCommitted": (
        "Leader {id} promises another offset for an append than that at which it is in its log."
    ),
    "VotersOfTheLog": _acts_by,
    "RefusalTellsCommittedSet": _refused,
    "RefusalIsUpToDate": _refused,
    "DescribeTimesMonotone": _described,
    "DescriptionIsTheLeaders": _described,
}
