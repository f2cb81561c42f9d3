"""``kraftcheck drive``: drive an implementation of a KRaft replica along generated traces."""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from kraftcheck.evidence.adapters import files
from kraftcheck.evidence.adapters.generate import generate
from kraftcheck.evidence.adapters.probes import probes
from kraftcheck.evidence.adapters.random_sequences import default_sequences
from kraftcheck.evidence.adapters.recorded import Recorder, hold
from kraftcheck.evidence.adapters.report import Report, as_json, print_report
from kraftcheck.evidence.adapters.scripts import scripts
from kraftcheck.evidence.adapters.session import AdapterProcess, Session, cut, kind_of, shrink
from kraftcheck.evidence.adapters.stimuli import DriveSequence
from kraftcheck.evidence.kafka.option import add_implementation, command_of, protocol_of, timeout_of
from kraftcheck.reference.protocol import PRESETS, Discovery, Protocol, VoterChanges
from kraftcheck.support.arguments import whole_number
from kraftcheck.support.errors import InputError
from kraftcheck.support.exit_codes import EXIT_DIFFERS, EXIT_EXPECTED, EXIT_UNDETERMINED
from kraftcheck.support.files import (
    require_file_can_be_written,
    require_folder_can_be_written,
    write_atomically,
)
from kraftcheck.support.outputs import versioned
from kraftcheck.support.streams import progress
from kraftcheck.systems import scenario
from kraftcheck.systems.kraft.scenario import KRaftScenario, of_replicas, shipped
from kraftcheck.systems.kraft.switches import SWITCHES, add_protocol_options
from kraftcheck.systems.switches import switches_of
from kraftcheck.traces import json_form

