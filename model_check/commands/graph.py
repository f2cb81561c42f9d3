"""``kraftcheck graph``: export the state graph of a small scenario."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from model_check import graph, scenario
from model_check.cli import EXIT_EXPECTED, EXIT_UNDETERMINED
from model_check.engine.graph import IncompleteGraphError
from model_check.files import write_atomically
from model_check.kraft.build import build as build_system


def configure(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.epilog = "Steps that violate a property or lead out of the bounds are no edges of the graph."
    parser.add_argument("scenario", metavar="NAME|FILE", help="the scenario")
    parser.add_argument("--format", choices=tuple(graph.FORMATS), default="graphml", help="default: graphml")
    parser.add_argument(
        "--fold",
        choices=("role-epoch", "none"),
        default="role-epoch",
        help="one node for all states of the same roles and epochs (default), or one for each state",
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: standard output")
    parser.add_argument(
        "--max-states",
        type=_positive,
        default=100_000,
        metavar="N",
        help="give up beyond N (default: 100000)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the graph. Exit status: 0 written, 3 too big."""
    chosen = scenario.find(arguments.scenario)
    system = build_system(chosen, arguments.scenario)
    try:
        found = graph.state_graph(system, arguments.max_states)
    except IncompleteGraphError as error:
        print(
            f"kraftcheck: {chosen.name}: {error}, so there is no graph; lower the scenario's bounds or raise "
            "--max-states.",
            file=sys.stderr,
        )
        return EXIT_UNDETERMINED
    if arguments.fold == "role-epoch":
        found = graph.fold(found)
    text = graph.FORMATS[arguments.format](found)
    if arguments.output is None:
        print(text, end="")
    else:
        write_atomically(arguments.output, text)
        nodes, edges = found.number_of_nodes(), found.number_of_edges()
        print(f"{arguments.output}: {nodes:,} nodes, {edges:,} edges of {found.graph['states']:,} states")
    return EXIT_EXPECTED


def _positive(text: str) -> int:
    if not re.fullmatch(r"\d{1,9}", text, re.ASCII) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"expected a number from 1 to 999999999, not '{text[:40]}'")
    return int(text)
