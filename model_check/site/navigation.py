"""What the site lists at its top and at its side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from kraftcheck import spec
from kraftcheck.checking import finding_pages
from kraftcheck.site import names, pages

#: A page, or a title with what is below it.
Item: TypeAlias = "str | dict[str, str | list[Item]]"

#: The pages written by hand, by tab and section; pages that are not there are left out.
_LEARN: Final = ("tutorial.md", "guide.md", "glossary.md")
_HOW_TO: Final = (
    "howto/review-a-change.md", "howto/incident.md", "howto/implement.md", "howto/model.md", "scenarios.md",
    "short-form.md", "ci.md", "impact.md", "hunt.md", "logs.md", "conform.md", "drive.md", "reproduce.md",
    "record.md", "library.md", "extending.md", "contributing.md",
)  # fmt: skip
_RUNBOOKS: Final = (
    "runbooks.md", "runbooks/no-leader.md", "runbooks/leader-changes.md", "runbooks/does-not-start.md",
    "runbooks/controller-lags.md", "runbooks/voter-change-unfinished.md", "runbooks/disk-lost.md",
    "runbooks/unknown-directory-id.md", "runbooks/majority-lost.md", "runbooks/two-leaders.md",
    "runbooks/upgrade-refused.md",
)  # fmt: skip
_BACKGROUND: Final = (
    "architecture.md", "engine.md", "reference.md", "schemas/index.md", "rules.md", "brokers.md",
    "brokers-compared.md", "proofs.md", "tlc.md", "tla-modules.md", "designs.md", "pipeline.md",
    "pipeline/explore.md", "pipeline/campaign.md", "pipeline/vectors.md", "pipeline/logs.md",
    "vectors-format.md", "changelog.md",
)  # fmt: skip


def navigation(texts: Mapping[str, str]) -> list[Item]:
    """The pages in order, with titles: the argument has the Markdown of each page by its path."""
    catalogue = spec.load()
    properties: list[Item] = ["properties/index.md", "properties.md"]
    for title, kind in (("Always", "always"), ("Eventually", "eventually"), ("Sometimes", "sometimes")):
        of_kind = [each for each in catalogue.properties.values() if each.kind == kind]
        listed: list[Item] = [{each.name: names.properties()[each.id]} for each in of_kind]
        properties.append({title: listed})
    areas: list[Item] = []
    for area, rules in catalogue.areas.items():
        below: list[Item] = [{each.id: names.rules()[each.id]} for each in rules]
        areas.append({area: [f"rules/{area}.md", *below]})
    scenarios: list[Item] = [
        {name: [f"scenarios/{name}.md", *(names.scenarios()[each.name] for each in pages.scenarios_of(name))]}
        for name in pages.FOLDERS
    ]
    found: list[Item] = ["findings.md", "findings-by-release.md", "historical-bugs.md"]
    for severity in ("critical", "major", "minor", "document"):
        of_severity = [page for page in finding_pages.pages() if page.severity == severity]
        found.append({severity.capitalize(): [f"findings/{page.name}.md" for page in of_severity]})
    return [
        {"Home": "index.md"},
        {"Learn": _there(_LEARN, texts)},
        {"How to": _there(_HOW_TO, texts)},
        {"Runbooks": _there(_RUNBOOKS, texts)},
        {"Findings": found},
        {"Rules": ["rules/index.md", *areas]},
        {"Properties": properties},
        {"Scenarios": ["scenarios/index.md", *scenarios]},
        {"Background": _there(_BACKGROUND, texts)},
    ]


def _there(listed: tuple[str, ...], texts: Mapping[str, str]) -> list[Item]:
    return [at for at in listed if at in texts]
