"""A cell of a campaign: one exploration, and everything that defines it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Literal

Engine = Literal["check", "simulate"]

#: The unchanged reference, as a coordinate; and what the scenario itself says of its protocol and bounds.
NO_MUTANT = "none"
AS_WRITTEN = "scenario"
#: The form of cells; part of their ids.
FORM = 1


@dataclass(frozen=True)
class Limits:
    """Where a cell ends: seconds of wall time, resident bytes, distinct states (``None``: any number)."""

    seconds: int
    memory: int
    states: int | None


@dataclass(frozen=True)
class Cell:
    """An exploration of a campaign.

    scenario: its name; content: the scenario that is explored, as JSON, with ``protocol`` and ``bounds``
    applied. mutant_content: the mutant as JSON. judged: the property judged alone. mutant_alone: judged as
    ``kraftcheck mutate`` judges a mutant. expects: whether what is expected is known: of a scenario that is
    explored as it is written, or of a mutant in its own scenario. seed, walks, depth: of walks only.
    """

    scenario: str
    content: str
    protocol: str = AS_WRITTEN
    bounds: str = AS_WRITTEN
    mutant: str = NO_MUTANT
    mutant_content: str | None = None
    judged: str | None = None
    mutant_alone: bool = False
    engine: Engine = "check"
    seed: int | None = None
    walks: int | None = None
    depth: int | None = None
    keep_going: bool = False
    coverage: bool = False
    expects: bool = True
    limits: Limits = Limits(120, 2 * 2**30, None)

    def id(self, sources: str) -> str:
        """A name for what this cell finds: 32 hexadecimal digits. ``sources``: a digest of what runs it."""
        content = json.dumps([FORM, sources, asdict(self)], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:32]

    @cached_property
    def expected(self) -> str | None:
        """What is expected to be found, in words; ``None`` where that is not known."""
        if not self.expects:
            return None
        if self.mutant_content is not None:
            return "holds" if self.judged is None else f"violated: {self.judged}"
        expect = json.loads(self.content)["expect"]
        return "holds" if expect["verdict"] == "holds" else f"violated: {', '.join(expect['violates'])}"

    @property
    def control(self) -> Cell:
        """The unchanged reference in the same place; whether its coverage is noted makes no difference."""
        return replace(
            self,
            mutant=NO_MUTANT,
            mutant_content=None,
            judged=None,
            mutant_alone=False,
            expects=self.protocol == self.bounds == AS_WRITTEN,
            coverage=False,
        )

    def task(self, sources: str) -> str:
        """What an executor needs to run it, as JSON."""
        return json.dumps({"cell": self.id(sources), "sources": sources, **asdict(self)})


def from_task(text: str) -> tuple[Cell, str, str]:
    """The cell of a task, its id, and the digest of the sources that are to run it."""
    data: dict[str, Any] = json.loads(text)
    id_, sources = data.pop("cell"), data.pop("sources")
    return Cell(**data | {"limits": Limits(**data["limits"])}), id_, sources
