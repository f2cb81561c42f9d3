"""Mutants of the reference that break the tie, each made and explored in an interpreter of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from model_check.errors import InputError

#: By mutant of ``mutants.toml``, a scenario in which the tie notices it.
TIED: dict[str, str] = {}
#: How many reasons are told.
_TOLD = 2


@dataclass(frozen=True)
class Verdict:
    """Whether a mutant breaks the tie, and what fails: guards of actions, or conjuncts."""

    breaks: bool
    why: tuple[str, ...]
    seconds: float

    def as_data(self) -> dict[str, Any]:
        """As JSON data."""
        return {"breaks": self.breaks, "why": list(self.why), "seconds": self.seconds}


def refute(mutant: str, scenario: str | None = None) -> Verdict:
    """Judge ``mutant`` in ``scenario`` (that of ``TIED``). Raises InputError where it cannot be made."""
    command = [sys.executable, "-m", "model_check.proof.tie.worker", mutant, scenario or TIED[mutant]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        found = json.loads(done.stdout)
    except json.JSONDecodeError:
        last = done.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        raise InputError(f"mutant '{mutant}' could not be judged: {last[0]}") from None
    if "error" in found:
        raise InputError(found["error"])
    return Verdict(found["breaks"], tuple(found["why"]), found["seconds"])
