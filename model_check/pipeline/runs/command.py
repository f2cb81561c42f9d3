"""``kraftcheck pipeline runs``: ``kraftcheck conform`` for any number of recorded runs, a task for each."""

from __future__ import annotations

import argparse
import json
import sys

from model_check.cli import EXIT_BAD_INPUT
from model_check.conform.options import add_options
from model_check.consult.terminal import console, width
from model_check.pipeline.progress import told
from model_check.pipeline.session import add_session_options, settings_of, spark_session
from model_check.printable import printable
from model_check.variants import read_protocol


def configure(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.epilog = (
        "Exit status: 0 no difference, 1 a difference or, with '--findings fail', a finding, 2 one is not a "
        "recording, 3 a step that could not be compared. See docs/pipeline/runs.md."
    )
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        help="folders of recorded runs, or folders of such folders, in any file system of the cluster",
    )
    parser.add_argument(
        "-o", "--output", required=True, metavar="DIR", help="where the data sets go; a new folder"
    )
    add_options(parser)
    add_session_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Judge the runs. Exit status: see :func:`model_check.conform.report.exit_status`; 2: one is none."""
    read_protocol(arguments.protocol, arguments.settings)
    settings = settings_of(arguments.conf)
    from model_check.conform.report import as_json, exit_status
    from model_check.conform.report_text import Wanted, as_text
    from model_check.pipeline.runs.results import judge, read_results

    with spark_session("runs", arguments.master, settings) as spark, told(spark, "runs"):
        judge(spark, arguments.runs, arguments.output, arguments.protocol, arguments.settings)
        results, errors = read_results(spark, arguments.output)
    if arguments.json:
        print(json.dumps(as_json(results, " ".join((arguments.protocol, *arguments.settings))), indent=2))
    elif results:
        wanted = Wanted(arguments.limit, arguments.verbose, arguments.rules, arguments.unexercised)
        print(as_text(results, wanted, width(console())))
    for error in errors:
        print(f"kraftcheck: {printable(error)}", file=sys.stderr)
    return EXIT_BAD_INPUT if errors else exit_status(results, findings_fail=arguments.findings == "fail")
