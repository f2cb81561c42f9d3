"""The smallest fixes of findings: switches of the protocol, and scenarios that hold with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kraftcheck.checking.finding_pages import pages
from kraftcheck.checking.findings import known_findings, recognised
from kraftcheck.checking.run import check
from kraftcheck.reference.brokers.protocol import SHIPPED, BrokerProtocol
from kraftcheck.reference.frozen import field_types
from kraftcheck.reference.protocol import KAFKA, PRESETS, Protocol
from kraftcheck.systems.scenario import find, from_data, shipped

ROOT = Path(__file__).parents[2]
FIXED = [name for name in shipped() if name.startswith("fixed-")]
#: A scenario that needs the fix of another finding, too.
OTHERS = {("fixed-leader-of-two-removes-itself", "ignore-removed-voters"): "removed-voter-acknowledges"}


def switches(name: str) -> dict[str, Any]:
    """The switches of a scenario that are fixes."""
    given = find(name).model_dump(by_alias=True)["protocol"]["set"]
    return {switch: value for switch, value in given.items() if value is True or value == "probed"}


CASES = [(name, switch) for name in FIXED for switch in switches(name)]


def fixes(protocol: type, preset: Any) -> set[str]:
    """The switches of a class of protocols that are off in Kafka."""
    return {name.replace("_", "-") for name in field_types(protocol) if getattr(preset, name) is False}


def test_a_page_of_kafka_names_scenarios_that_hold_or_says_why_there_are_none() -> None:
    for page in pages():
        assert bool(page.holds) != bool(page.unfixed), page.name
    assert {name for page in pages() for name in page.holds if name.startswith("fixed-")} == set(FIXED)
    assert [page.name for page in pages() if page.unfixed] == ["refusal-of-old-leader"]


def test_each_fix_has_a_scenario_and_is_off_in_every_preset() -> None:
    replicas, brokers = fixes(Protocol, KAFKA), fixes(BrokerProtocol, SHIPPED) - {"rejection-restarts-timer"}
    assert {switch for _, switch in CASES} == {*replicas, *brokers, "update-voter"}
    for preset in PRESETS.values():
        assert fixes(Protocol, preset) >= replicas
    text = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert all(f"| `{switch}`: " in text for switch in replicas)


def test_a_fixed_scenario_has_the_name_of_its_finding() -> None:
    of_findings = {name for known in known_findings() for name in known.scenarios}
    assert all(name.replace("fixed-", "finding-") in of_findings for name in FIXED)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "switch"), CASES)
def test_without_the_switch_the_finding_is_there(name: str, switch: str) -> None:
    data = find(name).model_dump(by_alias=True, exclude_none=True)
    del data["protocol"]["set"][switch]
    result = check(from_data(data, name), threads=2)
    (trace, *_) = result.traces()
    found = recognised(trace)
    shown = next(
        known.id for known in known_findings() if name.replace("fixed-", "finding-") in known.scenarios
    )
    assert found is not None and found.id == OTHERS.get((name, switch), shown)
