"""The results of a check where a CI system shows them: as JUnit XML, and on GitHub in the pull request."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from kraftcheck.checking.results import Outcome
from kraftcheck.support.errors import InputError
from kraftcheck.support.printable import printable, shortened
from kraftcheck.traces.markdown import escape

#: GitHub takes a summary of 1 MiB at most; the largest diagrams go first.
_MOST_BYTES = 900_000
_MOST_LETTERS = 60_000


@dataclass(frozen=True, slots=True)
class Result:
    """A scenario for CI: its file, its outcome, the lines that the terminal shows, and its counterexample as
    a Mermaid diagram, empty without one.
    """

    name: str
    file: str
    outcome: Outcome
    text: str
    diagram: str = ""


def junit(results: Sequence[Result]) -> str:
    """``results`` as JUnit XML: a test case for each scenario, failed where the verdict differs, in error
    where it is undetermined.

    Source: the schema that Jenkins, GitLab and GitHub's reporters read (testsuites, testsuite, testcase).
    """
    failures = sum(each.outcome.differs for each in results)
    errors = sum(each.outcome.undetermined and not each.outcome.differs for each in results)
    seconds = sum(each.outcome.seconds for each in results)
    counts = {"tests": len(results), "failures": failures, "errors": errors, "time": f"{seconds:.3f}"}
    attributes = {"name": "kraftcheck", **{key: str(value) for key, value in counts.items()}}
    suites = ElementTree.Element("testsuites", attributes)
    suite = ElementTree.SubElement(suites, "testsuite", attributes)
    for each in results:
        case = {"classname": "kraftcheck", "name": each.name, "time": f"{each.outcome.seconds:.3f}"}
        where = ElementTree.SubElement(
            suite, "testcase", case | ({"file": printable(each.file)} if each.file else {})
        )
        text = _plain(each.text)
        if each.outcome.differs or each.outcome.undetermined:
            kind = "failure" if each.outcome.differs else "error"
            ElementTree.SubElement(where, kind, {"message": _first_line(each)}).text = text
        else:
            ElementTree.SubElement(where, "system-out").text = text
    ElementTree.indent(suites)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"
    )


def commands(results: Sequence[Result]) -> str:
    """Workflow commands of GitHub Actions, a line each, that mark the files of scenarios whose verdict
    differs (as an error) or is undetermined (as a warning).
    """
    lines = []
    for each in results:
        if each.outcome.differs or each.outcome.undetermined:
            kind = "error" if each.outcome.differs else "warning"
            where = f"file={_property(each.file)}," if each.file else ""
            title = _property(f"kraftcheck: {each.name}")
            lines.append(f"::{kind} {where}title={title}::{_command(_paragraph(each.text))}\n")
    return "".join(lines)


def markdown(results: Sequence[Result]) -> str:
    """A summary for the page of a job: what is not as expected, with counterexamples as diagrams."""
    expected = sum(each.outcome.as_expected for each in results)
    lines = [f"### kraftcheck: {expected} of {len(results)} scenarios as expected", ""]
    shown = [each for each in results if not each.outcome.as_expected]
    if shown:
        lines += ["| scenario | result |", "|---|---|"]
        lines += [f"| {escape(each.name)} | {escape(_first_line(each))} |" for each in shown]
    text = "\n".join(lines) + "\n"
    for each in shown:
        if each.diagram:
            more = f"\n#### {escape(each.name)}\n\n```mermaid\n{each.diagram}```\n"
            if len((text + more).encode()) < _MOST_BYTES:
                text += more
    return text


def append_summary(text: str, environment: Mapping[str, str] = os.environ) -> None:
    """Append ``text`` to the summary of this job of GitHub Actions; elsewhere do nothing.

    Raises InputError where the file of the summary cannot be written.
    """
    if name := environment.get("GITHUB_STEP_SUMMARY"):
        try:
            with Path(name).open("a", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise InputError(f"GITHUB_STEP_SUMMARY: {name} cannot be written ({error.strerror}).") from None


def _plain(text: str) -> str:
    """``text`` without characters that XML or a terminal may not have, and not too long."""
    return shortened("\n".join(map(printable, text.strip().splitlines())), _MOST_LETTERS)


def _paragraph(text: str) -> str:
    """The beginning of ``text``, without the counterexample and the columns of a terminal."""
    lines = _plain(text).partition("\n\n")[0].splitlines()
    return "\n".join(" ".join(line.split()) for line in lines)


def _first_line(result: Result) -> str:
    """The verdict, next to which the name stands already."""
    line = (_plain(result.text).splitlines() or [""])[0]
    return " ".join(line.removeprefix(f"{result.name} ").split())


def _command(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _command(text).replace(":", "%3A").replace(",", "%2C")
