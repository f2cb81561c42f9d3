"""States of replicas as states of ``tla/KRaft.tla``.

Whatever the modules have no form for (snapshots, delayed fetches, replaced disks, ...) raises
:class:`~kraftcheck.tlc.values.NoFormError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from kraftcheck.engine.system import GlobalState
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.log import Batch, EpochEnd, KRaftVersion, LeaderChange, Log, Voters
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
    VoteRequest,
    VoteResponse,
)
from kraftcheck.reference.replica import (
    AddingVoter,
    Candidate,
    Follower,
    Leader,
    Progress,
    Prospective,
    QuorumState,
    RemovingVoter,
    Replica,
    Resigned,
    Unattached,
)
from kraftcheck.systems.kraft.history import History
from kraftcheck.systems.kraft.network import InFlight
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.system import KRaftSystem
from kraftcheck.tlc.forms import Codec, Form, Made, budget, network, require_budgets
from kraftcheck.tlc.values import NONE, InTla, NoFormError, State, Value, field, function, record, set_of

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

_NOMINEE = Form("voters=election.voters granted=election.granted rejected=election.rejected", tag="name")
_RESPONSE = Form("epoch leader error=partition_error")


def _ids(name: str) -> Made:
    """The ids of the keys in the field ``name``, in their order."""
    return lambda value, codec: tuple(key.id for key in getattr(value, name))


def _batches(value: Any, codec: Codec) -> Value:
    log: Log = value.log
    if log.start_offset or any(snapshot.id.end_offset for snapshot in log.snapshots):
        raise NoFormError("a log has a snapshot")
    return codec.value(log.batches)


def _nodes(*, awaiting: bool) -> Made:
    return lambda replica, codec: set_of(
        known.node for known in replica.connections if known.awaiting is awaiting
    )


_FORMS: Mapping[type, Form] = {
    Replica: Form(
        "id high_watermark quorum=quorum_state* role*",
        {"log": _batches, "awaiting": _nodes(awaiting=True), "backingOff": _nodes(awaiting=False)},
        refused={
            "a fetch is in purgatory": lambda replica: replica.parked,
            "a replica shuts down": lambda replica: replica.shutting_down,
        },
    ),
    Disk: Form(
        "flushed",
        {"quorum": lambda disk, codec: codec.value(disk.quorum_state or QuorumState()), "log": _batches},
    ),
    QuorumState: Form("epoch leader voted=voted.id"),
    # Logs.
    Batch: Form("epoch base=base_offset records*", unknown="a log has a record {}"),
    LeaderChange: Form("leader voters", tag="type"),
    LogValue: Form("value", tag="type"),
    KRaftVersion: Form("version", tag="type"),
    Voters: Form("voters=voters.ids", tag="type"),
    EpochEnd: Form("epoch offset"),
    # Roles.
    Unattached: Form(tag="name"),
    Prospective: _NOMINEE,
    Candidate: _NOMINEE,
    Follower: Form(
        "has_fetched",
        tag="name",
        refused={"a follower fetches a snapshot": lambda role: role.fetching_snapshot is not None},
    ),
    Resigned: Form("unacknowledged", {"successors": _ids("preferred_successors")}, tag="name"),
    Leader: Form(
        "contacts resign_requested epochStart=epoch_start_offset progress[id] observers[id] pending* change*",
        tag="name",
        refused={
            "a leader has AlterQuorum requests, or entries that voters gave of themselves": (
                lambda role: role.alterations or role.reported
            )
        },
        unknown="a leader has a {}",
    ),
    Progress: Form(
        "end_offset caught_up",
        {"leaderEnd": lambda entry, codec: NONE if entry.caught_up else field(entry.leader_end_offset)},
    ),
    AddingVoter: Form("offset voter=voter.key.id", {"type": lambda change, codec: "add"}),
    RemovingVoter: Form("offset", {"type": lambda change, codec: "remove"}),
    # Messages.
    VoteRequest: Form("epoch pre_vote last_epoch end_offset"),
    BeginQuorumEpochRequest: Form("epoch"),
    EndQuorumEpochRequest: Form("epoch", {"successors": _ids("preferred_successors")}),
    FetchRequest: Form("epoch offset last_epoch"),
    ApiVersionsRequest: Form(),
    ApiVersionsResponse: Form(),
    VoteResponse: Form("epoch leader granted error=partition_error"),
    BeginQuorumEpochResponse: _RESPONSE,
    EndQuorumEpochResponse: _RESPONSE,
    FetchResponse: Form("epoch leader high_watermark error=partition_error batches* diverging*"),
    InFlight: Form(
        "source answerable dest=destination",
        {"type": lambda message, codec: type(message.payload).__name__},
        inside="payload",
    ),
}


class Forms:
    """The states of one system in TLA+; equal parts of states are translated once."""

    def __init__(self, system: KRaftSystem) -> None:
        require_budgets(system.budget_names, BUDGETS, "the modules have")
        self._system = system
        self._ids = tuple(identity.id for identity in system.identities)
        self._codec = Codec(_FORMS)
        self._nodes: dict[Node, tuple[Value, Value]] = {}
        self._histories: dict[History, Value] = {}

    def state(self, state: GlobalState) -> State:
        """The values of the state variables. Raises NoFormError."""
        nodes = list(zip(self._ids, (self._node(cast(Node, local)) for local in state.locals), strict=True))
        history = cast(History, state.history)
        if history not in self._histories:
            self._histories[history] = self._history(history)
        left = dict(zip(self._system.budget_names, state.budgets, strict=True))
        return {
            "replica": function((id, replica) for id, (replica, _) in nodes),
            "disk": function((id, disk) for id, (_, disk) in nodes),
            "network": network(self._codec, state.messages),
            "history": self._histories[history],
            "budget": budget(left, BUDGETS, () if "timers" in left else ("timers",)),
        }

    def _node(self, node: Node) -> tuple[Value, Value]:
        if node not in self._nodes:
            if node.replaced is not None:
                raise NoFormError("a disk was replaced")
            if node.clock is not None:
                raise NoFormError("a clock runs")
            self._nodes[node] = (self._codec.value(node.replica), self._codec.value(node.disk))
        return self._nodes[node]

    def _history(self, history: History) -> Value:
        if history.gone or history.gone_votes:
            raise NoFormError("a disk was replaced")
        keys = history.voters
        if history.origin is None and history.committed:
            keys = self._system.voters
        return record(
            leaders=set_of(history.leaders),
            votes=function(
                (voter, record(epoch=epoch, candidate=candidate.id))
                for voter, epoch, candidate in history.votes
            ),
            committed=self._codec.value(history.committed),
            committedEpoch=history.committed_epoch,
            voters=set_of(key.id for key in keys),
        )


#: Replicas of a quorum in TLA+.
REPLICAS = InTla(("replica", "disk", "network", "history", "budget"), Forms)
