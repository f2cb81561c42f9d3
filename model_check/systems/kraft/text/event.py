"""Events and messages in the short form: ``vote-request from=2 epoch=6 last=4@2 pre-vote``.

The parts that an event leaves out come from its replica: ``epoch`` is the replica's own, the records of a
Fetch response continue its log, and a Fetch response from its leader names that leader. An event that these
words cannot express is printed field by field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from kraftcheck.reference import messages
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
    Shutdown,
    UpgradeKRaftVersion,
)
from kraftcheck.reference.log import SnapshotId
from kraftcheck.reference.messages import Message, Request
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.types import INT64
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.support.errors import InputError
from kraftcheck.systems import short_form
from kraftcheck.systems.kraft.text import log as short_log
from kraftcheck.systems.kraft.text.style import (
    ANY,
    KEY,
    KRAFT_RANGE,
    KRAFT_VERSION,
    LAST,
    STYLE,
    VOTERS,
    print_key,
    usual_endpoints,
)
from kraftcheck.systems.short_form import Fields, Form, Word, form, name_of, read_words, show_words
from kraftcheck.systems.syntax import Mismatch, listed, number, one_word, optional, switch

EXAMPLE = "vote-request from=2 epoch=6 last=4@2"


@dataclass(frozen=True, slots=True)
class About:
    """The context of a message's defaults: the replica that receives it, and the node that sent it."""

    replica: Replica | None = None
    source: int | None = None


def _own_epoch(fields: Mapping[str, Any], about: About) -> int:
    assert about.replica is not None
    return about.replica.epoch


def _followed_sender(fields: Mapping[str, Any], about: About) -> int | None:
    """A Fetch response names its sender as the leader if the replica follows it."""
    followed = about.replica is not None and about.replica.quorum_state.leader == about.source
    return about.source if followed else None


def _listens(field: str) -> Callable[[Mapping[str, Any], Any], Any]:
    """The usual endpoints of the replica that a field names."""

    def usual(fields: Mapping[str, Any], about: Any) -> Any:
        named = fields[field]
        return usual_endpoints(named.id if isinstance(named, ReplicaKey) else named)

    return usual


def _description(replica: messages.ReplicaDescription) -> str:
    known = (replica.end_offset, replica.last_fetch_time, replica.last_caught_up_time)
    return ":".join([print_key(replica.key), *("-" if value is None else str(value) for value in known)])


def _read_description(text: str) -> messages.ReplicaDescription | None:
    key, *rest = text.split(":")
    if len(rest) != 3:
        return None
    numbers = (None if part == "-" else ANY.read(part) for part in rest)
    return messages.ReplicaDescription(KEY.read(key), *numbers)


def _succeeds(fields: Mapping[str, Any]) -> bool:
    return not fields["partition_error"] and not fields["error"]


def _tells_leader(fields: Mapping[str, Any]) -> bool:
    return _succeeds(fields) or fields["leader"] is not None


# The words of messages, in the order in which they are printed.

_EPOCH = Word("epoch", default=_own_epoch, always=True)
_CLUSTER, _PARTITION = Word("cluster", ("cluster_id",)), Word("partition")
_TO = Word("to", ("voter",), default=None)
_VOTER = Word("voter", default=ReplicaKey(-1), always=True)
_ERROR, _TOP_ERROR = Word("error", ("partition_error",)), Word("top-error", ("error",))
_ONLY_ERROR = Word("error")
_LISTENS = Word("endpoints", ("leader_endpoints",), default=_listens("leader"))
_ANSWER = (_EPOCH, Word("leader"), _LISTENS, _ERROR, _TOP_ERROR)
_FETCHED = (_EPOCH, Word("leader", default=_followed_sender), _LISTENS, _ERROR, _TOP_ERROR)
_HIGH_WATERMARK = Word("hw", ("high_watermark",), default=None)
_DESCRIPTIONS = listed(
    one_word("a replica and three numbers", _read_description, _description, "descriptions of replicas"),
    commas=True,
    example="2:5:1000:-",
)


def _from(field: str) -> Word:
    return Word("from", (field,))


def _count(key: str) -> Word:
    return Word(key, default=0, always=True)


