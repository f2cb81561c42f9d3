"""``kraftcheck pipeline campaign``: many explorations, or the steps of a hunt, spread over a cluster."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kraftcheck.checking.mutation.campaign import Status
from kraftcheck.hunt import report as hunt_report
from kraftcheck.hunt import store as hunt_store
from kraftcheck.hunt.run import Hunt, generic
from kraftcheck.pipeline.campaign.matrix import (
    HINT,
    Campaign,
    LimitsOfCells,
    Matrix,
    chosen_scenarios,
    expand,
    find_campaign,
)
from kraftcheck.pipeline.progress import progress
from kraftcheck.pipeline.session import add_session_options, settings_of, spark_session
from kraftcheck.support.arguments import duration, positive
from kraftcheck.support.errors import InputError
from kraftcheck.support.exit_codes import EXIT_DIFFERS, EXIT_EXPECTED, EXIT_UNDETERMINED
from kraftcheck.support.files import (
    require_file_can_be_written,
    require_folder_can_be_written,
    write_atomically,
)
from kraftcheck.support.outputs import versioned
from kraftcheck.support.terminal import console
from kraftcheck.support.validation import validated

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kraftcheck.pipeline.campaign.cells import Cell

_WORDS = (
    ("scenarios", "--scenario", "NAME|FILE", "a scenario"),
    ("tags", "--tag", "TAG", "all shipped scenarios with this tag"),
    (
        "protocols",
        "--protocol",
        "VARIANT",
        "a preset and switches, as 'kip595 follower-pre-vote=never'",
    ),
    (
        "mutants",
        "--mutant",
        "ID|RULE",
        "a mutant, those of a rule, 'all', or 'none': the unchanged reference",
    ),
    ("bounds", "--bounds", "BOUNDS", "such as 'budgets.crashes=0..2 bounds.max-epoch=2'"),
    ("engines", "--engine", "ENGINE", "check or simulate"),
)
_LIMITS = (
    ("seconds", "S", positive, "wall time (default: 120)"),
    ("memory", "SIZE", str, "resident memory (default: 2G)"),
    ("states", "N", positive, "distinct states (default: any number)"),
)
#: The options of a hunt, and those of cells that a hunt has as well.
_OF_HUNTS = ("for", "steps")
_OF_BOTH = frozenset({"scenarios", "tags", "seeds", "memory"})


def configure(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.epilog = (
        "Exit status: 0 every cell whose result is known beforehand is as expected, 1 one is not or failed, "
        "3 one, or a mutant, is undetermined, or one is invalid; of a hunt as 'kraftcheck hunt' says. See "
        "docs/pipeline/campaign.md."
    )
    parser.add_argument(
        "campaign",
        nargs="?",
        metavar="CAMPAIGN",
        help="a campaign file, or the name of a shipped one: 'mutants', 'variants'",
    )
    parser.add_argument(
        "--results",
        metavar="DIR",
        help="where results are kept; cells that are finished there are not repeated",
    )
    parser.add_argument("--report", metavar="DIR", help="report what is in DIR and run nothing")
    matrix = parser.add_argument_group("instead of a campaign file; each may be repeated")
    for name, option, metavar, meaning in _WORDS:
        matrix.add_argument(option, dest=name, action="append", metavar=metavar, help=meaning)
    one = parser.add_argument_group("with them")
    own = "own: each in the scenario it names"
    one.add_argument("--mutants-in", dest="mutants-in", choices=("scenarios", "own"), help=own)
    one.add_argument("--seeds", metavar="N..M", help="seeds of simulate (default: 0)")
    one.add_argument("--walks", type=positive, metavar="N", help="walks for a seed (default: 100)")
    one.add_argument("--depth", type=positive, metavar="N", help="most steps of a walk (default: 100)")
    going = "go on after the first violated property"
    one.add_argument("--keep-going", dest="keep-going", action="store_true", help=going)
    one.add_argument("--coverage", action="store_true", help="note what the steps exercise")
    limits = parser.add_argument_group("limits of a cell, instead of those of the file")
    for name, metavar, kind, meaning in _LIMITS:
        limits.add_argument(f"--max-{name}", dest=name, type=kind, metavar=metavar, help=meaning)
    others = "with --scenario, --tag, --seeds N and --max-memory (of a step)"
    hunting = parser.add_argument_group("a hunt, instead of cells", others)
    folder = "widen scenarios step by step, as 'kraftcheck hunt -o FOLDER' does"
    hunting.add_argument("--hunt", type=Path, metavar="FOLDER", help=folder)
    hunting.add_argument("--for", type=duration, metavar="TIME", help="how long: 90s, 30m, 1h (default)")
    hunting.add_argument("--steps", type=positive, metavar="N", help="end after N steps in all")
    parser.add_argument("--list", action="store_true", help="list the cells and stop")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write the report there, in Markdown"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="leave nothing out of the report")
    add_session_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command. Raises InputError for what contradicts itself."""
    settings = settings_of(arguments.conf)
    if arguments.hunt is not None:
        return _hunt(arguments, settings)
    if any(vars(arguments)[name] is not None for name in _OF_HUNTS):
        raise InputError("--for and --steps go with --hunt.")
    require_file_can_be_written(arguments.output, "-o")
    if arguments.report is not None:
        if arguments.campaign is not None or arguments.results is not None or arguments.list:
            raise InputError("--report runs nothing; leave out CAMPAIGN, --results and --list.")
        with spark_session("campaign", arguments.master, settings) as spark:
            return _report(spark, arguments.report, arguments)
    campaign = _campaign(arguments)
    try:  # of all that the file names: scenarios, mutants, bounds
        cells = expand(campaign, lambda sentence: print(sentence, file=sys.stderr))
    except InputError as error:
        where = "" if arguments.campaign in (None, campaign.name) else f"{arguments.campaign}: "
        raise InputError(f"{where}{error}") from None
    if arguments.list:
        _list(cells, as_json=arguments.json)
        return EXIT_EXPECTED
    if arguments.results is None:
        raise InputError("--results: say in which folder results are to be kept.")
    with spark_session("campaign", arguments.master, settings) as spark:
        _run_missing(spark, campaign, cells, arguments.results)
        return _report(spark, arguments.results, arguments)


