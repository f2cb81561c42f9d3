"""The known cause of a finding, and the scenario in which the checker finds the same thing."""

from __future__ import annotations

from dataclasses import replace

from kraftcheck.checking.findings import known_findings
from kraftcheck.evidence.recordings.properties.finding import Finding


def explained(finding: Finding) -> Finding:
    """``finding`` with its cause and scenario, where they are known."""
    for known in known_findings():
        for each in known.recorded:
            if each.property == finding.property and each.evidence.search(finding.evidence):
                return replace(finding, cause=each.cause, scenario=known.scenarios[0])
    return finding
