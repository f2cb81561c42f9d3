"""Events and messages in the short form: ``vote-request from=2 epoch=6 last=4@2 pre-vote``.

The parts that an event leaves out come from its replica: ``epoch`` is the replica's own, the records of a
Fetch response continue its log, and a Fetch response from its leader names that leader. An event that these
words cannot express is printed field by field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from kraftcheck.reference import events, messages
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


# The words.

_DESCRIPTIONS = listed(
    one_word("a replica and three numbers", _read_description, _description, "descriptions of replicas"),
    commas=True,
    example="2:5:1000:-",
)
#: By key the words whose field has another name, or of which the type of the field does not say everything.
_WORDS: Mapping[str, Word] = {
    word.key: word
    for word in (
        Word("epoch", default=_own_epoch, always=True),
        Word("last", ("end_offset", "last_epoch"), LAST, default=(0, 0), always=True),
        Word("to", ("voter",), default=None),
        Word("voter", default=ReplicaKey(-1), always=True),
        Word("endpoints", ("leader_endpoints",), default=_listens("leader")),
        Word("successors", ("preferred_successors",), default=()),
        Word("pre-vote", default=False),
        Word("offset", default=0, always=True),
        Word("last-epoch", default=0, always=True),
        Word("position", default=0, always=True),
        Word("hw", ("high_watermark",), default=None),
        Word("max-wait", ("max_wait_ms",), default=500),
        Word("max-bytes", default=1048576),
        Word("timeout", ("timeout_ms",)),
        Word("ack-when-appended", ("ack_when_committed",), switch(inverted=True)),
        Word("kraft", ("min_kraft_version", "max_kraft_version"), KRAFT_RANGE, default=(0, 1), always=True),
        Word("records", ("batches",), short_log.RECORDS),
        Word("log-start", ("log_start_offset",)),
        Word("cluster", ("cluster_id",)),
        Word("error", ("partition_error",)),
        Word("top-error", ("error",)),
        Word("at", ("id",), default=SnapshotId(0, 0), always=True),
        Word("values", is_first=True),
        Word("version", syntax=KRAFT_VERSION, default=1, always=True),
    )
}
_RETURNED = "epoch leader endpoints error top-error"
#: The words of each class in the order in which they are printed; ``key=field`` where the field is another.
_OF_MESSAGES: Mapping[type, str] = {
    messages.VoteRequest: "from=candidate epoch last pre-vote to cluster partition",
    messages.BeginQuorumEpochRequest: "from=leader epoch endpoints to cluster partition",
    messages.EndQuorumEpochRequest: "from=leader epoch endpoints successors cluster partition",
    messages.FetchRequest: "from=replica epoch offset last-epoch hw max-wait cluster partition",
    messages.FetchSnapshotRequest: "from=replica epoch snapshot position max-bytes cluster partition",
    messages.AddRaftVoterRequest: "voter endpoints=endpoints timeout ack-when-appended cluster",
    messages.RemoveRaftVoterRequest: "voter cluster",
    messages.UpdateRaftVoterRequest: "from=voter epoch kraft endpoints=endpoints cluster",
    messages.ApiVersionsRequest: "",
    messages.DescribeQuorumRequest: "partition",
    messages.AlterQuorumRequest: "target cluster",
    messages.FindQuorumRequest: "from=replica endpoints=endpoints",
    messages.VoteResponse: f"{_RETURNED} granted pre-vote",
    messages.BeginQuorumEpochResponse: _RETURNED,
    messages.EndQuorumEpochResponse: _RETURNED,
    messages.FetchResponse: f"{_RETURNED} hw records diverging log-start snapshot",
    messages.FetchSnapshotResponse: f"{_RETURNED} snapshot position length size",
    messages.AddRaftVoterResponse: "error=error",
    messages.RemoveRaftVoterResponse: "error=error",
    messages.UpdateRaftVoterResponse: _RETURNED,
    messages.ApiVersionsResponse: "kraft error=error",
    messages.DescribeQuorumResponse: "error top-error epoch leader hw voters observers",
    messages.AlterQuorumResponse: "error=error",
    messages.FindQuorumResponse: "epoch leader endpoints voters target error top-error",
}
_OF_EVENTS: Mapping[str, tuple[type, str]] = {
    "poll": (events.Poll, "expired discovery now"),
    "timeout": (events.RequestTimedOut, "node"),
    "backoff-expired": (events.BackoffExpired, "node"),
    "fetch-wait-expired": (events.FetchWaitExpired, "from=source correlation"),
    "append": (events.Append, "values epoch"),
    "resign": (events.Resign, "epoch"),
    "upgrade-kraft-version": (events.UpgradeKRaftVersion, "epoch version"),
    "create-snapshot": (events.CreateSnapshot, "at size values delete-prefix"),
    "shutdown": (events.Shutdown, ""),
}
_FOLLOWED = Word("leader", default=_followed_sender)
#: Words that are others in single classes.
_OWN_WORDS: Mapping[type, tuple[Word, ...]] = {
    messages.EndQuorumEpochRequest: (Word("endpoints", ("leader_endpoints",)),),
    messages.FetchSnapshotRequest: (Word("snapshot", default=SnapshotId(0, 0), always=True),),
    messages.AddRaftVoterRequest: (Word("endpoints", default=_listens("voter")),),
    messages.UpdateRaftVoterRequest: (Word("endpoints", default=_listens("voter")),),
    messages.AlterQuorumRequest: (Word("target", default=None),),
    messages.FindQuorumRequest: (Word("endpoints", default=_listens("replica")),),
    messages.VoteResponse: (Word("pre-vote", syntax=optional(switch())),),
    messages.FetchResponse: (_FOLLOWED,),
    messages.FetchSnapshotResponse: (_FOLLOWED, Word("position")),
    messages.ApiVersionsResponse: (
        Word("kraft", ("kraft_versions",), optional(KRAFT_RANGE), default=(0, 1), always=True),
    ),
    messages.DescribeQuorumResponse: (
        Word("epoch", always=_tells_leader),
        Word("leader", always=_tells_leader),
        Word("hw", ("high_watermark",), always=_succeeds),
        Word("voters", syntax=_DESCRIPTIONS, always=_succeeds),
        Word("observers", syntax=_DESCRIPTIONS, always=_succeeds),
    ),
    messages.FindQuorumResponse: (Word("voters", syntax=VOTERS),),
    events.CreateSnapshot: (Word("size", syntax=number(1, INT64, "455"), always=True), Word("values")),
}


def _form(name: str, kind: type, keys: str) -> Form:
    """The form of a class with these words."""
    own = {word.key: word for word in _OWN_WORDS.get(kind, ())}
    words = []
    for each in keys.split():
        key, _, field = each.partition("=")
        known = own.get(key) or (Word(key, (field,)) if field else _WORDS.get(key, Word(key)))
        words.append(known)
    return form(name, kind, STYLE, *words)


_NAMES = {kind: name for name, (kind, _) in _OF_EVENTS.items()}
_MESSAGES: Mapping[str, type] = {name_of(kind): kind for kind in _OF_MESSAGES}
_FIELD_BY_FIELD = {name_of(kind): kind for kind in (events.RequestReceived, events.ResponseReceived)}
_ARRIVAL = tuple(_form("", events.RequestReceived, "from=source correlation now").words.values())


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


_OWN: Mapping[type, Form] = {kind: _form(name_of(kind), kind, keys) for kind, keys in _OF_MESSAGES.items()}
FORMS: Mapping[str, Form] = {
    **{own.name: _arriving(own) for own in _OWN.values()},
    **{name: _form(name, kind, keys) for name, (kind, keys) in _OF_EVENTS.items()},
}


# Reading.


def parse_event(text: str, replica: Replica, what: str = "event") -> events.Event:
    """The event that ``text`` describes, as it happens to ``replica``. Raises InputError, which names it as
    ``what``.
    """
    try:
        name, words = short_form.head_and_words(text, {**FORMS, **_FIELD_BY_FIELD}, EXAMPLE)
        if name in _FIELD_BY_FIELD:
            event: events.Event = short_form.read_object(STYLE, _FIELD_BY_FIELD[name], words)
            return event
        return _read(FORMS[name], words, replica)
    except Mismatch as error:
        raise error.error(what) from None


def _read(wanted: Form, words: list[str], replica: Replica) -> events.Event:
    given = read_words(wanted, words)
    fields = Fields(wanted, given, About(replica, given.get("source"))).all()
    if wanted.name in _OF_EVENTS:
        event: events.Event = _OF_EVENTS[wanted.name][0](**fields)
        return event
    arrival = {name: fields.pop(name) for name in ("source", "correlation", "now")}
    if isinstance(fields.get("batches"), short_log.Records):
        openings = short_log.openings_by(fields["leader"], fields["epoch"], replica)
        fields["batches"] = short_log.batches_after(replica.log, fields["batches"], openings)
    message = _MESSAGES[wanted.name](**fields)
    if isinstance(message, get_args(Request)):
        return events.RequestReceived(request=message, **arrival)
    return events.ResponseReceived(response=message, **arrival)


# Printing.


def print_event(event: events.Event, replica: Replica) -> str:
    """The short form of ``event`` as it happens to ``replica``: it parses back to the same event."""
    text = describe_event(event, replica)
    try:
        exact = (
            not isinstance(event, events.RequestReceived | events.ResponseReceived)
            or parse_event(text, replica) == event
        )
    except InputError:
        exact = False
    return text if exact else short_form.describe(event, STYLE)


def describe_event(event: events.Event, replica: Replica) -> str:
    """``event`` in short, without the contents of records and snapshots."""
    if not isinstance(event, events.RequestReceived | events.ResponseReceived):
        wanted = FORMS[_NAMES[type(event)]]
        return " ".join([wanted.name, *show_words(wanted, _fields(event), STYLE, About(replica))])
    message = event.request if isinstance(event, events.RequestReceived) else event.response
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
