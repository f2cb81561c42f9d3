"""The lines of a recording, by their ``ev``, and ``run.json``, as types: which fields there may be.

:func:`schema` gives the same as a JSON Schema. The value of a field is compared, not validated: a wrong value
is a difference at its line.

Source: the recorder (MANIFEST of the recorded runs).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, get_args

from msgspec import UNSET, Meta, Struct, UnsetType, field
from msgspec.structs import fields

from kraftcheck.evidence.recordings.performed import Callback, Operation, StoredFile
from kraftcheck.evidence.recordings.typed import converted, schemas_of
from kraftcheck.evidence.recordings.wire import CONTENTS
from kraftcheck.reference.config import Times

Json = dict[str, Any]
#: A replica: its id, and its directory id where it is known.
Key = Annotated[list[int | str], Meta(min_length=1, max_length=2)]
SnapshotPosition = Annotated[list[int], Meta(min_length=2, max_length=2)]
#: A batch in the log that a process finds: base and last offset, epoch, whether it is control, records.
FoundBatch = tuple[int, int, int, Any, Any]
Milliseconds = Annotated[int, Meta(ge=0, lt=2**31)]


class Votes(Struct):
    """The answers in an election, by voter."""

    granted: list[int]
    rejected: list[int]


class State(Struct, rename="camel"):
    """The recorded state of a replica; ``null`` is an absent field. ``hw``: -1 if it is not known.

    progress: of each voter the end of its log, and the times when it last fetched and was last caught up.
    fetching_snapshot: its end offset and epoch, and the position that comes next.
    """

    state: str | None = None
    epoch: int | None = None
    leader: int | None = None
    voted: Key | None = None
    leo: int | None = None
    last_epoch: int | None = None
    hw: int | None = None
    log_start: int | None = None
    snapshot: SnapshotPosition | None = None
    voters: list[Key] | None = None
    voters_offset: int | None = None
    kraft_version: int | None = None
    is_voter: bool | None = None
    election: Votes | None = None
    epoch_start: int | None = None
    progress: dict[str, list[int]] | None = None
    unacked: list[int] | None = None
    pending_add: Key | None = None
    pending_remove: int | None = None
    pending_update: Key | None = None
    resign_requested: bool | None = None
    fetching_snapshot: Annotated[list[int], Meta(min_length=3, max_length=3)] | None = None
    preferred_successors: list[int] | None = None
    shutting_down: bool | None = None


class RecordedState(State, rename="camel", kw_only=True):
    """A state in a recording: the expiry of its timers by the node's own clock, -1 if they have expired."""

    state: str
    epoch: int
    leader: int
    leo: int
    last_epoch: int
    hw: int
    voters: list[Key]
    voters_offset: int
    kraft_version: int
    is_voter: bool
    deadlines: dict[str, int]


class Sent(Struct):
    """A message leaves a node; ``answers`` is the id of the request that a response answers."""

    mid: int
    destination: int = field(name="to")
    kind: Literal["req", "resp"]
    api: str
    answers: int | None = field(name="re", default=None)

    @property
    def is_request(self) -> bool:
        """Whether it is a request."""
        return self.kind == "req"


class Message(Struct, kw_only=True, dict=True):
    """A message with its content: a line, or the part ``during`` of an ``end`` line.

    data: the content as shown. destination, why: where it was lost or left over, and the reason of a loss.
    seq: the line that shows it.
    """

    mid: int
    kind: Literal["req", "resp"]
    api: str
    source: int = field(name="from")
    correlation: int = field(name="corr")
    version: int = field(name="ver")
    data: Json
    made_as: str | UnsetType = field(name="synthetic", default=UNSET)
    destination: int = field(name="to", default=-1)
    why: str | None = None
    seq: int = -1

    @property
    def is_request(self) -> bool:
        """Whether it is a request."""
        return self.kind == "req"

    @cached_property
    def content(self) -> Any:
        """The content as a value of its type; ``None`` for an unknown API. Raises ValueError."""
        kind = CONTENTS.get((self.api, self.is_request))
        return None if kind is None else converted(self.data, kind)

    @property
    def synthetic(self) -> str | None:
        """The reason why the network layer made it in the peer's place; ``None``: the peer sent it."""
        return None if self.made_as is UNSET else self.made_as


def fetched(message: Message | None) -> list[Any]:
    """The partitions of a Fetch response; none for any other message."""
    if message is None or message.api != "Fetch" or message.is_request:
        return []
    return [partition for topic in message.content.responses for partition in topic.partitions]


