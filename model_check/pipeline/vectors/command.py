"""``kraftcheck pipeline vectors``: conformance vectors for implementations in any language."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from kraftcheck.pipeline.progress import progress
from kraftcheck.pipeline.session import add_session_options, settings_of, spark_session
from kraftcheck.support.arguments import positive
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import require_folder_can_be_written
from kraftcheck.systems import scenario as scenarios
from kraftcheck.systems.scenario import Scenario
from kraftcheck.vectors import files

EPILOG = """\
Without SCENARIO: the CI scenarios, the decision tables of 'kraftcheck step',
everything that may happen to brokers, malformed input, and the scripts of
'kraftcheck drive'.

Exit status: 0 done, or the set agrees with the reference; 1 it does not
(--check); 2 bad input; 3 interrupted.
"""

#: How far a scenario is explored: what is new in a step is seen early.
MAX_STATES = 60_000


def configure(parser: argparse.ArgumentParser) -> None:
    """Define the pipeline's arguments."""
    parser.epilog = EPILOG
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="explore these only (name or file)")
    goal = parser.add_mutually_exclusive_group()
    goal.add_argument("-o", "--output", type=Path, metavar="DIR", help="write the set to this folder")
    goal.add_argument("--check", type=Path, metavar="DIR", help="hold this set against the reference")
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument(
        "--per-feature",
        type=positive,
        default=1,
        metavar="N",
        help="N vectors for each rule and outcome where there are so many (default: 1)",
    )
    amount.add_argument("--all", action="store_true", help="every step that was found")
    parser.add_argument(
        "--max-states",
        type=positive,
        default=MAX_STATES,
        metavar="N",
        help=f"explore each scenario up to N distinct states (default: {MAX_STATES})",
    )
    parser.add_argument(
        "--parquet", metavar="PATH", help="write candidates and vectors as Parquet into this new folder, too"
    )
    add_session_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Make or check a set. Raises InputError."""
    if arguments.check is not None:
        return _check(arguments)
    if arguments.output is None:
        raise InputError("say where the set goes (-o DIR), or which one is to be checked (--check DIR).")
    require_folder_can_be_written(arguments.output, "-o")
    files.require_free(arguments.output)
    chosen = _scenarios(arguments.scenarios)
    return _make(arguments, chosen)


def _scenarios(words: list[str]) -> list[Scenario]:
    if words:
        return [scenarios.find(word) for word in words]
    return [each for each in scenarios.shipped().values() if "ci" in each.tags]


def _make(arguments: argparse.Namespace, chosen: list[Scenario]) -> int:
    from kraftcheck.pipeline.vectors.run import make
    from kraftcheck.pipeline.vectors.tasks import tasks

    begin = time.monotonic()
    parts = tasks(chosen, beyond=not arguments.scenarios)
    with (
        spark_session("vectors", arguments.master, settings_of(arguments.conf)) as spark,
        progress(spark, "vectors") as tell,
    ):
        made = make(
            spark,
            parts,
            arguments.output,
            max_states=arguments.max_states,
            keep=None if arguments.all else arguments.per_feature,
            parquet=arguments.parquet,
            progress=tell,
        )
    kinds: dict[str, int] = {}
    for entry in made.files:
        kinds[entry["kind"]] = kinds.get(entry["kind"], 0) + entry["vectors"]
    rules = {rule for entry in made.files for rule in entry["rules"]}
    told = ", ".join(f"{count:,} {kind}{'s' if count != 1 else ''}" for kind, count in sorted(kinds.items()))
    print(f"{arguments.output}: {told}")
    print(f"  {len(rules)} rules, {len(made.files)} files, chosen from {made.candidates:,} candidates")
    print(f"  {len(parts)} tasks, {time.monotonic() - begin:.0f} s")
    return 0


def _check(arguments: argparse.Namespace) -> int:
    if arguments.scenarios or arguments.parquet or arguments.all:
        raise InputError("--check looks at a set that there is; leave SCENARIO, --all and --parquet out.")
    done = files.check(arguments.check)
    for sentence in done.differences:
        print(sentence)
    verdict = "differs from the reference" if done.differences else "agrees with the reference"
    print(f"{arguments.check}: {verdict}")
    print(f"  {done.vectors:,} vectors, {done.steps:,} steps, {len(done.rules)} rules, {done.files} files")
    return 1 if done.differences else 0
