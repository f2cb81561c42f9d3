"""``kraftcheck pipeline explore``: explore scenarios on a Spark cluster and compare with what they expect."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kraftcheck.checking.results import (
    Outcome,
    as_data,
    exit_status,
    outcome,
    progress_line,
    report,
    summarize,
)
from kraftcheck.checking.run import CheckResult, check
from kraftcheck.engine.system import Limits
from kraftcheck.engine.watch import INTERRUPTED
from kraftcheck.pipeline.errors import in_a_sentence
from kraftcheck.pipeline.progress import progress
from kraftcheck.pipeline.session import add_session_options, settings_of, spark_session
from kraftcheck.support.arguments import positive
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import TemporaryFolder
from kraftcheck.support.outputs import versioned
from kraftcheck.support.sources import source_digest
from kraftcheck.support.terminal import console, say
from kraftcheck.systems.scenario import Scenario, find

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kraftcheck.pipeline.explore.level import Spent

#: Levels up to so many states are explored in the driver.
HAND_OVER = 1_000_000


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.epilog = (
        "Exit status: 0 all as expected, 1 a verdict differs, 2 bad input, 3 undetermined or interrupted. "
        "See docs/pipeline/explore.md."
    )
    parser.add_argument("scenarios", nargs="+", metavar="NAME|FILE", help="scenarios")
    add_session_options(parser)
    parser.add_argument(
        "--dir",
        metavar="DIR",
        help="keep there what is found, level by level, and go on from what an earlier run left there; a "
        "folder that all executors can use (default: a temporary one)",
    )
    parser.add_argument(
        "--parts",
        type=positive,
        metavar="N",
        help="divide levels and visited states into N parts (default: twice the cluster's cores, at least 4)",
    )
    parser.add_argument(
        "--hand-over",
        type=_count,
        default=HAND_OVER,
        metavar="N",
        help=f"explore levels in the driver until one has more than N states (default: {HAND_OVER:,})",
    )
    parser.add_argument("--max-states", type=positive, metavar="N", help="give up after N states")
    parser.add_argument("--max-seconds", type=positive, metavar="S", help="give up after S seconds each")
    parser.add_argument("--json", action="store_true", help="one JSON object a scenario on standard output")
    parser.add_argument("-v", "--verbose", action="store_true", help="show expected counterexamples too")


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 12:
        raise argparse.ArgumentTypeError(f"expected a number of states, not '{text[:40]}'")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Run the command. Exit status: 0 all as expected, 1 a verdict differs, 3 undetermined."""
    if arguments.dir is not None and not arguments.dir.strip():
        raise InputError("--dir: expected a folder, not an empty name.")
    out = console()
    scenarios = [find(word) for word in arguments.scenarios]
    settings = settings_of(arguments.conf)
    outcomes: list[Outcome] = []
    with spark_session("pipeline explore", arguments.master, settings) as spark:
        for scenario in scenarios:
            result, spent = _check(scenario, arguments, spark)
            outcomes.append(outcome(result))
            if arguments.json:
                print(json.dumps(versioned("check", as_data(result) | {"spark": asdict(spent)})), flush=True)
            else:
                report(out, result, verbose=arguments.verbose)
                _tell(spent, arguments)
            if result.limit == INTERRUPTED:
                print("kraftcheck: interrupted.", file=sys.stderr)
                break
    if not arguments.json:
        summarize(out, outcomes)
    return exit_status(outcomes)


def _check(
    scenario: Scenario, arguments: argparse.Namespace, spark: SparkSession
) -> tuple[CheckResult, Spent]:
    from kraftcheck.pipeline.explore.level import Spent
    from kraftcheck.pipeline.explore.search import Options, explore_on_spark

    spent = Spent()
    purpose = f"{source_digest()} {scenario.model_dump_json()}"
    with _folder(scenario, arguments, spark) as folder, in_a_sentence():
        options = Options(
            folder,
            hashlib.sha256(purpose.encode()).hexdigest(),
            arguments.parts,
            arguments.hand_over,
        )
        call = partial(
            check,
            scenario,
            limits=Limits(max_states=arguments.max_states, max_seconds=arguments.max_seconds),
            report_interrupt=True,
            explorer=partial(explore_on_spark, spark=spark, options=options, spent=spent),
        )
        with progress(spark, scenario.name, quiet=arguments.json) as tell:
            return call(progress=lambda found: tell(f"{scenario.name}: {progress_line(found)}")), spent


@contextmanager
def _folder(scenario: Scenario, arguments: argparse.Namespace, spark: SparkSession) -> Iterator[str]:
    """The folder of the run. Raises InputError where a temporary one would be out of reach of executors."""
    if arguments.dir is not None:
        yield f"{arguments.dir.rstrip('/')}/{scenario.name}"
        return
    if not spark.sparkContext.master.startswith("local"):
        raise InputError("--dir: name a folder that all executors of the cluster can use, e.g. on hdfs://.")
    with TemporaryFolder("kraftcheck-explore-") as folder:
        # Spark takes a path as it is: it would not read %20 as a space.
        yield f"file://{Path(folder).absolute()}"


def _tell(spent: Spent, arguments: argparse.Namespace) -> None:
    """Where the work was done."""
    out = console()
    if spent.taken_up is not None:
        say(out, f"taken up at depth {spent.taken_up} from {arguments.dir}", indent=4)
    if spent.handed_over is None:
        say(out, "no level was large enough for Spark: all of it was explored in the driver", indent=4)
    elif spent.states:
        say(out, f"on Spark from depth {spent.handed_over}: {spent.states:,} states", indent=4)
