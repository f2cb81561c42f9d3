"""``kraftcheck conform``: hold recorded runs of production Kafka against the reference."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from model_check.conform.lockstep import compare
from model_check.conform.recording import read
from model_check.conform.report import as_json, as_text
from model_check.errors import InputError
from reference.protocol import PRESETS


def configure(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="folder of a recorded run")
    parser.add_argument("--protocol", default="kafka", help="protocol preset (default: kafka)")
    parser.add_argument("--json", action="store_true", help="print the machine-readable report")
    parser.add_argument("--rules", action="store_true", help="also print how often each rule decided a step")
    parser.add_argument(
        "--limit", type=int, default=10, help="differences shown in full per run (default: 10)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Compare the runs; 0: no difference, 1: differences."""
    if arguments.protocol not in PRESETS:
        known = ", ".join(sorted(PRESETS))
        raise InputError(f"there is no protocol preset '{arguments.protocol}'; known are {known}.")
    reports = [compare(read(folder), PRESETS[arguments.protocol]) for folder in arguments.runs]
    if arguments.json:
        print(json.dumps(as_json(reports), indent=2))
    else:
        print(as_text(reports, rules=arguments.rules, limit=arguments.limit))
    return 1 if any(report.differences for report in reports) else 0
