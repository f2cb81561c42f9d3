"""The Java that this package brings: the adapter, and what differs between releases of Kafka.

``java/adapter`` is compiled for every release. A folder of ``java/shims`` or ``java/stubs`` has the name of
a class; of its parts ``present`` and ``absent`` the one that fits is compiled: shims by the classes of Kafka,
stubs by those of other libraries. So releases are told apart by what they offer, not by their version.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

#: The class that begins the adapter.
MAIN = "kraftcheck.kafka.Adapter"

_JAVA = Path(__file__).parent / "java"


def of_the_adapter(offered: Callable[[str], bool]) -> list[Path]:
    """The sources of the adapter for a Kafka in which the classes are that ``offered`` says."""
    return sorted([*_in(_JAVA / "adapter"), *_chosen(_JAVA / "shims", offered)])


def of_stubs(offered: Callable[[str], bool]) -> list[Path]:
    """Stubs of classes of other libraries that are not there: Kafka's sources name them, and a
    replica does not need them.
    """
    return sorted(_chosen(_JAVA / "stubs", offered))


def _chosen(folder: Path, offered: Callable[[str], bool]) -> Iterator[Path]:
    for each in sorted(folder.iterdir()):
        yield from _in(each / ("present" if offered(each.name) else "absent"))


def _in(folder: Path) -> Iterator[Path]:
    return folder.rglob("*.java")


def digest(files: Iterable[Path]) -> str:
    """The identity of sources: their places and contents."""
    found = hashlib.sha256()
    for file in files:
        found.update(f"{file.relative_to(_JAVA).as_posix()} ".encode() + file.read_bytes())
    return found.hexdigest()[:24]
