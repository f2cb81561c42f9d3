"""What a step of a replica means for its log: requests for changes, voter sets, commits, snapshots.

The sentences follow from the step alone; see :mod:`kraftcheck.systems.kraft.remarks`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from kraftcheck.reference.effects import (
    AppendBatch,
    Effect,
    Flush,
    HighWatermark,
    Reply,
    Send,
    StoreSnapshot,
    Truncate,
)
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import CreateSnapshot, Event, RequestReceived, UpgradeKRaftVersion
from kraftcheck.reference.messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    AlterQuorumRequest,
    AlterQuorumResponse,
    FetchRequest,
    FetchResponse,
    Message,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)
from kraftcheck.reference.replica import AddingVoter, Leader, Replica
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.systems.kind import Run
from kraftcheck.systems.kraft.network import CLIENT, InFlight
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.text.style import print_key, print_numbers

_CHANGES = AddRaftVoterResponse | RemoveRaftVoterResponse | AlterQuorumResponse


@dataclass(frozen=True)
class Case:
    """A step of a node: the states ``before`` and ``after``, the ``message`` that arrives, and the runs."""

    before: Node
    after: Node
    message: InFlight | None
    runs: Sequence[Run]

    @property
    def old(self) -> Replica | None:
        """The replica before the step; ``None`` if its process did not run."""
        return self.before.replica

    @property
    def new(self) -> Replica | None:
        """The replica after the step; ``None`` if its process does not run."""
        return self.after.replica

    @property
    def payload(self) -> Message | None:
        return None if self.message is None else self.message.payload

    @cached_property
    def starts(self) -> bool:
        """Whether a process starts."""
        return any(run.start for run in self.runs)

    @cached_property
    def done(self) -> tuple[Effect, ...]:
        """The effects that happen, in order."""
        return tuple(effect for run in self.runs for effect in run.effects[: run.completed])

    @cached_property
    def events(self) -> tuple[Event, ...]:
        return tuple(event for run in self.runs for event in run.events)

    @cached_property
    def replies(self) -> tuple[Reply, ...]:
        return tuple(effect for effect in self.done if isinstance(effect, Reply))


def log_remarks(case: Case) -> Iterator[str]:
    """What is worth knowing of the log and of those who ask for changes of it."""
    if case.old is not None:
        yield from _requests(case, case.old)
        yield from _diverges(case, case.old)
        if case.new is not None:
            yield from _truncates(case.done, case.old, case.new)
            yield from _snapshots(case, case.old, case.new)
    if case.new is not None:
        if case.old is not None and case.old.voters.keys != case.new.voters.keys:
            yield from _voters(case, case.old, case.new)
        yield from _joins(case.done, case.new)
        yield from _commits(case, case.new)
        yield from _fetches_unflushed(case, case.new)
    yield from _successes(case)


# Requests of the admin client and of replicas.


def _requests(case: Case, old: Replica) -> Iterator[str]:
    asked_here = False
    for event in case.events:
        if isinstance(event, UpgradeKRaftVersion):
            yield f"The admin client asks this leader for kraft.version {event.version}."
        elif isinstance(event, RequestReceived) and (asks := _asks(event)):
            asked_here = True
            yield asks
            if isinstance(event.request, AddRaftVoterRequest):
                yield from _returns(old, event.request.voter)
    answers = [each.response for each in case.replies if isinstance(each.response, _CHANGES)]
    refusals = [answer.error for answer in answers if answer.error is not ErrorCode.NONE]
    if asked_here and refusals:
        yield f"It refuses with {refusals[0].name}."
    elif asked_here and _begins_to_add(old, case.new):
        yield (
            "It accepts: it asks the new voter which kraft.version it supports, and changes the voter set "
            "when the answer arrives."
        )


def _successes(case: Case) -> Iterator[str]:
    for reply in case.replies:
        response = reply.response
        if isinstance(response, _CHANGES) and response.error is ErrorCode.NONE:
            yield f"It reports success to {_who(reply.to)}."


def _asks(event: RequestReceived) -> str:
    request, who = event.request, _who(event.source)
    if isinstance(request, AddRaftVoterRequest):
        by_itself = event.source == request.voter.id
        return _sentence(
            f"{who} asks this leader to add {'it' if by_itself else 'voter'} "
            f"{f'as voter {print_key(request.voter)}' if by_itself else print_key(request.voter)}"
        )
    if isinstance(request, RemoveRaftVoterRequest):
        return _sentence(f"{who} asks this leader to remove voter {print_key(request.voter)}")
    if isinstance(request, AlterQuorumRequest):
        target = (
            "keep the voters"
            if request.target is None
            else f"make {print_numbers(request.target)} the voters"
        )
        return _sentence(f"{who} asks this leader to {target}")
    return ""


def _returns(old: Replica, key: ReplicaKey) -> Iterator[str]:
    """Whether a voter set of the log had a replica that is a voter no more."""
    if key in old.voters.keys:
        return
    had = False
    for offset, voters in old.log.voter_sets:
        if had and key not in voters.keys:
            yield f"It was a voter before: the voter set at offset {offset} of this log removed it."
        had = key in voters.keys


def _begins_to_add(old: Replica, new: Replica | None) -> bool:
    before = old.role.change if isinstance(old.role, Leader) else None
    after = new.role.change if new is not None and isinstance(new.role, Leader) else None
    return before is None and isinstance(after, AddingVoter) and after.offset is None


def _joins(done: Sequence[Effect], new: Replica) -> Iterator[str]:
    for effect in done:
        if isinstance(effect, Send) and isinstance(effect.request, AddRaftVoterRequest):
            why = "it is configured to join by itself (controller.quorum.auto.join.enable)"
            yield f"It is not a voter and {why}: it asks leader {effect.to} to add it."


# Voter sets.


def _voters(case: Case, old: Replica, new: Replica) -> Iterator[str]:
    yield from _lost_set(new)
    if not new.voters.keys:
        yield f"It has no voter set now (had {ids(old.voters.ids)})."
        return
    change = new.role.change if isinstance(new.role, Leader) else None
    if isinstance(change, AddingVoter) and change.offset in _appended(case):
        added = change.voter.key
        asked = f"{added.id} itself" if change.source == added.id else _who(change.source)
        yield f"It adds {print_key(added)}, as {asked} has asked."
    source = _record(new)
    if old.voters.ids == new.voters.ids:
        now, was = (", ".join(map(print_key, each.voters.keys)) for each in (new, old))
        yield f"Its voters: {now} (were {was}){source}. Their directory ids are new, and not the replicas."
    else:
        yield f"Its voters: {ids(new.voters.ids)} (were {ids(old.voters.ids)}){source}."
    if old.is_voter and not new.is_voter:
        yield "It is not a voter of this set, so it begins no election."
    elif new.is_voter and not old.is_voter:
        yield "It is a voter of this set."


def _lost_set(new: Replica) -> Iterator[str]:
    """Where the voters come from that no record of the log names."""
    if new.assignment_offset >= 0 or new.voters_offset >= 0 or not new.voters.keys:
        return
    if new.knows_checkpoint:
        yield "No voter set is left in its log, so it takes the voters of its bootstrap checkpoint."
    else:
        yield (
            "No voter set is left in its log, so it takes the voters of its configuration "
            "(controller.quorum.voters)."
        )


def _record(new: Replica) -> str:
    """The record that names the voters, if it is not committed."""
    end = new.high_watermark
    if new.assignment_offset >= 0 or new.voters_offset < 0 or (end is not None and new.voters_offset < end):
        return ""
    state = "is not committed yet" if isinstance(new.role, Leader) else "it does not know to be committed"
    return f", by the record at offset {new.voters_offset}, which {state}"


def _appended(case: Case) -> set[int]:
    """The offsets that are appended."""
    batches = [each.batch for each in case.done if isinstance(each, AppendBatch)]
    return {offset for batch in batches for offset in range(batch.base_offset, batch.end_offset)}


# Commits, snapshots, truncation.


def _commits(case: Case, new: Replica) -> Iterator[str]:
    if not isinstance(new.role, Leader) or not any(isinstance(each, HighWatermark) for each in case.done):
        return
    end = new.high_watermark
    request = case.payload
    if isinstance(request, FetchRequest) and request.replica.id in new.voters.ids:
        have = [each.id for each in new.role.progress if end is not None and (each.end_offset or -1) >= end]
        yield (
            f"Replica {request.replica.id} fetches at offset {request.offset}, which counts as an "
            f"acknowledgement of all records before it. {len(have)} of {len(new.voters)} voters "
            f"({ids(have, new.id)}) have the log up to offset {end}: the high watermark becomes {end}."
        )
    elif new.voters.ids == (new.id,):
        yield f"It is the only voter, so its own copy is a majority: the high watermark becomes {end}."


def _fetches_unflushed(case: Case, new: Replica) -> Iterator[str]:
    flushed = case.after.disk.flushed
    for effect in case.done if new.is_voter else ():
        request = effect.request if isinstance(effect, Send) else None
        if isinstance(request, FetchRequest) and flushed < request.offset <= new.log.end_offset:
            yield (
                f"It fetches at offset {request.offset}, which the leader takes for an acknowledgement of "
                f"all records before it, although {_flushed(flushed)}."
            )
            return


def _flushed(offset: int) -> str:
    return "none of its log is flushed" if offset == 0 else f"its log is flushed only up to offset {offset}"


def surviving_log(case: Case) -> str:
    """The log that a process finds when it starts: where it ends, and how much of it is flushed."""
    started = next(index for index, run in enumerate(case.runs) if run.start)
    effects = [each for run in case.runs[started:] for each in run.effects[: run.completed]]
    log, flushed = case.after.disk.log, case.after.disk.flushed
    appended = [each.batch.base_offset for each in effects if isinstance(each, AppendBatch)]
    end = min([log.end_offset, *appended])
    if end == 0:
        return "an empty log"
    known = not any(isinstance(each, Flush) for each in effects)
    if not known or flushed >= end:
        return f"a log that ends at offset {end}"
    part = "nothing of it" if flushed == 0 else f"of it only what is before offset {flushed}"
    return f"a log that ends at offset {end} ({part} is flushed)"


def _snapshots(case: Case, old: Replica, new: Replica) -> Iterator[str]:
    ends = [each.snapshot.id.end_offset for each in case.done if isinstance(each, StoreSnapshot)]
    for end in ends if any(isinstance(event, CreateSnapshot) for event in case.events) else ():
        told = f"It creates a snapshot that ends at offset {end}"
        if new.log.voters_forgotten and not old.log.voters_forgotten and new.log.voter_sets:
            first, kept = new.log.voter_sets[0]
            forgotten = [each for each in old.log.voter_sets if each[0] < first]
            lost = (
                f"voters {ids(forgotten[-1][1].ids)} at offset {forgotten[-1][0]}" if forgotten else "voters"
            )
            told += f", and forgets {lost} and all before; voters {ids(kept.ids)} at offset {first} stay"
            if new.high_watermark is None or first >= new.high_watermark:
                told += ", which are not committed"
        yield f"{told}."


def _truncates(done: Sequence[Effect], old: Replica, new: Replica) -> Iterator[str]:
    for effect in done:
        if not isinstance(effect, Truncate) or effect.offset >= old.log.end_offset:
            continue
        sets = [offset for offset, _ in old.log.voter_sets if offset >= effect.offset]
        lost = f", and with it the voter set at offset {ids(sets)}" if sets else ""
        yield f"It truncates its log from offset {old.log.end_offset} to {effect.offset}{lost}."


def _diverges(case: Case, old: Replica) -> Iterator[str]:
    request = case.payload
    for reply in case.replies if isinstance(request, FetchRequest) else ():
        response = reply.response
        if isinstance(request, FetchRequest) and isinstance(response, FetchResponse) and response.diverging:
            end = response.diverging
            yield (
                f"Replica {reply.to} fetches at offset {request.offset}, after a record of epoch "
                f"{request.last_epoch}. In this log epoch {end.epoch} ends at offset {end.offset}: by the "
                "answer the replica truncates its log."
            )


def _who(source: int) -> str:
    return "the admin client" if source == CLIENT else f"replica {source}"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def ids(numbers: Sequence[int], own: int | None = None) -> str:
    """Replicas in a sentence: ``itself, 2``, or ``none``."""
    return ", ".join("itself" if each == own else str(each) for each in numbers) or "none"
