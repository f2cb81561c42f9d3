"""The imports of a test: those of the classes that it names, in Kafka's order."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import resources


@cache
def _known() -> dict[str, list[str]]:
    text = resources.files(__package__).joinpath("imports.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def imports_of(text: str) -> Iterator[str]:
    """The import lines of the program ``text``."""
    bare = re.sub(r'"""[\s\S]*?"""|"(?:[^"\\\n]|\\.)*"|//.*|/\*[\s\S]*?\*/', "", text)
    named = set(re.findall(r"(?<![.\w])\w+", bare))
    groups = ([each for each in group if each.rpartition(".")[2] in named] for group in _known().values())
    words = ("import", "import", "import", "import static")
    first = True
    for word, group in zip(words, groups, strict=True):
        if group:
            if not first:
                yield ""
            first = False
            yield from (f"{word} {each};" for each in group)
