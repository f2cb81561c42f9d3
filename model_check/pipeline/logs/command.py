"""``kraftcheck pipeline logs``: read and check the logs of many clusters on Spark."""

from __future__ import annotations

import argparse
import json

from kraftcheck.evidence.logs.reader import Options, Reader, nothing_found
from kraftcheck.evidence.logs.report import exit_status
from kraftcheck.pipeline.logs.files import DEFAULT_LAYOUT, compile_layout, find_files
from kraftcheck.pipeline.progress import progress
from kraftcheck.pipeline.session import add_session_options, settings_of, spark_session
from kraftcheck.support.errors import InputError
from kraftcheck.support.outputs import versioned
from kraftcheck.support.terminal import console


def configure(parser: argparse.ArgumentParser) -> None:
    """Define the arguments."""
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="log files, folders of them or globs, of any file system (hdfs://, s3a://, ...)",
    )
    parser.add_argument(
        "--layout",
        metavar="LAYOUT",
        help=f"where the cluster stands in the paths below PATH (default: {DEFAULT_LAYOUT})",
    )
    parser.add_argument("-o", "--output", metavar="FOLDER", help="write the Parquet data sets there")
    Options.add_to(parser)
    add_session_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the pipeline; the exit status is that of `kraftcheck logs`. Raises InputError."""
    if not arguments.paths:
        raise InputError("no log files given; see 'kraftcheck pipeline logs --help'.")
    options = Options(arguments.pattern, arguments.release)
    Reader(options)  # what executors would refuse is refused here
    if arguments.layout is not None:
        compile_layout(arguments.layout)
    return _check(arguments, options)


def _check(arguments: argparse.Namespace, options: Options) -> int:
    with spark_session("logs", arguments.master, settings_of(arguments.conf)) as spark:
        from kraftcheck.pipeline.logs.fleet import check_fleet, is_of_raft, print_fleet

        files = find_files(arguments.paths, arguments.layout)
        with progress(spark, "logs"):
            report = check_fleet(spark, files, options, arguments.output, arguments.limit)
    if not is_of_raft(report):
        named = [(file["file"], file["damaged"]) for file in report["files"]]
        raise InputError(nothing_found(named, report["notes"], options))
    if arguments.json:
        print(json.dumps(versioned("fleet-logs", report), indent=2))
    else:
        print_fleet(console(), report, arguments.output, arguments.limit)
    return exit_status(report)
