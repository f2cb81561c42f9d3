"""``kraftcheck record``: record simulated clusters of an implementation; compare them with the reference."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from kraftcheck.evidence.adapters.started import Adapters
from kraftcheck.evidence.kafka.option import add_implementation, command_of, protocol_of, timeout_of
from kraftcheck.evidence.recorder.adapter_host import require_whole
from kraftcheck.evidence.recorder.campaign import Campaign, Plan, make, side_by_side
from kraftcheck.evidence.recorder.profiles import PROFILES
from kraftcheck.evidence.recorder.record_report import Summary, as_json, as_text, exit_status
from kraftcheck.evidence.recorder.running import Compared, Recorder, compared
from kraftcheck.evidence.recorder.schedule import Schedule, dumps, load
from kraftcheck.evidence.recorder.shrinking import shrink
from kraftcheck.evidence.recorder.writing import is_whole, write_files
from kraftcheck.reference.protocol import Protocol
from kraftcheck.support.arguments import add_json, cores, flag, positive, thread_count, whole_number
from kraftcheck.support.closest import did_you_mean
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import require_folder_can_be_written, write_atomically
from kraftcheck.support.outputs import print_output
from kraftcheck.support.streams import progress
from kraftcheck.support.terminal import console, width
from kraftcheck.systems.kraft.switches import SWITCHES, add_protocol_options

#: The time for the search for a minimal schedule.
SHRINK_SECONDS = 120
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
    add_implementation(parser)
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
        type=whole_number,
        default=SHRINK_SECONDS,
        metavar="S",
        help="with --compare: seconds for the minimal schedule of each kind of difference; 0: none "
        f"(default: {SHRINK_SECONDS})",
    )
    add_protocol_options(parser, of_kafka=True)
    parser.add_argument("--jobs", type=thread_count, default=cores(), metavar="N", help="default: cores")
    add_json(parser)


def _profile(text: str) -> str:
    if text not in PROFILES:
        hint = did_you_mean(text, PROFILES) or f"; choose one of {', '.join(PROFILES)}"
        raise argparse.ArgumentTypeError(f"there is no profile '{text[:40]}'{hint}")
    return text


def run(arguments: argparse.Namespace) -> int:
    """Record. Raises InputError where the adapter does not work."""
    with progress() as tell:
        arguments.protocol = protocol_of(arguments, tell)
    protocol = SWITCHES.read(arguments.protocol, arguments.settings)
    if arguments.seconds < LEAST_SECONDS:
        raise InputError(f"--seconds: a run takes at least {LEAST_SECONDS} seconds, not {arguments.seconds}.")
    require_folder_can_be_written(arguments.output, "-o")
    with progress(quiet=arguments.json) as tell:
        command = command_of(arguments, tell)
        with Adapters(command, timeout_of(arguments), require_whole) as adapters:
            recorder = Recorder(adapters)
            if arguments.schedule is not None:
                summary = _one(arguments, protocol, recorder)
            else:
                summary = _campaign(arguments, protocol, recorder, command, tell)
    if arguments.json:
        print_output("record", as_json(summary), indent=2)
    else:
        print(as_text(summary, width(console())))
    return exit_status(summary)


def _campaign(
    arguments: argparse.Namespace,
    protocol: Protocol,
    recorder: Recorder,
    command: Sequence[str],
    tell: Callable[[str], None],
) -> Summary:
    begin = time.monotonic()
    plan = Plan(
        adapter=recorder.name,
        profiles=tuple(arguments.profile or PROFILES),
        seed=arguments.seed,
        count=arguments.count,
        seconds=arguments.seconds,
        compares=arguments.compare,
        protocol=(arguments.protocol, *arguments.settings),
    )
    campaign, summary = Campaign(plan, arguments.output), Summary(plan, arguments.output)
    left, held_against = campaign.left(), protocol if arguments.compare else None
    if len(left) > 1 and arguments.jobs > 1:
        made = side_by_side(command, timeout_of(arguments), left, held_against, arguments.jobs)
    else:
        made = ((name, make(recorder, name, each, held_against)) for name, each in left.items())
    tell(f"recording: {plan.count - len(left):,} of {plan.count:,} are complete")
    for name, each in made:
        campaign.keep(name, each)
        summary.made, summary.events = summary.made + 1, summary.events + each.events
        differ = sum(result.differs for result in campaign.ours())
        shown = f", {differ:,} of them differ" if plan.compares else ""
        tell(f"recording: {plan.count - len(left) + summary.made:,} of {plan.count:,}{shown}")
    summary.results, summary.seconds = campaign.ours(), time.monotonic() - begin
    if arguments.compare and arguments.shrink:
        _shrink(campaign, protocol, recorder, summary, arguments.shrink, tell)
    return summary


def _shrink(
    campaign: Campaign,
    protocol: Protocol,
    recorder: Recorder,
    summary: Summary,
    limit: int,
    tell: Callable[[str], None],
) -> None:
    """A minimal schedule for the first recording of each kind; one that is there is not looked for again."""
    schedules = campaign.plan.schedules()
    for kind, results in summary.kinds().items():
        first = results[0]
        path = campaign.folder / first.run / "minimal.json"
        if not path.is_file():
            tell(f"looking for a minimal schedule of {first.run}: {kind}")

            def again(tried: Schedule) -> Compared:
                return compared("tried", recorder.record(tried), protocol)

            smallest, _ = shrink(schedules[first.run], first, again, seconds=limit)
            write_atomically(path, dumps(smallest))
        summary.minimal[kind] = path


def _one(arguments: argparse.Namespace, protocol: Protocol, recorder: Recorder) -> Summary:
    """The recording of a schedule in a file."""
    planned = load(arguments.schedule)
    name = f"run-{planned.profile}-{planned.seed}-{arguments.schedule.stem}"
    folder = arguments.output / name
    if is_whole(folder):
        raise InputError(f"{folder}: is there already; choose another folder.")
    plan = Plan(
        recorder.name, (planned.profile,), planned.seed, 1, planned.until // 1000, arguments.compare, ()
    )
    made = make(recorder, name, planned, protocol if arguments.compare else None)
    if made.files is not None:
        write_files(folder, made.files)
    results = [] if made.result is None else [made.result]
    return Summary(plan, arguments.output, made=1, events=made.events, results=results)
