"""``kraftcheck check``: explore scenarios exhaustively and compare the verdicts with the expected ones."""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import time
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from rich.text import Text

from kraftcheck.checking import ci, findings, ledger
from kraftcheck.checking.answers import of_this_user, using
from kraftcheck.checking.coverage import pages
from kraftcheck.checking.coverage.executed import Place, recording
from kraftcheck.checking.coverage.report import together
from kraftcheck.checking.ledger import Kept, Ledger, Sources
from kraftcheck.checking.results import (
    Outcome,
    as_data,
    exit_status,
    outcome,
    progress_line,
    report,
    summarize,
)
from kraftcheck.checking.run import CheckResult, check
from kraftcheck.checking.violations import in_words, more_data
from kraftcheck.cli import from_disks, watching
from kraftcheck.engine.checkpoint import Checkpoint, CheckpointError
from kraftcheck.engine.prepared import prepare
from kraftcheck.engine.system import Limits
from kraftcheck.engine.watch import INTERRUPTED
from kraftcheck.support import streams
from kraftcheck.support.arguments import KEEPS_ANSWERS, any_seconds, byte_count, flag, positive, thread_count
from kraftcheck.support.closest import did_you_mean
from kraftcheck.support.errors import InputError
from kraftcheck.support.exit_codes import EXIT_EXPECTED, EXIT_UNDETERMINED
from kraftcheck.support.files import (
    require_file_can_be_written,
    require_folder_can_be_written,
    write_output,
)
from kraftcheck.support.outputs import print_output
from kraftcheck.support.parallel import processes
from kraftcheck.support.sources import source_digest
from kraftcheck.support.streams import status
from kraftcheck.support.terminal import Console, console, entry, heading, say
from kraftcheck.systems.kraft.scenario import KRaftScenario
from kraftcheck.systems.other_protocol import add_protocol, each_under
from kraftcheck.systems.scenario import Scenario, find, shipped, shipped_files
from kraftcheck.traces import files, mermaid

