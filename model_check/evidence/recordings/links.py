"""The links between the nodes of a recorded run: which are blocked, and where a connection broke.

Source: the recorder's network (MANIFEST of the recorded runs).
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from kraftcheck.evidence.recordings.found import Found
from kraftcheck.evidence.recordings.recording import Event

#: From a node to a node.
Link = tuple[int, int]


class Links:
    """What is known of the links on the line that was read last; lines are named by their ``seq``."""

    def __init__(self) -> None:
        self._blocked: dict[Link, int] = {}
        self._freed: dict[Link, int] = {}
        self._broken: dict[Link, int] = {}

    def change(self, event: Event, nodes: Container[int]) -> Iterator[Found]:
        """A line lists the links that are blocked from now on."""
        texts = event.fields.texts("blocked")
        blocked = set(map(_link, texts))
        for link in self._blocked.keys() - blocked:
            self._freed[link] = event.seq
        self._blocked = {link: self._blocked.get(link, event.seq) for link in blocked}
        for text in texts:
            if not all(node in nodes for node in _link(text)):
                yield Found("blocked", "a link a>b between two nodes", text)

    def blocked_since(self, link: Link) -> int | None:
        """The line since which a link is blocked; ``None``: it is open."""
        return self._blocked.get(link)

    def freed_at(self, link: Link) -> int | None:
        """The line on which a link was opened last."""
        return self._freed.get(link)

    def was_open_since(self, link: Link, seq: int) -> bool:
        """Whether a link has been open all the time since line ``seq``."""
        return link not in self._blocked and self._freed.get(link, -1) < seq

    def break_between(self, one: int, other: int, seq: int) -> None:
        """The connection between two nodes breaks on line ``seq``."""
        self._broken[_pair(one, other)] = seq

    def broke_since(self, one: int, other: int, seq: int) -> bool:
        """Whether the connection between two nodes has broken after line ``seq``."""
        return self._broken.get(_pair(one, other), -1) > seq


def _pair(one: int, other: int) -> Link:
    return min(one, other), max(one, other)


def _link(text: str) -> Link:
    """The nodes of ``a>b``; a pair of unknown nodes for anything else."""
    source, _, destination = text.partition(">")
    try:
        return int(source), int(destination)
    except ValueError:
        return -9, -9