def _campaign(arguments: argparse.Namespace) -> Campaign:
    """The campaign that the arguments say. Raises InputError."""
    given = vars(arguments)
    keys = (field.alias or name for name, field in Matrix.model_fields.items())
    matrix = {key: given[key] for key in keys if given[key]}
    limits = {name: given[name] for name in LimitsOfCells.model_fields if given[name] is not None}
    if arguments.campaign is not None:
        if matrix:
            raise InputError("give a campaign file, or the options that stand for one, not both.")
        found = find_campaign(arguments.campaign)
        changed = {**found.limits.model_dump(), **limits}
        return found.model_copy(update={"limits": validated(type(found.limits), changed, "the limits", HINT)})
    if not matrix:
        raise InputError("give a campaign file, or --scenario, --tag or --mutants-in; see --help.")
    return validated(Campaign, {"matrix": [matrix], "limits": limits}, "the options", HINT)


def _hunt(arguments: argparse.Namespace, settings: Mapping[str, str]) -> int:
    """Hunt on the cluster. Raises InputError."""
    given = vars(arguments)
    of_cells = {"campaign", "results", "report", "list", "output", *LimitsOfCells.model_fields}
    of_cells |= {field.alias or name for name, field in Matrix.model_fields.items()}
    if any(given[name] for name in of_cells - _OF_BOTH):
        raise InputError("--hunt has no cells; give it --scenario, --tag, --seeds and --max-memory only.")
    seeds = arguments.seeds or "0"
    if not (seeds.isascii() and seeds.isdigit()):
        raise InputError(f"--seeds: a hunt has one seed, a number, not '{seeds[:40]}'.")
    words = {name: given[name] for name in ("scenarios", "tags") if given[name]}
    limits = {} if arguments.memory is None else {"memory": arguments.memory}
    memory = validated(LimitsOfCells, limits, "the limits", HINT).limits.memory
    chosen = generic()
    if words:
        chosen = chosen_scenarios(validated(Matrix, words, "the options", HINT), {})
    require_folder_can_be_written(arguments.hunt, "--hunt")
    hunt = Hunt(
        chosen,
        hunt_store.begin(arguments.hunt, chosen, int(seeds)),
        arguments.hunt,
        threads=os.cpu_count() or 1,
        max_memory=memory,
        max_steps=arguments.steps,
    )
    with spark_session("campaign", arguments.master, settings) as spark:
        from kraftcheck.pipeline.campaign.hunt import takes_on

        hunt.takes = takes_on(spark)
        telling = progress(spark, "hunt", quiet=arguments.json)
        return hunt_report.run(hunt, given["for"] or 3600.0, telling, as_json=arguments.json)


def _list(cells: list[Cell], *, as_json: bool) -> None:
    from kraftcheck.pipeline.campaign.executor import coordinates
    from kraftcheck.support.sources import source_digest

    sources = source_digest()
    for cell in cells:
        told = coordinates(cell, cell.id(sources))
        if as_json:
            print(json.dumps(versioned("campaign-cell", told)))
        else:
            print("  ".join(str(each) for each in told.values() if each is not None))
    if not as_json:
        print(f"{len(cells):,} cells")


def _run_missing(spark: SparkSession, campaign: Campaign, cells: list[Cell], path: str) -> None:
    from kraftcheck.pipeline.campaign import driver
    from kraftcheck.pipeline.campaign.store import Store
    from kraftcheck.support.sources import source_digest

    sources = source_digest()
    store = Store(spark, path)
    ids = [cell.id(sources) for cell in cells]
    store.plan(cells, ids, sources, campaign.name)
    known = store.finished_ids()
    missing = [cell for cell, id_ in zip(cells, ids, strict=True) if id_ not in known]
    before = len(cells) - len(missing)
    print(f"{len(cells):,} cells, of which {before:,} are finished", file=sys.stderr)
    with progress(spark, f"{before:,} of {len(cells):,} cells") as tell:
        driver.run(
            spark, store, missing, sources, lambda done: tell(f"{before + done:,} of {len(cells):,} cells")
        )


def _report(spark: SparkSession, path: str, arguments: argparse.Namespace) -> int:
    from kraftcheck.pipeline.campaign import report, report_text
    from kraftcheck.pipeline.campaign.store import Store

    found = report.make(Store(spark, path))
    if arguments.json:
        print(json.dumps(versioned("campaign", found), indent=2))
    else:
        report_text.show(console(), found, verbose=arguments.verbose)
    if arguments.output is not None:
        write_atomically(arguments.output, report_text.markdown(found))
    return exit_status(found)


def exit_status(found: dict[str, Any]) -> int:
    """1: a cell is not as expected, or failed; 3: one is undetermined, invalid or not finished, or it is
    undetermined what became of a mutant; else 0.
    """
    cells = found["cells"]
    if cells["not_as_expected"] or cells["verdicts"].get("failed"):
        return EXIT_DIFFERS
    unjudged = cells["planned"] - cells["finished"] + cells["open"] + cells["verdicts"].get("invalid", 0)
    undetermined = Status.UNDETERMINED.value in found["mutants"]["status"].values()
    return EXIT_UNDETERMINED if unjudged or undetermined else EXIT_EXPECTED
