"""The known facts about a run while it is judged, one step of a node, and its lines as facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from msgspec import UNSET, to_builtins

from kraftcheck import spec
from kraftcheck.checking.findings import known_findings
from kraftcheck.evidence.history.chain import Batch, Link
from kraftcheck.evidence.history.checks import JUDGED
from kraftcheck.evidence.history.cluster import Cluster, Seen
from kraftcheck.evidence.history.facts import Key, Violation, VoteAnswer
from kraftcheck.evidence.history.records import Committed, Logs
from kraftcheck.evidence.history.replica import Replica, Stored, WholeState
from kraftcheck.evidence.recordings.lines import EndLine, Message, RecordedState, fetched
from kraftcheck.evidence.recordings.outcome import Finding
from kraftcheck.evidence.recordings.performed import StoredFile
from kraftcheck.evidence.recordings.recording import StepEvent
from kraftcheck.evidence.recordings.typed import Json
from kraftcheck.evidence.recordings.wire_records import UncoveredMessageError, record_of
from kraftcheck.evidence.recordings.wire_types import ZERO_UUID, RecordBatch
from kraftcheck.reference.log import Voters
from kraftcheck.reference.protocol import Protocol, VoteMemory
from kraftcheck.support.errors import InputError


class Findings:
    """The findings, in order. Takes the contradictions between replicas, too."""

    def __init__(self) -> None:
        self.found: list[Finding] = []
        self.kept = 0
        self.problem_counts: Counter[str] = Counter()
        self.new_disks: set[int] = set()
        """Nodes whose disk was replaced."""
        self._lost: dict[str, set[str]] = {}
        """Scenario → properties that it explains, violated by a replica that lost records afterwards."""

    def lost(self, node: int) -> None:
        """The process of ``node`` starts without records that its previous process had."""
        for each in self.found:
            if each.nodes[0] == node and each.scenario is not None:
                self._lost.setdefault(each.scenario, set()).add(each.property)

    def add(
        self,
        event: StepEvent,
        node: int,
        violation: Violation,
        before: WholeState | None = None,
        after: WholeState | None = None,
        *,
        hazard: bool = False,
    ) -> None:
        """A step of ``node`` between ``before`` and ``after`` violates properties of recordings."""
        expected = f"; expected {violation.expected}" if violation.expected else ""
        others = tuple(dict.fromkeys(one for one in violation.others if one != node))
        for name in (violation.check, *violation.also):
            if name not in JUDGED:
                continue
            cause, scenario = self._known_cause(name, event, before, after or before, hazard=hazard)
            finding = Finding(
                property=name,
                id=spec.load().property_named(name).id,
                hazard=hazard,
                seq=event.seq,
                time=event.time,
                nodes=(node, *others),
                evidence=violation.found + expected,
                cause=cause,
                scenario=scenario,
            )
            # A state and a write of the quorum-state file may show the same violation.
            if not self.found or self.found[-1] != finding:
                self.found.append(finding)

    def _known_cause(
        self,
        name: str,
        event: StepEvent,
        before: WholeState | None,
        latest: WholeState | None,
        *,
        hazard: bool,
    ) -> tuple[str | None, str | None]:
        """The known cause of a violation, and the scenario that shows it."""
        role = None if before is None else before.role
        voters = None if latest is None else len(latest.voters)
        exception = event.line.exception if isinstance(event.line, EndLine) else ""
        for known in known_findings():
            scenario = known.scenarios[0]
            for each in known.recorded:
                if each.fits(
                    name,
                    hazard=hazard,
                    event=event.handled,
                    role=role,
                    voters=voters,
                    exception=exception,
                    new_disk=event.node in self.new_disks,
                    lost_after=self._lost.get(scenario, ()),
                ):
                    return each.cause, scenario
        return None, None

    def problem(
        self,
        check: str,
        node: int,
        where: StepEvent,
        time: bytes,
        expected: str,
        found: str,
        earlier: StepEvent | None = None,
        cites: tuple[str, ...] = (),
        disorder: StepEvent | None = None,
    ) -> None:
        """As of `kraftcheck.evidence.history.cluster.Problems`."""
        others = () if earlier is None else (earlier.node,)
        self.add(where, node, Violation(check, expected, found, earlier, cites, (), others))

    def disorder_at(self, *lines: tuple[int, bytes]) -> None:
        """The events of a recording are in order."""


class Run:
    """The known facts about all nodes of a run."""

    def __init__(self, messages: dict[int, Message], protocol: Protocol) -> None:
        self.findings = Findings()
        self.messages = messages
        self.tables = (protocol.state_machine.value,)
        self.vote_until_leader = protocol.vote_memory is VoteMemory.UNTIL_LEADER
        self.replicas: dict[int, Replica] = {}
        self.retired: list[Replica] = []
        """Replicas whose disks were replaced."""
        self.logs = Logs()
        self.committed = Committed(self.logs.forest.root)
        self.cluster = Cluster(self.findings)
        self.led: dict[int, Key] = {}
        """Epoch → the replica that led it first."""
        self.largest_epoch = 0
        self.unflushed: dict[int, int] = {}
        """Fetches in flight that ask for more than their sender has flushed: message id → that offset."""
        self.asked: dict[int, tuple[object, ...] | None] = {}
        """Fetches in flight, and their answers: message id → role, epoch and leader of the sender then."""
        self.needed: dict[int, int] = {}
        """How many other voters had to fetch when a leader's check quorum last began to count, by its id."""
        self.answered: dict[int, Link] = {}
        """Fetch answers in flight: message id → the leader's log when it sent the answer."""

    def retire(self, node: int) -> None:
        """The disk of ``node`` is replaced: the known facts about the replica stay with its old directory."""
        self.findings.new_disks.add(node)
        old = self.replicas.pop(node, None)
        if old is not None:
            self.retired.append(old)


