"""The known cause of a finding, and the scenario in which the checker finds the same thing."""

from __future__ import annotations

from dataclasses import replace

from model_check.conform.properties.finding import Finding
from model_check.findings import known_findings


def explained(finding: Finding) -> Finding:
    """``finding`` with its cause and scenario, where they are known."""
    for known in known_findings():
        for each in known.recorded:
            if each.property == finding.property and each.evidence.search(finding.evidence):
                return replace(finding, cause=each.cause, scenario=known.scenarios[0])
    return finding
