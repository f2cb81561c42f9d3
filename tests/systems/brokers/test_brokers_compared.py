"""The page that compares the two forms tells the verdicts that its scenarios have."""

from __future__ import annotations

import re
from pathlib import Path

from kraftcheck.systems.brokers.scenario import BrokerScenario
from kraftcheck.systems.scenario import shipped

#: Cells that say why their question does not arise there, so that no scenario can show anything.
WITHOUT_SCENARIO = (
    "The question does not arise: there is one time-out, the controller's",
    "There are none: registration is a request to the controller",
)
PAGE = Path(__file__).parents[3] / "docs" / "brokers-compared.md"


def test_verdicts_are_those_of_the_scenarios() -> None:
    told = re.findall(r"`([a-z0-9-]+)`: (holds|violated)", PAGE.read_text(encoding="utf-8"))
    scenarios = shipped()
    assert told
    assert dict(told) == {name: scenarios[name].expect.verdict for name, _ in told}


def test_every_scenario_of_brokers_is_told() -> None:
    text = PAGE.read_text(encoding="utf-8")
    missing = {
        name
        for name, scenario in shipped().items()
        if isinstance(scenario, BrokerScenario) and name.startswith("brokers-") and f"`{name}`" not in text
    }
    assert missing == set()


def cells() -> list[str]:
    """The cells of the table that say what one of the forms does."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert rows[0] == ["Question", "KIP-343", "KIP-631"] and {len(row) for row in rows} == {3}
    return [cell for row in rows[1:] for cell in row[1:]]


def test_every_cell_has_a_verdict_or_says_why_not() -> None:
    bare = [cell for cell in cells() if not re.search(r"`[a-z0-9-]+`: (holds|violated)", cell)]
    assert sorted(bare) == sorted(WITHOUT_SCENARIO)
