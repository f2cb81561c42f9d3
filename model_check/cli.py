"""The command ``kraftcheck``.

Exit status: 0 all as expected; 1 a verdict, a comparison or a check differs from what was expected; 2 bad
input; 3 undetermined (a limit was hit first, or the run was interrupted); 141 the reader of the output closed
the pipe first.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Sequence

from model_check.errors import InputError
from model_check.parser import Parser
from model_check.printable import printable

EXIT_EXPECTED, EXIT_DIFFERS, EXIT_BAD_INPUT, EXIT_UNDETERMINED = 0, 1, 2, 3
#: As shells have it for a process that ended with SIGPIPE: what was to be told was not, so it is no success.
EXIT_BROKEN_PIPE = 141

#: Commands and their one-line help. Each lives in ``model_check/commands/<name>.py``, which defines
#: ``configure(parser)`` and ``run(arguments) -> int`` and is imported only when the command is used.
COMMANDS = {
    "check": "explore scenarios exhaustively and compare the verdicts with the expected ones",
    "simulate": "explore a scenario by random walks",
    "rules": "consult the rule catalogue",
    "step": "ask the reference what a replica does on one event",
    "trace": "show or replay a trace file",
    "graph": "export the state graph of a small scenario",
    "mutate": "remove one guard of the reference at a time and see whether the checker notices",
    "impact": "find the checks that a rule, a function or a change concerns, and run them",
    "museum": "bring back former defects of production and see how the checker refutes them",
    "conform": "hold recorded runs of production Kafka against the reference",
    "tlc": "hold scenarios and mutants against TLC, or let TLC follow a counterexample",
    "prove": "prove the safety core for any number of replicas, epochs and records",
    "drive": "drive an implementation along generated traces and compare it with the reference",
    "logs": "rebuild and check what the log files of production nodes show",
    "pipeline": "explore, run campaigns, make conformance vectors and check logs on a Spark cluster",
    "bench": "measure the engine",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``kraftcheck`` with ``argv`` (default: the process's arguments) and return its exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        # Where the terminal cannot show a character, a replacement is better than no report.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        return _told(arguments)
    except InputError as error:
        sentence = "\n".join(map(printable, str(error).split("\n")))
        print(f"kraftcheck: {sentence}", file=sys.stderr)
        return EXIT_BAD_INPUT
    except KeyboardInterrupt:
        print("kraftcheck: interrupted.", file=sys.stderr)
        return EXIT_UNDETERMINED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BROKEN_PIPE


def _told(arguments: list[str]) -> int:
    """The status, after all of the output has gone where it goes."""
    try:
        status = _run(arguments)
    except SystemExit:
        sys.stdout.flush()
        raise
    sys.stdout.flush()
    return status


def _run(arguments: list[str]) -> int:
    parser = Parser(prog="kraftcheck", description=__doc__.split("\n\n")[1] if __doc__ else None)
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")
    wanted = next((word for word in arguments if not word.startswith("-")), None)
    for name, summary in COMMANDS.items():
        command = subparsers.add_parser(
            name, help=summary, description=summary[0].upper() + summary[1:] + "."
        )
        if name == wanted:
            importlib.import_module(f"model_check.commands.{name}").configure(command)
    parsed = parser.parse_args(arguments)
    if parsed.command is None:
        parser.print_help()
        return EXIT_BAD_INPUT
    module = importlib.import_module(f"model_check.commands.{parsed.command}")
    status: int = module.run(parsed)
    return status


if __name__ == "__main__":
    sys.exit(main())