_WORDS: Mapping[type, tuple[Word, ...]] = {
    messages.VoteRequest: (
        _from("candidate"),
        _EPOCH,
        Word("last", ("end_offset", "last_epoch"), LAST, default=(0, 0), always=True),
        Word("pre-vote", default=False),
        _TO,
        _CLUSTER,
        _PARTITION,
    ),
    messages.BeginQuorumEpochRequest: (_from("leader"), _EPOCH, _LISTENS, _TO, _CLUSTER, _PARTITION),
    messages.EndQuorumEpochRequest: (
        _from("leader"),
        _EPOCH,
        Word("endpoints", ("leader_endpoints",)),
        Word("successors", ("preferred_successors",), default=()),
        _CLUSTER,
        _PARTITION,
    ),
    messages.FetchRequest: (
        _from("replica"),
        _EPOCH,
        _count("offset"),
        _count("last-epoch"),
        _HIGH_WATERMARK,
        Word("max-wait", ("max_wait_ms",), default=500),
        _CLUSTER,
        _PARTITION,
    ),
    messages.FetchSnapshotRequest: (
        _from("replica"),
        _EPOCH,
        Word("snapshot", default=SnapshotId(0, 0), always=True),
        _count("position"),
        Word("max-bytes", default=1048576),
        _CLUSTER,
        _PARTITION,
    ),
    messages.AddRaftVoterRequest: (
        _VOTER,
        Word("endpoints", default=_listens("voter")),
        Word("timeout", ("timeout_ms",)),
        Word("ack-when-appended", ("ack_when_committed",), switch(inverted=True)),
        _CLUSTER,
    ),
    messages.RemoveRaftVoterRequest: (_VOTER, _CLUSTER),
    messages.UpdateRaftVoterRequest: (
        _from("voter"),
        _EPOCH,
        Word("kraft", ("min_kraft_version", "max_kraft_version"), KRAFT_RANGE, default=(0, 1), always=True),
        Word("endpoints", default=_listens("voter")),
        _CLUSTER,
    ),
    messages.ApiVersionsRequest: (),
    messages.DescribeQuorumRequest: (_PARTITION,),
    messages.AlterQuorumRequest: (Word("target", default=None), _CLUSTER),
    messages.FindQuorumRequest: (_from("replica"), Word("endpoints", default=_listens("replica"))),
    messages.VoteResponse: (*_ANSWER, Word("granted"), Word("pre-vote", syntax=optional(switch()))),
    messages.BeginQuorumEpochResponse: _ANSWER,
    messages.EndQuorumEpochResponse: _ANSWER,
    messages.FetchResponse: (
        *_FETCHED,
        _HIGH_WATERMARK,
        Word("records", ("batches",), short_log.RECORDS),
        Word("diverging"),
        Word("log-start", ("log_start_offset",)),
        Word("snapshot"),
    ),
    messages.FetchSnapshotResponse: (
        *_FETCHED,
        Word("snapshot"),
        Word("position"),
        Word("length"),
        Word("size"),
    ),
    messages.AddRaftVoterResponse: (_ONLY_ERROR,),
    messages.RemoveRaftVoterResponse: (_ONLY_ERROR,),
    messages.UpdateRaftVoterResponse: _ANSWER,
    messages.ApiVersionsResponse: (
        Word("kraft", ("kraft_versions",), optional(KRAFT_RANGE), default=(0, 1), always=True),
        _ONLY_ERROR,
    ),
    messages.DescribeQuorumResponse: (
        _ERROR,
        _TOP_ERROR,
        Word("epoch", always=_tells_leader),
        Word("leader", always=_tells_leader),
        Word("hw", ("high_watermark",), always=_succeeds),
        Word("voters", syntax=_DESCRIPTIONS, always=_succeeds),
        Word("observers", syntax=_DESCRIPTIONS, always=_succeeds),
    ),
    messages.AlterQuorumResponse: (_ONLY_ERROR,),
    messages.FindQuorumResponse: (
        _EPOCH,
        Word("leader"),
        _LISTENS,
        Word("voters", syntax=VOTERS),
        Word("target"),
        _ERROR,
        _TOP_ERROR,
    ),
}
_LOCAL: Mapping[str, tuple[type, tuple[Word, ...]]] = {
    "poll": (Poll, (Word("expired"), Word("discovery"), Word("now"))),
    "timeout": (RequestTimedOut, (Word("node"),)),
    "backoff-expired": (BackoffExpired, (Word("node"),)),
    "fetch-wait-expired": (FetchWaitExpired, (_from("source"), Word("correlation"))),
    "append": (Append, (Word("values", is_first=True), _EPOCH)),
    "resign": (Resign, (_EPOCH,)),
    "upgrade-kraft-version": (
        UpgradeKRaftVersion,
        (_EPOCH, Word("version", syntax=KRAFT_VERSION, default=1, always=True)),
    ),
    "create-snapshot": (
        CreateSnapshot,
        (
            Word("at", ("id",), default=SnapshotId(0, 0), always=True),
            Word("size", syntax=number(1, INT64, "455"), always=True),
            Word("values"),
            Word("delete-prefix"),
        ),
    ),
    "shutdown": (Shutdown, ()),
}
_NAMES = {kind: name for name, (kind, _) in _LOCAL.items()}
_MESSAGES: Mapping[str, type] = {name_of(kind): kind for kind in _WORDS}
_FIELD_BY_FIELD = {name_of(kind): kind for kind in (RequestReceived, ResponseReceived)}
_ARRIVAL = tuple(
    form("", RequestReceived, STYLE, _from("source"), Word("correlation"), Word("now")).words.values()
)


