"""The command ``kraftcheck``.

Check the executable specification of KRaft, and compare logs, recordings and implementations with it.

The exit codes are those of :mod:`kraftcheck.support.exit_codes`.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import sys
import traceback
from collections.abc import Container, Sequence
from contextlib import suppress
from typing import NoReturn

from kraftcheck.cli.parser import Parser
from kraftcheck.support import signals, streams
from kraftcheck.support.errors import InputError
from kraftcheck.support.exit_codes import (
    EXIT_BAD_INPUT,
    EXIT_BROKEN_PIPE,
    EXIT_EXPECTED,
    EXIT_UNDETERMINED,
)
from kraftcheck.support.failures import failure, require_memory
from kraftcheck.support.printable import guarded

#: Commands and their one-line help. Each lives in ``model_check/cli/commands/<name>.py``, which defines
#: ``configure(parser)`` and ``run(arguments) -> int`` and is imported only when the command is used.
COMMANDS = {
    "new": "write a commented scenario to begin with",
    "check": "explore scenarios exhaustively and compare the verdicts with the expected ones",
    "simulate": "explore a scenario by random walks",
    "hunt": "widen the bounds of scenarios step by step, and look for violations without a known cause",
    "rules": "query the rule catalogue",
    "step": "query what a replica does on one event, and by which rules",
    "trace": "show or replay a trace file",
    "explore": "step through a scenario, a trace or a state in a browser",
    "graph": "export the state graph of a small scenario",
    "mutate": "remove one guard of the reference at a time and see whether the checker notices",
    "impact": "find the checks that a rule, a function or a change affects, and run them",
    "bugs": "bring back historical bugs of Apache Kafka, each as a mutant that the checker kills",
    "conform": "compare recorded runs of Kafka with the reference",
    "tlc": "compare scenarios and mutants with TLC, or let TLC follow a counterexample",
    "prove": "prove the safety core for any number of replicas, epochs and records",
    "drive": "drive an implementation along generated traces and compare it with the reference",
    "reproduce": "let a quorum of real replicas take a counterexample, and compare each step",
    "record": "record simulated clusters of an implementation and compare them with the reference",
    "logs": "rebuild the history of a quorum from its log files, and check it",
    "inspect": "read the disks of controllers, and say what does not fit",
    "plan": "find the shortest safe order of operations that leads a quorum to other voters",
    "pipeline": "explore, run campaigns, make conformance vectors and check logs on a Spark cluster",
    "bench": "measure the engine",
    "completion": "print a script with which a shell completes commands, options and scenarios",
}


def script() -> NoReturn:
    """The program ``kraftcheck``: this process ends with the exit status of :func:`main`."""
    try:
        status = main()
    except (MemoryError, KeyboardInterrupt) as error:
        status = _failed(error)
    # Another signal now would only print a traceback.
    signals.ignore()
    if status == EXIT_UNDETERMINED:
        # An interrupt leaves objects of the solver behind that Python must not delete: it can crash.
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()
        if "kraftcheck.support.parallel" in sys.modules:
            sys.modules["kraftcheck.support.parallel"].leave_nothing()
        os._exit(status)
    sys.exit(status)


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``kraftcheck`` with ``argv`` (default: the process's arguments) and return its exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    with signals.ending() as ending, streams.messages_shown():
        try:
            streams.make_ready()
            require_memory()
            with guarded():
                return _run_and_flush(arguments)
        except BrokenPipeError:
            streams.give_up(sys.stdout)
            return EXIT_BROKEN_PIPE
        except (Exception, KeyboardInterrupt) as error:
            # Libraries make other exceptions of an interrupt.
            unexpected = ending.seen and not isinstance(error, InputError)
            return _failed(KeyboardInterrupt() if unexpected else error)


def _failed(error: BaseException) -> int:
    """Print why the command failed; its exit status."""
    status, sentence = failure(error)
    traceback.clear_frames(error.__traceback__)  # They may hold all of the memory.
    try:
        sys.stdout.flush()
    except OSError:
        streams.give_up(sys.stdout)
    streams.say(f"kraftcheck: {sentence}")
    return status


def _run_and_flush(arguments: list[str]) -> int:
    """Run and flush standard output; the exit status."""
    try:
        status = _run(arguments)
    except SystemExit:
        sys.stdout.flush()
        raise
    sys.stdout.flush()
    return status


def parser_of(commands: Container[str]) -> Parser:
    """The parser of the command line, with the arguments of these ``commands``: each is imported."""
    parser = Parser(prog="kraftcheck", description=__doc__.split("\n\n")[1] if __doc__ else None)
    parser.add_argument("-V", "--version", action="store_true", help="print the version and stop")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, summary in COMMANDS.items():
        command = subparsers.add_parser(
            name, help=summary, description=summary[0].upper() + summary[1:] + "."
        )
        if name in commands:
            importlib.import_module(f"kraftcheck.cli.commands.{name}").configure(command)
    return parser


def _run(arguments: list[str]) -> int:
    wanted = [word for word in arguments if not word.startswith("-")][:1]
    parser = parser_of(wanted)
    parsed = parser.parse_args(arguments)
    if parsed.version:
        print(_version())
        return EXIT_EXPECTED
    if parsed.command is None:
        parser.print_help()
        return EXIT_BAD_INPUT
    module = importlib.import_module(f"kraftcheck.cli.commands.{parsed.command}")
    status: int = module.run(parsed)
    return status


def _version() -> str:
    def of(package: str) -> str:
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            return "(not installed)"

    used = ", ".join(f"{package} {of(package)}" for package in ("numba", "numpy", "z3-solver"))
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"kraftcheck {of('kraftcheck')}; {python}, {used}"
