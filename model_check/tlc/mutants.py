"""Mutants with a counterpart in TLA+: TLC should kill each by as many steps as the checker."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from kraftcheck.checking.mutation import catalogue, patch
from kraftcheck.checking.mutation.server import Job, Server
from kraftcheck.support.errors import InputError
from kraftcheck.systems.scenario import find
from kraftcheck.tlc.compare import Answer, Comparison, Question, Report, Wanted, differences, our_answer
from kraftcheck.tlc.modules import Modules, TlaMutant


def ask_about_mutant(
    mutant: TlaMutant, server: Server, modules: Modules, wanted: Wanted, report: Report
) -> Question:
    """The question whether TLC kills ``mutant`` by as many steps as the checker. Raises InputError."""
    configuration = modules.mutated(mutant)
    report(f"{mutant.id}: the checker explores")
    ours = _answer(mutant, server, wanted)

    def compared(theirs: Answer, _: Path | str) -> Comparison:
        found = differences(ours, theirs)
        if not found and ours.verdict == theirs.verdict == "holds":
            found = ("neither kills it",)
        return Comparison(mutant.id, ours, theirs, found)

    return Question(mutant.id, configuration, ours, False, compared)


def _answer(mutant: TlaMutant, server: Server, wanted: Wanted) -> Answer:
    known = catalogue.shipped()
    if mutant.id not in known:
        raise InputError(f"there is no mutant '{mutant.id}'; 'kraftcheck mutate --list' lists them.")
    seconds = wanted.max_seconds or 3600.0
    arguments = {"scenario": mutant.scenario, "seconds": seconds}
    changed = patch.mutated_sources(known[mutant.id])
    job = Job("kraftcheck.tlc.mutants:explored", arguments, seconds, mutant.id, changed)
    ended = server.run(job)
    if ended.error is not None:
        raise InputError(f"mutant '{mutant.id}': {ended.error}")
    if ended.limit is not None:
        return Answer(0, 0, None, (), None, seconds, f"the checker: {ended.limit}")
    return msgspec.convert(ended.found[0], Answer)


def explored(scenario: str, seconds: float) -> Iterator[dict[str, Any]]:
    """The checker's answer about a scenario, as a job."""
    yield asdict(our_answer(find(scenario), Wanted(max_seconds=seconds)))
