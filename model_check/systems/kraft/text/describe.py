"""Replicas and events printed in the short form; what it cannot express is refused or left out."""

from __future__ import annotations

from collections.abc import Callable

from kraftcheck.reference import transitions
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import (
    Append,
    BackoffExpired,
    CreateSnapshot,
    Event,
    FetchWaitExpired,
    Poll,
    RequestReceived,
    RequestTimedOut,
    Resign,
    ResponseReceived,
    UpgradeKRaftVersion,
)
from kraftcheck.reference.log import EpochEnd, LeaderChange, Value
from kraftcheck.reference.messages import (
    METADATA_PARTITION,
    AlterQuorumRequest,
    BeginQuorumEpochRequest,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    FindQuorumRequest,
    Message,
    Request,
    Response,
    UpdateRaftVoterRequest,
    VoteRequest,
    VoteResponse,
)
from kraftcheck.reference.replica import Candidate, Follower, Leader, Prospective, Replica, Resigned
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft.text import describe_quorum as short_describe
from kraftcheck.systems.kraft.text import log as short_log
from kraftcheck.systems.kraft.text import quorum as short_quorum
from kraftcheck.systems.kraft.text import snapshot as short_snapshot
from kraftcheck.systems.kraft.text import voter_change as short_voter_change
from kraftcheck.systems.kraft.text.event import default_leader, parse_event
from kraftcheck.systems.kraft.text.quorum import QuorumRequest, QuorumResponse
from kraftcheck.systems.kraft.text.replica import endpoint_of, epoch_start, leader_endpoints, parse_replica
from kraftcheck.systems.kraft.text.voter_change import ChangeRequest, ChangeResponse
from kraftcheck.systems.kraft.text.words import (
    INT32,
    NoShortForm,
    print_endpoints,
    print_key,
    print_keys,
    print_numbers,
    print_position,
)

#: Requests that give the key of their sender.
_REPLICA_REQUESTS = FetchRequest | FetchSnapshotRequest | FindQuorumRequest


def reads_back(parse: Callable[[], object], value: object) -> bool:
    """Whether ``parse`` gives exactly ``value``."""
    try:
        return parse() == value
    except InputError:
        return False


def print_replica(replica: Replica) -> str:
    """The short form of ``replica``. Raises NoShortForm if it does not express all of it."""
    text = describe_replica(replica)
    if not reads_back(lambda: parse_replica(text), replica):
        raise NoShortForm(
            f"replica {replica.id}: the short form cannot express all of it; use its JSON form."
        )
    return text


def describe_replica(replica: Replica) -> str:
    """``replica`` as far as the short form can express it. Raises NoShortForm if a name has a blank in it."""
    head = transitions.role_name(replica.role).lower()
    words = [head, f"id={print_key(replica.key)}"]
    state = replica.quorum_state
    voters = print_keys(voter.key for voter in replica.bootstrap_voters.voters)
    _add(words, "voters", voters, "1,2,3")
    words.append(f"epoch={state.epoch}")
    if head in ("unattached", "prospective", "follower"):
        _add(words, "leader", "none" if state.leader is None else str(state.leader), "none")
        _add(words, "voted", "none" if state.voted is None else print_key(state.voted), "none")
    words += _role_words(replica)
    _add(words, "log", short_log.describe_log(replica.log), "none")
    _add(words, "hw", "none" if replica.high_watermark is None else str(replica.high_watermark), "none")
    words += _volatile_words(replica)
    if any(len(word.split()) != 1 for word in words):
        raise NoShortForm(
            f"replica {replica.id}: the short form has no blanks inside a word; use its JSON form."
        )
    return " ".join(words)


def _add(words: list[str], key: str, value: str, default: str) -> None:
    if value != default:
        words.append(f"{key}={value}")


def _role_words(replica: Replica) -> list[str]:
    role = replica.role
    words: list[str] = []
    others = tuple(voter for voter in replica.voters.ids if voter != replica.id)
    if isinstance(role, Prospective | Candidate):
        _add(words, "electorate", print_numbers(role.election.voters), print_numbers(replica.voters.ids))
        words.append(f"granted={print_numbers(role.election.granted)}")
        _add(words, "rejected", print_numbers(role.election.rejected), "none")
    if isinstance(role, Prospective | Follower):
        usual = print_endpoints(leader_endpoints(replica))
        _add(words, "endpoints", print_endpoints(role.leader_endpoints), usual)
    if isinstance(role, Follower) and role.has_fetched:
        words.append("fetched")
    if isinstance(role, Leader):
        words += _leader_words(replica, role)
    if isinstance(role, Resigned):
        _add(words, "unacked", print_numbers(role.unacknowledged), print_numbers(others))
        keys = {voter.key.id: voter.key for voter in replica.voters.voters}
        usual = print_keys(keys[voter] for voter in others)
        _add(words, "successors", print_keys(role.preferred_successors), usual)
    return words


