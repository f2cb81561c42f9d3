"""Pure functions of the protocol that vectors show by themselves: what a majority decides, and in which
version a request goes out.

They are what an implementation can be tested on before it has a replica that takes events.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from kraftcheck.reference import versions
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.messages import BeginQuorumEpochRequest, FetchRequest, Request, VoteRequest
from kraftcheck.reference.progress import advance_high_watermark
from kraftcheck.reference.protocol import KAFKA
from kraftcheck.reference.replica import Candidate, Election, Leader, Progress, QuorumState, Replica
from kraftcheck.reference.transitions import is_lost, is_won
from kraftcheck.reference.types import INT32
from kraftcheck.reference.voters import ReplicaKey, static_voters
from kraftcheck.reference.work import Work
from kraftcheck.support import codec
from kraftcheck.support.codec import Json
from kraftcheck.support.errors import InputError

ELECTION, HIGH_WATERMARK, VERSION = "election", "high-watermark", "request-version"
_MOST = 64


def call(name: str, arguments: Mapping[str, Json], where: str) -> tuple[Json, tuple[str, ...]]:
    """The result of the function ``name`` and the rules that decide it. Raises InputError.

    ``election``: of ``voters``, ``granted`` and ``rejected`` (ids): "won", "lost" or "undecided".
    ``high-watermark``: of ``ends`` (of each voter's log as its leader knows it, the leader's own included;
    null: not known), ``epoch_start`` (the leader's log end when it was elected) and ``high_watermark`` (null:
    not known yet): the high watermark afterwards.
    ``request-version``: of a ``request`` and the versions that its receiver has (``supported``: the oldest
    and the newest; null: none): the ``version`` in which it goes out, or the ``answer`` that its sender gives
    itself.
    """
    if name == ELECTION:
        voters, granted, rejected = (_ids(arguments, key, where) for key in ("voters", "granted", "rejected"))
        return _election(voters, granted, rejected)
    if name == HIGH_WATERMARK:
        ends = arguments.get("ends")
        if not isinstance(ends, list) or not 1 <= len(ends) <= _MOST:
            raise InputError(f"{where}.arguments.ends: expected an array of 1 to {_MOST} offsets.")
        known = [None if end is None else _number(end, f"{where}.arguments.ends") for end in ends]
        start = _number(arguments.get("epoch_start"), f"{where}.arguments.epoch_start")
        mark = arguments.get("high_watermark")
        before = None if mark is None else _number(mark, f"{where}.arguments.high_watermark")
        return _high_watermark(known, start, before)
    if name == VERSION:
        request = codec.decode(arguments.get("request"), Request, f"{where}.arguments.request")
        sending = versions.send(request, _range(arguments.get("supported"), f"{where}.arguments.supported"))
        if sending.answer is None:
            return {"version": sending.version}, sending.rules
        return {"answer": codec.encode(sending.answer)}, sending.rules
    raise InputError(f"{where}.function: expected {ELECTION}, {HIGH_WATERMARK} or {VERSION}.")


def _range(data: Json, where: str) -> tuple[int, int] | None:
    if data is None:
        return None
    if not isinstance(data, list) or len(data) != 2:
        raise InputError(f"{where}: expected null or an array of the oldest and the newest version.")
    low, high = (_number(each, where) for each in data)
    return low, high


def _number(data: Json, where: str) -> int:
    if type(data) is not int or not 0 <= data <= INT32:
        raise InputError(f"{where}: expected a number from 0 to {INT32}.")
    return data


def _ids(arguments: Mapping[str, Json], key: str, where: str) -> tuple[int, ...]:
    data = arguments.get(key)
    if not isinstance(data, list) or len(data) > _MOST:
        raise InputError(f"{where}.arguments.{key}: expected an array of at most {_MOST} ids.")
    return tuple(_number(each, f"{where}.arguments.{key}") for each in data)


def _election(
    voters: tuple[int, ...], granted: tuple[int, ...], rejected: tuple[int, ...]
) -> tuple[Json, tuple[str, ...]]:
    election = Candidate(Election(voters, granted, rejected)).election
    if is_won(election):
        return "won", ("DEF-2", "VOTE-3" if len(voters) == 1 else "VOTE-20")
    return ("lost", ("DEF-2", "VOTE-21")) if is_lost(election) else ("undecided", ("DEF-2", "VOTE-23"))


def _high_watermark(
    ends: list[int | None], epoch_start: int, high_watermark: int | None
) -> tuple[Json, tuple[str, ...]]:
    ids = range(1, len(ends) + 1)
    role = Leader(
        epoch_start, (1,), tuple(Progress(ReplicaKey(n), end) for n, end in zip(ids, ends, strict=True))
    )
    leader = Replica(ReplicaKey(1), static_voters(ids), QuorumState(1, 1), role=role)
    work = Work(KAFKA, replace(leader, high_watermark=high_watermark))
    advance_high_watermark(work)
    return work.replica.high_watermark, tuple(work.rules)


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
