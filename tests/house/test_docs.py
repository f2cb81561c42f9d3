"""What README.md and docs/ say exists: commands, files, keys, properties, make targets."""

import argparse
import importlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from kraftcheck import spec
from kraftcheck.cli import main as cli
from kraftcheck.support.validation import table_in
from kraftcheck.systems import scenario
from kraftcheck.systems.brokers.scenario import BrokerScenario
from kraftcheck.systems.kraft.scenario import KRaftScenario
from tests.house.sources import ROOT

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]


def commands_in(page: Path) -> Iterator[str]:
    """Every ``kraftcheck …`` command line in the page's code, with continued lines joined."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    for block in re.findall(r"^```[^\n]*\n(.*?)^```", text, re.M | re.S):
        for line in block.splitlines():
            line = line.strip().removeprefix("$ ")
            if line.startswith("kraftcheck "):
                yield line
    prose = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    for line in re.findall(r"`(kraftcheck [^`\n]+)`", prose):
        names_only = re.fullmatch(r"kraftcheck (pipeline )?\w+( show| replay)?", line)
        yield f"{line} --help" if names_only else line


def parse(line: str) -> None:
    """Parse the command line as ``kraftcheck`` does, without running anything."""
    words = shlex.split(line, comments=True)[1:]
    end = next((at for at, word in enumerate(words) if word in ("|", ">", "&&", ";")), len(words))
    command, *rest = words[:end]
    assert command in cli.COMMANDS, f"there is no command {command}"
    parser = argparse.ArgumentParser(prog=f"kraftcheck {command}", exit_on_error=False)
    importlib.import_module(f"kraftcheck.cli.commands.{command}").configure(parser)
    if "--help" not in rest:
        try:
            parser.parse_args(rest)
        except (argparse.ArgumentError, SystemExit) as error:
            pytest.fail(f"{line}: {error}")


def test_every_command_line_parses() -> None:
    for page in PAGES:
        for line in commands_in(page):
            parse(line)


def test_the_guide_shows_every_command() -> None:
    shown = {shlex.split(line)[1] for line in commands_in(ROOT / "docs" / "guide.md")}
    assert shown >= set(cli.COMMANDS)


def test_every_command_has_a_module() -> None:
    modules = {path.stem for path in (ROOT / "model_check" / "cli" / "commands").glob("*.py")} - {"__init__"}
    assert modules == set(cli.COMMANDS)


def test_the_pages_are_the_ones_the_index_lists() -> None:
    pages = {path.name for path in (ROOT / "docs").iterdir() if path.is_file()} - {"index.md"}
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\]\(([a-z-]+\.md)\)", index)) == pages


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_names_exists(page: Path) -> None:
    """The targets of links, files, rules and properties, and targets of make."""
    text = page.read_text(encoding="utf-8")
    links = {target for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text) if "://" not in target}
    assert {target for target in links if not (page.parent / target).exists()} == set()
    files = set(re.findall(r"`((?:spec|reference|model_check|tests|docs|tla)/[\w./-]*)`", text))
    assert {name for name in files if not (ROOT / name).exists()} == set()
    known = {*spec.load().rules, *spec.load().properties, *spec.load().variants}
    areas = {rule.area for rule in spec.load().rules.values()}
    named = {match[0] for match in re.finditer(r"\b([A-Z][A-Z0-9]*)-\d+\b", text) if match[1] in areas}
    assert named <= known
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    used = re.findall(r"^(?:\$ )?make ([a-z]+)|`make ([a-z]+)`", text, re.M)
    assert {one or other for one, other in used} <= set(re.findall(r"^([a-z]+):", makefile, re.M))


def scenario_keys(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """The dotted names of all keys that a scenario file may have."""
    for name, field in model.model_fields.items():
        key = prefix + (field.alias or name)
        nested = table_in(field.annotation)
        if nested is None:
            yield key
        else:
            yield from scenario_keys(nested, f"{key}.")


def test_every_scenario_key_is_documented_and_none_that_does_not_exist() -> None:
    page = (ROOT / "docs" / "scenarios.md").read_text(encoding="utf-8")
    documented = re.findall(r"^\| `([a-z.-]+)` \|", page, re.M)
    assert len(set(documented)) == len(documented)
    assert set(documented) == {*scenario_keys(KRaftScenario), *scenario_keys(BrokerScenario)}


def test_the_property_page_agrees_with_the_catalogue_and_the_checker() -> None:
    """Every property has its line, with the way it is judged today."""
    page = (ROOT / "docs" / "properties.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\| ([A-Z]-\d+) \| `([^`]+)` \| ([^|]+?) \| (.*) \|$", page, re.M)
    assert {(number, name) for number, name, _, _ in lines} == {
        (each.id, each.name) for each in spec.load().properties.values()
    }
    for number, _, _, text in lines:
        assert text.startswith(spec.load().properties[number].statement)
    how = {name: judged for _, name, judged, _ in lines}
    assert {name for name in how if how[name] in ("step", "state", "history")} == {
        each.name for each in spec.load().properties.values() if each.judged
    }
    asked = {each.property for one in scenario.shipped().values() for each in one.check.eventually}
    assert {name for name in how if how[name] == "lasso"} == asked
    goals = {name for name in how if how[name] == "goal"}
    assert goals == {each.name for each in spec.load().properties.values() if each.kind == "sometimes"}
    explained = {
        name for _, name, judged, text in lines if judged == "not yet" and re.search(r"\*[^*]+\*$", text)
    }
    assert explained == {name for name in how if how[name] == "not yet"}


def sizes_in(page: Path) -> Iterator[tuple[str, int]]:
    """Scenarios and numbers of states in the rows of the page's tables; rounded numbers are left out."""
    for line in page.read_text(encoding="utf-8").splitlines():
        named = re.search(r"^\|.*?`([a-z0-9-]+)`", line)
        cells = [cell.strip() for cell in line.split("|")[3:]]
        counted = next((cell for cell in cells if re.fullmatch(r"\d{1,3}(,\d{3})*", cell)), None)
        if named and counted:
            yield named[1], int(counted.replace(",", ""))


def test_sizes_of_scenarios_are_those_that_are_pinned() -> None:
    """`kraftcheck check` holds each scenario to the number of states that it expects."""
    pinned = {name: one.expect.states for name, one in scenario.shipped().items() if one.expect.states}
    told = [size for size in sizes_in(ROOT / "docs" / "findings.md") if size[0] in pinned]
    assert told
    assert told == [(name, pinned[name]) for name, _ in told]


def test_numbers_of_rules_are_those_of_the_catalogue() -> None:
    rules = spec.load().rules
    coded = sum(rule.uncovered is None for rule in rules.values())
    assert f"spec: {len(rules)} rules" in (ROOT / "README.md").read_text(encoding="utf-8")
    guide = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    assert f"{coded} of the catalogue's {len(rules)} rules have code" in guide
