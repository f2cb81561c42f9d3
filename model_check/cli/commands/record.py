"""``kraftcheck record``: record simulated clusters of an implementation; compare them with the reference."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

from kraftcheck.evidence.recorder.campaign import Campaign, Plan, make, side_by_side
from kraftcheck.evidence.recorder.profiles import PROFILES
from kraftcheck.evidence.recorder.record_report import Summary, as_json, as_text, exit_status
from kraftcheck.evidence.recorder.running import Adapters, Compared, compared
from kraftcheck.evidence.recorder.schedule import Schedule, dumps, load
from kraftcheck.evidence.recorder.shrinking import shrink
from kraftcheck.evidence.recorder.writing import is_whole, write_files
from kraftcheck.reference.protocol import Protocol
from kraftcheck.support.arguments import add_json, cores, flag, positive, seconds, thread_count, whole_number
from kraftcheck.support.closest import did_you_mean
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import require_folder_can_be_written, write_atomically
from kraftcheck.support.outputs import print_output
from kraftcheck.support.streams import progress
from kraftcheck.support.terminal import console, width
from kraftcheck.systems.kraft.switches import SWITCHES, add_protocol_options

#: The shortest run, in seconds: it has time for faults.
LEAST_SECONDS = 15


def configure(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.epilog = (
        "A recording that is complete is not made again. With --compare each recording is compared at once, "
        "as 'kraftcheck conform' does, and kept only if it differs. Exit status: 0 no difference, 1 a "
        "difference, 2 the adapter or something else does not work, 3 a step could not be compared, or the "
        "run was interrupted. See docs/record.md."
    )
    parser.add_argument(
        "--adapter",
        required=True,
        metavar="COMMAND",
        help="the command of the adapter, split as a shell would; each node has a process of it",
    )
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FOLDER", help="for the recordings"
    )
    parser.add_argument("--seed", type=whole_number, default=0, help="the first seed (default: 0)")
    parser.add_argument("--count", type=positive, default=1, metavar="N", help="so many seeds (default: 1)")
    parser.add_argument(
        "--profile",
        action="append",
        type=_profile,
        metavar="NAME",
        help=f"the faults, one of {', '.join(PROFILES)} (repeatable: seeds take turns); default: all",
    )
    parser.add_argument(
        "--seconds", type=positive, default=40, metavar="S", help="simulated time of a run (default: 40)"
    )
    parser.add_argument("--schedule", type=Path, metavar="FILE", help="record this schedule instead")
    flag(parser, "--compare", says="compare each recording, and keep those that differ")
    parser.add_argument(
        "--shrink",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="look for a minimal schedule of each kind of difference (default)",
    )
    add_protocol_options(parser)
    parser.add_argument("--jobs", type=thread_count, default=cores(), metavar="N", help="default: cores")
    parser.add_argument(
        "--timeout", type=seconds, default=10.0, metavar="S", help="seconds for each answer (default: 10)"
    )
    add_json(parser)


def _profile(text: str) -> str:
    if text not in PROFILES:
        hint = did_you_mean(text, PROFILES) or f"; choose one of {', '.join(PROFILES)}"
        raise argparse.ArgumentTypeError(f"there is no profile '{text[:40]}'{hint}")
    return text


def run(arguments: argparse.Namespace) -> int:
    """Record. Raises InputError where the adapter does not work."""
    protocol = SWITCHES.read(arguments.protocol, arguments.settings)
    if arguments.seconds < LEAST_SECONDS:
        raise InputError(f"--seconds: a run takes at least {LEAST_SECONDS} seconds, not {arguments.seconds}.")
    require_folder_can_be_written(arguments.output, "-o")
    if arguments.schedule is not None:
        return _one(arguments, protocol)
    begin = time.monotonic()
    with progress(quiet=arguments.json) as tell, Adapters(arguments.adapter, arguments.timeout) as adapters:
        plan = Plan(
            adapter=adapters.name,
            profiles=tuple(arguments.profile or PROFILES),
            seed=arguments.seed,
            count=arguments.count,
            seconds=arguments.seconds,
            compares=arguments.compare,
            protocol=(arguments.protocol, *arguments.settings),
        )
        campaign = Campaign(plan, arguments.output)
        summary = Summary(plan, arguments.output)
        _record(arguments, campaign, protocol if arguments.compare else None, adapters, summary, tell)
        summary.results, summary.seconds = campaign.ours(), time.monotonic() - begin
        if arguments.compare and arguments.shrink:
            _shrink(campaign, protocol, adapters, summary, tell)
    _print(arguments, summary)
    return exit_status(summary)


def _record(
    arguments: argparse.Namespace,
    campaign: Campaign,
    protocol: Protocol | None,
    adapters: Adapters,
    summary: Summary,
    tell: Callable[[str], None],
) -> None:
    left, whole = campaign.left(), campaign.plan.count
    if len(left) > 1 and arguments.jobs > 1:
        made = side_by_side(arguments.adapter, arguments.timeout, left, protocol, arguments.jobs)
    else:
        made = ((name, make(adapters, name, each, protocol)) for name, each in left.items())
    tell(f"recording: {whole - len(left):,} of {whole:,} are complete")
    for name, each in made:
        campaign.keep(name, each)
        summary.made, summary.events = summary.made + 1, summary.events + each.events
        differ = sum(result.differs for result in campaign.ours())
        shown = f", {differ:,} of them differ" if campaign.plan.compares else ""
        tell(f"recording: {whole - len(left) + summary.made:,} of {whole:,}{shown}")


def _shrink(
    campaign: Campaign, protocol: Protocol, adapters: Adapters, summary: Summary, tell: Callable[[str], None]
) -> None:
    """A minimal schedule for the first recording of each kind; one that is there is not looked for again."""
    schedules = campaign.plan.schedules()
    for kind, results in summary.kinds().items():
        first = results[0]
        path = campaign.folder / first.run / "minimal.json"
        if not path.is_file():
            tell(f"looking for a minimal schedule of {first.run}: {kind}")

            def again(tried: Schedule) -> Compared:
                return compared("tried", adapters.record(tried), protocol)

            smallest, _ = shrink(schedules[first.run], first, again)
            write_atomically(path, dumps(smallest))
        summary.minimal[kind] = path


def _one(arguments: argparse.Namespace, protocol: Protocol) -> int:
    """The recording of a schedule in a file."""
    planned = load(arguments.schedule)
    name = f"run-{planned.profile}-{planned.seed}-{arguments.schedule.stem}"
    folder = arguments.output / name
    if is_whole(folder):
        raise InputError(f"{folder}: is there already; choose another folder.")
    with Adapters(arguments.adapter, arguments.timeout) as adapters:
        plan = Plan(
            adapters.name, (planned.profile,), planned.seed, 1, planned.until // 1000, arguments.compare, ()
        )
        made = make(adapters, name, planned, protocol if arguments.compare else None)
    if made.files is not None:
        write_files(folder, made.files)
    results = [] if made.result is None else [made.result]
    summary = Summary(plan, arguments.output, made=1, events=made.events, results=results)
    _print(arguments, summary)
    return exit_status(summary)


def _print(arguments: argparse.Namespace, summary: Summary) -> None:
    if arguments.json:
        print_output("record", as_json(summary), indent=2)
    else:
        print(as_text(summary, width(console())))
