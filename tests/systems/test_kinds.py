"""The kinds of systems: what is registered of each, and how a value finds its kind."""

from typing import get_type_hints

import pytest

from kraftcheck.systems.kind import Kind, Part
from kraftcheck.systems.kinds import KINDS, kind_of
from kraftcheck.systems.scenario import Scenario, shipped

PARTS = [name for name, declared in get_type_hints(Kind).items() if "Part" in str(declared)]


def test_every_part_of_every_kind_is_there() -> None:
    assert len(PARTS) == 2
    parts = [getattr(kind, name) for kind in KINDS for name in PARTS]
    assert all(isinstance(part, Part) and part.load() is not None for part in parts)


def test_every_kind_provides_everything() -> None:
    missing = [
        (kind.name, name) for kind in KINDS for name in get_type_hints(Kind) if not hasattr(kind, name)
    ]
    assert not missing


def test_the_table_that_only_its_scenarios_have_tells_the_kind() -> None:
    for scenario in shipped().values():
        kind = kind_of(scenario)
        assert kind.name in scenario.model_dump(by_alias=True) and type(scenario) is kind.scenario
    assert all(issubclass(kind.scenario, Scenario) for kind in KINDS)


def test_other_values_belong_to_no_kind() -> None:
    with pytest.raises(TypeError, match="int belongs to no kind of system"):
        kind_of(1)
