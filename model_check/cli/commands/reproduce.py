"""``kraftcheck reproduce``: let a quorum of real replicas take a counterexample."""

from __future__ import annotations

import argparse
import sys
import time

from kraftcheck.engine.watch import Progress
from kraftcheck.evidence.adapters.answers import AdapterError
from kraftcheck.evidence.adapters.started import Adapters
from kraftcheck.evidence.kafka.option import add_implementation, command_of, protocol_of, timeout_of
from kraftcheck.evidence.quorum.chosen import (
    ALL,
    Chosen,
    NothingViolated,
    Source,
    behaviours,
    of_release,
    sources,
)
from kraftcheck.evidence.quorum.replay import reproduce
from kraftcheck.evidence.quorum.report import Reproduced, as_data, print_summary, print_trace
from kraftcheck.support.arguments import add_json, flag
from kraftcheck.support.errors import InputError
from kraftcheck.support.exit_codes import EXIT_DIFFERS, EXIT_EXPECTED, EXIT_UNDETERMINED
from kraftcheck.support.outputs import print_output
from kraftcheck.support.streams import progress
from kraftcheck.systems.other_protocol import add_protocol

EPILOG = """\
Every replica is a process of the adapter (docs/drive.md). What one of them
sends, another one receives; after each step its writes, messages and state
are compared with those of the reference.

  kraftcheck reproduce all --kafka kafka_2.13-4.3.1
  kraftcheck reproduce removed-candidate --adapter ./my-adapter -v
  kraftcheck reproduce counterexample.json \\
      --adapter 'python -m kraftcheck.evidence.adapters.adapter'

Exit status: 0 every step is confirmed, 1 a step differs, 2 the adapter or
something else does not work, 3 a step could not be taken, all that was named
is left out, or the run was interrupted.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.epilog = EPILOG
    parser.add_argument(
        "behaviours",
        nargs="+",
        metavar="FINDING|SCENARIO|TRACE.json",
        help=f"a finding of docs/findings.md by its name, a scenario that is violated, or a trace file ('-': "
        f"standard input); '{ALL}': all findings about replicas of Kafka",
    )
    add_protocol(parser)
    add_implementation(parser)
    add_json(parser)
    flag(parser, "-v", "--verbose", says="each step; texts of rules")


def run(arguments: argparse.Namespace) -> int:
    """Reproduce. Raises InputError where the adapter does not work."""
    results: list[Reproduced] = []
    begin = time.monotonic()
    with progress() as tell:
        chosen, left_out = sources(arguments.behaviours, arguments.protocol)
        if arguments.kafka is not None:
            chosen = of_release(chosen, protocol_of(arguments, tell))
        command = command_of(arguments, tell)
    with Adapters(command, timeout_of(arguments)) as adapters:
        adapters.session(0)  # Whether it can be started at all.
        for source in chosen:
            for behaviour in _behaviours(source, left_out):
                found = _reproduce(behaviour, adapters)
                results.append(found)
                if arguments.json:
                    print_output("reproduction", as_data(found))
                else:
                    print_trace(found, verbose=arguments.verbose)
    if not arguments.json:
        print_summary(results, time.monotonic() - begin)
    for name, reason in left_out.items():
        print(f"left out: {name}: {reason}", file=sys.stderr if arguments.json else sys.stdout)
    verdicts = {each.result.verdict for each in results}
    if "differs" in verdicts:
        return EXIT_DIFFERS
    return EXIT_EXPECTED if verdicts == {"confirmed"} else EXIT_UNDETERMINED


def _behaviours(source: Source, left_out: dict[str, str]) -> list[Chosen]:
    """The behaviours of ``source``; of a scenario that holds or cannot begin under the chosen preset none,
    with a reason.
    """
    with progress() as tell:

        def show(found: Progress) -> None:
            tell(f"looking for the counterexample of {source.word}: {found.distinct:,} states")

        try:
            return list(behaviours(source, show))
        except InputError as error:
            preset = None if source.scenario is None else source.scenario.asked_preset
            if preset is None:
                raise
            holds = isinstance(error, NothingViolated)
            reason = "no property is violated" if holds else f"{str(error).rstrip('.')},"
            left_out[source.word] = f"{reason} under {preset}"
            return []


def _reproduce(behaviour: Chosen, adapters: Adapters) -> Reproduced:
    begin = time.monotonic()
    with progress() as tell:

        def show(step: int) -> None:
            tell(f"{behaviour.name}: step {step} of {len(behaviour.trace.steps)}")

        try:
            result = reproduce(behaviour.trace, adapters.session, show)
        except AdapterError as error:
            raise AdapterError(f"{str(error).rstrip('.')}, in {behaviour.name}.") from None
    return Reproduced(behaviour, adapters.name, result, time.monotonic() - begin)
