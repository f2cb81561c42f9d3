"""Text from outside, made fit for a terminal: names of files, lines of logs, answers of an adapter.

All output goes through here: :func:`guarded` for what ``print`` writes, ``Console`` of
:mod:`kraftcheck.support.terminal` for what rich writes, :mod:`kraftcheck.support.files` for files, and the
messages of :class:`kraftcheck.support.errors.InputError`.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Iterator
from typing import IO, Any, cast

#: Characters that a terminal must not receive as they are.
_SUSPECT = re.compile(r"[^\t\n\x20-\x7e]")
#: Longer words and lines of a message are shortened in the middle, as what to do stands at the end.
_WORD, _LINE, _LINES = re.compile(r"\S{251,}"), 800, 100


def printable(text: str) -> str:
    """``text`` as one line, with a question mark for each character that a terminal would obey and not show:
    control characters, line breaks, and those that change the direction of what follows.
    """
    return shown(text).replace("\n", "?").replace("\t", "?")


def shown(text: str) -> str:
    """``text`` as :func:`printable` makes it, with its line breaks and tabs."""
    return _SUSPECT.sub(lambda found: found[0] if found[0].isprintable() else "?", text)


def shortened(text: str, most: int = 400) -> str:
    """The first ``most`` characters of ``text``."""
    return text if len(text) <= most else f"{text[:most]} ..."


def message(text: str) -> str:
    """The lines of a message that may quote anything, each printable and of a length that can be read."""
    lines = [_within(_LINE, _WORD.sub(_word, printable(line))) for line in text.split("\n", _LINES)[:_LINES]]
    return "\n".join(lines)


def _word(found: re.Match[str]) -> str:
    return _within(150, found[0])


def _within(most: int, text: str) -> str:
    return text if len(text) <= most else f"{text[: most * 2 // 3]}...{text[-most // 3 :]}"


def json_text(data: Any, indent: int | None = None) -> str:
    """``data`` as JSON for people and machines: control characters are escaped, the rest is unchanged."""
    text = json.dumps(data, indent=indent, ensure_ascii=False)
    return _SUSPECT.sub(lambda found: found[0] if found[0].isprintable() else _escaped(found[0]), text)


def _escaped(letter: str) -> str:
    units = letter.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Meanwhile standard output and error take nothing that a terminal would obey, except from rich."""
    out, err = (stream and cast(IO[str], _Guarded(stream)) for stream in (sys.stdout, sys.stderr))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        yield


class _Guarded:
    """A stream that writes texts as :func:`shown` makes them."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        #: Where rich writes; its texts are made fit before it adds colours.
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        return self._stream.write(shown(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
