"""``check.known-deaths``: how a scenario looks past a finding about a process that dies."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftcheck import reference
from kraftcheck.checking.run import check
from kraftcheck.systems.kraft.scenario import shipped
from kraftcheck.systems.scenario import Scenario
from tests.systems.kraft.small import changed

_FINDING = "finding-removed-voter-acknowledges"


def _violated(*known: str) -> list[str]:
    scenario = changed(_FINDING, check={"known-deaths": known})
    return [found.property for found in check(scenario).exploration.violations]


def test_a_known_death_is_not_judged() -> None:
    assert _violated() == ["NoFatal"]
    assert _violated("acknowledged the leader but is not a voter") == []


def test_any_other_death_is_judged() -> None:
    assert _violated("the endpoints of leader") == ["NoFatal"]


_LOOK_PAST = [scenario for scenario in shipped().values() if scenario.check.known_deaths]


@pytest.mark.parametrize("scenario", _LOOK_PAST, ids=lambda scenario: scenario.name)
def test_known_deaths_are_reasons_of_the_reference(scenario: Scenario) -> None:
    modules = Path(str(reference.__file__)).parent.glob("*.py")
    text = "\n".join(module.read_text(encoding="utf-8") for module in modules)
    assert all(known in text for known in scenario.check.known_deaths)
