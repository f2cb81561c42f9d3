"""The options of a campaign, which are the same on one machine and on a cluster."""

from __future__ import annotations

import argparse
from pathlib import Path

from kraftcheck.evidence.kafka.option import add_implementation, protocol_of
from kraftcheck.evidence.recorder.campaign import Plan
from kraftcheck.evidence.recorder.profiles import PROFILES
from kraftcheck.reference.protocol import Protocol
from kraftcheck.support.arguments import add_json, flag, positive, whole_number
from kraftcheck.support.closest import did_you_mean
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import require_folder_can_be_written
from kraftcheck.support.streams import progress
from kraftcheck.systems.kraft.switches import SWITCHES, add_protocol_options

#: The time for the search for a minimal schedule.
SHRINK_SECONDS = 120
#: The shortest run, in seconds: it has time for faults.
LEAST_SECONDS = 15


def add_campaign(parser: argparse.ArgumentParser) -> None:
    """Define the options for the implementation, the recordings, their comparison and the output."""
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
    add_json(parser)


def _profile(text: str) -> str:
    if text not in PROFILES:
        hint = did_you_mean(text, PROFILES) or f"; choose one of {', '.join(PROFILES)}"
        raise argparse.ArgumentTypeError(f"there is no profile '{text[:40]}'{hint}")
    return text


def read_protocol(arguments: argparse.Namespace) -> Protocol:
    """The protocol that recordings are compared with; ``arguments.protocol`` becomes its preset. Raises
    InputError, also where the other options cannot be followed.
    """
    if arguments.seconds < LEAST_SECONDS:
        raise InputError(f"--seconds: a run takes at least {LEAST_SECONDS} seconds, not {arguments.seconds}.")
    require_folder_can_be_written(arguments.output, "-o")
    with progress() as tell:
        arguments.protocol = protocol_of(arguments, tell)
    return SWITCHES.read(arguments.protocol, arguments.settings)


def plan_of(arguments: argparse.Namespace, adapter: str) -> Plan:
    """The plan for the implementation ``adapter``; :func:`read_protocol` has read the arguments."""
    return Plan(
        adapter=adapter,
        profiles=tuple(arguments.profile or PROFILES),
        seed=arguments.seed,
        count=arguments.count,
        seconds=arguments.seconds,
        compares=arguments.compare,
        protocol=(arguments.protocol, *arguments.settings),
    )
