"""The text of a TOML file: the line of each key, and the probable mistake where it is not TOML."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from kraftcheck.support.printable import printable

#: A place in a file: keys, and numbers of entries of lists.
Place = tuple[str | int, ...]

#: Keys with more parts are not followed.
_DEEPEST = 20

_TOKEN = re.compile(
    r"""(?P<blank>[ \t\r]+|\#[^\n]*)
    |(?P<string>\"{3}(?:\\.|[^\\])*?\"{3,5}|'{3}.*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*')
    |(?P<sign>[\[\]{}=,.\n])
    |(?P<word>[^\s\[\]{}=,.\#"']+)""",
    re.VERBOSE | re.DOTALL,
)


def lines_of(text: str) -> dict[Place, int]:
    """The line of each key, table and entry of a list in ``text``, which must be TOML; 1 is the first one."""
    reader = _Reader(text)
    try:
        reader.document()
    except (RecursionError, IndexError):
        return {}  # too deep to follow
    return reader.lines


class _Reader:
    """Follows the structure of a TOML text, which a parser has taken already."""

    def __init__(self, text: str) -> None:
        self.lines: dict[Place, int] = {}
        self.tokens: list[tuple[str, int]] = []
        self.at = 0
        self.table: Place = ()
        self.entries: dict[Place, int] = {}
        line = 1
        for token in _TOKEN.finditer(text):
            if token.lastgroup != "blank":
                self.tokens.append((token[0], line))
            line += token[0].count("\n")
        self.tokens.append(("", line))

    def document(self) -> None:
        while self.tokens[self.at][0]:
            if self.tokens[self.at][0] == "\n":
                self.at += 1
            elif self.tokens[self.at][0] == "[":
                self._header()
            else:
                self._pair(self.table)

    def _header(self) -> None:
        line = self.tokens[self.at][1]
        listed = self.tokens[self.at + 1][0] == "["
        self.at += 2 if listed else 1
        path = self._key("]")
        self.at += 2 if listed else 1
        place = self._within(path[:-1]) + path[-1:]
        for length in range(1, len(place) + 1):
            self._note(place[:length], line)
        if listed:
            self.entries[place] = self.entries.get(place, -1) + 1
            place = (*place, self.entries[place])
            self._note(place, line)
        self.table = place

    def _within(self, path: Place) -> Place:
        """``path`` with the number of the last entry of each list of tables on it."""
        found: Place = ()
        for key in path:
            found = (*found, key)
            found = (*found, self.entries[found]) if found in self.entries else found
        return found

    def _pair(self, table: Place) -> None:
        line = self.tokens[self.at][1]
        place = table
        for key in self._key("="):
            place = (*place, key)
            self._note(place, line)
        self.at += 1
        self._value(place)

    def _key(self, end: str) -> Place:
        parts: list[str] = []
        while self.tokens[self.at][0] != end:
            if len(parts) > _DEEPEST:
                raise RecursionError
            if self.tokens[self.at][0] != ".":
                parts.append(self.tokens[self.at][0].strip("\"'"))
            self.at += 1
        return tuple(parts)

    def _value(self, place: Place) -> None:
        opening = self.tokens[self.at][0]
        if opening not in ("[", "{"):
            while self.tokens[self.at][0] not in (",", "\n", "]", "}", ""):
                self.at += 1
            return
        self.at += 1
        number = 0
        while self.tokens[self.at][0] not in ("]", "}"):
            if self.tokens[self.at][0] in (",", "\n"):
                self.at += 1
            elif opening == "{":
                self._pair(place)
            else:
                self._note((*place, number), self.tokens[self.at][1])
                self._value((*place, number))
                number += 1
        self.at += 1

    def _note(self, place: Place, line: int) -> None:
        self.lines.setdefault(place, line)


def line_of(lines: Mapping[Place, int], place: Place) -> int | None:
    """The line of ``place``, or of the innermost place around it that has one."""
    for length in range(len(place), 0, -1):
        if place[:length] in lines:
            return lines[place[:length]]
    return None


_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_TWICE = ("Cannot overwrite", "Cannot declare", "Cannot mutate", "Cannot redefine", "Duplicate inline")
#: So much of a line is looked at.
_WIDTH = 300


def explain(text: str, error: str) -> tuple[int | None, str]:
    """The line of the first thing in ``text`` that is no TOML, and what to do about it; ``error`` is what
    :mod:`tomllib` says of it.
    """
    where = _AT.search(error)
    if where is None:
        return None, f"not a TOML file ({error.partition('; use sys.')[0][:200]})"
    rows = text.split("\n")
    number = int(where[1] or len(rows))
    column = int(where[2] or len(rows[-1]) + 1)
    # The parser notices a missing end of line on the next line that is not empty.
    while number > 1 and not rows[number - 1].strip():
        number, column = number - 1, len(rows[number - 2]) + 1
    said, row = error[: where.start()], rows[number - 1]
    seen = "\t".join(" ".join(each[:_WIDTH].split()) for each in (said, row, row[column - 1 :]))
    if said.startswith(_TWICE):
        return number, _twice(said, " ".join(row[:_WIDTH].split()), rows[: number - 1])
    for pattern, advice in _SLIPS:
        if found := re.search(pattern, seen):
            return number, printable(advice if isinstance(advice, str) else advice(found))
    return number, printable(f"this is no TOML ({said[:200]})")


def _twice(said: str, row: str, rows: list[str]) -> str:
    """The key that ``row`` gives a second time, and the row before it that gives it too."""
    inline = re.search(r"key '(.{1,60})'$", said)
    if inline:
        return f"'{printable(inline[1])}' is given twice in one inline table; keep one of them"
    key = printable(row.lstrip("[").partition("=")[0].partition("]")[0].strip()[:60])
    name = key.partition(".")[0]
    header = row.startswith("[")
    for written in [rf"\[+{re.escape(key)}\]", rf"{re.escape(name)} ?="] if header else [re.escape(key)]:
        before = next((at for at, each in enumerate(rows, 1) if re.match(written, each.strip())), None)
        if before is not None:
            break
    earlier = f" on line {before}" if before else ""
    if header and before and not rows[before - 1].strip().startswith("["):
        return (
            f"this adds to '{name}', which is complete{earlier}; write that as a table, [{name}] with each "
            "of its keys on a line below"
        )
    if header:
        return f"[{key}] was written before{earlier}; keep one, [[{key}]] if it is a list of tables"
    return f"'{key}' is given twice, the first time{earlier or ' before'}; keep one of them"


def _quoted(found: re.Match[str]) -> str:
    word = found[1].strip()[:40]
    if "=" in word:
        return f"a value is expected where '{word}' stands; a ']' or a quote is missing"
    if word.lower() in ("true", "false", "yes", "no", "on", "off"):
        return f"{word} is no value; write true or false, in small letters"
    if word.lower() in ("none", "null", "nil"):
        return f"{word} is no value; leave the key out"
    return f'{word} is no value; a text stands in double quotes: "{word}"'


_PAIR = "each line is a table, [name], or a key and its value, key = …"
_BRACKETS = "the brackets do not match: write [name], and [[name]] for an entry of a list of tables"
#: Common mistakes in TOML: by the message of the parser, the line, and what is left of the line
#: from the place that it refuses, separated by tabs.
_SLIPS: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"\t.*[“”‘’]", "the quotes are typographic; write straight ones"),
    (
        r"^(?:Unescaped|Invalid hex)",
        "a text in double quotes has no single backslash; write it in single quotes, or each backslash twice",
    ),
    (r"\t(?://|/\*)", "a comment begins with '#'"),
    (r"\t(?:---|- )", "this looks like YAML; a list is written [1, 2], and a key and its value key = value"),
    (r"^Invalid value\t.*\t$", "there is no value after '='"),
    (r"^Invalid value\t.*\t\[?([A-Za-z][^,\]}#]*)", _quoted),
    (
        r"^Expected '=' .*\t([\w-]+) ?:",
        lambda found: f"'=' stands between a key and its value: {found[1]} = …",
    ),
    (
        r"^Expected '=' .*\t([\w-]+) ([\w-]+) ?=",
        lambda found: f"a key has no spaces: {found[1]}-{found[2]} = …",
    ),
    (r"^Expected '=' ", _PAIR),
    (r"^Invalid initial character for a key part\t.*\t\}", "an inline table has no comma before its '}'"),
    (
        r"^(?:Invalid initial character for a key part|Unclosed inline table)\t.*\{",
        "an inline table { … } stands on one line; for more write a table, [name], with a key on each line",
    ),
    (r"^Invalid initial character for a key part|^Expected '\]\]?' ", _BRACKETS),
    (r"^Expected newline.*\t\[.*\t\]", _BRACKETS),
    (r"^Unclosed array", "the list is not closed; ']' is missing"),
    (
        r"^(?:Illegal|Found invalid) character '(?!\\n)",
        "this is a control character; leave it out, or write an escape in double quotes, such as \\u001b",
    ),
    (
        r"^(?:Unterminated string|Illegal character|Found invalid character|Expected \"'\")",
        "the text is not closed by a quote on its line",
    ),
    (r"^Expected newline.*= ?0\d", "a number has no zeros before it"),
    (
        r"^Expected newline",
        "only a comment (# …) follows a value on its line; write each key on a line of its own",
    ),
    (r"^Invalid statement\t[{\[]", "this looks like JSON; write each key and its value on a line: key = …"),
    (r"^Invalid statement", _PAIR),
)
