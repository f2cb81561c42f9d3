"""A scenario under another preset of the protocol: what becomes of it in another release."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TypeVar

from kraftcheck.support.errors import InputError
from kraftcheck.systems.kind import BrokenInitialPrefix
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.kraft.switches import SWITCHES
from kraftcheck.systems.scenario import Scenario

S = TypeVar("S", bound=Scenario)


def add_protocol(parser: argparse.ArgumentParser) -> None:
    """Add ``--protocol`` for commands that take scenarios; :func:`under` reads it."""
    parser.add_argument(
        "--protocol",
        metavar="PRESET",
        help="another preset than the scenario's, for example kafka-4.0; the switches that it sets stay",
    )


def replica_preset(word: str | None) -> str:
    """The preset of replicas that ``--protocol`` names, Kafka's without it. Raises InputError."""
    preset = "kafka" if word is None else word
    SWITCHES.protocol(preset, {}, "--protocol")
    return preset


def under(scenario: S, preset: str | None) -> S:
    """``scenario`` under another preset, with the switches that it sets; ``None``: as it is.

    No verdict is expected then: a violation is reported as a difference. Raises InputError for a preset that
    its kind does not have.
    """
    if preset is None:
        return scenario
    own: Any = scenario.protocol  # type: ignore[attr-defined]
    table = kind_of(scenario).variants.chosen(scenario, preset, own.set, f"{scenario.name}: --protocol")
    return scenario.under(preset, type(own).model_validate(table))


def each_under(scenarios: Sequence[S], preset: str | None) -> tuple[list[S], dict[str, str]]:
    """Those of ``scenarios`` that can be built under ``preset``, and by name why the others cannot.

    Raises InputError where that is none of them.
    """
    if preset is None:
        return list(scenarios), {}
    built: list[S] = []
    errors: dict[str, InputError] = {}
    for scenario in scenarios:
        try:
            other = under(scenario, preset)
            with suppress(BrokenInitialPrefix):  # It is built, and what happens on the way is judged.
                kind_of(other).build(other)
        except InputError as error:
            errors[scenario.name] = error
        else:
            built.append(other)
    if errors and not built:
        raise next(iter(errors.values()))
    return built, {name: f"it cannot be built under {preset}: {error}" for name, error in errors.items()}
