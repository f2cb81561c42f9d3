"""``kraftcheck conform``: hold recorded runs of production Kafka against the reference."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kraftcheck.evidence.recordings.conform_report import Wanted, as_json, as_text, exit_status
from kraftcheck.evidence.recordings.lockstep import compare
from kraftcheck.evidence.recordings.outcome import RunResult
from kraftcheck.evidence.recordings.pages import pages
from kraftcheck.evidence.recordings.properties.judge import judge
from kraftcheck.evidence.recordings.recording import Recording, StepEvent, find_runs, read
from kraftcheck.support.arguments import cores, whole_number
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import (
    require_file_can_be_written,
    require_folder_can_be_written,
    write_atomically,
)
from kraftcheck.support.outputs import versioned
from kraftcheck.support.parallel import processes
from kraftcheck.support.streams import progress
from kraftcheck.support.terminal import console, width
from kraftcheck.systems.kraft.switches import DEFAULT, SWITCHES, add_protocol_options, preset_of
from kraftcheck.traces.page.html import page

#: The rules that decided steps, by seq.
_Decided = dict[int, tuple[str, ...]]
#: A run that was compared: the preset of the reference, and the result.
_Compared = tuple[str, RunResult]


def configure(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.epilog = (
        "Exit status: 0 no difference, 1 a difference or, with '--findings fail', a finding, 2 not a "
        "recording, 3 a step that could not be compared. See docs/conform.md."
    )
    parser.add_argument(
        "runs",
        nargs="+",
        type=Path,
        metavar="RUN",
        help="folders of recorded runs, or folders of such folders",
    )
    add_protocol_options(parser, of_kafka=True)
    parser.add_argument(
        "--findings",
        choices=("report", "fail"),
        default="report",
        help="whether properties that Kafka violates make exit status 1 (default: report)",
    )
    parser.add_argument("--json", action="store_true", help="print the machine-readable report")
    parser.add_argument("--rules", action="store_true", help="also print how often each rule decided a step")
    parser.add_argument("--unexercised", action="store_true", help="also list the rules that decided no step")
    parser.add_argument(
        "--limit",
        type=whole_number,
        default=10,
        metavar="N",
        help="differences and findings shown in full per run (default: 10)",
    )
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="print the texts of rules and properties, and why something is not compared",
    )
    parser.add_argument(
        "--html", type=Path, metavar="DIR", help="write a page for each difference and finding there"
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: standard output")


def run(arguments: argparse.Namespace) -> int:
    """Compare and judge the runs.

    Exit status: see :func:`kraftcheck.evidence.recordings.conform_report.exit_status`."""
    settings = tuple(arguments.settings)
    SWITCHES.read(arguments.protocol or DEFAULT, settings)
    require_file_can_be_written(arguments.output, "-o")
    require_folder_can_be_written(arguments.html, "--html")
    folders = find_runs(arguments.runs)
    twice = [name for name, count in Counter(folder.name for folder in folders).items() if count > 1]
    if arguments.html is not None and twice:
        raise InputError(f"two runs are called '{twice[0]}'; --html needs a name for each.")
    html = None if arguments.html is None else _Pages(arguments.html, arguments.limit)
    with progress(quiet=arguments.json) as tell:
        compared = partial(_result, preset=arguments.protocol, settings=settings, html=html)
        presets, results = zip(*_results(folders, compared, tell), strict=True)
    out = console()
    if arguments.json:
        data = as_json(results, " ".join((*sorted(set(presets)), *settings)))
        text = json.dumps(versioned("conform", data), indent=2)
    else:
        wanted = Wanted(arguments.limit, arguments.verbose, arguments.rules, arguments.unexercised)
        text = as_text(results, wanted, width(out))
    if arguments.output is None:
        print(text)
    else:
        write_atomically(arguments.output, f"{text}\n")
    return exit_status(results, findings_fail=arguments.findings == "fail")


def _results(
    folders: Sequence[Path], compared: Callable[..., _Compared], tell: Callable[[str], None]
) -> list[_Compared]:
    """The results of the runs in ``folders``, in order; of several runs one on each core at a time."""
    count = min(cores(), len(folders))
    if count == 1:
        return [compared(folder, tell=tell) for folder in folders]
    results = []
    with processes(count) as pool:
        for number, result in enumerate(pool.map(compared, folders), 1):
            results.append(result)
            tell(f"{number:,} of {len(folders):,} runs")
    return results


@dataclass(frozen=True, slots=True)
class _Pages:
    """The ``folder`` for pages, and how many to write there of each run."""

    folder: Path
    most: int

    def write(self, run: Path, recording: Recording, result: RunResult, decided: _Decided) -> None:
        again = f"kraftcheck conform {run}"
        for seq, document in pages(recording, result, decided, again, self.most):
            write_atomically(self.folder / f"{run.name}.{seq}.html", page(document), create_folder=True)


def _result(
    folder: Path,
    preset: str | None,
    settings: Sequence[str],
    html: _Pages | None,
    tell: Callable[[str], None] = lambda text: None,
) -> _Compared:
    tell(f"reading {folder.name}")
    recording = read(folder)
    preset = preset or preset_of(str(recording.config.kafka))
    protocol = SWITCHES.read(preset, settings)
    tell(f"comparing {folder.name}, {len(recording.events):,} events")
    decided: _Decided | None = None if html is None else {}
    report = compare(recording, protocol, decided)
    tell(f"judging {folder.name}, {len(recording.events):,} events")
    steps = (event for event in recording.events if isinstance(event, StepEvent))
    starts = [(event.node, event.seq) for event in steps if event.kind == "start"]
    result = RunResult.of(report, judge(recording, protocol), starts)
    if html is not None and decided is not None:
        html.write(folder, recording, result, decided)
    return preset, result
