"""``kraftcheck graph``: export the state graph of a small scenario, or ask it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from kraftcheck.checking.answers import kept_answers
from kraftcheck.engine.system import Limits
from kraftcheck.engine.watch import IncompleteGraphError
from kraftcheck.graphs import page
from kraftcheck.graphs.answers import Answers, in_words
from kraftcheck.graphs.formats import FORMATS
from kraftcheck.graphs.growth import Growth, bounds_of, growth_of, most_first
from kraftcheck.graphs.growth import in_words as growth_in_words
from kraftcheck.graphs.picture import refuse_large
from kraftcheck.graphs.projection import Projection, parse_condition, parse_projection
from kraftcheck.graphs.queries import Queries
from kraftcheck.graphs.states import States, collect_states, projected, state_graph
from kraftcheck.support.arguments import KEEPS_ANSWERS, add_output, flag, positive
from kraftcheck.support.errors import InputError
from kraftcheck.support.exit_codes import EXIT_DIFFERS, EXIT_EXPECTED, EXIT_UNDETERMINED
from kraftcheck.support.files import require_file_can_be_written, write_output
from kraftcheck.support.outputs import versioned
from kraftcheck.support.printable import json_text, printable
from kraftcheck.support.streams import status
from kraftcheck.systems import scenario
from kraftcheck.systems.kind import ModelSystem
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.scenario import Scenario

#: The format for the browser, which needs more than a graph of networkx.
HTML = "html"
EPILOG = (
    """\
Steps that lead outside the bounds are not edges of the graph. A step that
violates a property leads to a state of its own, which has no successors.

--project takes fields of replicas, of all or of one, or of brokers and their
controller ('.controller', '.broker-1'):
  --project role,epoch
  --project role.1,leader.2,high-watermark,messages
States are named by conditions (--from, --to, --shared):
  role.1=Leader,epoch.2=2  these replicas
  role=Leader,epoch=2      some replica that is both
  violated                 a property is violated
  violated=NoFatal         this one is

--growth counts the states with each budget less by one, those that need an
action, and those of each level. A bound less by one is an exploration of its
own, of at most --max-states. Only text, json and --format html have it. Where
there are more states than --max-states, text and json count those of the levels
that fit, say so, and the exit status is 3.

