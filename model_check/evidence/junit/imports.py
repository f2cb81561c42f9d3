"""The imports of a test: those of the classes that it names, in Kafka's order."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any


@cache
def later(release: str) -> dict[str, Any]:
    """What is otherwise in ``release`` than in 4.3: by the names of classes their new ``imports``, and the
    ``parts`` of programs, each as ``before`` and ``after``.
    """
    return {"imports": {}, "parts": []} if release == "4.3" else _toml("since_4_4.toml")


@cache
def _known(release: str) -> tuple[list[str], ...]:
    """The groups of imports."""
    data, moved = _toml("imports.toml"), later(release)["imports"]
    groups = (data[name] for name in ("kafka", "other", "java", "static"))
    return tuple(sorted(moved.get(each, each) for each in group) for group in groups)


def _toml(name: str) -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath(name).read_text(encoding="utf-8"))


def imports_of(text: str, release: str) -> Iterator[str]:
    """The import lines of the program ``text`` for a ``release`` of Kafka: ``4.3``, ``4.4`` or ``trunk``."""
    bare = re.sub(r'"""[\s\S]*?"""|"(?:[^"\\\n]|\\.)*"|//.*|/\*[\s\S]*?\*/', "", text)
    named = set(re.findall(r"(?<![.\w])\w+", bare))
    groups = ([each for each in group if each.rpartition(".")[2] in named] for group in _known(release))
    words = ("import", "import", "import", "import static")
    first = True
    for word, group in zip(words, groups, strict=True):
        if group:
            if not first:
                yield ""
            first = False
            yield from (f"{word} {each};" for each in group)
