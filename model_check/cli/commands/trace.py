"""``kraftcheck trace``: show a trace file or a behaviour, or replay a trace file."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path

from kraftcheck.checking import findings
from kraftcheck.evidence.junit import program as kafka_test
from kraftcheck.support.arguments import add_json, flag, whole_number
from kraftcheck.support.errors import InputError
from kraftcheck.support.exit_codes import EXIT_DIFFERS, EXIT_EXPECTED
from kraftcheck.support.files import read_standard_input, require_file_can_be_written, write_output
from kraftcheck.support.outputs import print_output
from kraftcheck.support.terminal import console, say
from kraftcheck.systems import scenario
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.other_protocol import add_protocol, under
from kraftcheck.systems.scenario import Scenario
from kraftcheck.traces import Trace, TraceError, build, itf, json_form, markdown, mermaid, program, terminal
from kraftcheck.traces.build import behaviour
from kraftcheck.traces.page import page_of
from kraftcheck.traces.paths import path_argument
from kraftcheck.traces.replay import Difference, replay

EPILOG = """\
A trace file comes from 'kraftcheck check --traces DIR'. A behaviour needs no
file: it is a scenario and the options taken, as 'trace show' prints them.

  kraftcheck trace show counterexample.json
  kraftcheck trace show three-voters-elect --path 0,1,1
  kraftcheck trace replay counterexample.json
  kraftcheck trace show counterexample.json --html counterexample.html
  kraftcheck trace show counterexample.json --kafka-test
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.epilog = EPILOG
    commands = parser.add_subparsers(dest="trace_command", required=True, metavar="show|replay")
    show = commands.add_parser("show", help="show a trace file, or the behaviour that --path addresses")
    show.add_argument(
        "file", metavar="FILE|SCENARIO", help="a trace file ('-': standard input), or with --path a scenario"
    )
    show.add_argument(
        "--path", type=path_argument, help="the options taken, for example 0,3,1 ('none': no step)"
    )
    show.add_argument(
        "--violates",
        metavar="PROPERTY",
        help="the property of check.eventually that the path violates, which steps alone do not show",
    )
    show.add_argument(
        "--loop",
        type=whole_number,
        metavar="N",
        help="with --violates: the steps after the first N repeat for ever",
    )
    add_protocol(show)
    flag(show, "--initial-prefix", says="the path is one of the run that leads to replicas.initial-leader")
    form = show.add_mutually_exclusive_group()
    flag(form, "--json", says="print the trace file's JSON form")
    flag(form, "--markdown", says="print Markdown")
    flag(form, "--mermaid", says="print a Mermaid sequence diagram, which GitHub draws")
    flag(form, "--itf", says="print Apalache's ITF, for viewers of TLA+ traces")
    flag(form, "--pytest", says="print a pytest program that takes these steps")
    flag(
        form,
        "--kafka-test",
        says="print a failing JUnit test for Kafka's raft module, in the release of the protocol",
    )
    form.add_argument("--html", type=Path, metavar="FILE", help="write a page for the browser")
    flag(show, "-v", "--verbose", says="all effects and changed fields")
    again = commands.add_parser("replay", help="take the steps of a trace file again and compare the states")
    again.add_argument("file", metavar="FILE", help="a trace file ('-': standard input)")
    add_json(again)


