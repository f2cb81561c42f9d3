"""A loud line where the recorded runs are not there."""

from __future__ import annotations

import pytest

from tests.recorded.recorded_runs import VARIABLE, recorded_runs, runs_folder


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A skipped suite must not look like one that passed."""
    if not recorded_runs():
        terminalreporter.write_line(
            f"NOT RUN: the recorded runs of production Kafka are not in {runs_folder()}; set {VARIABLE}.",
            yellow=True,
            bold=True,
        )
