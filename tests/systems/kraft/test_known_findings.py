"""Counterexamples are recognised as the findings that they are, and others are not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kraftcheck import spec
from kraftcheck.checking.findings import known_findings, recognised
from kraftcheck.checking.run import check
from kraftcheck.cli.main import main
from kraftcheck.site.counterexamples import of_scenario
from kraftcheck.systems.scenario import shipped, shipped_files
from tests.evidence.quorum.counterexamples import LARGE, TAKEN, VIOLATED, is_recognised, looks_as_it_should

SHIPPED = shipped()
ROOT = Path(__file__).parents[3]
#: Two that are findings, and one that is none.
FAST = ("finding-restart-before-write-back", "finding-removal-before-flush", "scenario-a-granting-by-log")
#: Millions of states, of no finding; smaller ones like them are by day.
NIGHTLY = ("brokers-data-late-change", "brokers-shipped-data-late-change")


def _marks(name: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.nightly] if name in (*NIGHTLY, *LARGE) else [pytest.mark.slow] * (name not in FAST)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "name",
    # Of the others the exploration serves another test, too, which has replicas take what was found.
    [pytest.param(name, marks=_marks(name)) for name in VIOLATED if name in FAST or name not in TAKEN],
)
def test_each_violation_is_recognised_as_its_own_finding_or_as_none(name: str) -> None:
    result = check(SHIPPED[name], threads=2)
    assert result.as_expected and is_recognised(result)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in LARGE if name not in TAKEN])
def test_the_kept_counterexample_of_a_large_scenario_is_recognised(name: str) -> None:
    explored_anew: list[str] = []
    found = of_scenario(SHIPPED[name], explored_anew.append)
    assert found and all(looks_as_it_should(each.trace) for each in found)
    assert not explored_anew


def test_every_finding_is_in_the_registry() -> None:
    registered = {name for known in known_findings() for name in known.scenarios}
    violated = {each.name for each in SHIPPED.values() if each.expect.verdict == "violated"}
    assert {name for name in violated if "finding" in SHIPPED[name].tags} <= registered


@pytest.mark.parametrize("known", known_findings(), ids=lambda known: known.id)
def test_the_registry_names_what_there_is(known: Any) -> None:
    catalogue = spec.load()
    assert (ROOT / known.place).is_file()
    assert all(SHIPPED[name].expect.verdict == "violated" for name in known.scenarios)
    for name in known.scenarios:
        assert set(SHIPPED[name].expect.violates) <= set(known.properties)
    assert all(catalogue.property_named(name) for name in known.properties)
    rules = {rule for step in known.steps for rule in step.rules | step.lacks}
    assert {rule for rule in rules if not rule.startswith("TRANS-")} <= set(catalogue.rules)
    assert {step.fault for step in known.steps if step.fault} <= set(catalogue.rules)


def test_another_cause_of_the_same_property_is_not_recognised() -> None:
    """A violation without the step that makes it the finding is another one."""
    result = check(SHIPPED["finding-restart-before-write-back"])
    (trace,) = result.traces()
    without = type(trace)(
        trace.scenario, trace.initial, trace.nodes, trace.in_flight, trace.budgets,
        tuple(step for step in trace.steps if step.number != 2), trace.finding, trace.loop,
    )  # fmt: skip
    assert recognised(trace) is not None and recognised(without) is None


@pytest.mark.parametrize("name", ["mine", "finding-restart-before-write-back"])
def test_a_newcomer_is_told_and_so_is_a_machine(name: str, tmp_path: Path, capsys: Any) -> None:
    source = shipped_files()["finding-restart-before-write-back"]
    text = source.read_text(encoding="utf-8")
    text = re.sub(r"^name = .*$", f'name = "{name}"', text, flags=re.MULTILINE)
    text = re.sub(r"^expect = .*$", 'expect = { verdict = "holds" }', text, flags=re.MULTILINE)
    file = tmp_path / "mine.toml"
    file.write_text(text, encoding="utf-8")
    assert main(["check", str(file), "--threads", "1"]) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert "AcknowledgedIsDurable: this looks like the finding restart-before-write-back (docs/f" in told
    assert "To see other violations, write environment.write-back = true in the scenario." in told
    assert main(["check", str(file), "--threads", "1", "--json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["findings"]
    assert found["looks_like"] == "restart-before-write-back"
    assert found["goes_past"] == "environment.write-back = true"


def test_what_goes_past_a_finding_does() -> None:
    changes = {
        "finding-restart-before-write-back": {"environment": {"write_back": True}},
        "finding-single-voter-power-loss": {"environment": {"power_loss": False}},
    }
    for name, tables in changes.items():
        scenario = SHIPPED[name]
        for table, keys in tables.items():
            scenario = scenario.model_copy(update={table: getattr(scenario, table).model_copy(update=keys)})
        found = check(scenario).exploration.violations
        assert not {each.property for each in found} & set(SHIPPED[name].expect.violates)


def test_trace_show_names_it(capsys: Any) -> None:
    assert main(["trace", "show", "finding-restart-as-candidate", "--path", "0,1,1,1"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "NoFatal: this looks like the finding restart-as-candidate (docs/findings/" in told
    assert 'write protocol.set = { candidate-restart = "without-leader" } in the scenario.' in told
