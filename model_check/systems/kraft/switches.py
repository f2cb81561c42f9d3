"""The variants of the protocol of replicas, on the command line and in the words of the catalogue."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence

from kraftcheck.reference.protocol import PRESETS, Protocol
from kraftcheck.reference.types import INT32
from kraftcheck.spec import RELEASES
from kraftcheck.systems.switches import Switches

#: The variants of replicas.
SWITCHES: Switches[Protocol] = Switches(PRESETS, "preset", (1, INT32), {"fetch-max-wait-ms": (0, INT32)})

#: The preset of replicas unless another is named.
DEFAULT = "kafka"


def preset_of(implementation: str) -> str:
    """The preset of the release for ``Apache Kafka 4.0 ...``, for a later one that of trunk; for the name of
    anything else the default.
    """
    named = re.match(r"Apache Kafka (\d{1,3})\.(\d{1,3})", implementation)
    if named is None:
        return DEFAULT
    preset = f"kafka-{named[1]}.{named[2]}"
    newest = max(tuple(map(int, each.split("."))) for each in RELEASES if each != "trunk")
    if (int(named[1]), int(named[2])) > newest:
        return "kafka-trunk"
    return preset if preset in PRESETS else DEFAULT


def add_protocol_options(
    parser: argparse.ArgumentParser, *, brokers: Sequence[str] = (), of_kafka: bool = False
) -> None:
    """Add ``--protocol`` and ``--set``, which :meth:`Switches.read` reads.

    ``brokers`` are the forms of brokers where the command also knows them; then there is no default, as it
    depends on the request. ``of_kafka``: nor is there one where the Kafka at hand decides.
    """
    default = f"that of the Kafka, else {DEFAULT}" if of_kafka else DEFAULT
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
