"""The museum: former defects of production, each with the rule that was missing and what brings it back.

The stories are in ``model_check/checking/mutation/museum.toml``; the mutants that belong to them say so in
``mutants.toml``.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from kraftcheck.checking.mutation import catalogue
from kraftcheck.checking.mutation.campaign import Result, Run
from kraftcheck.checking.mutation.catalogue import Mutant
from kraftcheck.support.closest import did_you_mean
from kraftcheck.support.errors import InputError
from kraftcheck.support.validation import read_toml

Issue = Annotated[str, StringConstraints(pattern=r"^KAFKA-[0-9]{3,6}$")]
Text = Annotated[str, StringConstraints(min_length=1, max_length=2000)]
FILE = "museum.toml"


class Defect(BaseModel):
    """A former defect of production.

    also: other issues of the same defect. kind: what it endangered. story: what went wrong. missing: the rule
    that production lacked. shows: the property whose counterexample tells the story; ``None``: the last of
    those that the first mutant violates. outside: why no mutant of the reference brings it back.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    id: Issue
    also: Annotated[tuple[Issue, ...], Field(strict=False)] = ()
    title: Text
    kind: Literal["safety", "liveness", "crash", "view"]
    story: Text
    missing: Text
    shows: Text | None = None
    outside: Text | None = None

    def mutants(self) -> tuple[Mutant, ...]:
        """The mutants that bring it back, in the order of their catalogue. Raises InputError."""
        return tuple(each for each in catalogue.shipped().values() if each.defect == self.id)

    def best(self, results: Iterable[Result]) -> tuple[Result, Run] | None:
        """Of its mutants' results the one whose counterexample tells the story, and that exploration."""
        found = [(result, run) for result in results for run in result.runs if run.property == run.judged]
        for result, run in found:
            if run.judged == self.shows:
                return result, run
        first = [pair for pair in found if pair[0] is found[0][0]]
        return first[-1] if first else None


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    defect: Annotated[tuple[Defect, ...], Field(strict=False)]


def shipped() -> dict[str, Defect]:
    """The defects of the museum by id, in the file's order. Raises InputError if the file is damaged."""
    try:
        text = (resources.files("kraftcheck.checking.mutation") / FILE).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{FILE}: cannot be read ({error}); restore the file.") from None
    defects = read_toml(_File, text, FILE, "correct it").defect
    return {defect.id: defect for defect in defects}


def choose(words: Iterable[str]) -> list[Defect]:
    """The defects that ``words`` name, with or without ``KAFKA-``; no words: all. Raises InputError."""
    known = shipped()
    names = {issue: defect.id for defect in known.values() for issue in (defect.id, *defect.also)}
    wanted: set[str] = set()
    for word in words:
        issue = word.upper() if word.upper().startswith("KAFKA-") else f"KAFKA-{word}"
        if issue not in names:
            hint = did_you_mean(issue, names, most=3) or "; 'kraftcheck museum' lists them."
            raise InputError(f"there is no defect {word[:60]!r} in the museum{hint}")
        wanted.add(names[issue])
    return [defect for defect in known.values() if not wanted or defect.id in wanted]
