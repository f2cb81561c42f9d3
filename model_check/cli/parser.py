"""The parser of the command line: errors of one sentence, and help that is as wide as the terminal."""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from typing import Any, NoReturn

from kraftcheck.support.closest import did_you_mean
from kraftcheck.support.errors import InputError

#: An option with its value, or several that exclude each other, in a usage.
_OPTION = re.compile(r"\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\]")

#: What ``argparse`` says of a word that is none of those that it knows.
_CHOICE = re.compile(r"argument (\S+): invalid choice: '([^']*)' \(choose from (.*)\)")


class HelpFormatter(argparse.HelpFormatter):
    """Wraps descriptions and epilogs by paragraph; an indented line is one of its own."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n\n".join(_paragraph(each, width, indent) for each in text.strip().split("\n\n"))


class Parser(argparse.ArgumentParser):
    """A parser that raises InputError instead of ending the process."""

    def __init__(self, **options: Any) -> None:
        """``options`` as for ``argparse.ArgumentParser``."""
        super().__init__(**{"formatter_class": HelpFormatter} | options)
        self.color = False  # of Python 3.14; escape codes have a width there

    def error(self, message: str) -> NoReturn:
        """Raises InputError."""
        choice = _CHOICE.fullmatch(message)
        if choice and (near := did_you_mean(choice[2], choice[3].replace("'", "").split(", "))):
            raise InputError(f"{choice[1]}: there is no '{choice[2]}'{near}")
        raise InputError(f"{message}; see '{self.prog} --help'.")

    def _print_message(self, message: str, file: Any = None) -> None:
        """``argparse`` would keep quiet of a reader that has closed the pipe."""
        (file or sys.stderr).write(message or "")

    def format_help(self) -> str:
        """The help. ``argparse`` alone would not break a usage within alternatives, however long they are."""
        usage, blank, rest = super().format_help().partition("\n\n")
        width = self._get_formatter()._width
        if any(len(line) > width for line in usage.splitlines()):
            usage = _wrapped_usage(usage, width)
        return usage + blank + rest


def _paragraph(text: str, width: int, indent: str) -> str:
    lines: list[str] = []
    for line in text.split("\n"):
        if lines and not line.startswith(" ") and not lines[-1].startswith(" "):
            lines[-1] += " " + line
        else:
            lines.append(line)
    wrapped = (
        textwrap.fill(
            line,
            width,
            initial_indent=indent,
            subsequent_indent=indent + ("      " if line.startswith(" ") else ""),
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in lines
    )
    return "\n".join(wrapped)


def _wrapped_usage(usage: str, width: int) -> str:
    def together(option: re.Match[str]) -> str:
        text = option[0].replace(" ", "\0")
        return text if len(text) <= width - 2 else text.replace("\0|\0", " |\0")

    text = _OPTION.sub(together, " ".join(usage.split()))
    lines = textwrap.wrap(text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace("\0", " ")