def _leader_words(replica: Replica, role: Leader) -> list[str]:
    words: list[str] = []
    _add(words, "start", str(role.epoch_start_offset), str(epoch_start(replica)))
    _add(words, "granting", print_numbers(role.granting_voters), print_numbers(replica.voters.ids))
    wrote = bool(replica.log.batches) and replica.log.batches[-1].epoch == replica.epoch
    own = replica.log.end_offset if wrote else None
    told: list[tuple[int, int | None]] = [
        (entry.id, entry.end_offset) for entry in role.progress if entry.end_offset is not None
    ]
    if own is not None and (replica.id, own) not in told:
        told += [] if replica.id in dict(told) else [(replica.id, None)]
    told = [pair for pair in told if pair != (replica.id, own)]
    pairs = ",".join(f"{voter}:{'-' if end is None else end}" for voter, end in told)
    _add(words, "progress", pairs or "none", "none")
    silent = [entry for entry in role.progress if entry.end_offset is None and entry.id != replica.id]
    acked = print_numbers(entry.id for entry in silent if entry.acknowledged)
    _add(words, "acked", acked, "none")
    opening = any(isinstance(record, LeaderChange) for records in role.pending[:1] for record in records)
    values = [
        str(record.value) for records in role.pending for record in records if isinstance(record, Value)
    ]
    pending = ",".join((["opening"] if opening else []) + values) or "none"
    _add(words, "pending", pending, "none" if wrote else "opening")
    _add(words, "contacts", print_numbers(role.contacts), "none")
    return words + (["resign-requested"] if role.resign_requested else [])


def _volatile_words(replica: Replica) -> list[str]:
    words: list[str] = []
    waiting = [each for each in replica.connections if each.awaiting]
    pairs = (str(each.node) + _colon(each.correlation) for each in waiting)
    _add(words, "awaiting", ",".join(pairs) or "none", "none")
    _add(
        words,
        "backoff",
        print_numbers(each.node for each in replica.connections if not each.awaiting),
        "none",
    )
    parked = (f"{each.source}:{each.request.offset}{_colon(each.correlation)}" for each in replica.parked)
    _add(words, "parked", ",".join(parked) or "none", "none")
    _add(words, "next-correlation", _colon(replica.next_correlation)[1:] or "none", "none")
    usual = print_endpoints(replica.bootstrap_voters.endpoints(replica.id))
    _add(words, "listens", print_endpoints(replica.endpoints), usual)
    _add(words, "kraft", str(replica.bootstrap_kraft_version), "0")
    _add(words, "max-kraft", str(replica.max_kraft_version), str(replica.bootstrap_kraft_version))
    if replica.cluster_id is not None:
        words.append(f"cluster={replica.cluster_id}")
    words += ["shutting-down"] if replica.shutting_down else []
    return words + ([] if replica.can_become_voter else ["broker"])


def _colon(correlation: int | None) -> str:
    return "" if correlation is None else f":{correlation}"


# Events.


def print_event(event: Event, replica: Replica) -> str:
    """The short form of ``event`` as it happens to ``replica``. Raises NoShortForm if there is none."""
    text = describe_event(event, replica)
    if not reads_back(lambda: parse_event(text, replica), event):
        raise NoShortForm(f"{text.split()[0]}: the short form cannot express all of it; use its JSON form.")
    return text


def describe_event(event: Event, replica: Replica) -> str:
    """``event`` as far as the short form can express it."""
    if isinstance(event, RequestReceived):
        words = describe_request(event.request, event.source)
        sender = sender_of(event.request)
        _add(words, "source", str(event.source), str(event.source if sender is None else sender))
    elif isinstance(event, ResponseReceived):
        words = [head_of(event.response), f"from={event.source}"]
        words += describe_response(event.response, default_leader(replica, event.source))
    else:
        return " ".join(_local_words(event))
    _add(words, "correlation", _optional(event.correlation), "none")
    _add(words, "now", _optional(event.now), "none")
    return " ".join(words)


def _local_words(event: Event) -> list[str]:
    if isinstance(event, Poll):
        words = ["poll"]
        _add(words, "expired", ",".join(timer.value for timer in event.expired) or "none", "none")
        _add(words, "discovery", _optional(event.discovery), "none")
        _add(words, "now", _optional(event.now), "none")
        return words
    if isinstance(event, RequestTimedOut | BackoffExpired):
        return ["timeout" if isinstance(event, RequestTimedOut) else "backoff-expired", f"node={event.node}"]
    if isinstance(event, FetchWaitExpired):
        words = ["fetch-wait-expired", f"from={event.source}"]
        _add(words, "correlation", _optional(event.correlation), "none")
        return words
    if isinstance(event, Append):
        return ["append", print_numbers(event.values), f"epoch={event.epoch}"]
    if isinstance(event, CreateSnapshot):
        return short_snapshot.describe_create(event)
    if isinstance(event, UpgradeKRaftVersion):
        return ["upgrade-kraft-version", f"epoch={event.epoch}", f"version={event.version}"]
    return ["resign", f"epoch={event.epoch}"] if isinstance(event, Resign) else ["shutdown"]


