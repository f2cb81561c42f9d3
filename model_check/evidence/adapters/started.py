"""Processes of one adapter, numbered, each started when it is first needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from kraftcheck.evidence.adapters.session import AdapterProcess, Session


class Adapters:
    """The processes that ``command`` starts, at most ``timeout`` seconds for each answer. Leaving the context
    ends all of them; they can then be started again.

    require: raises InputError where the capabilities of an adapter do not suffice.
    """

    def __init__(
        self,
        command: Sequence[str],
        timeout: float,
        require: Callable[[Session], None] = lambda session: None,
    ) -> None:
        self._command, self._timeout, self._require = command, timeout, require
        self._started: dict[int, tuple[AdapterProcess, Session]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> None:
        """End the processes."""
        for process, _ in self._started.values():
            process.end()
        self._started = {}

    @property
    def name(self) -> str:
        """The implementation, as it names itself. Raises InputError where it cannot be started."""
        return self.session(0).capabilities.name

    def session(self, number: int) -> Session:
        """The session with the process of this number. Raises InputError."""
        if number not in self._started:
            process = AdapterProcess(self._command, self._timeout)
            try:
                session = Session(process)
                self._require(session)
            except BaseException:
                process.end()
                raise
            self._started[number] = process, session
        return self._started[number][1]
