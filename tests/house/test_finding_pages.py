"""The pages of findings: one for each cause, with a head from the registry and the sections of a report."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from kraftcheck.checking import by_release, release_table
from kraftcheck.checking.finding_pages import LIST, SECTIONS, Page, head, listed, pages, with_list, write
from kraftcheck.checking.findings import known_findings
from kraftcheck.evidence.junit.judges import judges
from kraftcheck.evidence.quorum.chosen import obstacle
from kraftcheck.spec import RELEASES
from kraftcheck.systems.kraft.scenario import KRaftScenario
from kraftcheck.systems.scenario import shipped
from tests.house.sources import ROOT

DOCS = ROOT / "docs"
OVERVIEW = DOCS / "findings.md"


def text_of(page: Page) -> str:
    return (DOCS / "findings" / f"{page.name}.md").read_text(encoding="utf-8")


def test_every_finding_is_on_one_page() -> None:
    on_pages = [finding for page in pages() for finding in page.findings]
    assert sorted(on_pages) == sorted(known.id for known in known_findings())
    files = {path.stem for path in (DOCS / "findings").glob("*.md")}
    assert files == {page.name for page in pages()}
    for page in pages():
        assert {known.place for known in page.known} == {f"docs/findings/{page.name}.md"}


def test_the_list_is_up_to_date() -> None:
    text = OVERVIEW.read_text(encoding="utf-8")
    assert f"{LIST}\n\n{listed()}\n" in text, "run: python -m kraftcheck.checking.finding_pages docs"
    assert with_list(text) == text
    with pytest.raises(ValueError, match="is missing"):
        with_list("# Findings\n")


def test_the_readme_counts_the_faults_of_kafka() -> None:
    of_kafka = [page.releases for page in pages() if page.releases]
    newest = sum("4.3" in releases for releases in of_kafka)
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"It found {len(of_kafka)} faults in Apache Kafka, {newest} of them in 4.3.1:" in text


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_a_page_has_its_head_and_its_sections(page: Page) -> None:
    text = text_of(page)
    assert text.partition("## ")[0] == head(page), "run: python -m kraftcheck.checking.finding_pages docs"
    headings = re.findall(r"^## (.*)$", text, re.M)
    assert [heading for heading in headings if heading in SECTIONS] == list(SECTIONS)
    for section in re.split(r"^## .*$", text, flags=re.M)[1:]:
        assert section.strip()


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_commands_name_what_there_is(page: Page) -> None:
    """Scenarios that show it are violated, those with the fix hold, and findings can be reproduced."""
    text = text_of(page)
    shown, held = set(), set()
    for command in re.findall(r"`(kraftcheck (?:check|reproduce) [^`]+)`", text):
        _, kind, *words = shlex.split(command)
        (name,) = [word for word in words if word in shipped() or word in page.findings]
        if kind == "check":
            (shown if "-v" in words else held).add(name)
            assert shipped()[name].expect.verdict == ("violated" if "-v" in words else "holds")
    assert shown == {scenario.name for scenario in page.scenarios} and held == set(page.holds)
    assert ("kraftcheck reproduce" in text) == (page.evidence == "reproduced")


def test_the_junit_test_of_a_page_is_of_a_property_that_has_an_assertion() -> None:
    """A finding that real replicas reproduce has one, unless nothing finite violates its properties."""
    without = set()
    for page in pages():
        found = re.findall(r"`kraftcheck trace show DIR/([\w-]+)\.(\w+)\.json --kafka-test`", text_of(page))
        for scenario, violated in found:
            assert scenario in {each.name for each in page.scenarios} and violated in judges()
        if not found and page.evidence == "reproduced":
            without.add(page.name)
    assert without == {
        "hand-over-of-four",
        "leader-of-two-removes-itself",
        "leader-removal-timed-out",
        "observer-after-fetch-timeout",
        "observer-keeps-old-address",
        "voter-advertises-unreachable",
    }


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_what_the_registry_says_is_consistent(page: Page) -> None:
    assert list(page.releases) == [release for release in RELEASES if release in page.releases]
    assert (page.severity == "document") == (page.evidence == "document") == (not page.releases)
    of_kafka = all("kafka" in known.variants for known in page.known)
    drivable = all(isinstance(each, KRaftScenario) and obstacle(each) is None for each in page.scenarios)
    assert (of_kafka and drivable) == (page.evidence == "reproduced")
    for name in page.holds:
        assert shipped()[name].name not in {scenario.name for scenario in page.scenarios}


def test_the_table_by_release_is_up_to_date() -> None:
    text = (DOCS / "findings-by-release.md").read_text(encoding="utf-8")
    assert text == release_table.page(by_release.kept()), (
        "run: python -m kraftcheck.checking.finding_pages docs"
    )
    assert not [*by_release.missing(by_release.kept())]


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_releases_are_those_in_which_a_scenario_shows_it(page: Page) -> None:
    names = [name for known in page.known for name in known.scenarios if name in by_release.scenarios()]
    results = by_release.kept()
    shown = [
        release
        for release in RELEASES
        if names and any(release_table.is_there(results, name, release) for name in names)
    ]
    assert not set(page.unlike) & set(shown)
    given = {name: {*page.unlike} | {*page.not_recognised.get(name, {})} for name in names}
    for name in names:
        other = [
            release
            for release, found in results.checked[name].items()
            if found.verdict == "violated" and not release_table.is_there(results, name, release)
        ]
        assert {*other} <= given[name] and {*page.not_recognised.get(name, {})} <= {*other}, name
    assert {*page.not_recognised} <= {*names}
    expected = {*shown, *page.unlike} if names else {*page.releases}
    assert {*page.releases} == expected


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", ["finding-wiped-leader", "finding-voter-advertises-unreachable"])
def test_results_by_release_are_those_of_the_reference(name: str, release: str) -> None:
    assert by_release.checked(name, release) == by_release.kept().checked[name][release]


def test_the_most_severe_come_first() -> None:
    order = ("critical", "major", "minor", "document")
    places = [order.index(page.severity) for page in pages()]
    assert places == sorted(places)


def test_a_page_that_is_not_there_is_begun(tmp_path: Path) -> None:
    (tmp_path / "findings.md").write_text(
        f"# Findings\n\n{LIST}\n\na stale list\n\n## Next\n\nkept\n", encoding="utf-8"
    )
    write(tmp_path)
    first = pages()[0]
    assert (tmp_path / "findings" / f"{first.name}.md").read_text(encoding="utf-8") == head(first)
    text = (tmp_path / "findings.md").read_text(encoding="utf-8")
    assert "a stale list" not in text and text.endswith("\n\n## Next\n\nkept\n")


def test_replicas_of_every_release_have_taken_every_counterexample_of_its_preset() -> None:
    results = by_release.kept()
    for name in by_release.scenarios():
        for release in RELEASES:
            found = results.checked[name][release]
            assert found.verdict != "undetermined", (name, release)
            if found.verdict == "violated":
                taken = {each.verdict for each in results.reproduced[name][release]}
                assert taken == {"confirmed"}, (name, release)
