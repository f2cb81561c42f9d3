"""An adapter's process: kraftcheck writes one JSON line and reads one back."""

from __future__ import annotations

import shlex

from kraftcheck.support.errors import InputError
from kraftcheck.support.line_process import LineProcess, NoAnswerError
from kraftcheck.support.printable import printable


class AdapterError(InputError):
    """The adapter breaks the protocol, or has ended: no verdict about the replica.

    what: its action, a predicate such as ``gave no answer``; last_words: the end of its standard error,
    printed after the place. Neither contains characters that a terminal takes for a command.
    """

    def __init__(self, what: str, last_words: str = "") -> None:
        self.what, self.last_words = printable(what), printable(last_words)
        super().__init__(self.what + self.last_words)

    def placed(self, place: str) -> AdapterError:
        """The same as a sentence that names the place in the run."""
        return AdapterError(f"the adapter {self.what}, {place}{self.last_words}.")


class AdapterProcess(LineProcess):
    """A running adapter. Raises InputError if ``command`` (split as a shell would, but not run by one) cannot
    be started.
    """

    def __init__(self, command: str, timeout: float) -> None:
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise InputError(f"--adapter: the command cannot be split into words ({error}).") from None
        if not words:
            raise InputError("--adapter: the command is empty; give the program that answers.")
        try:
            super().__init__(words, timeout, farewell='{"type": "exit"}')
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(
                f"--adapter: {words[0]!r} cannot be run ({reason}); check the command."
            ) from None

    def exchange(self, line: str) -> str:
        """Send a line and wait for the line that answers it. Raises AdapterError."""
        try:
            return super().exchange(line)
        except NoAnswerError as error:
            last = " / ".join(each.strip()[:200] for each in error.errors if each.strip())
            end = f"; the end of its standard error: {last}" if last else ""
            raise AdapterError(error.what, end) from None
