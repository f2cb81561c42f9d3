"""The values that TLC prints, and the states of a dump (``-dump``), parsed.

The text may come from anywhere: text that is no value raises :class:`ParseError` with the place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kraftcheck.tlc.values import Model, State, Value, function, set_of

MAX_DEPTH = 60
MAX_DIGITS = 10
MAX_INTERVAL = 10_000

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<string>"(?:[^"\\]|\\.)*")
    | (?P<number>-?[0-9]+)
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<sign><<|>>|\|->|:>|@@|\.\.|[][(){},])
    )""",
    re.VERBOSE | re.ASCII,
)
_SPACE = re.compile(r"\s*")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", '"': '"', "\\": "\\"}
_CONJUNCT = re.compile(r"(?:/\\ )?([A-Za-z_][A-Za-z0-9_]*) = (.*)", re.DOTALL | re.ASCII)
_HEAD = re.compile(r"State [0-9]+:[ \t]*\n?", re.ASCII)


class ParseError(ValueError):
    """A text that TLC does not print."""


def parse_value(source: str) -> Value:
    """The value that ``source`` is. Raises ParseError."""
    reader = _Reader(source)
    value = reader.value(0)
    if reader.kind != "end":
        raise reader.error("the end")
    return value


class _Reader:
    """A reader of tokens; ``kind`` and ``token`` are the one to be read next."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._next = 0
        self.advance()

    def advance(self) -> str:
        """Go on to the next token; the one read."""
        read = getattr(self, "token", "")
        self.place = self._next
        match = _TOKEN.match(self._source, self._next)
        if match is not None:
            self.kind, self.token = str(match.lastgroup), match[str(match.lastgroup)]
            self._next = match.end()
            return read
        blank = _SPACE.match(self._source, self._next)
        if blank is None or blank.end() < len(self._source):
            raise self.error("a value")
        self.kind, self.token = "end", ""
        return read

    def error(self, wanted: str) -> ParseError:
        found = self._source[self.place : self.place + 30].strip() or "the end"
        return ParseError(f"character {self.place + 1}: expected {wanted}, found {found!r}")

    def take(self, sign: str) -> None:
        if self.kind != "sign" or self.token != sign:
            raise self.error(f"'{sign}'")
        self.advance()

    def sees(self, sign: str) -> bool:
        return self.kind == "sign" and self.token == sign

    def value(self, depth: int) -> Value:
        if depth > MAX_DEPTH:
            raise ParseError(f"character {self.place + 1}: nested deeper than {MAX_DEPTH} levels")
        if self.kind == "number":
            return self._number_or_interval()
        if self.kind == "string":
            return _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]), self.advance()[1:-1])
        if self.kind == "name":
            name = self.advance()
            return name == "TRUE" if name in ("TRUE", "FALSE") else Model(name)
        opens = self.token
        if opens not in ("<<", "{", "[", "("):
            raise self.error("a value")
        self.advance()
        if opens == "<<":
            return tuple(self._items(">>", depth))
        if opens == "{":
            return set_of(self._items("}", depth))
        return self._made(list(self._record(depth) if opens == "[" else self._function(depth)))

    def _number_or_interval(self) -> Value:
        first = self._number()
        if not self.sees(".."):
            return first
        self.advance()
        last = self._number()
        if last - first > MAX_INTERVAL:
            raise ParseError(f"the set {first}..{last} has more than {MAX_INTERVAL:,} members")
        return set_of(range(first, last + 1))

    def _number(self) -> int:
        if self.kind != "number" or len(self.token) > MAX_DIGITS + 1:
            raise self.error(f"a number of at most {MAX_DIGITS} digits")
        return int(self.advance())

    def _items(self, closes: str, depth: int) -> Iterator[Value]:
        while not self.sees(closes):
            yield self.value(depth + 1)
            if not self.sees(closes):
                self.take(",")
                if self.sees(closes):
                    raise self.error("a value")
        self.advance()

    def _record(self, depth: int) -> Iterator[tuple[Value, Value]]:
        while True:
            if self.kind != "name":
                raise self.error("a field")
            name = self.advance()
            self.take("|->")
            yield name, self.value(depth + 1)
            if self.sees("]"):
                break
            self.take(",")
        self.advance()

    def _function(self, depth: int) -> Iterator[tuple[Value, Value]]:
        while True:
            key = self.value(depth + 1)
            self.take(":>")
            yield key, self.value(depth + 1)
            if self.sees(")"):
                break
            self.take("@@")
        self.advance()

    def _made(self, pairs: list[tuple[Value, Value]]) -> Value:
        try:
            return function(pairs)
        except ValueError as error:
            raise ParseError(f"before character {self.place + 1}: {error}") from None


class StateReader:
    """Reads states; equal texts of one variable are parsed once."""

    def __init__(self) -> None:
        self._known: dict[str, Value] = {}

    def state(self, source: str) -> State:
        """The state of a conjunction ``/\\ variable = value``. Raises ParseError."""
        found: dict[str, Value] = {}
        for part in _conjuncts(source.strip("\n")):
            match = _CONJUNCT.fullmatch(part)
            if match is None:
                raise ParseError(f"expected a variable and its value, found {part[:40]!r}")
            name, value = match[1], match[2]
            if name in found:
                raise ParseError(f"variable {name} occurs twice in a state")
            if value not in self._known:
                try:
                    self._known[value] = parse_value(value)
                except ParseError as error:
                    raise ParseError(f"variable {name}: {error}") from None
            found[name] = self._known[value]
        return found

    def dump(self, lines: Iterable[str]) -> Iterator[State]:
        """The states of a dump. Raises ParseError, also where the last one was cut off."""
        block: list[str] = []
        number = 0
        for line in lines:
            if line.startswith("State ") and _HEAD.fullmatch(line):
                if number:
                    yield self._numbered(number, block)
                number, block = number + 1, []
            elif number:
                block.append(line)
            elif line.strip():
                raise ParseError(f"expected 'State 1:', found {line[:40]!r}")
        if number:
            yield self._numbered(number, block)

    def _numbered(self, number: int, block: list[str]) -> State:
        try:
            return self.state("".join(block))
        except ParseError as error:
            raise ParseError(f"state {number}: {error}") from None


def _conjuncts(source: str) -> list[str]:
    """The conjuncts, which begin at the left margin; further lines of a value are indented."""
    if not source.startswith("/\\ "):
        return [source]
    return ["/\\ " + part for part in re.split(r"(?:^|\n)/\\ ", source)[1:]]