def _sender(field: str) -> Callable[[Mapping[str, Any], Any], int]:
    def sender(fields: Mapping[str, Any], about: Any) -> int:
        named = fields[field]
        return named.id if isinstance(named, ReplicaKey) else named

    return sender


def _arriving(own: Form) -> Form:
    """The words of a message that arrives: its own, and those of its arrival."""
    source, *rest = _ARRIVAL
    arrival = {word.key: word for word in rest}
    if "from" not in own.words:
        return Form(own.name, {source.key: source, **own.words, **arrival})
    source = Word("source", ("source",), ANY, default=_sender(own.words["from"].fields[0]))
    return Form(own.name, {**own.words, source.key: source, **arrival})


_OWN: Mapping[type, Form] = {kind: form(name_of(kind), kind, STYLE, *words) for kind, words in _WORDS.items()}
FORMS: Mapping[str, Form] = {
    **{own.name: _arriving(own) for own in _OWN.values()},
    **{name: form(name, kind, STYLE, *words) for name, (kind, words) in _LOCAL.items()},
}


# Reading.


def parse_event(text: str, replica: Replica, what: str = "event") -> Event:
    """The event that ``text`` describes, as it happens to ``replica``. Raises InputError, which names it as
    ``what``.
    """
    try:
        name, words = short_form.head_and_words(text, {**FORMS, **_FIELD_BY_FIELD}, EXAMPLE)
        if name in _FIELD_BY_FIELD:
            event: Event = short_form.read_object(STYLE, _FIELD_BY_FIELD[name], words)
            return event
        return _read(FORMS[name], words, replica)
    except Mismatch as error:
        raise error.error(what) from None


def _read(wanted: Form, words: list[str], replica: Replica) -> Event:
    given = read_words(wanted, words)
    fields = Fields(wanted, given, About(replica, given.get("source"))).all()
    if wanted.name in _LOCAL:
        event: Event = _LOCAL[wanted.name][0](**fields)
        return event
    arrival = {name: fields.pop(name) for name in ("source", "correlation", "now")}
    if isinstance(fields.get("batches"), short_log.Records):
        openings = short_log.openings_by(fields["leader"], fields["epoch"], replica)
        fields["batches"] = short_log.batches_after(replica.log, fields["batches"], openings)
    message = _MESSAGES[wanted.name](**fields)
    if isinstance(message, get_args(Request)):
        return RequestReceived(request=message, **arrival)
    return ResponseReceived(response=message, **arrival)


# Printing.


def print_event(event: Event, replica: Replica) -> str:
    """The short form of ``event`` as it happens to ``replica``: it parses back to the same event."""
    text = describe_event(event, replica)
    try:
        exact = (
            not isinstance(event, RequestReceived | ResponseReceived) or parse_event(text, replica) == event
        )
    except InputError:
        exact = False
    return text if exact else short_form.describe(event, STYLE)


def describe_event(event: Event, replica: Replica) -> str:
    """``event`` in short, without the contents of records and snapshots."""
    if not isinstance(event, RequestReceived | ResponseReceived):
        wanted = FORMS[_NAMES[type(event)]]
        return " ".join([wanted.name, *show_words(wanted, _fields(event), STYLE, About(replica))])
    message = event.request if isinstance(event, RequestReceived) else event.response
    wanted = FORMS[name_of(type(message))]
    words = show_words(wanted, {**_fields(message), **_fields(event)}, STYLE, About(replica, event.source))
    return " ".join([wanted.name, *words])


def _fields(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in type(value).__struct_fields__}


def message_words(message: Message) -> list[str]:
    """The words of a message after its name; they include the sender where the content names it."""
    return show_words(_OWN[type(message)], _fields(message), STYLE, About())


def describe_message(message: Message) -> str:
    """A message in short, without the contents of records and snapshots."""
    return " ".join([name_of(type(message)), *message_words(message)])