#: The tag of scenarios of more than five million states. CI explores them.
LARGE = "large"
#: So many scenarios are worth processes of their own, each of which takes a second to start.
MANY = 8
#: Arguments with which scenarios are explored one after another.
_ONE_AT_A_TIME = ("checkpoint", "coverage", "max_memory", "max_seconds")
#: The arguments that do not change what is asked of a scenario.
_OF_THE_RUN = {"command", "all", "tag", "threads", "checkpoint_every", "partial_order"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.epilog = KEEPS_ANSWERS
    parser.add_argument(
        "scenarios",
        nargs="*",
        metavar="NAME|FILE",
        help="scenarios ('brokers-*': all so named); default: those of CI",
    )
    flag(parser, "--list", says="list scenarios (default: all that are shipped) and stop")
    flag(parser, "--all", says="explore large scenarios too, and those whose result cannot have changed")
    flag(parser, watching.OPTION, says="check again after each change of a scenario file or of the reference")
    parser.add_argument("--tag", help="all shipped scenarios with this tag")
    add_protocol(parser)
    from_disks.add(parser)
    parser.add_argument(
        "--threads", type=thread_count, default=os.cpu_count() or 1, metavar="N", help="default: all cores"
    )
    _add_search(parser)
    _add_outputs(parser)


def _add_search(parser: argparse.ArgumentParser) -> None:
    """How far to search, and how."""
    parser.add_argument("--max-states", type=positive, metavar="N", help="stop after N distinct states")
    parser.add_argument(
        "--max-memory",
        type=byte_count,
        metavar="SIZE",
        help="memory to use, e.g. 8G: states beyond it go to disk (TMPDIR); stop when the rest needs more",
    )
    parser.add_argument(
        "--max-seconds", type=positive, metavar="S", help="stop each scenario after S seconds"
    )
    parser.add_argument(
        "--symmetry",
        action=argparse.BooleanOptionalAction,
        help="states up to renaming of interchangeable voters, or all (default: as the scenario says)",
    )
    parser.add_argument(
        "--partial-order",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="skip other orders of steps that commute (default: yes, but not with symmetry)",
    )
    flag(parser, "--keep-going", says="continue after the first violated property")
    parser.add_argument(
        "--checkpoint",
        type=Path,
        metavar="DIR",
        help="save progress there periodically and on interruption, and resume from it",
    )
    parser.add_argument(
        "--checkpoint-every",
        type=any_seconds,
        default=60.0,
        metavar="S",
        help="save progress at most every S seconds (default: 60)",
    )


def _add_outputs(parser: argparse.ArgumentParser) -> None:
    """What to show, and where to write it."""
    flag(
        parser,
        "--coverage",
        says="report which rules, transitions and guards of the reference the steps exercise",
    )
    parser.add_argument(
        "--coverage-html",
        type=Path,
        metavar="DIR",
        help="with --coverage: write the source of the reference there as pages, with the lines that ran",
    )
    parser.add_argument(
        "--causes",
        type=positive,
        metavar="N",
        help="show counterexamples, up to N of each property, one for each cause",
    )
    flag(
        parser,
        "--smallest-bounds",
        says=(
            "show for each violated property the smallest bounds that still show it, and of "
            "check.serves-at-most the smallest that holds"
        ),
    )
    parser.add_argument(
        "--traces", type=Path, metavar="DIR", help="write counterexamples there, as JSON and HTML"
    )
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write the results there as JUnit XML")
    flag(
        parser,
        "--github",
        says="in GitHub Actions: mark the files of verdicts that differ, and add to the job's summary",
    )
    flag(parser, "--json", says="one JSON object a scenario on standard output")
    flag(parser, "-v", "--verbose", says="show expected counterexamples too")


def run(arguments: argparse.Namespace) -> int:
    """Run the command. Exit status: 0 all as expected, 1 a verdict differs, 3 undetermined; with --protocol
    0 all hold, 1 one is violated or does not reach a goal, 3 undetermined or one cannot be built.
    """
    if from_disks.is_asked(arguments):
        return from_disks.run(arguments)
    if arguments.watch:
        files_named = [Path(word) for word in arguments.scenarios if Path(word).is_file()]
        watching.run_on_changes([word for word in sys.argv[1:] if word != watching.OPTION], files_named)
    out = console()
    scenarios, unbuilt = each_under(_chosen(arguments), arguments.protocol)
    if arguments.list:
        _list(out, scenarios, as_json=arguments.json)
        return EXIT_EXPECTED
    _require_different_names(scenarios, arguments)
    require_folder_can_be_written(arguments.traces, "--traces")
    require_file_can_be_written(arguments.junit, "--junit")
    require_folder_can_be_written(arguments.coverage_html, "--coverage-html")
    if arguments.coverage_html is not None and not arguments.coverage:
        raise InputError("--coverage-html: goes with --coverage; add it.")
    if arguments.symmetry is not None:
        scenarios = [_with_symmetry(scenario, arguments.symmetry) for scenario in scenarios]
    known = ledger.of_this_user() if _only_verdicts(arguments) else None
    sources = known.sources if known is not None else Sources.installed()
    rest = None if arguments.coverage or arguments.checkpoint is not None else sources.rest
    if rest is not None:
        sources.keep_digests()
    kept = {} if known is None or arguments.all else _kept(scenarios, known)
    by_default = known is not None and arguments.tag is None and not arguments.all
    large = _large(scenarios, kept) if by_default else []
    chosen = [each for each in scenarios if each.name not in kept and each.name not in large]
    explored: list[Explored] = []
    interrupted, begin = False, time.monotonic()
    try:
        for scenario, found in _explored(chosen, arguments, rest):
            explored.append(found)
            if known is not None and found.outcome.as_expected:
                known.keep(scenario, found.outcome.states, found.ran)
            if arguments.json:
                print_output("check", found.data)
            else:
                print(found.for_ci.text, end="", flush=True)
            if found.interrupted:
                interrupted = True
                break
    except KeyboardInterrupt:
        interrupted = True
    if interrupted:
        resumes = bool(explored) and explored[-1].kept
        kept_so_far = " The same command resumes from the checkpoint." if resumes else ""
        print(f"kraftcheck: interrupted.{kept_so_far}", file=sys.stderr)
    if known is not None:
        known.write()
    outcomes = [each.outcome for each in explored]
    if not arguments.json:
        if outcomes or not kept:
            summarize(out, outcomes, time.monotonic() - begin)
        if kept:
            _report_kept(out, kept, "more" if outcomes else "scenario" if len(kept) == 1 else "scenarios")
        if large:
            say(out, f"not explored, since they are large: {', '.join(large)}; --all explores them", hang=2)
    for name, reason in unbuilt.items():
        streams.say(f"kraftcheck: left out: {name}: {reason}")
    _tell_ci([each.for_ci for each in explored], arguments)
    if arguments.coverage:
        _report_coverage(out, explored, arguments)
    ended = exit_status(outcomes)
    return EXIT_UNDETERMINED if (interrupted or unbuilt) and ended == EXIT_EXPECTED else ended


@dataclass(frozen=True, slots=True)
class Explored:
    """The result of one scenario, which another process may have explored.

    ``data`` and the text ``for_ci`` are its output; ``ran``: the functions of the reference that ran, each
    with the flags of its blocks, where the ledger or ``--coverage-html`` wants them; ``kept``: whether a
    checkpoint has a part of the search.
    ``result``: the whole, only from this process and only where ``--coverage`` needs it.
    """

    for_ci: ci.Result
    data: dict[str, Any]
    ran: Sequence[tuple[Place, str]]
    interrupted: bool
    kept: bool
    result: CheckResult | None = None

    @property
    def outcome(self) -> Outcome:
        return self.for_ci.outcome


def _explored(
    scenarios: Sequence[Scenario], arguments: argparse.Namespace, rest: str | None
) -> Iterator[tuple[Scenario, Explored]]:
    """``scenarios`` with their results, in their order; after Ctrl-C those that are complete. ``rest``: the
    digest of :attr:`Sources.rest`, where kept answers are used.

    A few are explored one after another on all threads. Many are explored side by side, each in a process
    with its share of the threads, the large ones first: their parts in Python then run on all cores too.
    """
    count = min(arguments.threads, len(scenarios))
    if count == 1 or len(scenarios) < MANY or any(getattr(arguments, name) for name in _ONE_AT_A_TIME):
        for scenario in scenarios:
            yield scenario, _explore(scenario, arguments, arguments.threads, rest)
        return
    prepare()  # Otherwise each process compiles.
    threads = max(1, arguments.threads // count)
    work = partial(_explore, arguments=arguments, threads=threads, rest=rest, quiet=True)
    with processes(count) as pool:
        # By number: files may give different scenarios the same name.
        order = sorted(range(len(scenarios)), key=lambda number: LARGE not in scenarios[number].tags)
        futures = {number: pool.submit(work, scenarios[number]) for number in order}
        for number, scenario in enumerate(scenarios):
            try:
                with status(quiet=arguments.json) as tell:
                    tell(f"{scenario.name} …, {number:,} of {len(scenarios):,} scenarios done")
                    found = futures[number].result()
            except KeyboardInterrupt:
                for later in range(number, len(scenarios)):
                    if futures[later].done():
                        yield scenarios[later], futures[later].result()
                raise
            yield scenario, found


def _explore(
    scenario: Scenario,
    arguments: argparse.Namespace,
    threads: int,
    rest: str | None = None,
    *,
    quiet: bool = False,
) -> Explored:
    """The result of one scenario. ``quiet``: its progress is not shown, as others run at the same time."""
    wanted = arguments.coverage_html is not None or rest is not None
    answers = None
    for_ledger = _only_verdicts(arguments)
    needs_ran = for_ledger or arguments.coverage_html is not None
    with recording(ledger.RECORDED) if wanted else nullcontext() as ran:
        if rest is not None and ran is not None:
            answers = of_this_user(rest, ran, always_search=arguments.all or not for_ledger)
        with using(answers):
            result, more, interrupted = _check(scenario, arguments, threads, quiet=quiet or arguments.json)
    if answers is not None and not for_ledger:
        answers.sources.keep_digests()
    if arguments.traces is not None:
        files.write(result.traces(), arguments.traces, findings.faults)
    traces = result.traces() if arguments.github and not result.as_expected else []
    out = console()
    with out.capture() as captured:
        if not arguments.json or arguments.junit or arguments.github:
            kept_in = arguments.checkpoint and arguments.checkpoint / scenario.name
            report(out, result, verbose=arguments.verbose, checkpoint=kept_in)
            for line in in_words(result, more):
                say(out, line, indent=4, hang=2)
    diagram = mermaid.render(traces[0]) if traces else ""
    file = scenario.file if Path(scenario.file).is_file() else ""
    return Explored(
        ci.Result(scenario.name, file, outcome(result), captured.get(), diagram),
        as_data(result) | more if arguments.json else {},
        [*ran.flags.items(), *(answers.used() if answers else ())] if ran is not None and needs_ran else [],
        interrupted,
        result.kept is not None,
        result if arguments.coverage else None,
    )


def _require_different_names(scenarios: Sequence[Scenario], arguments: argparse.Namespace) -> None:
    """Raises InputError where the files of two scenarios would have one name."""
    written = [option for option in ("traces", "checkpoint") if getattr(arguments, option) is not None]
    different = {scenario.model_dump_json(): scenario.name for scenario in scenarios}
    for name, count in Counter(different.values()).items():
        if written and count > 1:
            raise InputError(f"two scenarios are called '{name}'; --{written[0]} needs a name for each.")


def _only_verdicts(arguments: argparse.Namespace) -> bool:
    """Whether only the verdicts are asked for, so that earlier results may serve."""
    asked = {name for name, value in vars(arguments).items() if value not in (None, False, [])}
    return arguments.partial_order and asked <= _OF_THE_RUN


def _kept(scenarios: Sequence[Scenario], known: Ledger) -> dict[str, Kept]:
    """By name the scenarios that need not be explored again, with their earlier results."""
    found = {scenario.name: known.kept(scenario) for scenario in scenarios}
    return {name: kept for name, kept in found.items() if kept is not None}


def _large(scenarios: Sequence[Scenario], kept: Container[str]) -> list[str]:
    """The names of scenarios that are explored when they are asked for, and where all are."""
    return [each.name for each in scenarios if LARGE in each.tags and each.name not in kept]


def _report_kept(out: Console, kept: dict[str, Kept], what: str) -> None:
    oldest = datetime.fromtimestamp(min(each.when for each in kept.values()))
    since = oldest.strftime("%Y-%m-%d %H:%M")
    say(out, f"{len(kept)} {what} unchanged since {since}, as expected then; --all explores them too", hang=2)


def _chosen(arguments: argparse.Namespace) -> list[Scenario]:
    if arguments.scenarios:
        if arguments.tag is not None:
            raise InputError("--tag stands for the scenarios with this tag; give it or scenarios, not both.")
        return [scenario for word in arguments.scenarios for scenario in _named(word)]
    tag = arguments.tag
    if tag is None and not arguments.list:
        return [scenario for scenario in shipped().values() if _is_default(scenario)]
    chosen = [scenario for scenario in shipped().values() if tag is None or tag in scenario.tags]
    if not chosen:
        tags = {each for scenario in shipped().values() for each in scenario.tags}
        hint = did_you_mean(tag, tags) or "; 'kraftcheck check --list' lists them."
        raise InputError(f"no shipped scenario has the tag '{tag}'{hint}")
    return chosen


def _is_default(scenario: Scenario) -> bool:
    """CI's scenarios, and those of replicas in which mutants are killed: seconds, all together."""
    return "ci" in scenario.tags or ("mutants" in scenario.tags and isinstance(scenario, KRaftScenario))


def _named(word: str) -> list[Scenario]:
    """The scenario that ``word`` names, or with '*' all shipped ones whose names match. Raises InputError."""
    if "*" not in word or "/" in word:
        return [find(word)]
    found = [find(name) for name in shipped_files() if fnmatchcase(name, word)]
    if not found:
        raise InputError(f"no shipped scenario matches '{word}'; 'kraftcheck check --list' lists them.")
    return found


def _with_symmetry(scenario: Scenario, symmetry: bool) -> Scenario:
    reduction = scenario.reduction.model_copy(update={"symmetry": symmetry})
    return scenario.model_copy(update={"reduction": reduction})


def _list(out: Console, chosen: Sequence[Scenario], *, as_json: bool) -> None:
    if as_json:
        data = [scenario.model_dump(mode="json", by_alias=True) for scenario in chosen]
        print_output("scenarios", {"scenarios": data}, indent=2)
        return
    for scenario in chosen:
        tags = ", ".join(scenario.tags)
        tail = f"  ({tags})" if tags else ""
        out.print(Text(scenario.name, "bold").append(f"  {scenario.expect.verdict}{tail}", "not bold"))
        say(out, " ".join(scenario.about.split()), indent=4)


def _check(
    scenario: Scenario, arguments: argparse.Namespace, threads: int, *, quiet: bool
) -> tuple[CheckResult, dict[str, Any], bool]:
    """The result, the requested details of violations, and whether Ctrl-C ended the work."""
    limits = Limits(
        max_states=arguments.max_states,
        max_memory=arguments.max_memory,
        max_seconds=arguments.max_seconds,
    )
    with status(quiet=quiet) as tell:
        tell(f"{scenario.name} …")
        with _checkpoint(scenario, arguments) as checkpoint:
            result = check(
                scenario,
                threads=threads,
                limits=limits,
                keep_going=arguments.keep_going,
                partial_order=arguments.partial_order,
                report_interrupt=True,
                coverage=arguments.coverage,
                progress=lambda progress: tell(f"{scenario.name}: {progress_line(progress)}"),
                checkpoint=checkpoint,
            )
        if result.limit == INTERRUPTED:
            return result, {}, True
        try:
            if result.differences or arguments.verbose or arguments.traces is not None:
                result.look_for_simplest()
            more = more_data(result, arguments.causes, arguments.smallest_bounds, threads=threads)
        except KeyboardInterrupt:
            return result, {}, True
        return result, more, False


@contextmanager
def _checkpoint(scenario: Scenario, arguments: argparse.Namespace) -> Iterator[Checkpoint | None]:
    """The checkpoint of ``scenario``, in a folder of its own. Raises InputError if it cannot be used."""
    if arguments.checkpoint is None:
        yield None
        return
    options = f"keep-going={arguments.keep_going} partial-order={arguments.partial_order} "
    options += f"coverage={arguments.coverage}"
    purpose = f"{source_digest()} {scenario.model_dump_json()} {options}"
    try:
        checkpoint = Checkpoint(
            arguments.checkpoint / scenario.name,
            hashlib.sha256(purpose.encode()).hexdigest(),
            arguments.checkpoint_every,
        )
        try:
            yield checkpoint
        finally:
            checkpoint.close()
    except CheckpointError as error:
        raise InputError(str(error)) from None


def _tell_ci(results: Sequence[ci.Result], arguments: argparse.Namespace) -> None:
    """Write what --junit and --github ask for."""
    if arguments.junit is not None:
        write_output(arguments.junit, ci.junit(results))
    if arguments.github:
        print(ci.commands(results), end="", file=sys.stderr)
        ci.append_summary(ci.markdown(results))


def _report_coverage(out: Console, explored: Sequence[Explored], arguments: argparse.Namespace) -> None:
    """Report the coverage of all scenarios together."""
    results = [each.result for each in explored if each.result is not None]
    found = together(results)
    if arguments.coverage_html is not None:
        pages.write({each.for_ci.name: dict(each.ran) for each in explored}, found, arguments.coverage_html)
    if arguments.json:
        print_output("coverage", {"coverage": found.as_data()})
        return
    heading(out, f"Coverage of {len(results)} scenarios" if len(results) > 1 else "Coverage")
    for label, text in found.lines(verbose=arguments.verbose):
        entry(out, label, text, column=14)
