"""The pages of ``docs/findings/``: the entries of ``finding_pages.toml``, and the parts made from them.

``python -m kraftcheck.checking.finding_pages docs`` writes the head of each page, up to its first section,
the list in ``docs/findings.md``, and ``docs/findings-by-release.md``. The sections below a head are written
by hand.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from kraftcheck.checking import by_release, release_table
from kraftcheck.checking.findings import Known, known_findings
from kraftcheck.spec import RELEASES
from kraftcheck.support.files import write_atomically
from kraftcheck.systems.scenario import Scenario, shipped

Severity = Literal["critical", "major", "minor", "document"]
Evidence = Literal["reproduced", "read", "document"]

#: What each class of evidence says; ``{}``: the newest release that has the finding.
EVIDENCE: Final[dict[Evidence, str]] = {
    "reproduced": "reproduced: replicas of Kafka {} take every step of the counterexample",
    "read": "model, and read in the source of Kafka",
    "document": "model of the document",
}

#: The sections of every page, in this order; others may lie between them.
SECTIONS: Final = ("Preconditions", "Steps", "For an operator", "Smallest fix", "Related")

#: The heading in docs/findings.md of the list of all pages.
LIST: Final = "## All findings"


class Page(BaseModel):
    """A page; see ``finding_pages.toml``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    title: str
    findings: tuple[str, ...]
    severity: Severity
    lost: str
    releases: tuple[str, ...] = ()
    unlike: Mapping[str, str] = {}
    not_recognised: Mapping[str, Mapping[str, str]] = Field({}, alias="not-recognised")
    evidence: Evidence
    recorded: str = ""
    fix: str
    holds: tuple[str, ...] = ()
    unfixed: str = ""

    @property
    def known(self) -> tuple[Known, ...]:
        """The findings of the page."""
        return tuple(known for known in known_findings() if known.id in self.findings)

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        """The scenarios that show them."""
        return tuple(shipped()[name] for known in self.known for name in known.scenarios)

    @property
    def driven(self) -> str:
        """The release of Kafka whose replicas take the counterexample, if any do."""
        return "4.3.1" if "4.3" in self.releases else next(reversed(self.releases), "")

    @property
    def affected(self) -> str:
        """The affected releases in words."""
        if not self.releases:
            return "none: a document"
        first, last = self.releases[0], self.releases[-1]
        whole = RELEASES[RELEASES.index(first) : RELEASES.index(last) + 1] == self.releases
        words = f"{first} to {last}" if whole and first != last else ", ".join(self.releases)
        compared = any(scenario.name in by_release.scenarios() for scenario in self.scenarios)
        return words if compared or len(self.releases) > 1 else f"{words} (others were not read)"


@cache
def pages() -> tuple[Page, ...]:
    """All pages, the most severe first."""
    text = (resources.files("kraftcheck.checking") / "finding_pages.toml").read_text(encoding="utf-8")
    return tuple(Page.model_validate(entry) for entry in tomllib.loads(text)["page"])


def head(page: Page) -> str:
    """The generated part of a page, up to its first section."""
    rows = "\n".join(f"| {name} | {text} |" for name, text in _rows(page))
    return f"# {page.title}\n\n| | |\n|---|---|\n{rows}\n\n"


def _rows(page: Page) -> Iterator[tuple[str, str]]:
    names = [scenario.name for scenario in page.scenarios]
    violated = dict.fromkeys(each for scenario in page.scenarios for each in scenario.expect.violates)
    yield "Affected releases of Kafka", page.affected
    yield "Severity", f"{page.severity}: {page.lost}"
    yield "Violates", ", ".join(violated)
    yield "Evidence", EVIDENCE[page.evidence].format(page.driven)
    if page.recorded:
        yield "In a recorded run", page.recorded
    yield "See it", "<br>".join(f"`kraftcheck check -v {name}`" for name in names)
    if page.evidence == "reproduced":
        lines = (f"`kraftcheck reproduce {known.id} --kafka PATH`" for known in page.known)
        yield "Reproduce it", "<br>".join(lines)
        tests = [found for each in page.scenarios if (found := _as_junit_test(each))]
        if tests:
            yield "As a JUnit test", tests[0]
    yield "Smallest fix", page.fix
    held = "<br>".join(f"`kraftcheck check {name}`" for name in page.holds)
    yield "With the fix", held or f"no scenario: {page.unfixed}"
    past = dict.fromkeys(f"`{known.past}`" for known in page.known if known.sets_a_key)
    if past:
        yield "Excluded by the key", "<br>".join(past)


def _as_junit_test(scenario: Scenario) -> str:
    """The commands that print the counterexample of ``scenario`` as a JUnit test of Kafka. Empty for an
    *eventually* property: no finite test fails for what never happens.
    """
    eventually = {each.property for each in scenario.check.eventually}
    violated = next((each for each in scenario.expect.violates if each not in eventually), None)
    if violated is None:
        return ""
    show = f"kraftcheck trace show DIR/{scenario.name}.{violated}.json --kafka-test"
    return f"`kraftcheck check -v {scenario.name} --traces DIR`<br>`{show}`"


def listed() -> str:
    """The list of all pages, as it stands in docs/findings.md below its heading."""
    lines = ["| finding | severity | what is lost | releases | evidence |", "|---|---|---|---|---|"]
    for page in pages():
        link = f"[{page.title}](findings/{page.name}.md)"
        lines.append(f"| {link} | {page.severity} | {page.lost} | {page.affected} | {page.evidence} |")
    return "\n".join(lines)


def with_head(page: Page, text: str) -> str:
    """The text of a page with its head made anew."""
    begin = f"\n{text}".find("\n## ")
    return head(page) + (text[begin:] if begin >= 0 else "")


def with_list(text: str) -> str:
    """The text of docs/findings.md with its list made anew. Raises ValueError if the heading is missing."""
    before, found, rest = text.partition(f"\n{LIST}\n")
    if not found:
        raise ValueError(f"the heading {LIST!r} is missing")
    _, next_section, after = rest.partition("\n## ")
    return f"{before}\n{LIST}\n\n{listed()}\n{next_section}{after}"


def write(docs: Path) -> None:
    """Write the heads of all pages, the list and the table by release, below the folder ``docs``."""
    for page in pages():
        file = docs / "findings" / f"{page.name}.md"
        file.parent.mkdir(exist_ok=True)
        write_atomically(file, with_head(page, file.read_text(encoding="utf-8") if file.exists() else ""))
    write_atomically(docs / "findings-by-release.md", release_table.page(by_release.kept()))
    overview = docs / "findings.md"
    write_atomically(overview, with_list(overview.read_text(encoding="utf-8")))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