"""
    + KEEPS_ANSWERS
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.epilog = EPILOG
    parser.add_argument("scenario", metavar="NAME|FILE", help="the scenario")
    parser.add_argument("--format", choices=(*FORMATS, HTML), help="default: graphml; for answers json")
    parser.add_argument(
        "--project",
        metavar="FIELDS",
        help="one node for all states that look alike (default: role,epoch; of brokers role, fenced, link, "
        "brokers, registrations and partition), or 'none': one for each state",
    )
    asked = parser.add_mutually_exclusive_group()
    asked.add_argument("--to", metavar="STATES", help="show a shortest path there")
    asked.add_argument("--shared", metavar="STATES", help="show what every path there has in common")
    flag(asked, "--after-faults", says="show which FIELDS of states need a fault")
    flag(
        asked,
        "--growth",
        says="show which budgets, bounds and actions make the states: what to cut first",
    )
    parser.add_argument("--from", dest="begin", metavar="STATES", help="with --to: from there")
    add_output(parser)
    parser.add_argument(
        "--max-states",
        type=positive,
        default=100_000,
        metavar="N",
        help="stop after N states (default: 100000)",
    )


@kept_answers()
def run(arguments: argparse.Namespace) -> int:
    """Write the graph or the answer. Exit status: 0 written, 1 there is no such path, 3 too big."""
    require_file_can_be_written(arguments.output, "-o")
    chosen = scenario.find(arguments.scenario)
    system = kind_of(chosen).build(chosen, arguments.scenario)
    asks = bool(arguments.to or arguments.shared or arguments.after_faults)
    if arguments.growth and arguments.format not in (None, "json", HTML):
        raise InputError(f"--format {arguments.format}: has no room for --growth; take json or html.")
    if asks and arguments.format not in (None, "json"):
        raise InputError(f"--format {arguments.format}: answers are text or json; leave the option out.")
    if arguments.begin is not None and arguments.to is None:
        raise InputError("--from: goes with --to, which says where the path leads; add it.")
    if arguments.project == "none" and asks:
        raise InputError("--project none: states are shown by fields in answers; name some.")
    usual = ",".join(kind_of(chosen).projection)
    shown = arguments.project or usual
    projection = parse_projection(usual if shown == "none" else shown, system.places, "--project")
    conditions = {
        option: parse_condition(text, system, f"--{option}")
        for option, text in (("from", arguments.begin), ("to", arguments.to), ("shared", arguments.shared))
        if text is not None
    }
    try:
        states = collect_states(system, arguments.max_states)
    except IncompleteGraphError as error:
        if arguments.growth and arguments.format != HTML and len(error.levels) > 2:
            return _grown_so_far(system, chosen, len(error.levels) - 2, arguments)
        print(
            f"kraftcheck: {chosen.name}: {error}, so there is no graph; lower the scenario's bounds or raise "
            "--max-states; --growth without --format shows what to lower.",
            file=sys.stderr,
        )
        return EXIT_UNDETERMINED
    grown = _grown(states, chosen, arguments) if arguments.growth or arguments.format == HTML else None
    if arguments.format == HTML and grown is not None:
        write_output(
            arguments.output, page.as_html(states, chosen, arguments.scenario, projection, shown, grown)
        )
        return EXIT_EXPECTED
    if grown is not None:
        _answer_growth(grown, chosen, arguments)
        return EXIT_EXPECTED
    if not asks:
        return _export(states, projection, shown, arguments)
    asked = Answers(Queries(states), chosen, projection)
    if arguments.after_faults:
        data = asked.after_faults()
    elif arguments.shared is not None:
        data = asked.shared(conditions["shared"])
    else:
        data = asked.path(conditions.get("from"), conditions["to"])
    _answer(data, in_words(data), arguments)
    return EXIT_EXPECTED if data["found"] else EXIT_DIFFERS


def _grown_so_far(system: ModelSystem, chosen: Scenario, depth: int, arguments: argparse.Namespace) -> int:
    """Answer what makes the states up to the level ``depth``, the last that fits."""
    states = collect_states(system, arguments.max_states, max_depth=depth)
    _answer_growth(_grown(states, chosen, arguments, depth), chosen, arguments)
    return EXIT_UNDETERMINED


def _answer_growth(grown: Growth, chosen: Scenario, arguments: argparse.Namespace) -> None:
    data = {"question": "growth", "scenario": chosen.name, "found": True} | grown.as_data()
    _answer(data, growth_in_words(grown, chosen.name), arguments)


def _grown(
    states: States, chosen: Scenario, arguments: argparse.Namespace, depth: int | None = None
) -> Growth:
    """What makes the states, up to the level ``depth`` if there is one; with ``--growth`` also the lowered
    bounds, each an exploration.
    """
    found = growth_of(states)
    if not arguments.growth:
        return found
    limits = Limits(max_states=arguments.max_states, max_depth=depth)
    with status(quiet=arguments.format == "json") as tell:
        bounds = []
        tell(f"{chosen.name}: bounds less by one …")
        for cause in bounds_of(chosen, limits):
            tell(f"{chosen.name}: {cause.name} less by one done …")
            bounds.append(cause)
    return replace(found, bounds=most_first(bounds))


def _answer(data: dict[str, Any], words: Iterable[str], arguments: argparse.Namespace) -> None:
    """Write an answer, as JSON or in words."""
    if arguments.format == "json":
        text = json_text(versioned("graph-answer", data))
    else:
        text = "\n".join(printable(line) for line in words)
    write_output(arguments.output, f"{text}\n")


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def _export(states: States, projection: Projection, shown: str, arguments: argparse.Namespace) -> int:
    if arguments.format == "svg" and shown == "none":
        refuse_large(states.graph.size, 0)
    found = state_graph(states, projection)
    if shown != "none":
        found = projected(found, shown)
    write_output(arguments.output, FORMATS[arguments.format or "graphml"](found))
    if arguments.output is not None:
        nodes, edges = found.number_of_nodes(), found.number_of_edges()
        of = found.graph["states"]
        counts = f"{_count(nodes, 'node')}, {_count(edges, 'edge')} of {_count(of, 'state')}"
        print(f"{arguments.output}: {counts}")
    return EXIT_EXPECTED
