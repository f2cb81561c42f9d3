"""The options that choose what is driven: the command of an adapter, or Apache Kafka."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from kraftcheck.evidence.adapters.session import words_of
from kraftcheck.evidence.kafka import build
from kraftcheck.reference.protocol import PRESETS
from kraftcheck.support import streams
from kraftcheck.support.arguments import seconds
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft.switches import DEFAULT, SWITCHES

#: Seconds for an answer, and for one of a virtual machine, whose first takes long on a busy machine.
TIMEOUT, KAFKA_TIMEOUT = 10.0, 60.0


class Implementation(NamedTuple):
    """What is driven: the words of an adapter's command, or the Kafka at ``kafka`` with third-party ``jars``.
    timeout: seconds for an answer.
    """

    timeout: float
    words: tuple[str, ...] = ()
    kafka: Path | None = None
    jars: Path | None = None

    def command(self, tell: Callable[[str], None] = lambda text: None) -> list[str]:
        """The command that starts the adapter; on this machine Kafka is compiled first if needed.

        Raises InputError.
        """
        if self.kafka is None:
            return list(self.words)
        return build.command(self.kafka, self.jars, tell)


def add_implementation(parser: argparse.ArgumentParser) -> argparse._MutuallyExclusiveGroup:
    """The options for the implementation, of which exactly one is given, and for the time of an answer.
    Returns the group of the first, for others that stand for an implementation.
    """
    implementation = parser.add_mutually_exclusive_group(required=True)
    implementation.add_argument(
        "--adapter", metavar="COMMAND", help="the command of the adapter, split as a shell would"
    )
    implementation.add_argument(
        "--kafka",
        type=Path,
        metavar="PATH",
        help="drive Apache Kafka: a release, or a source tree, which need not be built",
    )
    parser.add_argument(
        "--jars",
        type=Path,
        metavar="FOLDER",
        help="with --kafka and a source tree: the third-party jars that it needs",
    )
    parser.add_argument(
        "--timeout", type=seconds, metavar="S", help="seconds for each answer (default: 10; with --kafka 60)"
    )
    return implementation


def implementation_of(arguments: argparse.Namespace) -> Implementation:
    """What the options say. Raises InputError."""
    timeout = timeout_of(arguments)
    if arguments.kafka is not None:
        return Implementation(timeout, kafka=arguments.kafka, jars=arguments.jars)
    if arguments.jars is not None:
        raise InputError("--jars: goes with --kafka and a source tree; leave it out.")
    return Implementation(timeout, tuple(words_of(arguments.adapter)))


def command_of(arguments: argparse.Namespace, tell: Callable[[str], None]) -> list[str]:
    """The words of the command that starts the adapter. Raises InputError."""
    return implementation_of(arguments).command(tell)


def protocol_of(arguments: argparse.Namespace, tell: Callable[[str], None]) -> str:
    """The preset that ``--protocol`` names; without it that of the Kafka that is driven, else the default.

    Says so if the named one is not that of the Kafka. Raises InputError.
    """
    named: str | None = arguments.protocol
    if arguments.kafka is None:
        return named or DEFAULT
    if named is not None:
        SWITCHES.read(named, ())  # Before Kafka is compiled.
    fits = build.preset(arguments.kafka, arguments.jars, tell)
    if named in PRESETS and PRESETS[named] != PRESETS[fits]:
        streams.say(
            f"kraftcheck: note: {arguments.kafka} does as {fits}, and is compared with --protocol {named}: "
            "expect differences, or leave --protocol out."
        )
    return named or fits


def timeout_of(arguments: argparse.Namespace) -> float:
    """Seconds for an answer."""
    return arguments.timeout or (TIMEOUT if arguments.kafka is None else KAFKA_TIMEOUT)