@dataclass(slots=True)
class Step:
    """A step of a node while it is judged.

    before, after: the states around it, ``None`` where no process runs. written: the quorum-state file before
    and after each write.
    """

    run: Run
    event: StepEvent
    replica: Replica
    before: WholeState | None
    after: WholeState | None
    written: list[tuple[Stored | None, Stored]] = field(default_factory=list)

    @property
    def is_elected(self) -> bool:
        """Whether the node leads now and did not before."""
        after, before = self.after, self.before
        return after is not None and after.role == "Leader" and (before is None or before.role != "Leader")

    def report(self, violation: Violation) -> None:
        """The step violates a property."""
        self.run.findings.add(self.event, self.replica.id, violation, self.before, self.after)

    def violates(self, name: str, found: str, *others: int, also: tuple[str, ...] = ()) -> None:
        """The step violates the property ``name``; ``others`` are further nodes involved."""
        self.report(Violation(name, "", found, also=also, others=others))

    def knows_leader(self, epoch: int, leader: int | None) -> None:
        """The replica knows ``leader`` of ``epoch``, to be compared with the knowledge of others."""
        if leader is None:
            return
        cluster = self.run.cluster
        cluster.leader(epoch, Seen(leader, self.replica.id, self.event, b""))
        first = cluster.epochs[epoch].leader
        begins = self.replica.memory.epoch_where is self.event
        if begins and first is not None and first.node == self.replica.id and first.value != leader:
            # Its memory begins anew: after another epoch that it must not have, or on another disk.
            evidence = f"takes {leader} for the leader of epoch {epoch}, which it knew to be {first.value}"
            self.violates("SingleKnownLeaderPerEpoch", evidence)

    def messages(self, api: str, *, requests: bool) -> Iterator[tuple[Message, Message | None]]:
        """The messages that the step sent, each with the request that it answers."""
        known = self.run.messages
        for sent in self.event.line.sent:
            if sent.api == api and sent.is_request == requests and sent.mid in known:
                yield known[sent.mid], None if sent.answers is None else known.get(sent.answers)


# Lines as facts: states, quorum-state files, batches, and the content of messages.


def key(replica: int, directory: str) -> Key:
    """A replica as a message or file names it."""
    return Key(replica, None if directory in ("", ZERO_UUID) else directory)


