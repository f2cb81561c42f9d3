"""Short ways to write log lines and read them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kraftcheck.evidence.logs.node_history import HistoryEntry
from kraftcheck.evidence.logs.reader import LogReport, Options, Reader
from tests.laboratory.logs.render import Drawn, record, state_text, transition_messages
from tests.laboratory.logs.synthetic import Step, Walk, clock, history

RELEASES = ("3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9", "4.0", "4.1", "4.2", "4.3", "4.4", "4.5")
VOTERS = (1, 2, 3)


def state(role: str, epoch: int, node: int = 1, **more: object) -> Drawn:
    """A state of a node in a cluster of three voters."""
    if role == "Leader":
        more.setdefault("leader", node)
    return Drawn(role, node, epoch, VOTERS, **more)  # type: ignore[arg-type]


def change(new: Drawn, old: Drawn | None, release: str = "4.3") -> list[str]:
    """The messages of a change."""
    return list(transition_messages(new, old, release))


def text_of(messages: Iterable[str], node: int = 1, release: str = "4.3", start: int = 0) -> bytes:
    """Messages as lines of a node's log."""
    times = clock(start)
    return "".join(record(next(times), node, one, release, "QuorumState") for one in messages).encode()


def read(*texts: bytes, options: Options | None = None) -> tuple[LogReport, list[HistoryEntry]]:
    """The report on texts, each read as a file, and the history told."""
    told: list[HistoryEntry] = []
    reader = Reader(options or Options(), told.append)
    for number, text in enumerate(texts, 1):
        reader.read(Path(f"{number}.log"), [text], None)
    return reader.finish(), told


def problems(*texts: bytes) -> list[str]:
    """The names of the checks that fail."""
    return [problem.check for problem in read(*texts)[0].findings.problems]


def shown(drawn: Drawn, release: str) -> tuple[object, ...]:
    """Role, epoch and, where the release prints them, leader and vote of a state."""
    text = state_text(drawn, release)
    leader: object = "hidden"
    if "leaderId=" in text or "leader=" in text:
        leader = drawn.leader
    if drawn.role in ("Leader", "Resigned"):
        leader = drawn.node
    if drawn.role in ("Candidate", "Voted"):
        leader = None
    voted: object = drawn.voted if "voted" in text or drawn.role == "Candidate" else "hidden"
    return (drawn.role, drawn.epoch, leader, voted)


def told_states(told: Iterable[HistoryEntry]) -> list[tuple[object, ...]]:
    """The states of a told history, in the form of `shown`."""
    found = []
    for entry in told:
        if entry.what in ("start", "transition") and entry.state is not None:
            one = entry.state
            leader = one.leader if isinstance(one.leader, int | None) else "hidden"
            voted = one.voted if one.voted is None else getattr(one.voted, "id", "hidden")
            found.append((one.role, one.epoch, leader, voted))
    return found


def steps_of(choose: object, release: str, count: int) -> list[Step]:
    """A legal history of node 1."""
    return list(history(Walk(1, VOTERS, release, choose), count, clock()))  # type: ignore[arg-type]
