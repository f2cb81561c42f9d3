"""Mutants of the reference, each checked by a job of :mod:`kraftcheck.checking.mutation.server`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kraftcheck.checking.mutation import catalogue, patch
from kraftcheck.checking.mutation.server import Job, Server
from kraftcheck.proof.refinement.run import Work, check_refinement
from kraftcheck.proof.refinement.violations import lines_of_lack
from kraftcheck.support.errors import InputError, ProcessKilledError
from kraftcheck.systems.kraft.scenario import of_replicas
from kraftcheck.systems.scenario import find

#: The number of reasons that are reported.
_TOLD = 3
#: The time limit of a mutant, in seconds.
_MOST_SECONDS = 600.0
#: What all of them share, also where a mutant imports the reference again: Z3 would not declare the proof's
#: sorts twice.
_FIRST = "kraftcheck.proof.refinement.written:write_all"


def refute(server: Server, mutant: str, scenario: str) -> dict[str, Any]:
    """Whether ``mutant`` is ``killed`` in ``scenario``; ``why``: the guards or conjuncts that fail.

    Raises InputError where that cannot be judged, and ProcessKilledError.
    """
    known = catalogue.shipped()
    if mutant not in known:
        raise InputError(f"there is no mutant '{mutant}'; 'kraftcheck mutate --list' says what there is.")
    changed = patch.mutated_sources(known[mutant])
    arguments = {"scenario": scenario}
    job = Job("kraftcheck.proof.refinement.worker:judge", arguments, _MOST_SECONDS, mutant, changed, _FIRST)
    ended = server.run(job)
    if ended.limit is not None:
        raise ProcessKilledError
    if ended.error is not None:
        raise InputError(f"mutant '{mutant}' could not be judged: {ended.error}")
    found: dict[str, Any] = ended.found[0]
    return found


def judge(scenario: str) -> Iterator[dict[str, Any]]:
    """The result of the refinement check of a scenario."""
    work = check_refinement(of_replicas(find(scenario), "--refinement"))
    yield {
        "killed": not work.refinement.holds,
        "why": _why(work),
        "seconds": round(work.refinement.seconds, 2),
    }


def _why(work: Work) -> list[str]:
    found = [*work.refinement.beginning.lacks, *sorted(work.refinement.unexpected)]
    if work.refinement.disturbed:
        found.append("the step of another replica changes what the proof sees")
    for lack in work.refinement.passed.lacks or work.refinement.on_all_ways.lacks:
        found += dict(lines_of_lack(work, lack))["what fails"]
    told = list(dict.fromkeys(found))[:_TOLD]
    return told + [f"{each.conjunct.name} fails" for each in work.refinement.broken if each.states][:_TOLD]