def state_of(
    state: RecordedState, shown: dict[str, Json], where: str, before: WholeState | None
) -> WholeState:
    """The state in a line's ``s``, which is ``shown`` there. Raises InputError for a malformed replica."""
    same = before is not None and shown["voters"] == before.shown["voters"]
    return WholeState(
        role=state.state,
        epoch=state.epoch,
        leader=None if state.leader < 0 else state.leader,
        voted=None if state.voted is None else _key_of(state.voted, where),
        end=state.leo,
        last_epoch=state.last_epoch,
        high_watermark=None if state.hw < 0 else state.hw,
        log_start=state.log_start or 0,
        snapshot=None if state.snapshot is None else (state.snapshot[0], state.snapshot[1]),
        voters=before.voters if before and same else tuple(_key_of(each, where) for each in state.voters),
        kraft_version=state.kraft_version,
        is_voter=state.is_voter,
        progress=state.progress or {},
        timers=state.deadlines,
        shown=shown,
    )


def _key_of(entry: list[int | str], where: str) -> Key:
    id, directory = entry[0], entry[1] if len(entry) > 1 else ""
    if isinstance(id, int) and isinstance(directory, str):
        return key(id, directory)
    raise InputError(f"{where}: a replica must be shown as [id, directory id].")


def stored(file: StoredFile) -> Stored:
    """A write of the quorum-state file."""
    voted = None if file.voted_id < 0 else key(file.voted_id, file.voted_directory_id)
    return Stored(file.leader_epoch, None if file.leader_id < 0 else file.leader_id, voted)


def batch_of(batch: RecordBatch) -> Batch:
    """A batch with its records as they are written. Raises ValueError for a malformed voter set."""
    return Batch(batch.base, batch.last + 1, batch.epoch, to_builtins(batch.records), _voters_in(batch))


def _voters_in(batch: RecordBatch) -> tuple[Key, ...] | None:
    found: tuple[Key, ...] | None = None
    for record in batch.records if batch.control else ():
        try:
            content = record_of(record)
        except UncoveredMessageError:
            continue
        if isinstance(content, Voters):
            found = tuple(key(each.key.id, each.key.directory or "") for each in content.voters.voters)
    return found


# Messages.


def ballot(message: Message | None) -> VoteAnswer | None:
    """The content of a Vote request as the answer that grants it; ``None`` where it names no partition."""
    partition = _partition(message, "Vote", is_request=True)
    if partition is None:
        return None
    return VoteAnswer(
        key(partition.replicaId, partition.replicaDirectoryId),
        partition.replicaEpoch,
        partition.lastOffsetEpoch,
        partition.lastOffset,
        partition.preVote,
        granted=True,
        voter=key(0, partition.voterDirectoryId).directory,
    )


def is_granted(message: Message | None) -> bool:
    """Whether a message is a Vote response that grants the vote."""
    partition = _partition(message, "Vote", is_request=False)
    return partition is not None and partition.voteGranted


def fetching(message: Message | None) -> tuple[Key, int] | None:
    """The sender of a Fetch request, and the requested offset; ``None``: it is none, or of no partition."""
    partition = _partition(message, "Fetch", is_request=True)
    if message is None or partition is None:
        return None
    state = message.content.replicaState
    return key(-1 if state is UNSET else state.replicaId, partition.replicaDirectoryId), partition.fetchOffset


def others_needed(state: WholeState, leader: int) -> int:
    """How many other voters make a majority of the voter set together with ``leader``, if it is a voter."""
    return len(state.voters) // 2 + 1 - any(voter.id == leader for voter in state.voters)


def is_fetched(message: Message) -> bool:
    """Whether a leader has answered a Fetch without an error, with or without records."""
    partitions = fetched(message)
    if message.synthetic is not None or not partitions:
        return False
    return not any(each.errorCode for each in (message.content, *partitions))


def _partition(message: Message | None, api: str, *, is_request: bool) -> Any:
    """The first partition of a request or response of ``api``; ``None`` for any other message."""
    if message is None or message.api != api or message.is_request != is_request:
        return None
    return next((each for topic in message.content.topics for each in topic.partitions), None)
