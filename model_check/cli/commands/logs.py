"""``kraftcheck logs``: rebuild and check what the log files of Kafka nodes show."""

from __future__ import annotations

import argparse
import io
import json
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from kraftcheck.evidence.logs.explain import Story
from kraftcheck.evidence.logs.explained import explained, print_explained
from kraftcheck.evidence.logs.merged import MergedHistory
from kraftcheck.evidence.logs.node_history import HistoryEntry
from kraftcheck.evidence.logs.reader import LogReport, Options, Reader, read_logs
from kraftcheck.evidence.logs.report import (
    SHOWN,
    as_json,
    exit_status,
    history_json,
    history_text,
    print_checks,
    print_report,
)
from kraftcheck.evidence.logs.sections import markdown
from kraftcheck.support.arguments import flag
from kraftcheck.support.errors import InputError
from kraftcheck.support.exit_codes import EXIT_EXPECTED
from kraftcheck.support.files import require_file_can_be_written, write_atomically
from kraftcheck.support.outputs import versioned
from kraftcheck.support.terminal import Console, console


def configure(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument(
        "paths",
        nargs="*",
        type=Path,
        metavar="FILE|DIR",
        help="log files of any number of nodes, plain or compressed, rotated or not; folders of them; "
        "pipes; - is standard input",
    )
    Options.add_to(parser)
    parser.add_argument(
        "--explain",
        action="store_true",
        help="tell for each epoch who asked for votes and what came of it, who led and until when, and which "
        "findings the problems look like",
    )
    form = parser.add_mutually_exclusive_group()
    flag(form, "--markdown", says="print what --explain says as Markdown")
    flag(form, "--html", says="print what --explain says as a page for the browser; -o names the file")
    parser.add_argument("--history", action="store_true", help="print the nodes' state history, by time")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: standard output")
    parser.add_argument("--checks", action="store_true", help="list the checks and the rules behind them")


def run(arguments: argparse.Namespace) -> int:
    """Read the logs; 0: no problem, 1: problems, 3: problems in doubt only.

    Raises InputError where there is nothing to read.
    """
    if arguments.checks:
        print_checks(console())
        return EXIT_EXPECTED
    if not arguments.paths:
        raise InputError("no log files given; see 'kraftcheck logs --help'.")
    require_file_can_be_written(arguments.output, "-o")
    # A long history must neither fill the memory nor be half-printed if a file turns out to be unreadable.
    with tempfile.TemporaryFile(prefix="kraftcheck-") as file:
        history = MergedHistory(file, Reader(Options(arguments.pattern)).layouts)
        wanted = arguments.explain or arguments.markdown or arguments.html
        story = Story() if wanted else None
        report = _read(arguments, _listener(arguments, history, story))
        data = as_json(report) | (explained(story, report) if story is not None else {})
        if arguments.output is None:
            _print(arguments, data, history)
        else:
            with redirect_stdout(io.StringIO()) as text:
                _print(arguments, data, history)
            write_atomically(arguments.output, text.getvalue())
    return exit_status(data)


def _listener(
    arguments: argparse.Namespace, history: MergedHistory, story: Story | None
) -> Callable[[HistoryEntry], None] | None:
    """What follows the histories of nodes; ``None``: nothing does."""

    def listen(step: HistoryEntry) -> None:
        if story is not None:
            story.add(step)
        if arguments.history and step.what in SHOWN:
            text = json.dumps(history_json(step)) if arguments.json else history_text(step)
            history.add(step.node, step.time, text)

    return listen if arguments.history or story is not None else None


def _read(arguments: argparse.Namespace, listen: Callable[[HistoryEntry], None] | None) -> LogReport:
    options = Options(arguments.pattern, arguments.release)
    if not sys.stderr.isatty():
        return read_logs(arguments.paths, options, listen)
    begun, done = time.monotonic(), 0
    with Console(stderr=True).status("reading …") as status:

        def progress(count: int) -> None:
            nonlocal done
            done += count
            seconds = max(time.monotonic() - begun, 1e-3)
            status.update(f"{done / 1e6:,.0f} MB read, {done / 1e6 / seconds:,.0f} MB/s")

        return read_logs(arguments.paths, options, listen, progress)


def _print(arguments: argparse.Namespace, data: dict[str, Any], history: MergedHistory) -> None:
    if arguments.markdown:
        for line in markdown(data):
            print(line)
        return
    if arguments.html:
        # The shell of pages is part of a package that takes seconds to import.
        from kraftcheck.evidence.logs.page import page

        print(page(data), end="")
        return
    if not arguments.json:
        out = console()
        for line in history:
            out.print(line, end="")
        if arguments.explain:
            print_explained(out, data)
        print_report(out, data, arguments.limit)
        return
    text = json.dumps(versioned("logs", data), indent=2)
    if arguments.history:
        print('{\n  "history": [')
        for number, line in enumerate(history):
            print(f"    {',' if number else ''}{line}", end="")
        print("  ],")
        text = text[2:]
    print(text)