def head_of(message: Message) -> str:
    """The head word of a message: ``VoteRequest`` is ``vote-request``."""
    name = type(message).__name__
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name)[1:]


def sender_of(request: Request) -> int | None:
    """The id that a request gives for its sender, if it gives one."""
    if isinstance(request, UpdateRaftVoterRequest):
        return request.voter.id
    if isinstance(request, ChangeRequest | AlterQuorumRequest | DescribeQuorumRequest):
        return None
    if isinstance(request, VoteRequest):
        return request.candidate.id
    return request.replica.id if isinstance(request, _REPLICA_REQUESTS) else request.leader


def describe_request(request: Request, source: int | None = None) -> list[str]:
    """The words of a request, its head first; ``source`` sent it, where its content does not say so."""
    words = [head_of(request)]
    if isinstance(request, ChangeRequest):
        return words + short_voter_change.describe_request(request, source)
    if isinstance(request, DescribeQuorumRequest):
        return words + short_describe.describe_request(request, source)
    if isinstance(request, QuorumRequest):
        return words + short_quorum.describe_request(request, source)
    if isinstance(request, VoteRequest):
        words += [f"from={print_key(request.candidate)}", f"epoch={request.epoch}"]
        words.append(f"last={print_position(EpochEnd(request.last_epoch, request.end_offset))}")
        words += ["pre-vote"] if request.pre_vote else []
    elif isinstance(request, FetchSnapshotRequest):
        words += short_snapshot.describe_request(request)
    elif isinstance(request, FetchRequest):
        words += [f"from={print_key(request.replica)}", f"epoch={request.epoch}", f"offset={request.offset}"]
        words.append(f"last-epoch={request.last_epoch}")
        _add(words, "hw", _optional(request.high_watermark), "none")
        _add(words, "max-wait", str(request.max_wait_ms), "500")
    else:
        words += [f"from={request.leader}", f"epoch={request.epoch}"]
        begins = isinstance(request, BeginQuorumEpochRequest)
        usual = endpoint_of(request.leader) if begins and abs(request.leader) <= INT32 else ()
        _add(words, "endpoints", print_endpoints(request.leader_endpoints), print_endpoints(usual))
    if isinstance(request, EndQuorumEpochRequest):
        _add(words, "successors", print_keys(request.preferred_successors), "none")
    if isinstance(request, VoteRequest | BeginQuorumEpochRequest) and request.voter is not None:
        words.append(f"to={print_key(request.voter)}")
    if request.cluster_id is not None:
        words.append(f"cluster={request.cluster_id}")
    _add(words, "partition", request.partition, METADATA_PARTITION)
    return words


def describe_response(response: Response, usual_leader: int | None = None) -> list[str]:
    """The words of a response after its head and sender; records are told by number and epoch only."""
    if isinstance(response, ChangeResponse):
        return short_voter_change.describe_response(response)
    if isinstance(response, DescribeQuorumResponse):
        return short_describe.describe_response(response)
    if isinstance(response, QuorumResponse):
        return short_quorum.describe_response(response)
    words = [f"epoch={response.epoch}"]
    leader = response.leader
    fetched = isinstance(response, FetchResponse | FetchSnapshotResponse)
    _add(words, "leader", _optional(leader), _optional(usual_leader if fetched else None))
    usual = () if leader is None or not 0 <= leader <= INT32 else endpoint_of(leader)
    _add(words, "endpoints", print_endpoints(response.leader_endpoints), print_endpoints(usual))
    _add(words, "error", response.partition_error.name, ErrorCode.NONE.name)
    _add(words, "top-error", response.error.name, ErrorCode.NONE.name)
    if isinstance(response, VoteResponse):
        words += ["granted"] if response.granted else []
        if response.pre_vote is not None:
            words.append("pre-vote=" + ("yes" if response.pre_vote else "no"))
    if isinstance(response, FetchResponse):
        _add(words, "hw", _optional(response.high_watermark), "none")
        if response.batches:
            base = response.batches[0].base_offset
            words.append(f"records={base}:{short_log.describe_batches(response.batches)}")
        if response.diverging is not None:
            words.append(f"diverging={print_position(response.diverging)}")
        _add(words, "log-start", str(response.log_start_offset), "0")
        words += (
            [] if response.snapshot is None else [f"snapshot={short_snapshot.print_id(response.snapshot)}"]
        )
    if isinstance(response, FetchSnapshotResponse):
        words += short_snapshot.describe_response(response)
    return words


def _optional(number: int | None) -> str:
    return "none" if number is None else str(number)
