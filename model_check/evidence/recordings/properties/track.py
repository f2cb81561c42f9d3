"""What is known of a node while a run is judged, and one step of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kraftcheck.evidence.history.chain import Link
from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.evidence.recordings.properties.view import Key, Stored, View
from kraftcheck.evidence.recordings.recording import Event, Message


@dataclass(slots=True)
class Track:
    """A node. A wiped disk makes another one of the same id.

    log, flushed: its log, and the offset below which it was written to disk. file: what the quorum-state
    file holds, typed and as recorded. view: the state after its last step, ``None`` while no process runs.
    has_fetched: whether it has fetched successfully from the leader it follows. known_high_watermark: the
    largest one the process has had.
    """

    key: Key
    log: Link
    flushed: int = 0
    file: Stored | None = None
    file_shown: Json = None
    view: View | None = None
    has_fetched: bool = False
    known_high_watermark: int = 0

    @property
    def id(self) -> int:
        return self.key[0]


@dataclass(slots=True)
class Step:
    """A step of a node while it is judged.

    before, after: the states around it, ``None`` where no process runs. written: the quorum-state file
    before and after each write. log_before: the log as the step began.
    """

    event: Event
    node: Track
    before: View | None
    after: View | None
    log_before: Link
    messages: dict[int, Message]
    reporter: Callable[[str, Event, tuple[int, ...], str, bool], None]
    written: list[tuple[Stored | None, Stored]] = field(default_factory=list)

    def report(self, property: str, evidence: str, *others: int, hazard: bool = False) -> None:
        """This step violates ``property``; ``others`` are further nodes involved."""
        self.reporter(property, self.event, (self.node.id, *others), evidence, hazard)
