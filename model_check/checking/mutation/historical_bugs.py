"""Historical bugs of Apache Kafka, each with the missing rule and the mutants that bring it back.

The stories are in ``historical_bugs.toml``; a mutant names the bug that it brings back in ``mutants.toml``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from kraftcheck import spec
from kraftcheck.checking.mutation import catalogue
from kraftcheck.checking.mutation.campaign import Result, Run
from kraftcheck.checking.mutation.catalogue import Mutant
from kraftcheck.support.closest import did_you_mean
from kraftcheck.support.errors import InputError
from kraftcheck.support.validation import read_toml

Issue = Annotated[str, StringConstraints(pattern=r"^KAFKA-[0-9]{3,6}$")]
Text = Annotated[str, StringConstraints(min_length=1, max_length=2000)]
FILE = "historical_bugs.toml"


class Bug(BaseModel):
    """A historical bug of Apache Kafka.

    also: other issues of the same bug. kind: the endangered guarantee. story: the course of the bug. missing:
    the rule that Kafka lacked. shows: the property whose counterexample shows the story; ``None``: the last
    of those that the first mutant violates. outside: the reason why no mutant of the reference brings it
    back.
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
        return tuple(each for each in catalogue.shipped().values() if each.bug == self.id)

    def best(self, results: Iterable[Result]) -> tuple[Result, Run] | None:
        """The result of its mutants whose counterexample shows the story, with that exploration."""
        found = [(result, run) for result in results for run in result.runs if run.property == run.judged]
        for result, run in found:
            if run.judged == self.shows:
                return result, run
        first = [pair for pair in found if pair[0] is found[0][0]]
        return first[-1] if first else None


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    bug: Annotated[tuple[Bug, ...], Field(strict=False)]


def shipped() -> dict[str, Bug]:
    """The historical bugs by id, in the file's order. Raises InputError if the file is damaged."""
    try:
        text = (resources.files("kraftcheck.checking.mutation") / FILE).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{FILE}: cannot be read ({error}); restore the file.") from None
    bugs = read_toml(_File, text, FILE, "correct it").bug
    return {bug.id: bug for bug in bugs}


def choose(words: Iterable[str]) -> list[Bug]:
    """The bugs that ``words`` name, with or without ``KAFKA-``; no words: all. Raises InputError."""
    known = shipped()
    names = {issue: bug.id for bug in known.values() for issue in (bug.id, *bug.also)}
    wanted: set[str] = set()
    for word in words:
        issue = word.upper() if word.upper().startswith("KAFKA-") else f"KAFKA-{word}"
        if issue not in names:
            hint = did_you_mean(issue, names, most=3) or "; 'kraftcheck bugs' lists them."
            raise InputError(f"there is no bug {word[:60]!r} among the historical bugs{hint}")
        wanted.add(names[issue])
    return [bug for bug in known.values() if not wanted or bug.id in wanted]


# The page of the documentation.

_INTRODUCTION = """\
# Historical bugs

Written by `kraftcheck bugs --markdown -o docs/historical-bugs.md`; do not edit it.

Bugs that Apache Kafka had, all fixed. Each is a rule that Kafka once lacked. A mutant of the reference
removes the rule again, and the checker kills the mutant: the trace under each bug is a shortest one in its
scenario. `kraftcheck bugs KAFKA-10527` shows one bug, `kraftcheck mutate bugs` runs the mutants of all.

Traces read like this: →2 sends to replica 2; ←1 receives from replica 1; e3: epoch 3; last=4@2: a log that
ends at offset 4 with epoch 2; log 3@1,2@2: three records of epoch 1, then two of epoch 2; progress 2:5:
replica 2 holds the log up to offset 5. `kraftcheck mutate MUTANT -v` also shows the rules that decided.
"""


def as_markdown(bugs: Sequence[Bug], results: Mapping[str, Sequence[Result]]) -> str:
    """The page; ``results``: for each bug's id those of its mutants."""
    lines = [_INTRODUCTION, "| bug | endangers | violates | steps |", "|---|---|---|---:|"]
    lines += [_row(bug, results.get(bug.id, ())) for bug in bugs]
    for bug in bugs:
        lines += ["", *story(bug), *_evidence(bug, results.get(bug.id, ()))]
    return "\n".join(lines) + "\n"


def _row(bug: Bug, results: Sequence[Result]) -> str:
    best = bug.best(results)
    what = "not in the reference" if best is None else f"`{best[1].property}`"
    steps = "" if best is None else best[1].steps
    title = f"[{bug.id}](#{bug.id.lower()}) {bug.title}"
    return f"| {title} | {bug.kind} | {what} | {steps} |"


def story(bug: Bug) -> Iterator[str]:
    """The part of the page about a bug that needs no run."""
    yield f"## {bug.id}"
    yield ""
    also = f" (with {', '.join(bug.also)})" if bug.also else ""
    yield f"**{bug.title}**{also}. {' '.join(bug.story.split())}"
    yield ""
    yield f"The missing rule: {' '.join(bug.missing.split())}"
    if bug.outside is not None:
        yield ""
        yield f"No mutant: {' '.join(bug.outside.split())}"
    for mutant in bug.mutants():
        rules = ", ".join(f"{each} ({spec.load().rules[each].title})" for each in mutant.rules)
        yield ""
        yield f"- `{mutant.id}` in scenario `{mutant.scenario}`: {' '.join(mutant.about.split())}"
        yield f"  Without {rules}."


def edits(bug: Bug) -> Iterator[str]:
    """The changes of the reference that bring the bug back, as lines of a diff."""
    for mutant in bug.mutants():
        for edit in mutant.edit:
            yield f"# {mutant.id}: {edit.module}{f', {edit.function}' if edit.function else ''}"
            removed, added = edit.find.strip("\n").splitlines(), edit.replace.strip("\n").splitlines()
            for line in difflib.ndiff(removed, added):
                if not line.startswith("?"):
                    yield line.rstrip()


def _evidence(bug: Bug, results: Sequence[Result]) -> Iterator[str]:
    if bug.outside is not None:
        return
    yield ""
    yield "```diff"
    yield from edits(bug)
    yield "```"
    yield ""
    for result in results:
        found = ", ".join(
            f"`{run.property}` after {run.steps} step{'' if run.steps == 1 else 's'}" for run in result.runs
        )
        yield f"- `{result.mutant.id}` is {result.status.value}: {found}"
    best = bug.best(results)
    if best is not None:
        yield ""
        yield f"`{best[1].property}`, `{best[0].mutant.id}`:"
        yield ""
        yield "```text"
        yield from best[1].trace
        yield "```"
