"""The known cause of a finding, and the scenario in which the checker finds the same thing."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

from model_check.conform.properties.finding import Finding


@dataclass(frozen=True, slots=True)
class Cause:
    """An entry of ``causes.toml``."""

    property: str
    evidence: re.Pattern[str]
    cause: str
    scenario: str


@cache
def known_causes() -> tuple[Cause, ...]:
    """The entries of ``causes.toml``, in order."""
    text = (resources.files(__package__) / "causes.toml").read_text(encoding="utf-8")
    return tuple(
        Cause(entry["property"], re.compile(entry["evidence"]), entry["cause"], entry["scenario"])
        for entry in tomllib.loads(text)["cause"]
    )


def explained(finding: Finding) -> Finding:
    """``finding`` with its cause and scenario, where they are known."""
    for known in known_causes():
        if known.property == finding.property and known.evidence.search(finding.evidence):
            return replace(finding, cause=known.cause, scenario=known.scenario)
    return finding
