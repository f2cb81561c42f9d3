"""``kraftcheck bench``: how fast the engine is, against the naive twin, in one run on this machine."""

from __future__ import annotations

import argparse
import json
from typing import Any

from rich.console import Console

from model_check.bench import machine
from model_check.bench.measure import QUICK, Measurement, Plan, measure
from model_check.cli import EXIT_EXPECTED
from model_check.scenario import find

DEFAULT_SCENARIO = "bench-three-voters"


def configure(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.epilog = "Rates differ between machines and hours; the ratios are what to compare."
    parser.add_argument(
        "scenario",
        nargs="?",
        default=DEFAULT_SCENARIO,
        metavar="NAME|FILE",
        help=f"what to explore (default: {DEFAULT_SCENARIO})",
    )
    parser.add_argument("--quick", action="store_true", help="few states, one round: only to see it run")
    parser.add_argument("--json", action="store_true", help="print machine-readable output")


def run(arguments: argparse.Namespace) -> int:
    """Measure and print. Raises InputError for an unknown scenario."""
    scenario = find(arguments.scenario)
    found = measure(scenario, QUICK if arguments.quick else Plan())
    where = machine.description()
    if arguments.json:
        print(json.dumps(as_data(found, where), indent=2))
    else:
        _report(Console(highlight=False, soft_wrap=True), found, where)
    return EXIT_EXPECTED


def as_data(found: Measurement, where: dict[str, str]) -> dict[str, Any]:
    """The measurement for machines."""
    return {
        "scenario": found.scenario,
        "rounds": found.plan.rounds,
        "machine": where,
        "figures": {
            figure.key: {"label": figure.label, "value": figure.value, "unit": figure.unit}
            for figure in found.figures
        },
    }


def _report(out: Console, found: Measurement, where: dict[str, str]) -> None:
    out.print(", ".join(f"{name} {value}" for name, value in where.items()))
    rounds = "1 round" if found.plan.rounds == 1 else f"medians of {found.plan.rounds} rounds"
    out.print(f"scenario {found.scenario}, {rounds}; compiled before the first round")
    width = max(len(figure.label) for figure in found.figures)
    for figure in found.figures:
        digits = (
            0 if figure.value >= 1000 or figure.value == int(figure.value) else 4 if figure.value < 0.1 else 1
        )
        out.print(f"  {figure.label:<{width}}  {figure.value:>12,.{digits}f} {figure.unit}")
