"""The options of commands that compare recorded runs with the reference."""

from __future__ import annotations

import argparse

from kraftcheck.support.arguments import whole_number
from kraftcheck.systems.variants import add_protocol_options


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add ``protocol``, ``settings``, ``findings``, ``json``, ``rules``, ``unexercised``, ``limit`` and
    ``verbose``.
    """
    add_protocol_options(parser)
    parser.add_argument(
        "--findings",
        choices=("report", "fail"),
        default="report",
        help="whether properties that production violates make exit status 1 (default: report)",
    )
    parser.add_argument("--json", action="store_true", help="print the machine-readable report")
    parser.add_argument("--rules", action="store_true", help="also print how often each rule decided a step")
    parser.add_argument("--unexercised", action="store_true", help="also list the rules that decided no step")
    parser.add_argument(
        "--limit",
        type=whole_number,
        default=10,
        metavar="N",
        help="differences and findings shown in full per run (default: 10)",
    )
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="print the texts of rules and properties, and why something is not compared",
    )