EPILOG = """\
The adapter reads JSON lines from standard input and answers on standard
output; docs/drive.md describes the protocol. The reference is an adapter too:

  kraftcheck drive \\
      --adapter 'python -m kraftcheck.evidence.adapters.adapter'

--record FILE keeps what both sides say. --session FILE compares a recorded
session with the reference as it is now, without the implementation.

Exit status: 0 no difference, 1 a difference, 2 the adapter or something else
does not work, 3 the limit came first, nothing could be compared, or the run
was interrupted.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.epilog = EPILOG
    add_implementation(parser).add_argument(
        "--session", type=Path, metavar="FILE", help="compare the answers in this recorded session instead"
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--scenario",
        action="append",
        metavar="NAME|FILE",
        help="generate from this scenario only (may be repeated); default: all, probes, scripts, random",
    )
    source.add_argument(
        "--traces",
        action="append",
        type=Path,
        metavar="FILE|DIR",
        help="drive along these trace or sequence files instead (may be repeated)",
    )
    add_protocol_options(parser, of_kafka=True)
    parser.add_argument(
        "--seed",
        type=whole_number,
        default=0,
        help="decides among equally good traces, and the random ones (default: 0)",
    )
    parser.add_argument(
        "--limit", type=whole_number, metavar="N", help="take at most N steps, the last sequence in part"
    )
    parser.add_argument(
        "--keep-going", action="store_true", help="show the first difference of every sequence"
    )
    parser.add_argument("--save", type=Path, metavar="DIR", help="write the sequences to this folder")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write the session to this file (gzip)")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write the first difference's trace"
    )
    parser.add_argument("--json", action="store_true", help="print machine-readable output")
    parser.add_argument("-v", "--verbose", action="store_true", help="texts of rules, all steps and effects")


def run(arguments: argparse.Namespace) -> int:
    """Drive the adapter. Raises InputError where the adapter does not work."""
    report = _drive(arguments) if arguments.session is None else _hold(arguments)
    if arguments.json:
        print(json.dumps(versioned("drive", as_json(report)), indent=2))
    else:
        print_report(report, verbose=arguments.verbose)
    return {"agrees": EXIT_EXPECTED, "differs": EXIT_DIFFERS, "undetermined": EXIT_UNDETERMINED}[
        report.verdict
    ]


def _hold(arguments: argparse.Namespace) -> Report:
    """The report on a recorded session, which has its own sequences."""
    others = ("jars", "scenario", "traces", "limit", "save", "record", "output")
    given = [name for name in others if getattr(arguments, name) is not None]
    if given:
        options = " and ".join(f"--{name}" for name in given)
        raise InputError(f"--session: the session has its sequences already; leave out {options}.")
    begin = time.monotonic()
    with progress() as tell:
        report = hold(arguments.session, tell)
    report.seconds = time.monotonic() - begin
    return report


def _drive(arguments: argparse.Namespace) -> Report:
    """The report on an adapter."""
    require_file_can_be_written(arguments.output, "-o")
    require_file_can_be_written(arguments.record, "--record")
    require_folder_can_be_written(arguments.save, "--save")
    # What was misspelt is reported before Kafka is compiled.
    if arguments.traces is None:
        chosen = _scenarios(arguments)
    else:
        given = [sequence for path in arguments.traces for sequence in files.load(path)]
    with progress() as tell:
        arguments.protocol = protocol_of(arguments, tell)
    protocol = SWITCHES.read(arguments.protocol, arguments.settings)
    if protocol.discovery is not Discovery.FETCH or protocol.voter_changes is not VoterChanges.KIP853:
        raise InputError(
            "--protocol: AlterQuorum and FindQuorum of KIP-595 were never released and have no form on the "
            "wire; drive with another protocol."
        )
    begin = time.monotonic()
    with progress() as tell, AdapterProcess(command_of(arguments, tell), timeout_of(arguments)) as process:
        recorder = Recorder(process, keeps=arguments.record is not None)
        session = Session(recorder, arguments.limit)
        report = Report(capabilities=session.capabilities, protocol=protocol)
        sequences = (
            _sequences(arguments, chosen, protocol, report, tell) if arguments.traces is None else given
        )
        if arguments.save is not None:
            _save(arguments.save, sequences)
        begin = time.monotonic()
        _drive_all(session, recorder, sequences, report, tell, keep_going=arguments.keep_going)
        report.seconds = time.monotonic() - begin
    if arguments.record is not None:
        recorder.write(arguments.record)
    if arguments.output is not None and report.failed:
        _write_trace(arguments.output, report)
    return report


def _scenarios(arguments: argparse.Namespace) -> list[KRaftScenario]:
    """The scenarios to generate from. Raises InputError."""
    if arguments.scenario is None:
        return list(shipped().values())
    found = [scenario.find(word) for word in arguments.scenario]
    return [of_replicas(each, "driving an implementation") for each in found]


def _sequences(
    arguments: argparse.Namespace,
    chosen: Sequence[KRaftScenario],
    protocol: Protocol,
    report: Report,
    tell: Callable[[str], None],
) -> list[DriveSequence]:
    """The sequences that are made of ``chosen``, and of nothing else where they were named."""
    place = {each.name: f"{number} of {len(chosen)}" for number, each in enumerate(chosen, 1)}
    generated = generate(
        chosen,
        arguments.protocol,
        switches_of(protocol, PRESETS[arguments.protocol]),
        arguments.seed,
        progress=lambda name: tell(f"looking for traces: {place[name]}, {name}"),
    )
    report.incomplete, report.left_out = generated.incomplete, generated.left_out
    if arguments.scenario is not None:
        return generated.sequences
    tell("making random sequences")
    written = [*probes(protocol), *scripts(protocol)]
    return [*generated.sequences, *written, *default_sequences(protocol, arguments.seed)]


def _drive_all(
    session: Session,
    recorder: Recorder,
    sequences: list[DriveSequence],
    report: Report,
    tell: Callable[[str], None],
    *,
    keep_going: bool,
) -> None:
    kinds: set[tuple[str, str]] = set()
    for number, sequence in enumerate(sequences, 1):
        tell(f"driving: {number} of {len(sequences)}")
        recorder.sequence = sequence.name
        driven = session.drive(sequence)
        recorder.sequence = None  # The search for a shorter sequence is not recorded.
        report.add(driven)
        if driven.limited:
            report.not_driven = len(sequences) - number
            return
        if driven.failed is None:
            continue
        kind = kind_of(driven.failed)
        if kind in kinds:
            report.shortened.append(cut(driven))
        else:
            kinds.add(kind)
            tell(f"looking for a shorter sequence than {sequence.name}")
            report.shortened.append(shrink(session, driven))
        if not keep_going:
            report.not_driven = len(sequences) - number
            return


def _save(folder: Path, sequences: Iterable[DriveSequence]) -> None:
    for sequence in sequences:
        name = re.sub(r"[^a-z0-9]+", "-", sequence.name.lower()).strip("-")
        write_atomically(folder / f"{name}.json", files.dumps(sequence), create_folder=True)


def _write_trace(path: Path, report: Report) -> None:
    """The behaviour of the quorum up to the difference; of a probe, its shortened sequence."""
    driven, shortened = report.failed[0], report.shortened[0]
    assert driven.failed is not None
    trace = files.behaviour(driven.sequence, driven.failed.question.position)
    text = files.dumps(shortened.sequence) if trace is None else json_form.dumps(trace)
    write_atomically(path, text)
