"""Which coordinates of a matrix apply to a scenario: those of its kind. Cells of other pairs are left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Any

from kraftcheck.checking.mutation.catalogue import Mutant
from kraftcheck.pipeline.campaign.cells import AS_WRITTEN
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kind import Kind
from kraftcheck.systems.kinds import KINDS, kind_of
from kraftcheck.systems.scenario import Scenario, from_data, shipped
from kraftcheck.systems.switches import value_of

#: The tables of a scenario that bounds may change.
TABLES = ("budgets", "bounds", "network", "environment")
#: What is counted that does not apply to a scenario, by these names.
MUTANT, VARIANT, BOUNDS = "a mutant", "a protocol variant", "bounds"


def sentence(left_out: Counter[str]) -> str | None:
    """How many pairs of a scenario and a coordinate do not apply, and why; ``None``: all do."""
    told = [f"{pairs:,} of a scenario and {name}" for name, pairs in left_out.items() if pairs]
    if not told:
        return None
    kinds = " and those ".join(f"of {model.name}" for model in KINDS)
    return f"pairs left out: {', '.join(told)}; those {kinds} do not apply to each other"


@cache
def _examples() -> Mapping[str, Scenario]:
    """A scenario of each kind of system, by the kind's name."""
    return {kind_of(scenario).name: scenario for scenario in shipped().values()}


@cache
def _kinds() -> Mapping[str, str]:
    """The kind of each shipped scenario, by its name."""
    return {name: kind_of(scenario).name for name, scenario in shipped().items()}


# Mutants.


def mutant_applies(mutant: Mutant, scenario: Scenario) -> bool:
    """Whether ``mutant`` changes what ``scenario`` runs: it is of the kind of the scenario that it names."""
    return _kinds()[mutant.scenario] == kind_of(scenario).name


# Protocol variants.


def read_variant(text: str) -> tuple[str | None, dict[str, Any]]:
    """The preset (``None``: what the scenario says) and the switches of a variant. Raises InputError."""
    preset, *settings = text.split()
    switches = {}
    for setting in settings:
        name, equals, word = setting.partition("=")
        if not equals:
            raise InputError(f"protocols: expected SWITCH=VALUE after the preset, not '{setting[:60]}'.")
        switches[name.replace("_", "-")] = value_of(word)
    return None if preset == AS_WRITTEN else preset, switches


def variant_applies(text: str, scenario: Scenario) -> bool:
    """Whether a variant is one of the kind of ``scenario``. Raises InputError."""
    return _has(kind_of(scenario), *read_variant(text))


def _has(model: Kind, preset: str | None, switches: Mapping[str, Any]) -> bool:
    known = model.variants
    return (preset is None or preset in known.presets) and set(switches) <= set(known.switches)


def require_variant(text: str, scenario: Scenario) -> None:
    """Raise InputError where ``text`` is a variant of no kind; ``scenario`` is one of the matrix."""
    preset, switches = read_variant(text)
    if any(_has(model, preset, switches) for model in KINDS):
        return
    mine = next((each for each in KINDS if preset in each.variants.presets), kind_of(scenario))
    mine.variants.chosen(_examples()[mine.name], preset, switches, f"protocols '{text}'")


# Bounds.


def read_bound(setting: str) -> tuple[str, str, Any]:
    """Table, key and value of one of the settings of bounds. Raises InputError."""
    path, equals, word = setting.partition("=")
    table, dot, key = path.partition(".")
    if not (equals and dot and key and word) or table not in TABLES:
        raise InputError(
            f"bounds: expected TABLE.KEY=VALUE of {', '.join(TABLES)}, such as budgets.crashes=2, not "
            f"'{setting[:60]}'; see docs/pipeline/campaign.md."
        )
    return table, key, value_of(word)


def bounds_apply(text: str, scenario: Scenario) -> bool:
    """Whether ``scenario`` has all keys that bounds set. Raises InputError."""
    if text == AS_WRITTEN:
        return True
    data = scenario.model_dump(mode="json", by_alias=True)
    return all(key in data.get(table, {}) for table, key, _ in map(read_bound, text.split()))


def require_bounds(text: str, scenario: Scenario) -> None:
    """Raise InputError where ``text`` has a key that no scenario has; ``scenario`` is one of the matrix."""
    for setting in text.split() if text != AS_WRITTEN else ():
        if not any(bounds_apply(setting, each) for each in _examples().values()):
            table, key, value = read_bound(setting)
            data = scenario.model_dump(mode="json", by_alias=True)
            from_data(data | {table: {**data.get(table, {}), key: value}}, f"{scenario.name}, {text}")
