"""What is otherwise in a release, and the imports of a test: of the classes that it names, in Kafka's
order.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any, Final

from kraftcheck.spec import RELEASES

#: The package of a test.
PACKAGE: Final = "org.apache.kafka.raft"


@cache
def differences(release: str) -> tuple[dict[str, Any], ...]:
    """What is otherwise in ``release`` than in 4.3: by the names of classes their other ``imports``, and the
    ``parts`` of programs, each as ``before`` and ``after``.
    """
    place = RELEASES.index
    return tuple(
        {"imports": {}, "parts": [], **each}
        for each in _toml("releases.toml")["differences"]
        if place(each.get("since", RELEASES[0])) <= place(release) <= place(each.get("until", RELEASES[-1]))
    )


def as_in(text: str, release: str) -> str:
    """A program for 4.3 as it is in ``release``."""
    for each in differences(release):
        for part in each["parts"]:
            text = text.replace(part["before"], part["after"])
    return text


@cache
def _known(release: str) -> tuple[list[str], ...]:
    """The groups of imports. A class of the test's own package has none."""
    data, moved = _toml("imports.toml"), dict[str, str]()
    for each in differences(release):
        moved |= each["imports"]
    groups = ([moved.get(each, each) for each in data[name]] for name in ("kafka", "other", "java", "static"))
    return tuple(sorted(each for each in group if each.rpartition(".")[0] != PACKAGE) for group in groups)


def _toml(name: str) -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath(name).read_text(encoding="utf-8"))


def imports_of(text: str, release: str) -> Iterator[str]:
    """The import lines of the program ``text`` for a ``release`` of Kafka."""
    bare = re.sub(r'"(?:[^"\\\n]|\\.)*"|//.*|/\*[\s\S]*?\*/', "", text)
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
