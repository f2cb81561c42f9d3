"""Adapters that answer without a process of their own: the same lines, in much less time."""

import io
from pathlib import Path

from kraftcheck.evidence.adapters import files
from kraftcheck.evidence.adapters.process import AdapterProcess
from kraftcheck.evidence.adapters.serving import ReferenceAdapter, serve
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


class InProcess(AdapterProcess):
    """Stands for the process of ``adapter``."""

    def __init__(self, adapter: ReferenceAdapter) -> None:
        self._adapter = adapter

    def exchange(self, line: str) -> str:
        answers = io.StringIO()
        serve(self._adapter, io.StringIO(line), answers)
        return answers.getvalue().removesuffix("\n")

    def end(self) -> None:
        """There is nothing to end."""