def run(arguments: argparse.Namespace) -> int:
    """Show or replay. Exit status of a replay: 0 the same states, 1 a difference."""
    if arguments.trace_command == "replay":
        return _replay(arguments)
    require_file_can_be_written(arguments.html, "--html")
    if arguments.loop is not None and arguments.violates is None:
        raise InputError("--loop: goes with --violates, the property that the cycle violates.")
    if arguments.path is None:
        if arguments.initial_prefix:
            raise InputError("--initial-prefix: goes with --path; a trace file knows its scenario.")
        if arguments.protocol is not None:
            raise InputError("--protocol: goes with --path; a trace file knows its protocol.")
        trace = _load(arguments.file, "give --path to address one of its behaviours")
        if arguments.violates is not None:
            raise InputError("--violates: goes with --path; a trace file knows what it violates.")
    else:
        chosen = under(scenario.find(arguments.file), arguments.protocol)
        trace = _walk(chosen, arguments)
    difference = None if arguments.path is not None else replay(trace)
    if arguments.json:
        print(json_form.dumps(trace), end="")
    elif arguments.markdown:
        print(markdown.render(trace, verbose=arguments.verbose), end="")
    elif arguments.mermaid:
        print(mermaid.render(trace), end="")
    elif arguments.itf:
        print(itf.dumps(trace), end="")
    elif arguments.html is not None:
        write_output(arguments.html, page_of(trace, _recognised(trace), findings.faults(trace)))
    elif arguments.pytest or arguments.kafka_test:
        if difference is not None and not (arguments.kafka_test and difference.of_numbers):
            raise InputError(_stale(arguments.file, difference))
        print(kafka_test.source(trace) if arguments.kafka_test else program.source(trace), end="")
    else:
        terminal.show(trace, verbose=arguments.verbose)
        for known in _recognised(trace):
            say(console(), known)
    if difference is not None:
        print(f"kraftcheck: note: {_stale(arguments.file, difference)}", file=sys.stderr)
    return EXIT_EXPECTED


def _recognised(trace: Trace) -> list[str]:
    """What is known of the finding that ``trace`` shows, if it shows one."""
    known = None if trace.property is None else findings.recognised(trace)
    return [] if known is None else [findings.in_words(known, trace.property or "")]


def _replay(arguments: argparse.Namespace) -> int:
    trace = _load(arguments.file, "give a trace file, which 'kraftcheck check --traces DIR' writes")
    difference = replay(trace)
    if arguments.json:
        data = None if difference is None else asdict(difference)
        print_output("replay", {"steps": len(trace.steps), "difference": data})
    elif difference is None:
        print(f"The reference takes all {len(trace.steps)} steps as recorded{_ends(trace)}.")
    else:
        print(f"The reference differs from the trace: {difference}.")
    return EXIT_EXPECTED if difference is None else EXIT_DIFFERS


def _ends(trace: Trace) -> str:
    """The part of the answer that the steps alone show."""
    if trace.property is None:
        return ""
    if not trace.is_of_behaviours:
        return f", {trace.property} is violated"
    closes = "" if trace.loop is None else " and the cycle closes"
    return f"{closes}; whether that violates {trace.property}, only 'kraftcheck check' can tell"


def _stale(file: str, difference: Difference) -> str:
    return f"{file}: the present reference does not take this behaviour ({difference})."


def _load(file: str, hint: str) -> Trace:
    if file in scenario.shipped_files() and not Path(file).exists():
        raise InputError(f"'{file}' is a scenario; {hint}.")
    if file != "-":
        return json_form.load(Path(file))
    return json_form.loads(read_standard_input("a trace file"), "standard input")


def _walk(chosen: Scenario, arguments: argparse.Namespace) -> Trace:
    """The behaviour that ``--path`` addresses, with what it violates."""
    word, path, violated, loop = arguments.file, arguments.path, arguments.violates, arguments.loop
    if arguments.initial_prefix:
        run = kind_of(chosen).initial_prefix(chosen)
        if run is None:
            raise InputError(
                f"--initial-prefix: {word} has no replicas.initial-leader; leave the option out."
            )
        chosen = run
    if violated is None:
        try:
            return build(kind_of(chosen).build(chosen, word), chosen, path)
        except TraceError as error:
            raise InputError(f"--path: {error}; leave out the path from there on.") from None
    names = [each.property for each in chosen.check.eventually]
    if violated not in names:
        expected = f"expected {' or '.join(names)}" if names else "leave the option out"
        raise InputError(f"--violates: {word} has no such property in check.eventually; {expected}.")
    if loop is not None and loop > len(path):
        raise InputError(f"--loop: expected at most {len(path)}, the number of steps of the path.")
    try:
        return behaviour(chosen, word, path, violated, loop)
    except TraceError as error:
        raise InputError(
            f"--path: {error}; give the path and --loop as 'kraftcheck check' prints them."
        ) from None
