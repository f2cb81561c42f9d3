"""The variants of the protocol of replicas, on the command line and in the words of the catalogue."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from kraftcheck.reference.protocol import PRESETS, Protocol
from kraftcheck.reference.types import INT32
from kraftcheck.systems.switches import Switches

#: The variants of replicas.
SWITCHES: Switches[Protocol] = Switches(PRESETS, "preset", (1, INT32), {"fetch-max-wait-ms": (0, INT32)})

#: The preset of replicas unless another is named.
DEFAULT = "kafka"


def add_protocol_options(
    parser: argparse.ArgumentParser, *, brokers: Sequence[str] = (), of_kafka: bool = False
) -> None:
    """Add ``--protocol`` and ``--set``, which :meth:`Switches.read` reads.

    ``brokers`` are the forms of brokers where the command also knows them; then there is no default, as it
    depends on the request. ``of_kafka``: nor is there one where the Kafka that is driven decides.
    """
    default = f"that of the Kafka that is driven, else {DEFAULT}" if of_kafka else DEFAULT
    about = f"protocol preset: {', '.join(PRESETS)} (default: {default})"
    if brokers:
        about += f"; of brokers: {', '.join(brokers)} (default: the form that the question is of)"
    parser.add_argument("--protocol", default=None if brokers or of_kafka else DEFAULT, help=about)
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="settings",
        metavar="SWITCH=VALUE",
        help="change a switch of the protocol, for example follower-pre-vote=never",
    )
