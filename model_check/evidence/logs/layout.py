"""Conversion patterns: how one log record is laid out, as log4j's PatternLayout writes it.

A pattern such as ``[%d] %p %m (%c)%n`` becomes two regular expressions over bytes: what stands before the
message, up to and including the node's log context (``[RaftManager id=1] ``), and what stands after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final, NamedTuple

from kraftcheck.support.errors import InputError

#: The patterns tried where none is given: as shipped, as Strimzi sets them (the second and the fourth), and
#: as Confluent for Kubernetes does (the last).
PATTERNS: Final = (
    "[%d] %p %m (%c)%n",
    "%d{yyyy-MM-dd HH:mm:ss} %-5p [%t] %c{1}:%L - %m%n",
    "%d{ISO8601} %p %m (%c)%n",
    "%d{ISO8601} %p %m (%c) [%t]%n",
    "[%p] %d [%t] %c %M - %m%n",
)

#: The log context of a raft node: ``id`` since release 3.5, ``nodeId`` before, ``Node`` in simulations.
CONTEXT: Final = rb"\[(?:RaftManager (?:i|nodeI)d=|Node )(?P<node>\d{1,10})\] "

#: The log context of something else, whose messages may begin like those of a raft node.
_FOREIGN: Final = re.compile(rb"\[(?!RaftManager |Node )[A-Z]\w*[ \]][^\[\]\n]{0,200}?\]? \Z")

_DEFAULT_DATE: Final = "yyyy-MM-dd HH:mm:ss,SSS"
_NAMED_DATES: Final = {
    "DEFAULT": _DEFAULT_DATE,
    "ISO8601": "yyyy-MM-dd'T'HH:mm:ss,SSS",
    "ABSOLUTE": "HH:mm:ss,SSS",
    "COMPACT": "yyyyMMddHHmmssSSS",
    "DATE": "dd MMM yyyy HH:mm:ss,SSS",
}
_LETTERS: Final = "yMdHmsS"
_TOKEN = re.compile(r"(?P<text>[^%]+)|%-?\d*(?:\.-?\d+)?(?P<name>%|[A-Za-z]+)(?P<options>(?:\{[^}]*\})*)")
_WORD_OF: Final = {
    ("p", "level"): rb" *[A-Z]+ *",
    ("c", "logger"): rb" *[\w.$\[\]-]+ *",
    ("C", "class", "F", "file"): rb" *[\w.$?]+ *",
    ("t", "thread", "x", "X"): rb"[^\n]{0,200}?",
    ("L", "line"): rb" *[\d?]+ *",
    ("M", "method"): rb" *[\w$<>?]+ *",
    ("r", "relative"): rb" *\d+ *",
}
_WORDS: Final = {name: pattern for names, pattern in _WORD_OF.items() for name in names}


class Found(NamedTuple):
    """A record: its node, its time as printed, its message, and whether its line holds another as well."""

    node: int
    time: bytes
    message: bytes
    mixed: bool


@dataclass(frozen=True, slots=True)
class Layout:
    """A compiled conversion pattern."""

    pattern: str
    head: re.Pattern[bytes]
    """Everything before the message, and the log context."""
    tail: re.Pattern[bytes] | None
    """Everything after the message; None if nothing follows it."""
    tail_start: bytes
    """The literal with which ``tail`` begins; empty if it begins with none."""
    start: re.Pattern[bytes]
    """The beginning of a record up to its time."""
    date: re.Pattern[bytes]
    sortable: bool
    """Whether printed times sort like the times they mean."""

    def read(self, line: bytes, at: int) -> Found | None:
        """The record of ``line`` whose message starts at ``at``; None if the line is not laid out like this.

        Where another record was cut short on the same line, the last record start before the message counts.
        """
        head = self.head.match(line)
        mixed = False
        if head is None or head.end() != at:
            head, mixed = self._last_head(line, at), True
        if head is None:
            return None
        end = self._message_end(line, at)
        if end is None:
            return None
        time, node = head.groups()
        return Found(int(node), time, line[at:end], mixed)

    def _last_head(self, line: bytes, at: int) -> re.Match[bytes] | None:
        found = None
        for match in self.head.finditer(line, max(0, at - _HEAD), at):
            found = match
        return found if found is not None and found.end() == at else None

    def _message_end(self, line: bytes, at: int) -> int | None:
        if self.tail is None:
            return len(line.rstrip())
        if self.tail_start:
            place = line.rfind(self.tail_start, at)
            if place < 0:
                return None
            if _usual_tail(self.tail, line[place:]):
                return place
            match = self.tail.match(line, place)
        else:
            match = self.tail.search(line, at)
        return None if match is None else match.start()

    def time(self, line: bytes) -> bytes | None:
        """The time of the record that starts at the beginning of ``line``; None if none does."""
        match = self.start.match(line)
        return None if match is None else match["time"]

    def begins(self, line: bytes) -> bool:
        """Whether ``line`` begins like a record, whole or not."""
        return self.time(line) is not None

    def exception(self, lines: bytes) -> bytes:
        """The exception of the record that begins ``lines``, which stands on the line after its own."""
        _, _, exception = lines.partition(b"\n")
        return exception if self.time(exception) is None else b""

    def moment(self, time: bytes) -> tuple[int, ...]:
        """``time`` as (year, month, day, hour, minute, second, fraction), 0 for what is not printed."""
        match = self.date.fullmatch(time)
        groups = {} if match is None else match.groupdict()
        return tuple(_number(groups.get(letter)) for letter in _LETTERS)

    def goes_back(self, time: bytes, last: bytes) -> bool:
        """Whether ``time`` lies before ``last``."""
        if self.sortable and len(time) == len(last):
            return time < last
        return self.moment(time) < self.moment(last)


@lru_cache(maxsize=64)
def _usual_tail(tail: re.Pattern[bytes], text: bytes) -> bool:
    """Whether ``text`` is a whole ``tail``: few different ones follow the messages."""
    return tail.match(text) is not None


#: A record's beginning is looked for in so many bytes before its message.
_HEAD: Final = 1000
_MONTHS: Final = tuple(b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split())


def _number(text: bytes | None) -> int:
    if text is None:
        return 0
    return _MONTHS.index(text) + 1 if text in _MONTHS else int(text)


def is_foreign(line: bytes, at: int) -> bool:
    """Whether the message that starts at ``at`` has the log context of another part of the process."""
    start = line.rfind(b"[", 0, at)
    return start >= 0 and _FOREIGN.match(line[start:at]) is not None


@cache
def compile_pattern(pattern: str) -> Layout:
    """The layout that a log4j conversion pattern describes.

    Known are %d with a date format, %p, %m, %c, %t, %C, %F, %L, %M, %r, %x, %X, %n and %%, with widths, and
    their long names. Raises InputError on anything else, or if there is not exactly one %d before exactly one
    %m.
    """
    parts: list[tuple[str, bytes, str]] = list(_tokens(pattern))
    kinds = [kind for kind, _, _ in parts]
    if kinds.count("date") != 1 or kinds.count("message") != 1 or "message" in kinds[: kinds.index("date")]:
        raise InputError(f"--pattern '{pattern}': expected one %d before one %m, as in '{PATTERNS[0]}'.")
    at_date, at_message = kinds.index("date"), kinds.index("message")
    date, letters = _date(parts[at_date][2])
    time = b"(?P<time>" + re.sub(rb"\?P<\w>", b"?:", date) + b")"
    start = b"".join(value for _, value, _ in parts[:at_date]) + time
    between = b"".join(value for _, value, _ in parts[at_date + 1 : at_message])
    after = parts[at_message + 1 :]
    tail = re.compile(b"".join(value for _, value, _ in after) + rb"\s*\Z") if after else None
    literal = after[0][2] if after and after[0][0] == "text" else ""
    in_order = letters == "".join(letter for letter in _LETTERS if letter in letters)
    return Layout(
        pattern,
        re.compile(start + between + CONTEXT),
        tail,
        literal.encode(),
        re.compile(start),
        re.compile(date),
        sortable=in_order and letters[:1] == "y" and _MONTHS[0] not in date,
    )


def _tokens(pattern: str) -> Iterator[tuple[str, bytes, str]]:
    """Kind (date, message, text, word), regular expression, and text or options of each part; not %n."""
    place = 0
    while place < len(pattern):
        match = _TOKEN.match(pattern, place)
        if match is None:
            wrong = pattern[place : place + 12]
            raise InputError(
                f"--pattern '{pattern}': '{wrong}' is not understood; write %% for a percent sign."
            )
        place = match.end()
        name, text = match["name"], match["text"] or "%"
        if name in (None, "%"):
            yield "text", re.escape(text.encode()), text
        elif name in ("d", "date"):
            yield "date", b"", match["options"][1:].partition("}")[0]
        elif name in ("m", "msg", "message"):
            yield "message", b"", ""
        elif name in _WORDS:
            yield "word", _WORDS[name], ""
        elif name != "n":
            known = "%d, %p, %m, %c, %t, %C, %F, %L, %M, %r, %x, %X and %n"
            raise InputError(f"--pattern '{pattern}': '%{name}' is not understood; known are {known}.")


def _date(text: str) -> tuple[bytes, str]:
    """The regular expression of a date format, a group for each of its letters, and the letters in order."""
    text = _NAMED_DATES.get(text or "DEFAULT", text)
    found, letters = [], ""
    for match in re.finditer(r"'(?P<quoted>[^']*)'|(?P<letter>[A-Za-z])(?P=letter)*|[^A-Za-z']+", text):
        letter, width = match["letter"], len(match[0])
        if letter is None:
            plain = match[0] if match["quoted"] is None else match["quoted"]
            # ISO 8601 stands with T in log4j 2 and with a space in log4j 1; both separate seconds with , or .
            found.append(
                rb"[T ]" if plain == "T" else rb"[,.]" if plain in ",." else re.escape(plain.encode())
            )
        elif letter == "M" and width == 3:
            found.append(b"(?P<M>" + b"|".join(_MONTHS) + b")")
            letters += "M"
        elif letter in _LETTERS and letter not in letters:
            found.append(rb"(?P<%s>\d{%d})" % (letter.encode(), width))
            letters += letter
        elif letter in "XxZz":
            found.append(rb"(?:Z|[+-]\d\d:?\d\d|[A-Z]{1,5})")
        else:
            raise InputError(
                f"--pattern: '{match[0]}' in the date format '{text}' is not understood; "
                "use yyyy MM dd HH mm ss SSS."
            )
    if not letters:
        raise InputError(
            f"--pattern: the date format '{text}' is not understood; use yyyy MM dd HH mm ss SSS."
        )
    return b"".join(found), letters
