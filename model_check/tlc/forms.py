"""States of replicas as states of ``tla/KRaft.tla``: the table "Values" of ``tla/README.md``, carried out.

Whatever the modules have no form for (snapshots, parked fetches, replaced disks, ...) raises
:class:`~kraftcheck.tlc.values.NoFormError`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import cast

from kraftcheck.engine.system import GlobalState
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.log import Batch, KRaftVersion, LeaderChange, Log, Record, Voters
from kraftcheck.reference.log import Value as LogValue
from kraftcheck.reference.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    Message,
    VoteRequest,
    VoteResponse,
)
from kraftcheck.reference.replica import (
    AddingVoter,
    Candidate,
    Follower,
    Progress,
    Prospective,
    QuorumState,
    RemovingVoter,
    Replica,
    Resigned,
    Role,
    Unattached,
    VoterChange,
)
from kraftcheck.systems.kraft.history import History
from kraftcheck.systems.kraft.network import InFlight
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.system import KRaftSystem
from kraftcheck.tlc.values import (
    NONE,
    InTla,
    NoFormError,
    State,
    Value,
    field,
    fields,
    function,
    record,
    set_of,
)

#: The budgets of the modules and what the checker calls them. One that a scenario does not have is 0; without
#: a budget for timers these expire without a bound.
BUDGETS = {
    "appends": "appends",
    "crashes": "crashes",
    "timeouts": "timeouts",
    "resigns": "resigns",
    "requests": "admin",
    "expirations": "timers",
}


class Forms:
    """The states of one system in TLA+; equal parts of states are translated once."""

    def __init__(self, system: KRaftSystem) -> None:
        unknown = set(system.budget_names) - set(BUDGETS.values())
        if unknown:
            raise NoFormError(f"the modules have no budget for {', '.join(sorted(unknown))}")
        self._system = system
        self._ids = tuple(identity.id for identity in system.identities)
        self._nodes: dict[tuple[int, Node], tuple[Value, Value]] = {}
        self._messages: dict[InFlight, Value] = {}
        self._histories: dict[History, Value] = {}

    def state(self, state: GlobalState) -> State:
        """The values of the state variables. Raises NoFormError."""
        nodes = {
            id: self._node(id, cast(Node, local)) for id, local in zip(self._ids, state.locals, strict=True)
        }
        history = cast(History, state.history)
        if history not in self._histories:
            self._histories[history] = self._history(history)
        return {
            "replica": function((id, replica) for id, (replica, _) in nodes.items()),
            "disk": function((id, disk) for id, (_, disk) in nodes.items()),
            "network": self._network(cast(tuple[InFlight, ...], state.messages)),
            "history": self._histories[history],
            "budget": self._budget(state.budgets),
        }

    def _node(self, id: int, node: Node) -> tuple[Value, Value]:
        if (id, node) not in self._nodes:
            if node.replaced is not None:
                raise NoFormError("a disk was replaced")
            if node.clock is not None:
                raise NoFormError("a clock runs")
            replica = NONE if node.replica is None else _replica(node.replica)
            self._nodes[id, node] = (replica, _disk(node.disk))
        return self._nodes[id, node]

    def _network(self, messages: tuple[InFlight, ...]) -> Value:
        counted = Counter(messages)
        for message in counted:
            if message not in self._messages:
                self._messages[message] = _in_flight(message)
        return function((self._messages[message], count) for message, count in counted.items())

    def _budget(self, left: tuple[int, ...]) -> Value:
        given = dict(zip(self._system.budget_names, left, strict=True))
        absent: dict[str, Value] = {"timers": NONE}
        return function((name, given.get(ours, absent.get(ours, 0))) for name, ours in BUDGETS.items())

    def _history(self, history: History) -> Value:
        if history.gone or history.gone_votes:
            raise NoFormError("a disk was replaced")
        voters = [key.id for key in history.voters]
        if history.origin is None and history.committed:
            voters = [key.id for key in self._system.voters]
        return record(
            leaders=set_of(history.leaders),
            votes=function(
                (voter, record(epoch=epoch, candidate=candidate.id))
                for voter, epoch, candidate in history.votes
            ),
            committed=_batches(history.committed),
            committedEpoch=history.committed_epoch,
            voters=set_of(voters),
        )


def _replica(replica: Replica) -> Value:
    if replica.parked or replica.shutting_down:
        raise NoFormError("a fetch is parked" if replica.parked else "a replica shuts down")
    return record(
        **fields(replica, "id high_watermark"),
        quorum=_quorum(replica.quorum_state),
        log=_log(replica.log),
        role=_role(replica.role),
        awaiting=set_of(each.node for each in replica.connections if each.awaiting),
        backingOff=set_of(each.node for each in replica.connections if not each.awaiting),
    )


def _disk(disk: Disk) -> Value:
    quorum = disk.quorum_state or QuorumState()
    return record(quorum=_quorum(quorum), log=_log(disk.log), flushed=disk.flushed)


def _quorum(quorum: QuorumState) -> Value:
    voted = None if quorum.voted is None else quorum.voted.id
    return record(**fields(quorum, "epoch leader"), voted=field(voted))


def _log(log: Log) -> Value:
    if log.start_offset or any(snapshot.id.end_offset for snapshot in log.snapshots):
        raise NoFormError("a log has a snapshot")
    return _batches(log.batches)


def _batches(batches: Iterable[Batch]) -> Value:
    return tuple(
        record(base=batch.base_offset, epoch=batch.epoch, records=_records(batch.records))
        for batch in batches
    )


def _records(records: Iterable[Record]) -> Value:
    return tuple(map(_record, records))


def _record(entry: Record) -> Value:
    names = _RECORDS.get(type(entry))
    if names is not None:
        return record(type=type(entry).__name__, **fields(entry, names))
    if isinstance(entry, Voters):
        return record(type="Voters", voters=set_of(entry.voters.ids))
    raise NoFormError(f"a log has a record {type(entry).__name__}")


def _role(role: Role) -> Value:
    return record(name=type(role).__name__, **_fields_of(role))


def _fields_of(role: Role) -> dict[str, Value]:
    if isinstance(role, Unattached):
        return {}
    if isinstance(role, Prospective | Candidate):
        return fields(role.election, "voters granted rejected")
    if isinstance(role, Follower):
        if role.fetching_snapshot is not None:
            raise NoFormError("a follower fetches a snapshot")
        return fields(role, "has_fetched")
    if isinstance(role, Resigned):
        successors = tuple(key.id for key in role.preferred_successors)
        return fields(role, "unacknowledged") | {"successors": successors}
    if role.alterations or role.reported:
        raise NoFormError("a leader has AlterQuorum requests, or entries that voters gave of themselves")
    return fields(role, "contacts resign_requested") | {
        "epochStart": role.epoch_start_offset,
        "progress": _progress(role.progress),
        "observers": _progress(role.observers),
        "pending": tuple(map(_records, role.pending)),
        "change": _change(role.change),
    }


def _progress(entries: Iterable[Progress]) -> Value:
    return function((entry.id, _entry(entry)) for entry in entries)


def _entry(entry: Progress) -> Value:
    return record(
        **fields(entry, "end_offset caught_up"),
        leaderEnd=NONE if entry.caught_up else field(entry.leader_end_offset),
    )


def _change(change: VoterChange | None) -> Value:
    if change is None:
        return NONE
    if isinstance(change, AddingVoter):
        return record(type="add", voter=change.voter.key.id, offset=field(change.offset))
    if isinstance(change, RemovingVoter):
        return record(type="remove", offset=change.offset)
    raise NoFormError(f"a leader has a change {type(change).__name__}")


def _in_flight(message: InFlight) -> Value:
    pairs: list[tuple[Value, Value]] = [
        ("type", type(message.payload).__name__),
        ("source", message.source),
        ("dest", message.destination),
        ("answerable", message.answerable),
    ]
    return function([*pairs, *_payload(message.payload).items()])


#: The requests whose fields have simple values, and the records of logs.
_REQUESTS: Mapping[type[Message], str] = {
    VoteRequest: "epoch pre_vote last_epoch end_offset",
    BeginQuorumEpochRequest: "epoch",
    FetchRequest: "epoch offset last_epoch",
    ApiVersionsRequest: "",
    ApiVersionsResponse: "",
}
_RECORDS: Mapping[type[Record], str] = {
    LeaderChange: "leader voters",
    LogValue: "value",
    KRaftVersion: "version",
}


def _payload(payload: Message) -> dict[str, Value]:
    names = _REQUESTS.get(type(payload))
    if names is not None:
        return fields(payload, names)
    if isinstance(payload, EndQuorumEpochRequest):
        return {"epoch": payload.epoch, "successors": tuple(key.id for key in payload.preferred_successors)}
    if not isinstance(
        payload, VoteResponse | BeginQuorumEpochResponse | EndQuorumEpochResponse | FetchResponse
    ):
        raise NoFormError(f"a {type(payload).__name__} is in flight")
    found = fields(payload, "epoch leader") | {"error": payload.partition_error.name}
    if isinstance(payload, VoteResponse):
        return found | fields(payload, "granted")
    if isinstance(payload, FetchResponse):
        diverging = payload.diverging
        return (
            found
            | fields(payload, "high_watermark")
            | {
                "batches": _batches(payload.batches),
                "diverging": NONE if diverging is None else record(**fields(diverging, "epoch offset")),
            }
        )
    return found


#: Replicas of a quorum in TLA+.
REPLICAS = InTla(("replica", "disk", "network", "history", "budget"), Forms)
