"""AlterQuorum and FindQuorum of KIP-595 in the short form: ``alter-quorum-request from=-1 target=4,5,6``.

``target=none`` is null: AlterQuorum cancels what is under way, FindQuorum knows of no target. Voters are told
by id or key; where they listen follows from their id.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.messages import (
    AlterQuorumRequest,
    AlterQuorumResponse,
    FindQuorumRequest,
    FindQuorumResponse,
)
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.voters import Endpoint, ReplicaKey, Voter, VoterSet
from kraftcheck.systems.kraft.text.replica import endpoint_of
from kraftcheck.systems.kraft.text.words import (
    INT32,
    INT64,
    Grammar,
    Words,
    items,
    number,
    print_endpoints,
    print_key,
    print_keys,
    print_numbers,
)

_ERRORS: Mapping[str, ErrorCode] = {code.name: code for code in ErrorCode}
_ARRIVAL = {"from": "2", "correlation": "7", "now": "1000"}
_ENDPOINTS = {"endpoints": "CONTROLLER://node-2:9093"}

GRAMMAR: Mapping[str, Grammar] = {
    "alter-quorum-request": Grammar(_ARRIVAL | {"from": "-1", "target": "4,5,6", "cluster": "name"}),
    "alter-quorum-response": Grammar(_ARRIVAL | {"error": "VOTER_NOT_FOUND"}),
    "find-quorum-request": Grammar(_ARRIVAL | _ENDPOINTS | {"source": "2"}),
    "find-quorum-response": Grammar(
        _ARRIVAL
        | _ENDPOINTS
        | {"epoch": "5", "leader": "1", "voters": "1,2,3", "target": "4,5,6"}
        | {"error": "NONE", "top-error": "UNSUPPORTED_VERSION"}
    ),
}

QuorumRequest = AlterQuorumRequest | FindQuorumRequest
QuorumResponse = AlterQuorumResponse | FindQuorumResponse

_ANY = {"low": -INT64 - 1, "high": INT64}


def _usual(node: int | None) -> tuple[Endpoint, ...]:
    return endpoint_of(node) if node is not None and 0 <= node <= INT32 else ()


def _voters(keys: tuple[ReplicaKey, ...]) -> VoterSet:
    return VoterSet(tuple(Voter(key, _usual(key.id)) for key in keys))


def _target(words: Words) -> tuple[int, ...] | None:
    if words.text("target", "none") == "none":
        return None
    expected = "replica ids separated by commas, 'empty', or 'none'"
    return words.read("target", _ids, None, expected)


def _ids(text: str) -> tuple[int, ...] | None:
    if text == "empty":
        return ()
    return items(text, lambda part: number(part, -INT64 - 1, INT64))


def _print_target(target: tuple[int, ...] | None) -> list[str]:
    if target is None:
        return []
    return [f"target={print_numbers(target) if target else 'empty'}"]


# Requests.


def _alter_request(words: Words, replica: Replica, sender: ReplicaKey) -> QuorumRequest:
    return AlterQuorumRequest(_target(words), words.optional_text("cluster"))


def _find_request(words: Words, replica: Replica, sender: ReplicaKey) -> QuorumRequest:
    return FindQuorumRequest(sender, words.endpoints("endpoints", _usual(sender.id)))


REQUESTS: Mapping[str, Callable[[Words, Replica, ReplicaKey], QuorumRequest]] = {
    "alter-quorum-request": _alter_request,
    "find-quorum-request": _find_request,
}


def describe_request(request: QuorumRequest, source: int | None) -> list[str]:
    """The words of a request after its head; ``source`` where the sender is not part of the content."""
    if isinstance(request, AlterQuorumRequest):
        words = [] if source is None else [f"from={source}"]
        words += _print_target(request.target)
        return words + ([] if request.cluster_id is None else [f"cluster={request.cluster_id}"])
    usual = request.endpoints == _usual(request.replica.id)
    words = [f"from={print_key(request.replica)}"]
    return words + ([] if usual else [f"endpoints={print_endpoints(request.endpoints)}"])


# Responses.


def _error(words: Words, key: str) -> ErrorCode:
    return words.member(key, _ERRORS, ErrorCode.NONE)


def _alter_response(words: Words, replica: Replica) -> QuorumResponse:
    return AlterQuorumResponse(_error(words, "error"))


def _find_response(words: Words, replica: Replica) -> QuorumResponse:
    leader = words.optional_number("leader", None, **_ANY)
    return FindQuorumResponse(
        words.number("epoch", replica.epoch, **_ANY),
        leader,
        _voters(words.replica_keys("voters", ())),
        _target(words),
        words.endpoints("endpoints", _usual(leader)),
        _error(words, "error"),
        _error(words, "top-error"),
    )


RESPONSES: Mapping[str, Callable[[Words, Replica], QuorumResponse]] = {
    "alter-quorum-response": _alter_response,
    "find-quorum-response": _find_response,
}


def describe_response(response: QuorumResponse) -> list[str]:
    """The words of a response after its head and sender."""
    if isinstance(response, AlterQuorumResponse):
        return [f"error={response.error.name}"] if response.error else []
    words = [f"epoch={response.epoch}"]
    words += [] if response.leader is None else [f"leader={response.leader}"]
    if response.leader_endpoints != _usual(response.leader):
        words.append(f"endpoints={print_endpoints(response.leader_endpoints)}")
    words += [f"voters={print_keys(response.voters.keys)}"] if response.voters.voters else []
    words += _print_target(response.target)
    words += [f"error={response.partition_error.name}"] if response.partition_error else []
    return words + ([f"top-error={response.error.name}"] if response.error else [])