class NodeConfig(Struct, frozen=True, rename="camel"):
    """A node of the cluster as the run began.

    clock_offset, clock_drift (ms per ms): how its clock departs from the global time; ``None`` where its
    clock is the global time.
    """

    id: int
    directory: str = field(name="dirId")
    initial_voter: bool
    can_become_voter: bool
    clock_offset: int | None = field(name="clockOffsetMs", default=None)
    clock_drift: Annotated[float, Meta(ge=-1.0, le=1e9)] | None = None

    @property
    def is_skewed(self) -> bool:
        """Whether the node has a clock of its own."""
        return self.clock_offset is not None or self.clock_drift is not None

    def local_times(self, time: int) -> tuple[int, int]:
        """The readings of the node's clock at ``time``, rounded before and after the offset is added.

        They differ only where the fraction is within an error of floating point of a whole number.
        """
        drift, offset = self.clock_drift or 0.0, self.clock_offset or 0
        return time + math.floor(time * drift) + offset, math.floor(time * (1 + drift)) + offset


class Timeouts(Struct, frozen=True):
    """The configuration of every node. fetch_max_wait (ms): the longest wait of a Fetch at the leader."""

    election: Milliseconds = field(name="controller.quorum.election.timeout.ms")
    fetch: Milliseconds = field(name="controller.quorum.fetch.timeout.ms")
    election_backoff_max: Milliseconds = field(name="controller.quorum.election.backoff.max.ms")
    append_linger: Milliseconds = field(name="controller.quorum.append.linger.ms")
    request: Milliseconds = field(name="controller.quorum.request.timeout.ms")
    retry_backoff: Milliseconds = field(name="controller.quorum.retry.backoff.ms")
    fetch_max_wait: Milliseconds = field(name="fetchMaxWaitMs")
    auto_join: bool = field(name="controller.quorum.auto.join.enable", default=False)

    @property
    def times(self) -> Times:
        """The timeouts of the reference."""
        return Times(
            election_timeout=self.election,
            fetch_timeout=self.fetch,
            election_backoff_max=self.election_backoff_max,
            append_linger=self.append_linger,
            request_timeout=self.request,
            retry_backoff=self.retry_backoff,
        )


class Network(Struct, frozen=True, rename="camel"):
    """The delays of the network (ms): a message takes from ``delay_min`` to ``delay_max + tail_max``."""

    delay_min: int = 0
    delay_max: int | UnsetType = UNSET
    tail_max: int = 0


# Lines.


class Line(Struct, kw_only=True, tag_field="ev", rename="camel"):
    """Every line: its number from 0 on, and the global time in ms."""

    seq: int
    time: int = field(name="t")

    @property
    def kind(self) -> str:
        """Its ``ev``."""
        return str(self.__struct_config__.tag)


class ConfigLine(Line, tag="config"):
    """The first line: the cluster, its timeouts, its network, its nodes, and labels."""

    cluster_id: str
    initial_kraft_version: Literal[0, 1]
    timeouts: Timeouts
    nodes: Annotated[list[NodeConfig], Meta(min_length=1)]
    network: Network = Network()
    scenario: Any = None
    seed: Any = None
    log_level: Any = None
    kafka: Any = None
    base_epoch_ms: Any = None

    def node(self, id: int | None) -> NodeConfig | None:
        """The node of this id, if there is one."""
        return next((node for node in self.nodes if node.id == id), None)


class Step(Line, kw_only=True):
    """A step of node ``n``, by its own clock where that differs, and the effects of the step."""

    node: int = field(name="n")
    local_time: int | UnsetType = field(name="lt", default=UNSET)
    log: list[Operation] = []
    persisted: list[StoredFile] = field(name="persist", default=[])
    sent: list[Sent] = field(name="out", default=[])
    callbacks: list[Callback] = field(name="cb", default=[])


class Shown(Step, kw_only=True):
    """A step after which the process shows its state."""

    state: RecordedState = field(name="s")


class StartLine(Shown, tag="start", kw_only=True):
    """A process starts, and finds the quorum-state file and the log."""

    inc: int
    dir_id: str
    can_become_voter: bool
    auto_join: bool
    lost_unflushed: int
    found: StoredFile | None = field(name="persisted")
    log_batches: list[FoundBatch]


class TickLine(Shown, tag="tick"):
    """A poll of the loop, which is recorded if it had a visible effect."""


class ReceiveLine(Shown, tag="recv", kw_only=True):
    """A message is handled; the line has the fields of a :class:`Message`."""


class CallLine(Shown, tag="api", kw_only=True):
    """The state machine or the operator calls the raft client."""

    call: str
    epoch: int = -1
    values: list[int] = []
    offset: int | UnsetType = UNSET
    timeout_ms: int = 0
    threw: str | UnsetType = UNSET
    version: int = -1
    clean: bool = False
    created: bool = False


#: The fields that each call has.
CALLS: Mapping[str, tuple[str, ...]] = {
    "append": ("epoch", "values"),
    "resign": ("epoch",),
    "upgradeKRaftVersion": ("epoch", "version"),
    "shutdown": ("timeoutMs",),
    "createSnapshot": ("offset", "epoch", "clean", "created"),
}


