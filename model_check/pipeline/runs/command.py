"""``kraftcheck pipeline runs``: ``kraftcheck conform`` for any number of recorded runs, a task for each."""

from __future__ import annotations

import argparse
import json
import sys

from kraftcheck.evidence.recordings.options import add_options
from kraftcheck.pipeline.progress import told
from kraftcheck.pipeline.session import add_session_options, settings_of, spark_session
from kraftcheck.support.exit_codes import EXIT_BAD_INPUT
from kraftcheck.support.outputs import versioned
from kraftcheck.support.printable import printable
from kraftcheck.support.terminal import console, width
from kraftcheck.systems.variants import read_protocol


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
    """Judge the runs. Exit status: see :func:`kraftcheck.evidence.recordings.report.exit_status`; 2: one is
    none.
    """
    read_protocol(arguments.protocol, arguments.settings)
    settings = settings_of(arguments.conf)
    from kraftcheck.evidence.recordings.report import as_json, exit_status
    from kraftcheck.evidence.recordings.report_text import Wanted, as_text
    from kraftcheck.pipeline.runs.results import judge, read_results

    with spark_session("runs", arguments.master, settings) as spark, told(spark, "runs"):
        judge(spark, arguments.runs, arguments.output, arguments.protocol, arguments.settings)
        results, errors = read_results(spark, arguments.output)
    if arguments.json:
        data = as_json(results, " ".join((arguments.protocol, *arguments.settings)))
        print(json.dumps(versioned("conform", data), indent=2))
    elif results:
        wanted = Wanted(arguments.limit, arguments.verbose, arguments.rules, arguments.unexercised)
        print(as_text(results, wanted, width(console())))
    for error in errors:
        print(f"kraftcheck: {printable(error)}", file=sys.stderr)
    return EXIT_BAD_INPUT if errors else exit_status(results, findings_fail=arguments.findings == "fail")
