"""``kraftcheck drive``: drive an implementation of a KRaft replica along generated traces."""

from __future__ import annotations

import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument("--adapter", required=True, metavar="COMMAND", help="the command of the adapter")


def run(arguments: argparse.Namespace) -> int:
    """Drive the adapter."""
    raise NotImplementedError
