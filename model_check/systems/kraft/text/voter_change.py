"""Messages that change the voter set, in the short form: ``add-raft-voter-request from=-1 voter=4/d4``.

AddRaftVoter and RemoveRaftVoter come from anybody (-1: a client that is no node); UpdateRaftVoter comes from
the voter itself. ``kraft=0-1`` is a range of kraft.version.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    ApiVersionsRequest,
    ApiVersionsResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
)
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.voters import Endpoint, ReplicaKey
from kraftcheck.systems.kraft.text.replica import endpoint_of
from kraftcheck.systems.kraft.text.words import (
    INT32,
    INT64,
    Grammar,
    Words,
    print_endpoints,
    print_key,
)

ERRORS: Mapping[str, ErrorCode] = {code.name: code for code in ErrorCode}

_ARRIVAL = {"from": "2", "correlation": "7", "now": "1000"}
_ASKED = _ARRIVAL | {"from": "-1", "voter": "4/d4", "cluster": "name"}
_ENDPOINTS = {"endpoints": "CONTROLLER://node-4:9093"}
_ERROR = {"error": "REQUEST_TIMED_OUT"}

GRAMMAR: Mapping[str, Grammar] = {
    "add-raft-voter-request": Grammar(_ASKED | _ENDPOINTS | {"timeout": "5000"}, ("ack-when-appended",)),
    "add-raft-voter-response": Grammar(_ARRIVAL | _ERROR),
    "remove-raft-voter-request": Grammar(_ASKED),
    "remove-raft-voter-response": Grammar(_ARRIVAL | _ERROR),
    "update-raft-voter-request": Grammar(
        _ARRIVAL
        | _ENDPOINTS
        | {"from": "2/d2", "source": "2", "epoch": "5", "kraft": "0-1", "cluster": "name"}
    ),
    "update-raft-voter-response": Grammar(
        _ARRIVAL | _ENDPOINTS | _ERROR | {"epoch": "5", "leader": "1", "top-error": "NONE"}
    ),
    "api-versions-request": Grammar(_ARRIVAL),
    "api-versions-response": Grammar(_ARRIVAL | _ERROR | {"kraft": "0-1"}),
}

#: Messages that name the replica that they are about, or nobody; the sender is not part of the content.
ChangeRequest = AddRaftVoterRequest | RemoveRaftVoterRequest | UpdateRaftVoterRequest | ApiVersionsRequest
ChangeResponse = (
    AddRaftVoterResponse | RemoveRaftVoterResponse | UpdateRaftVoterResponse | ApiVersionsResponse
)

_ANY = {"low": -INT64 - 1, "high": INT64}


def _usual(node: int) -> tuple[Endpoint, ...]:
    """Where a node listens if nothing else is said."""
    return endpoint_of(node) if 0 <= node <= INT32 else ()


def kraft_range(text: str) -> tuple[int, int] | None:
    """``0-1``, a range of kraft.version as the wire allows it."""
    match = re.fullmatch(r"(-?[0-9]{1,5})-(-?[0-9]{1,5})", text)
    return None if match is None else (int(match[1]), int(match[2]))


def _kraft(words: Words, default: tuple[int, int] | None) -> tuple[int, int] | None:
    if words.text("kraft", "") == "none":
        return None
    return words.read("kraft", kraft_range, default, "a smallest and a largest kraft.version")


def _voter(words: Words) -> ReplicaKey:
    return words.key("voter", None) or ReplicaKey(-1)


# Requests.


def _add_request(words: Words, replica: Replica, sender: ReplicaKey) -> ChangeRequest:
    voter = _voter(words)
    return AddRaftVoterRequest(
        voter,
        words.endpoints("endpoints", _usual(voter.id)),
        not words.has("ack-when-appended"),
        words.optional_text("cluster"),
        words.number("timeout", 0, **_ANY),
    )


def _remove_request(words: Words, replica: Replica, sender: ReplicaKey) -> ChangeRequest:
    return RemoveRaftVoterRequest(_voter(words), words.optional_text("cluster"))


def _update_request(words: Words, replica: Replica, sender: ReplicaKey) -> ChangeRequest:
    smallest, largest = _kraft(words, None) or (0, 1)
    return UpdateRaftVoterRequest(
        words.number("epoch", replica.epoch, **_ANY),
        sender,
        words.endpoints("endpoints", _usual(sender.id)),
        smallest,
        largest,
        words.optional_text("cluster"),
    )


def _api_versions_request(words: Words, replica: Replica, sender: ReplicaKey) -> ChangeRequest:
    return ApiVersionsRequest()


REQUESTS: Mapping[str, Callable[[Words, Replica, ReplicaKey], ChangeRequest]] = {
    "add-raft-voter-request": _add_request,
    "remove-raft-voter-request": _remove_request,
    "update-raft-voter-request": _update_request,
    "api-versions-request": _api_versions_request,
}


def describe_request(request: ChangeRequest, source: int | None) -> list[str]:
    """The words of a request after its head; ``source`` where the sender is not part of the content."""
    if isinstance(request, UpdateRaftVoterRequest):
        words = [f"from={print_key(request.voter)}", f"epoch={request.epoch}"]
        words.append(f"kraft={request.min_kraft_version}-{request.max_kraft_version}")
    else:
        words = [] if source is None else [f"from={source}"]
    if isinstance(request, AddRaftVoterRequest | RemoveRaftVoterRequest):
        words.append(f"voter={print_key(request.voter)}")
    if isinstance(request, AddRaftVoterRequest | UpdateRaftVoterRequest):
        shown = print_endpoints(request.endpoints)
        words += [] if request.endpoints == _usual(request.voter.id) else [f"endpoints={shown}"]
    if isinstance(request, AddRaftVoterRequest):
        words += [f"timeout={request.timeout_ms}"] if request.timeout_ms else []
        words += [] if request.ack_when_committed else ["ack-when-appended"]
    if not isinstance(request, ApiVersionsRequest) and request.cluster_id is not None:
        words.append(f"cluster={request.cluster_id}")
    return words


# Responses.


def _error(words: Words, key: str) -> ErrorCode:
    return words.member(key, ERRORS, ErrorCode.NONE)


def _add_response(words: Words, replica: Replica) -> ChangeResponse:
    return AddRaftVoterResponse(_error(words, "error"))


def _remove_response(words: Words, replica: Replica) -> ChangeResponse:
    return RemoveRaftVoterResponse(_error(words, "error"))


def _update_response(words: Words, replica: Replica) -> ChangeResponse:
    leader = words.optional_number("leader", None, **_ANY)
    return UpdateRaftVoterResponse(
        words.number("epoch", replica.epoch, **_ANY),
        leader,
        words.endpoints("endpoints", () if leader is None else _usual(leader)),
        _error(words, "error"),
        _error(words, "top-error"),
    )


def _api_versions_response(words: Words, replica: Replica) -> ChangeResponse:
    return ApiVersionsResponse(_kraft(words, (0, 1)), _error(words, "error"))


RESPONSES: Mapping[str, Callable[[Words, Replica], ChangeResponse]] = {
    "add-raft-voter-response": _add_response,
    "remove-raft-voter-response": _remove_response,
    "update-raft-voter-response": _update_response,
    "api-versions-response": _api_versions_response,
}


def describe_response(response: ChangeResponse) -> list[str]:
    """The words of a response after its head and sender."""
    words = []
    if isinstance(response, UpdateRaftVoterResponse):
        words = [f"epoch={response.epoch}"]
        usual = () if response.leader is None else _usual(response.leader)
        words += [] if response.leader is None else [f"leader={response.leader}"]
        if response.leader_endpoints != usual:
            words.append(f"endpoints={print_endpoints(response.leader_endpoints)}")
        words += [f"error={response.partition_error.name}"] if response.partition_error else []
        words += [f"top-error={response.error.name}"] if response.error else []
        return words
    if isinstance(response, ApiVersionsResponse):
        known = response.kraft_versions
        words.append("kraft=none" if known is None else f"kraft={known[0]}-{known[1]}")
    return words + ([f"error={response.error.name}"] if response.error else [])
