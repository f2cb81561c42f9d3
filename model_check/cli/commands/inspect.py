"""``kraftcheck inspect``: read the disks of controllers, and judge them together."""

from __future__ import annotations

import argparse
from pathlib import Path

from kraftcheck.support.arguments import add_json, flag
from kraftcheck.support.exit_codes import EXIT_DIFFERS, EXIT_EXPECTED
from kraftcheck.support.outputs import print_output
from kraftcheck.support.terminal import console


def configure(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument(
        "folders",
        nargs="+",
        type=Path,
        metavar="DIR",
        help="the metadata log directory of a controller or a broker (metadata.log.dir, or else log.dirs), "
        "or a folder of such directories; nothing in them is changed",
    )
    parser.add_argument(
        "--status",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="hold the output of kafka-metadata-quorum.sh describe, with --status or --replication, against "
        "the disks",
    )
    parser.add_argument(
        "--metrics",
        action="append",
        default=[],
        metavar="NODE=FILE",
        help="hold the raft metrics of a node, in Prometheus' text format, against the disks",
    )
    flag(parser, "--records", says="list all batches with the types of their records")
    add_json(parser)
    parser.epilog = "Exit status: 0 no problem, 1 problems, 2 no such directory or file."


def run(arguments: argparse.Namespace) -> int:
    """Read the disks; 0: no problem, 1: problems. Raises InputError where there is no directory or file."""
    from kraftcheck.evidence.disks.disk import find_disks, read_disk
    from kraftcheck.evidence.disks.observations import in_order, observations
    from kraftcheck.evidence.disks.quorum import Quorum
    from kraftcheck.evidence.disks.report import as_json, print_report
    from kraftcheck.evidence.disks.reported import held_against, read_described, read_metrics

    described = list(map(read_described, arguments.status))
    metrics = list(map(read_metrics, arguments.metrics))
    folders = find_disks(arguments.folders)
    quorum = Quorum(tuple(read_disk(folder, decode=arguments.records) for folder in folders))
    found = in_order([*observations(quorum), *held_against(quorum, described, metrics)])
    if arguments.json:
        print_output("inspect", as_json(quorum, found, records=arguments.records), indent=2)
    else:
        print_report(console(), quorum, found, records=arguments.records)
    return EXIT_DIFFERS if any(each.is_problem for each in found) else EXIT_EXPECTED
