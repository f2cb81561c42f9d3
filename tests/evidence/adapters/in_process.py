"""Adapters that answer without a process of their own: the same lines, in much less time."""

import io

from kraftcheck.evidence.adapters.process import AdapterProcess
from kraftcheck.evidence.adapters.serving import ReferenceAdapter, serve


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