class ExpireLine(Shown, tag="expire"):
    """Fetches in purgatory expire and are answered."""


class EndLine(Step, tag="end", kw_only=True):
    """A process ends: the reason, the message being handled, and the state that it leaves."""

    inc: int
    reason: str
    leo: int
    flushed: int
    during: Message | UnsetType = UNSET
    exception: str = ""
    power_loss: bool = False


class LeftLine(Line, kw_only=True):
    """A message that no node handles; the line has the fields of a :class:`Message`."""

    to: int


class LostLine(LeftLine, tag="lost", kw_only=True):
    """A message is lost."""

    why: str


class InFlightLine(LeftLine, tag="inflight", kw_only=True):
    """A message is left over at the end."""


class NetLine(Line, tag="net", kw_only=True):
    """The links ``a>b`` that are blocked from now on; ``what`` is a label."""

    blocked: list[str]
    what: Any = UNSET


class NodeLine(Line, kw_only=True):
    """An event at a node that is no step of its process."""

    n: int


class PauseLine(NodeLine, tag="pause", kw_only=True):
    """A process is paused."""

    ms: int


class WipeLine(NodeLine, tag="wipe", kw_only=True):
    """A node gets an empty disk."""

    dir_id: str


class OsFlushLine(NodeLine, tag="osFlush", kw_only=True):
    """The operating system writes a log back, up to ``to``."""

    to: int


class ApiVersionsLine(Line, tag="apiVersions", kw_only=True):
    """The server of a node takes an ApiVersions request."""

    n: int
    mid: int
    source: int = field(name="from")


class Result(Struct):
    """An answer to the client."""

    error: int = field(name="errorCode")


class AdminResultLine(Line, tag="adminResult", kw_only=True):
    """The client has the answer ``mid`` to its request ``re``."""

    source: int = field(name="from")
    mid: int
    answers: int = field(name="re")
    api: str
    data: Result


class NoteLine(Line, tag="note"):
    """A remark of the recorder."""


class FinalLine(Line, tag="final", kw_only=True):
    """The last line: totals."""

    leaders: dict[str, int]
    committed_data_records: int
    counts: dict[str, int]


#: The steps of nodes; every other line is about the world around the nodes.
StepLine = StartLine | TickLine | ReceiveLine | CallLine | ExpireLine | EndLine
WorldLine = (
    ConfigLine | LostLine | NetLine | PauseLine | WipeLine | OsFlushLine | ApiVersionsLine | AdminResultLine
    | NoteLine | InFlightLine | FinalLine
)  # fmt: skip
AnyLine = StepLine | WorldLine


#: Lines with the fields of a message.
_WITH_MESSAGE = (ReceiveLine, LostLine, InFlightLine)


def names(kind: type[Struct]) -> frozenset[str]:
    """The fields of a type by their names in JSON, with the one that names a line's kind."""
    tag = kind.__struct_config__.tag_field
    return frozenset({each.encode_name for each in fields(kind)} | ({tag} if tag else set()))


#: The possible fields of a message; where it is lost or left over is shown on lines alone.
MESSAGE = names(Message) - {"seq", "to", "why"}


def _kinds(lines: Any) -> dict[str, frozenset[str]]:
    return {
        str(kind.__struct_config__.tag): names(kind) | (MESSAGE if kind in _WITH_MESSAGE else set())
        for kind in get_args(lines)
    }


#: By ``ev``: the fields that a line of each kind may have; others are counted as unknown.
KEYS: Mapping[str, frozenset[str]] = _kinds(AnyLine)
STEPS, WORLD = frozenset(_kinds(StepLine)), frozenset(_kinds(WorldLine))


# The summary.


class FatalEnd(Struct):
    """A process that ended by an exception."""

    t: int
    node: int
    exception: str


class Summary(Struct, rename="camel"):
    """``run.json``. Fields but ``events`` may be missing; other totals are compared as they are written."""

    events: int
    run: str | UnsetType = UNSET
    leaders: dict[str, int] = {}
    fatal: list[FatalEnd] | UnsetType = UNSET
    invariant_notes: list[Any] | UnsetType = UNSET


def schema() -> Json:
    """The JSON Schema of one line of a recording; ``$defs`` also has the contents of messages."""
    types = [AnyLine, Message, *CONTENTS.values()]
    (line, *_), components = schemas_of(types)
    message = components["Message"]
    message["allOf"] = [
        {
            "if": {"properties": {"api": {"const": api}, "kind": {"const": "req" if asks else "resp"}}},
            "then": {"properties": {"data": {"$ref": f"#/$defs/{content.__name__}"}}},
        }
        for (api, asks), content in CONTENTS.items()
    ]
    for kind in _WITH_MESSAGE:
        components[kind.__name__]["allOf"] = [{"$ref": "#/$defs/Message"}]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of a recorded run of Kafka's raft module (trace.jsonl.gz)",
        **line,
        "$defs": components,
    }
