"""``kraftcheck bench``: how fast engine, lockstep and log reader are, in one run on this machine."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kraftcheck.bench import lockstep, logs, machine, measure, tlc
from kraftcheck.bench.measure import QUICK, Figure, Plan
from kraftcheck.evidence.recordings.recording import find_runs
from kraftcheck.support.arguments import add_json, flag, positive
from kraftcheck.support.errors import InputError
from kraftcheck.support.exit_codes import EXIT_EXPECTED
from kraftcheck.support.outputs import print_output
from kraftcheck.support.terminal import Console
from kraftcheck.systems.kraft.scenario import KRaftScenario, of_replicas
from kraftcheck.systems.scenario import find
from kraftcheck.tlc.install import find_tools

DEFAULT_SCENARIO = "bench-three-voters"
PARTS = ("engine", "lockstep", "logs")
#: Measured where it is asked for: it needs Java, and takes minutes.
ONLY_IF_WANTED = ("tlc",)


@dataclass(frozen=True, slots=True)
class Section:
    """The figures of one part, and a line that says what was measured."""

    part: str
    about: str
    figures: list[Figure]


def configure(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.epilog = "Rates differ between machines and hours; the ratios are what to compare."
    parser.add_argument(
        "scenario",
        nargs="?",
        metavar="NAME|FILE",
        help=f"what the engine explores (default: {DEFAULT_SCENARIO}; with TLC: {tlc.DEFAULT_SCENARIO})",
    )
    parser.add_argument("--only", choices=PARTS + ONLY_IF_WANTED, help="measure this part alone")
    parser.add_argument(
        "--recorded",
        type=Path,
        metavar="DIR",
        help="a folder of recorded runs, compared in addition to a generated one",
    )
    parser.add_argument(
        "--states",
        type=positive,
        metavar="N",
        help="explore N distinct states in each run, in one round (default: 50,000,000, in three)",
    )
    flag(parser, "--quick", says="little work, one round: shows that it runs, and measures nothing reliable")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure and print. Raises InputError for an unknown scenario or a folder without recorded runs."""
    scenario = of_replicas(find(arguments.scenario or DEFAULT_SCENARIO), "the benchmark")
    runs = find_runs([arguments.recorded]) if arguments.recorded else []
    where = machine.description()
    out = Console(highlight=False, soft_wrap=True)
    if not arguments.json:
        out.print(", ".join(f"{name} {value}" for name, value in where.items()))
    sections = []
    for section in _sections(arguments, scenario, runs):
        sections.append(section)
        if not arguments.json:
            _report(out, section)
    if arguments.json:
        print_output("bench", as_data(sections, where), indent=2)
    return EXIT_EXPECTED


def _sections(arguments: argparse.Namespace, scenario: KRaftScenario, runs: list[Path]) -> Iterator[Section]:
    plan = QUICK if arguments.quick else Plan()
    if arguments.states is not None:
        plan = replace(plan, engine_states=arguments.states, rounds=1)
    rounds = "1 round" if plan.rounds == 1 else f"medians of {plan.rounds} rounds"
    wanted = (arguments.only,) if arguments.only else PARTS
    if "engine" in wanted:
        figures = measure.figures(scenario, plan)
        yield Section("engine", f"scenario {scenario.name}, {rounds}; compiled before", figures)
    if "lockstep" in wanted:
        seconds = 4 if arguments.quick else 40
        figures = lockstep.figures(runs, plan.rounds, seconds)
        yield Section("lockstep", f"kraftcheck conform, 1 core, files included, {rounds}", figures)
    if "logs" in wanted:
        size = 200_000 if arguments.quick else 16_000_000
        try:
            figures = logs.figures(size, plan.rounds)
        except InputError as error:  # outside a checkout
            if arguments.only:
                raise
            yield Section("logs", f"not measured: {error}", [])
        else:
            yield Section("logs", f"kraftcheck logs, 1 core, text made up, {rounds}", figures)
    if "tlc" in wanted:
        yield _beside_tlc(arguments)


def _beside_tlc(arguments: argparse.Namespace) -> Section:
    chosen = find(arguments.scenario or ("single-voter" if arguments.quick else tlc.DEFAULT_SCENARIO))
    scenario = of_replicas(chosen, "TLC")
    found = tlc.figures(scenario, find_tools())
    return Section("tlc", f"scenario {scenario.name}, 1 round; compiled before", found)


def as_data(sections: list[Section], where: dict[str, str]) -> dict[str, Any]:
    """The measurements for machines."""
    return {
        "machine": where,
        "measured": {section.part: section.about for section in sections},
        "figures": {
            figure.key: {"label": figure.label, "value": figure.value, "unit": figure.unit}
            for section in sections
            for figure in section.figures
        },
    }


def _report(out: Console, section: Section) -> None:
    out.print(f"{section.part}: {section.about}")
    width = max((len(figure.label) for figure in section.figures), default=0)
    for figure in section.figures:
        whole = figure.value >= 1000 or figure.value == int(figure.value)
        digits = 0 if whole else 4 if figure.value < 0.1 else 2 if figure.value < 10 else 1
        out.print(f"  {figure.label:<{width}}  {figure.value:>12,.{digits}f} {figure.unit}")
