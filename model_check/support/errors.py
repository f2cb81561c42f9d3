"""Errors that a user can cause; the command line prints their one sentence and exits with status 2."""

from __future__ import annotations

from kraftcheck.support.printable import message


class InputError(Exception):
    """Bad input. The message is one sentence that names the file, the line or field, what was expected and
    what to do about it. What it quotes may come from anywhere, so it is made fit for a terminal.
    """

    def __init__(self, sentence: str = "") -> None:
        super().__init__(message(sentence))


class ProcessKilledError(Exception):
    """A process that does part of the work was killed, by the system or a user: there is no verdict."""


class DiskError(InputError):
    """A file that the work writes has no room or may not be written. The input is not at fault."""
