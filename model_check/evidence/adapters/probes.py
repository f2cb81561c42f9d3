"""Single events that a working quorum does not send: every situation of the decision tables, and bad
messages.

An implementation meets them when a peer is faulty, very old or of another cluster. Each probe leads a replica
into a role and then gives it one event. Of those that the reference decides in the same way, with timers that
run as long, one is kept.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

from kraftcheck.evidence.adapters.asked import Asking
from kraftcheck.evidence.adapters.prologue import approach
from kraftcheck.evidence.adapters.situations import situation
from kraftcheck.evidence.adapters.stimuli import Crash, DriveSequence, Start
from kraftcheck.query.ask import ask, expecting_answer
from kraftcheck.query.replica_tables import PROBES, REPLICATION
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import ArmTimer, Effect
from kraftcheck.reference.events import Event, Poll, ResponseReceived, Timer
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.messages import FetchResponse
from kraftcheck.reference.protocol import PreVoteCompatibility, Protocol
from kraftcheck.reference.replica import QuorumState, Replica
from kraftcheck.reference.step import Outcome
from kraftcheck.reference.transitions import role_name
from kraftcheck.reference.voters import Endpoint

#: The events after the probe: its effect shows in the next steps of the replica.
_AFTERWARDS = (Poll(), Poll((Timer.ELECTION, Timer.FETCH)), Poll())

Probe = tuple[str, Replica, Event | str]
Summary = tuple[str, ...]


def probes(protocol: Protocol) -> Iterator[DriveSequence]:
    """The probes, in a fixed order."""
    expected: set[Summary] = set()
    seen: set[Summary] = set()
    numbers = Counter[str]()
    for name, replica, event in situations(protocol):
        likely = _likely(protocol, replica, event)
        if likely in expected:
            continue
        for sequence in _sequences(protocol, replica, event):
            done = _probed(sequence)
            if done is not None and done not in seen:
                seen.add(done)
                expected.add(likely)
                numbers[name] += 1
                yield replace(sequence, name=f"probe {name} {numbers[name]}")
            elif done == likely:
                expected.add(likely)


def situations(protocol: Protocol) -> Iterator[Probe]:
    """Every situation, by its table: a replica and an event at it."""
    with_flag = protocol.pre_vote_compatibility is PreVoteCompatibility.RESPONSE_FLAG
    for table in (*REPLICATION.values(), *PROBES.values()):
        if table is PROBES["response without pre-vote"] and not with_flag:
            continue
        for cell in itertools.product(*table.columns.values()):
            found = table.situation(dict(zip(table.columns, cell, strict=True)))
            if found is not None:
                yield table.name, *found


def _likely(protocol: Protocol, replica: Replica, event: Event | str) -> Summary:
    """The result of the reference if the replica is in exactly this state."""
    asked = "start" if isinstance(event, str) else event
    before = replica if isinstance(event, str) else expecting_answer(replica, event)
    outcome = ask(protocol, before, asked).outcome  # type: ignore[arg-type]
    if isinstance(event, str):
        return _summary(None, "start", outcome)
    return _summary(replica, f"{type(event).__name__} {_compared(replica, event)}", outcome)


def _compared(replica: Replica, event: Event) -> str:
    """The comparison of a Fetch response's content with the log; few rules decide many cases."""
    fetched = isinstance(event, ResponseReceived) and isinstance(event.response, FetchResponse)
    return situation(replica, event) if fetched else ""


def _summary(before: Replica | None, kind: str, outcome: Outcome) -> Summary:
    role = "none" if before is None else role_name(before.role)
    return role, kind, *outcome.rules, *map(_kind, outcome.effects)


def _kind(effect: Effect) -> str:
    if isinstance(effect, ArmTimer):
        return f"{effect.timer} {effect.duration}"
    return type(effect).__name__


def _probed(sequence: DriveSequence) -> Summary | None:
    """The result in the sequence, at the probed step."""
    for question in Asking(sequence).questions():
        if question.position == len(sequence.stimuli) - len(_AFTERWARDS) - 1:
            assert question.outcome is not None
            if question.before is None or isinstance(question.event, Start | Crash):
                return _summary(None, "start", question.outcome)
            kind = f"{type(question.event).__name__} {_compared(question.before, question.event)}"
            return _summary(question.before, kind, question.outcome)
    return None


def _sequences(protocol: Protocol, replica: Replica, event: Event | str) -> Iterator[DriveSequence]:
    """The sequence of a probe, if a path to its situation is known."""
    identity = replace(
        replica, endpoints=replica.endpoints or (Endpoint("CONTROLLER", f"node-{replica.id}", 9093),)
    )
    if isinstance(event, str):
        state = None if replica.quorum_state == QuorumState() else replica.quorum_state
        disk = Disk(state, replica.log, replica.log.end_offset)
        yield DriveSequence("", protocol, identity, disk, (Start(), *_AFTERWARDS))
        return
    disk, opening = approach(protocol, identity, expecting_answer(replica, event))
    if opening is not None:
        yield DriveSequence("", protocol, identity, disk, (*opening, event, *_AFTERWARDS))
