"""The code that judges properties and the catalogue of properties name each other."""

import re
from pathlib import Path

import pytest

from kraftcheck import spec
from kraftcheck.reference import messages
from kraftcheck.reference.brokers import messages as broker_messages
from kraftcheck.support.places import folder_of
from kraftcheck.systems.brokers.scenario import NAMES as OF_BROKERS
from kraftcheck.systems.citations import strings_of
from kraftcheck.systems.kraft.scenario import NAMES as OF_REPLICAS
from kraftcheck.systems.properties import PropertyNames

#: Texts that look like the name of a property, and are none.
OTHERS = {
    *vars(messages), *vars(broker_messages), "DescribeQuorum", "AlterQuorum", "ReadMetadata",
    "StoreRegistration", "StoreRegistered", "SessionGone", "GoalServesTicks",
}  # fmt: skip


def named_in(folder: Path) -> set[str]:
    """The strings of the modules in ``folder`` that look like the name of a property."""
    files = (file for file in folder.glob("*.py") if file.name != "scenario.py")
    strings = (text for file in files for text, _ in strings_of(file.read_text(encoding="utf-8")))
    return {text for text in strings if re.fullmatch(r"(K?[A-Z][a-z]+){2}\w*", text)} - OTHERS


@pytest.mark.slow
@pytest.mark.parametrize(("folder", "names"), [("kraft", OF_REPLICAS), ("brokers", OF_BROKERS)])
def test_every_property_is_judged_and_only_properties_are(folder: str, names: PropertyNames) -> None:
    judged = {*names.judged("always", "voter-changes", "descriptions", "timers", "on-request"), *names.goals}
    found = named_in(folder_of("kraftcheck") / "systems" / folder)
    assert judged <= found
    assert found <= {*judged, *names.eventually}


def test_the_history_of_a_recorded_run_is_judged_by_catalogued_properties() -> None:
    names = {each.name for each in spec.load().properties.values()}
    assert named_in(folder_of("kraftcheck") / "evidence" / "history") <= names
