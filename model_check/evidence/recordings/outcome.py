"""The result of comparing and judging a recorded run; :mod:`.conform_report` prints it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from kraftcheck.evidence.recordings.typed import Json

if TYPE_CHECKING:
    from kraftcheck.evidence.recordings.recording import Event


class Found(NamedTuple):
    """``field`` has the value ``found`` where ``expected`` was expected; ``None`` stands for an absent one.

    ``shown_at`` is the line that shows the value, where that is not the line of the event.
    """

    field: str
    expected: Json
    found: Json
    shown_at: int | None = None


class Difference(Struct, frozen=True, rename="camel"):
    """A field in which the reference and Kafka differ; ``None`` stands for an absent value.

    ``seq`` is the event at which they disagree, ``shown_at`` the line that shows the value where that is
    another one: a message's content stands where it arrives. ``node`` is ``None`` for the run as a whole.
    """

    seq: int
    shown_at: int | None
    node: int | None
    event: str
    field: str
    reference: Json
    production: Json
    rules: tuple[str, ...] = ()
    before: tuple[str, ...] = ()


class RunReport(Struct, rename="camel"):
    """The result of comparing one run. Each event is counted once, in one of the first four counters.

    compared: steps that were compared, by kind. world: events that are no step of a node, by kind.
    not_covered: steps that the reference does not know yet, by kind. skipped: steps of a node after a
    difference or after a step that is not covered, until its next start, by reason. unknown: fields that are
    not known. exceptions: uses of :data:`~kraftcheck.evidence.recordings.exceptions.EXCEPTIONS`. rules: how
    many of the steps that agree each rule decided.
    """

    run: str
    recorded: int = 0
    compared: Counter[str] = field(default_factory=Counter)
    world: Counter[str] = field(default_factory=Counter)
    not_covered: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(name="fieldsUnknown", default_factory=Counter)
    exceptions: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = []

    def differ(
        self,
        event: Event,
        node: int | None,
        found: Found,
        rules: tuple[str, ...] = (),
        before: tuple[str, ...] = (),
    ) -> None:
        """Add a difference at ``event``."""
        field, reference, production, shown_at = found
        self.differences.append(
            Difference(event.seq, shown_at, node, event.label, field, reference, production, rules, before)
        )

    @property
    def not_compared(self) -> int:
        """The number of steps that were not compared."""
        return self.not_covered.total() + self.skipped.total()

    @property
    def is_whole(self) -> bool:
        """Whether there are steps, and every one was compared."""
        return self.compared.total() > 0 and not self.not_compared


class Finding(Struct, frozen=True):
    """A property that a recorded run violates, or a hazard: a state that is one message away from that.

    property, id: of the catalogue. seq, time: the event that shows it, simulated ms. nodes: first the node
    that took the step, then others involved. evidence: the observation, a sentence. cause, scenario: the
    known cause, and the shipped scenario in which the checker finds the same violation; ``None``: not known.
    """

    property: str
    id: str
    hazard: bool
    seq: int
    time: int
    nodes: tuple[int, ...]
    evidence: str
    cause: str | None = None
    scenario: str | None = None


#: Properties of the changes of one replica's own state. The comparison checks each of these changes as well.
_OF_OWN_STATE = frozenset(
    {"TransitionsLegal", "CandidateOnlyFromProspective", "ResignedLeavesItsEpoch", "ObserversStandNoElection"}
)


class Remark(Struct, frozen=True):
    """A note of the recorder; ``seq`` is ``None`` for one in ``run.json``."""

    seq: int | None
    text: str


class Judgement(Struct):
    """The findings of a run, the goals that it reaches, and the notes that no finding explains."""

    findings: list[Finding] = []
    goals: dict[str, bool] = {}
    unexplained: list[Remark] = field(name="notesUnexplained", default_factory=list)


@dataclass(frozen=True, slots=True)
class RunResult:
    """One run: its comparison with the reference, and the findings of its judges."""

    report: RunReport
    judgement: Judgement

    @classmethod
    def of(cls, report: RunReport, judgement: Judgement, starts: Iterable[tuple[int, int]]) -> RunResult:
        """The result without findings that only repeat a difference.

        A state that differs from the reference makes the change to it, and the change from it, illegal as
        well. ``starts``: the node and the seq of each start of a process; a new process begins anew.
        """
        begun = tuple(starts)

        def repeats(finding: Finding) -> bool:
            node, until = finding.nodes[0], finding.seq
            start = max((seq for each, seq in begun if each == node and seq <= until), default=0)
            differs = any(each.node == node and start <= each.seq <= until for each in report.differences)
            return differs and finding.property in _OF_OWN_STATE

        kept = [finding for finding in judgement.findings if not repeats(finding)]
        return cls(report, replace(judgement, findings=kept))

    @property
    def violations(self) -> list[Finding]:
        """The findings that violate a property, without hazards."""
        return [finding for finding in self.judgement.findings if not finding.hazard]
