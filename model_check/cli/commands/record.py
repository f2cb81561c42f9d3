"""``kraftcheck record``: record simulated clusters of an implementation; compare them with the reference."""

from __future__ import annotations

import argparse
from pathlib import Path

from kraftcheck.evidence.adapters.started import Adapters
from kraftcheck.evidence.kafka.option import implementation_of
from kraftcheck.evidence.recorder.adapter_host import require_whole
from kraftcheck.evidence.recorder.campaign import Campaign, Plan, make
from kraftcheck.evidence.recorder.option import add_campaign, plan_of, read_protocol
from kraftcheck.evidence.recorder.performing import perform
from kraftcheck.evidence.recorder.record_report import Summary, as_json, as_text, exit_status
from kraftcheck.evidence.recorder.running import Recorder
from kraftcheck.evidence.recorder.schedule import Schedule, load
from kraftcheck.evidence.recorder.workers import Local, Order
from kraftcheck.evidence.recorder.writing import is_whole, write_files
from kraftcheck.reference.protocol import Protocol
from kraftcheck.support.arguments import cores, thread_count
from kraftcheck.support.errors import InputError
from kraftcheck.support.outputs import print_output
from kraftcheck.support.streams import progress
from kraftcheck.support.terminal import console, width


def configure(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.epilog = (
        "A recording that is complete is not made again. With --compare each recording is compared at once, "
        "as 'kraftcheck conform' does, and kept only if it differs. Exit status: 0 no difference, 1 a "
        "difference, 2 the adapter or something else does not work, 3 a step could not be compared, or the "
        "run was interrupted. See docs/record.md; on a cluster: 'kraftcheck pipeline record'."
    )
    add_campaign(parser)
    parser.add_argument("--schedule", type=Path, metavar="FILE", help="record this schedule instead")
    parser.add_argument("--jobs", type=thread_count, default=cores(), metavar="N", help="default: cores")


def run(arguments: argparse.Namespace) -> int:
    """Record. Raises InputError where the adapter does not work."""
    implementation = implementation_of(arguments)
    planned = None if arguments.schedule is None else load(arguments.schedule)
    protocol = read_protocol(arguments)
    with progress(quiet=arguments.json) as tell:
        command = implementation.command(tell)
        with Adapters(command, implementation.timeout, require_whole) as adapters:
            recorder = Recorder(adapters)
            if planned is not None:
                summary = _one(arguments, planned, protocol, recorder)
            else:
                plan = plan_of(arguments, recorder.name)
                order = Order(plan, protocol, arguments.shrink)
                workers = Local(order, recorder, implementation, arguments.jobs)
                campaign = Campaign(plan, arguments.output)
                summary = perform(campaign, workers, tell, shrinks=arguments.shrink > 0)
    if arguments.json:
        print_output("record", as_json(summary), indent=2)
    else:
        print(as_text(summary, width(console())))
    return exit_status(summary)


def _one(arguments: argparse.Namespace, planned: Schedule, protocol: Protocol, recorder: Recorder) -> Summary:
    """The recording of the schedule ``planned``, which is in a file."""
    name = f"run-{planned.profile}-{planned.seed}-{arguments.schedule.stem}"
    folder = arguments.output / name
    if is_whole(folder):
        raise InputError(f"{folder}: is there already; choose another folder.")
    plan = Plan(
        recorder.name, (planned.profile,), planned.seed, 1, planned.until // 1000, arguments.compare, ()
    )
    made = make(recorder, name, planned, protocol if arguments.compare else None)
    if made.refused:
        raise InputError(f"{arguments.schedule}: {recorder.name} cannot record it: {made.refused}.")
    if made.files is not None:
        write_files(folder, made.files)
    results = [] if made.result is None else [made.result]
    return Summary(plan, arguments.output, made=1, events=made.events, results=results)
