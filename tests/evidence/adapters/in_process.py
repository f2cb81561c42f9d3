"""Adapters that answer without a process of their own: the same lines, in much less time."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from kraftcheck.evidence.adapters import files
from kraftcheck.evidence.adapters.serving import ReferenceAdapter, serve
from kraftcheck.evidence.adapters.session import AdapterProcess
from kraftcheck.evidence.adapters.stimuli import DriveSequence, Stimulus
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.protocol import KAFKA
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.voters import ReplicaKey, static_voters


def write_sequence(path: Path, name: str, *stimuli: Stimulus) -> str:
    """Write the sequence file of a static voter; its name."""
    identity = Replica(ReplicaKey(1), static_voters((1, 2, 3)))
    path.write_text(files.dumps(DriveSequence(name, KAFKA, identity, Disk(), stimuli)))
    return str(path)


class Answering(AdapterProcess):
    """Stands for a process that answers lines as ``answer`` does."""

    def __init__(self, answer: Callable[[str], str]) -> None:
        self._answer = answer

    def exchange(self, line: str) -> str:
        return self._answer(line)

    def end(self) -> None:
        """There is nothing to end."""


class InProcess(Answering):
    """Stands for the process of ``adapter``."""

    def __init__(self, adapter: ReferenceAdapter) -> None:
        def answer(line: str) -> str:
            answers = io.StringIO()
            serve(adapter, io.StringIO(line), answers)
            return answers.getvalue().removesuffix("\n")

        super().__init__(answer)


def install(monkeypatch: pytest.MonkeyPatch, process: AdapterProcess) -> None:
    """Let ``kraftcheck drive`` use ``process``, whatever command it is given."""
    monkeypatch.setattr("kraftcheck.cli.commands.drive.AdapterProcess", lambda *_: process)
