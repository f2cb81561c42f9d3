"""The known facts about a run while it is judged, and one step of a node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from kraftcheck import spec
from kraftcheck.checking.findings import known_findings
from kraftcheck.evidence.history.chain import Link
from kraftcheck.evidence.history.checks import JUDGED
from kraftcheck.evidence.history.cluster import Cluster, Seen
from kraftcheck.evidence.history.facts import Key, Violation
from kraftcheck.evidence.history.records import Committed, Logs
from kraftcheck.evidence.history.replica import Replica, Stored, WholeState
from kraftcheck.evidence.recordings.lines import EndLine
from kraftcheck.evidence.recordings.outcome import Finding
from kraftcheck.evidence.recordings.recording import Event, Message


class Findings:
    """The findings, in order. Takes the contradictions between replicas, too."""

    def __init__(self) -> None:
        self.found: list[Finding] = []
        self.kept = 0
        self.problem_counts: Counter[str] = Counter()

    def add(
        self,
        event: Event,
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
            cause, scenario = _known_cause(name, event, before, after or before, hazard=hazard)
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

    def problem(
        self,
        check: str,
        node: int,
        where: Event,
        time: bytes,
        expected: str,
        found: str,
        earlier: Event | None = None,
        cites: tuple[str, ...] = (),
        disorder: Event | None = None,
    ) -> None:
        """As of `kraftcheck.evidence.history.cluster.Problems`."""
        others = () if earlier is None or earlier.node is None else (earlier.node,)
        self.add(where, node, Violation(check, expected, found, earlier, cites, (), others))

    def disorder_at(self, *lines: tuple[int, bytes]) -> None:
        """The events of a recording are in order."""


def _known_cause(
    name: str, event: Event, before: WholeState | None, latest: WholeState | None, *, hazard: bool
) -> tuple[str | None, str | None]:
    """The known cause of a violation, and the scenario that shows it."""
    role = None if before is None else before.role
    voters = None if latest is None else len(latest.voters)
    exception = event.line.exception if isinstance(event.line, EndLine) else ""
    for known in known_findings():
        for each in known.recorded:
            if each.fits(
                name, hazard=hazard, event=event.label, role=role, voters=voters, exception=exception
            ):
                return each.cause, known.scenarios[0]
    return None, None


class Run:
    """The known facts about all nodes of a run."""

    def __init__(self, messages: dict[int, Message], table: str) -> None:
        self.findings = Findings()
        self.messages = messages
        self.tables = (table,)
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
        self.answered: dict[int, Link] = {}
        """Fetch answers in flight: message id → the leader's log when it sent the answer."""


@dataclass(slots=True)
class Step:
    """A step of a node while it is judged.

    before, after: the states around it, ``None`` where no process runs. written: the quorum-state file before
    and after each write.
    """

    run: Run
    event: Event
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
        for sent in self.event.sent:
            if sent.api == api and sent.is_request == requests and sent.mid in known:
                yield known[sent.mid], None if sent.answers is None else known.get(sent.answers)
