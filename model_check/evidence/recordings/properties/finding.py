"""The judge's reports about a recording."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kraftcheck.checking.findings import known_findings


@dataclass(frozen=True, slots=True)
class Finding:
    """A property that a recorded run violates, or a hazard: a state that is one message away from that.

    property: its name in the catalogue. seq, time: the event that shows it, simulated ms. nodes: the node
    that took the step first, then others involved. evidence: the observation, a sentence. cause, scenario:
    the known cause, and the shipped scenario in which the checker finds the same violation; ``None``: not
    known.
    """

    run: str
    property: str
    seq: int
    time: int
    nodes: tuple[int, ...]
    evidence: str
    hazard: bool = False
    cause: str | None = None
    scenario: str | None = None


def explained(finding: Finding) -> Finding:
    """``finding`` with its cause and scenario, where they are known."""
    for known in known_findings():
        for each in known.recorded:
            if each.property == finding.property and each.evidence.search(finding.evidence):
                return replace(finding, cause=each.cause, scenario=known.scenarios[0])
    return finding
