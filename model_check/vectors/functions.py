"""Pure functions of the protocol that vectors show by themselves: what a majority decides, and in which
version a request goes out.

They are what an implementation can be tested on before it has a replica that takes events.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct

from kraftcheck.evidence.recordings.fields import typed
from kraftcheck.reference import replica as replicas
from kraftcheck.reference import versions
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.messages import BeginQuorumEpochRequest, FetchRequest, Request, VoteRequest
from kraftcheck.reference.progress import advance_high_watermark
from kraftcheck.reference.protocol import KAFKA
from kraftcheck.reference.replica import Candidate, Leader, Progress, QuorumState, Replica
from kraftcheck.reference.transitions import is_lost, is_won
from kraftcheck.reference.types import INT32
from kraftcheck.reference.voters import ReplicaKey, static_voters
from kraftcheck.reference.work import Work
from kraftcheck.support import codec
from kraftcheck.support.codec import Json
from kraftcheck.support.errors import InputError

ELECTION, HIGH_WATERMARK, VERSION = "election", "high-watermark", "request-version"

Number = Annotated[int, Meta(ge=0, le=INT32)]
Ids = Annotated[tuple[Number, ...], Meta(max_length=64)]
#: What a function gives, and the rules that decide it.
Result = tuple[Json, tuple[str, ...]]


class Election(Struct, forbid_unknown_fields=True):
    """An election, by the ids of its voters."""

    voters: Ids
    granted: Ids
    rejected: Ids

    def result(self, where: str) -> Result:
        """``won``, ``lost`` or ``undecided``."""
        election = Candidate(replicas.Election(self.voters, self.granted, self.rejected)).election
        if is_won(election):
            return "won", ("DEF-2", "VOTE-3" if len(self.voters) == 1 else "VOTE-20")
        return ("lost", ("DEF-2", "VOTE-21")) if is_lost(election) else ("undecided", ("DEF-2", "VOTE-23"))


class HighWatermark(Struct, forbid_unknown_fields=True):
    """A leader. ``ends``: of each voter's log as its leader knows it, the leader's own included (null: not
    known); ``epoch_start``: the leader's log end when it was elected; ``high_watermark``: null, if it is not
    known yet.
    """

    ends: Annotated[tuple[Number | None, ...], Meta(min_length=1, max_length=64)]
    epoch_start: Number
    high_watermark: Number | None

    def result(self, where: str) -> Result:
        """The high watermark afterwards."""
        ids = range(1, len(self.ends) + 1)
        known = zip(ids, self.ends, strict=True)
        role = Leader(self.epoch_start, (1,), tuple(Progress(ReplicaKey(n), end) for n, end in known))
        leader = Replica(ReplicaKey(1), static_voters(ids), QuorumState(1, 1), role=role)
        work = Work(KAFKA, replace(leader, high_watermark=self.high_watermark))
        advance_high_watermark(work)
        return work.replica.high_watermark, tuple(work.rules)


class RequestVersion(Struct, forbid_unknown_fields=True):
    """A request, and the oldest and the newest version that its receiver has (null: none)."""

    request: Any
    supported: tuple[Number, Number] | None

    def result(self, where: str) -> Result:
        """The ``version`` in which it goes out, or the ``answer`` that its sender gives itself."""
        request = codec.decode(self.request, Request, f"{where}.request")
        sending = versions.send(request, self.supported)
        if sending.answer is None:
            return {"version": sending.version}, sending.rules
        return {"answer": codec.encode(sending.answer)}, sending.rules


#: The functions by name, with their arguments.
FUNCTIONS = {ELECTION: Election, HIGH_WATERMARK: HighWatermark, VERSION: RequestVersion}


def call(name: str, arguments: Mapping[str, Json], where: str) -> Result:
    """The result of one of the FUNCTIONS and the rules that decide it. Raises InputError."""
    if name not in FUNCTIONS:
        raise InputError(f"{where}.function: expected {', '.join(FUNCTIONS)}.")
    given: Election | HighWatermark | RequestVersion
    given = typed(arguments, FUNCTIONS[name], f"{where}.arguments")
    return given.result(f"{where}.arguments")


def cases() -> Iterator[tuple[str, dict[str, Json]]]:
    """Arguments of a small domain: up to five voters, each way that they can have answered up to renaming."""
    for voters in range(1, 6):
        for granted in range(1, voters + 1):
            for rejected in range(voters - granted + 1):
                ids: list[Json] = [*range(1, voters + 1)]
                said = {"granted": ids[:granted], "rejected": ids[granted : granted + rejected]}
                yield ELECTION, {"voters": ids, **said}
    for count in range(1, 6):
        for others in itertools.combinations_with_replacement((None, 0, 2, 3, 4), count - 1):
            for start, mark in ((0, None), (2, None), (2, 3), (3, 2)):
                yield HIGH_WATERMARK, {"ends": [4, *others], "epoch_start": start, "high_watermark": mark}
    yield from _version_cases()


def _version_cases() -> Iterator[tuple[str, dict[str, Json]]]:
    """Requests to peers of every age."""
    sender, receiver = ReplicaKey(2, "B"), ReplicaKey(1, "A")
    for request in (
        VoteRequest(5, sender, receiver, 2, 4, False),
        VoteRequest(4, sender, receiver, 2, 4, True),
        BeginQuorumEpochRequest(5, 2, receiver, ()),
        FetchRequest(5, sender, 4, 2, 3, 500),
    ):
        oldest, newest = versions.RANGES[type(request)]
        ranges: list[Json] = [None, [newest + 1, newest + 2]]
        ranges += [[0, each] for each in range(oldest, newest + 3)]
        for supported in ranges:
            yield VERSION, {"request": codec.encode(request), "supported": supported}


def outcome_of(name: str, arguments: Mapping[str, Json], result: Json) -> str:
    """What came out of a function, as vectors count it; how many voters there are is a part of it."""
    if name == ELECTION:
        voters = arguments["voters"]
        return f"{result} of {len(voters) if isinstance(voters, list) else 0}"
    if name == VERSION:
        request = arguments["request"]
        kind = request["type"] if isinstance(request, dict) else None
        asked = " as a pre-vote" if isinstance(request, dict) and request.get("pre_vote") else ""
        goes_out = isinstance(result, dict) and "version" in result
        return f"{kind}{asked} {'goes out' if goes_out else 'is answered by its sender'}"
    ends = arguments["ends"]
    size = len(ends) if isinstance(ends, list) else 0
    return f"{'stays' if result == arguments['high_watermark'] else 'moves'} of {size}"
