"""The museum as a page: each defect with its story, what brings it back, and the shortest counterexample."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence

from kraftcheck import spec
from kraftcheck.checking.mutation.campaign import Result
from kraftcheck.checking.mutation.museum import Defect

_INTRODUCTION = """\
# The museum

Written by `kraftcheck museum --markdown -o docs/museum.md`; do not edit it.

Former defects of production, all fixed. Each is a rule that production once lacked. A mutant of the reference
takes the rule away again, and the checker refutes it: the trace under each defect is a shortest one in its
scenario. `kraftcheck museum KAFKA-10527` shows one, `kraftcheck mutate museum` refutes all of them.

Traces read like this: →2 sends to replica 2; ←1 receives from replica 1; e3: epoch 3; last=4@2: a log that
ends at offset 4 with epoch 2; log 3@1,2@2: three records of epoch 1, then two of epoch 2; progress 2:5:
replica 2 holds the log up to offset 5. `kraftcheck mutate MUTANT -v` shows the rules that decided as well.
"""


def as_markdown(defects: Sequence[Defect], results: Mapping[str, Sequence[Result]]) -> str:
    """The page; ``results``: for each defect's id those of its mutants."""
    lines = [_INTRODUCTION, "| defect | endangers | violates | steps |", "|---|---|---|---:|"]
    lines += [_row(defect, results.get(defect.id, ())) for defect in defects]
    for defect in defects:
        lines += ["", *story(defect), *_evidence(defect, results.get(defect.id, ()))]
    return "\n".join(lines) + "\n"


def _row(defect: Defect, results: Sequence[Result]) -> str:
    best = defect.best(results)
    what = "not in the reference" if best is None else f"`{best[1].property}`"
    steps = "" if best is None else best[1].steps
    title = f"[{defect.id}](#{defect.id.lower()}) {defect.title}"
    return f"| {title} | {defect.kind} | {what} | {steps} |"


def story(defect: Defect) -> Iterator[str]:
    """What the page says of a defect without having run anything."""
    yield f"## {defect.id}"
    yield ""
    also = f" (with {', '.join(defect.also)})" if defect.also else ""
    yield f"**{defect.title}**{also}. {' '.join(defect.story.split())}"
    yield ""
    yield f"The missing rule: {' '.join(defect.missing.split())}"
    if defect.outside is not None:
        yield ""
        yield f"No mutant: {' '.join(defect.outside.split())}"
    for mutant in defect.mutants():
        rules = ", ".join(f"{each} ({spec.load().rules[each].title})" for each in mutant.rules)
        yield ""
        yield f"- `{mutant.id}` in scenario `{mutant.scenario}`: {' '.join(mutant.about.split())}"
        yield f"  Without {rules}."


def edits(defect: Defect) -> Iterator[str]:
    """The changes of the reference that bring the defect back, as lines of a diff."""
    for mutant in defect.mutants():
        for edit in mutant.edit:
            yield f"# {mutant.id}: {edit.module}{f', {edit.function}' if edit.function else ''}"
            removed, added = edit.find.strip("\n").splitlines(), edit.replace.strip("\n").splitlines()
            for line in difflib.ndiff(removed, added):
                if not line.startswith("?"):
                    yield line.rstrip()


def _evidence(defect: Defect, results: Sequence[Result]) -> Iterator[str]:
    if defect.outside is not None:
        return
    yield ""
    yield "```diff"
    yield from edits(defect)
    yield "```"
    yield ""
    for result in results:
        found = ", ".join(
            f"`{run.property}` after {run.steps} step{'' if run.steps == 1 else 's'}" for run in result.runs
        )
        yield f"- `{result.mutant.id}` is {result.status.value}: {found}"
    best = defect.best(results)
    if best is not None:
        yield ""
        yield f"`{best[1].property}`, `{best[0].mutant.id}`:"
        yield ""
        yield "```text"
        yield from best[1].trace
        yield "```"
