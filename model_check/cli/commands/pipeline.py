"""``kraftcheck pipeline``: what goes to a Spark cluster."""

from __future__ import annotations

import argparse
import importlib

from kraftcheck.cli.parser import Parser

#: Pipelines and their one-line help. Each lives in ``model_check/pipeline/<name>/command.py``, which defines
#: ``configure(parser)`` and ``run(arguments) -> int``.
PIPELINES: dict[str, str] = {
    "explore": "explore scenarios on a cluster, with the answers of 'kraftcheck check'",
    "campaign": "run many explorations (scenarios, variants, mutants, bounds, seeds), or a hunt",
    "vectors": "make conformance vectors from the reference, for implementations in any language",
    "record": "record simulated clusters of an implementation, and compare them with the reference",
    "logs": "read and check the log files of many clusters",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Define the pipelines and their arguments."""
    parser.epilog = "Needs PySpark (pip install 'kraftcheck[spark]') and Java 17. See docs/pipeline.md."
    subparsers = parser.add_subparsers(
        dest="pipeline", metavar="PIPELINE", required=True, parser_class=Parser
    )
    for name, summary in PIPELINES.items():
        module = importlib.import_module(f"kraftcheck.pipeline.{name}.command")
        module.configure(
            subparsers.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        )


def run(arguments: argparse.Namespace) -> int:
    """Run the pipeline."""
    module = importlib.import_module(f"kraftcheck.pipeline.{arguments.pipeline}.command")
    status: int = module.run(arguments)
    return status
