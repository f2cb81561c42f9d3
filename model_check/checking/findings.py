"""Known defects of Kafka or a document, and the recognition of their counterexamples.

The recognition uses structure alone: the property, and steps by the rules that decided in them, in order.
That is a resemblance, not a proof, so the texts use "looks like".
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from kraftcheck.systems.kind import Place, Run
    from kraftcheck.traces.model import Trace, TraceStep


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Pattern(_Entry):
    """The conditions on a step; see ``findings.toml``."""

    action: tuple[str, ...] = ()
    message: str = ""
    at: str = ""
    sender: str = Field("", alias="from")
    about: str = ""
    start: bool = False
    rules: frozenset[str] = frozenset()
    lacks: frozenset[str] = frozenset()
    effects: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()
    fatal: bool = False
    end: bool = False
    repeats: bool = False
    fault: str = ""


class Recorded(_Entry):
    """The finding in a recorded run; see ``findings.toml``."""

    property: str
    hazard: bool = False
    event: str | None = None
    role: str | None = None
    voters: int | None = None
    exception: re.Pattern[str] | None = None
    new_disk: bool = Field(False, alias="new-disk")
    lost_after: str | None = Field(None, alias="lost-after")
    cause: str

    def fits(
        self,
        property: str,
        *,
        hazard: bool,
        event: str,
        role: str | None = None,
        voters: int | None = None,
        exception: str = "",
        new_disk: bool = False,
        lost_after: Collection[str] = (),
    ) -> bool:
        """Whether a violation in a recorded run looks like this one.

        ``event``: the kind of the event; where a process ends, that of the message that it was handling.
        ``lost_after``: properties that replicas violated by the same cause before they lost records.
        """
        return (
            (self.property, self.hazard) == (property, hazard)
            and self.event in (None, event)
            and self.role in (None, role)
            and self.voters in (None, voters)
            and (self.exception is None or self.exception.search(exception) is not None)
            and (new_disk or not self.new_disk)
            and (self.lost_after is None or self.lost_after in lost_after)
        )


class Known(_Entry):
    """A finding; see ``findings.toml``."""

    id: str
    scenarios: tuple[str, ...]
    properties: tuple[str, ...]
    variants: tuple[str, ...]
    past: str
    steps: tuple[Pattern, ...]
    recorded: tuple[Recorded, ...] = ()

    @property
    def sets_a_key(self) -> bool:
        """Whether ``past`` is a key with its value, and not a sentence."""
        return " = " in self.past

    @property
    def place(self) -> str:
        """The page that describes it."""
        return f"docs/findings/{_page_of()[self.id]}.md"


@cache
def _page_of() -> dict[str, str]:
    text = (resources.files("kraftcheck.checking") / "finding_pages.toml").read_text(encoding="utf-8")
    return {finding: page["name"] for page in tomllib.loads(text)["page"] for finding in page["findings"]}


#: The replica of each letter of the patterns.
_Who = dict[str, "Place"]


@cache
def known_findings() -> tuple[Known, ...]:
    """The entries of ``findings.toml``, in order: of two that fit the first one counts."""
    text = (resources.files("kraftcheck.checking") / "findings.toml").read_text(encoding="utf-8")
    return tuple(Known.model_validate(entry) for entry in tomllib.loads(text)["finding"])


def recognised(trace: Trace, *, of_any_variant: bool = False) -> Known | None:
    """The finding that the counterexample ``trace`` looks like. ``of_any_variant``: also where the finding is
    one of other variants of the protocol.
    """
    return next((known for known in known_findings() if _fits(known, trace, of_any_variant)), None)


def in_words(known: Known, violated: str) -> str:
    """The finding that a violation looks like, and the keys of a scenario that avoid it."""
    found = f"{violated}: this looks like the finding {known.id} ({known.place}; {known.scenarios[0]})."
    if not known.past:
        return found
    key = f"write {known.past} in the scenario" if known.sets_a_key else known.past
    return f"{found} To see other violations, {key}."


def as_data(known: Known, violated: str) -> dict[str, Any]:
    """The same for machines."""
    return {
        "property": violated,
        "looks_like": known.id,
        "described_in": known.place,
        "scenarios": list(known.scenarios),
        "goes_past": known.past or None,
    }


def faults(trace: Trace) -> dict[int, str]:
    """By the number of a step the id of the rule that decided in it and is at fault in the finding that
    ``trace`` looks like; nothing if it looks like none.
    """
    known = None if trace.property is None else recognised(trace)
    if known is None:
        return {}
    numbers = _steps_like(known.steps, trace, 0, {}) or ()
    return {number: each.fault for number, each in zip(numbers, known.steps, strict=True) if each.fault}


def _fits(known: Known, trace: Trace, of_any_variant: bool) -> bool:
    scenario: Any = trace.scenario
    protocol = scenario.protocol
    variant = protocol.preset if hasattr(protocol, "preset") else protocol.form
    family = "kafka" if variant.startswith("kafka-") else variant  # Releases differ from it in few rules.
    wanted = trace.property in known.properties and (of_any_variant or family in known.variants)
    return wanted and _steps_like(known.steps, trace, 0, {}) is not None


def _steps_like(patterns: Sequence[Pattern], trace: Trace, begin: int, who: _Who) -> tuple[int, ...] | None:
    """The numbers of steps after number ``begin`` that are like ``patterns``, in order."""
    if not patterns:
        return ()
    first, rest = patterns[0], patterns[1:]
    for number in range(begin, len(trace.steps)):
        if (first.end and number != len(trace.steps) - 1) or (
            first.repeats and (trace.loop is None or number < trace.loop)
        ):
            continue
        for named in _named(first, trace.steps[number], who):
            later = _steps_like(rest, trace, number + 1, named)
            if later is not None:
                return (number + 1, *later)
    return None


def _named(pattern: Pattern, step: TraceStep, who: _Who) -> Iterator[_Who]:
    """The letters with those of ``pattern``, if ``step`` is like it."""
    kind = step.action.partition(" at ")[0]
    message = type(step.message.payload).__name__ if step.message is not None else ""
    if step.kind == "lose" or (pattern.action and kind not in pattern.action):
        return
    if pattern.message and pattern.message != message:
        return
    of_a_run = pattern.model_fields_set & {"start", "rules", "lacks", "effects", "never", "fatal"}
    if of_a_run and not any(_ran(pattern, run) for run in step.runs):
        return
    named = dict(who)
    source = step.message.source if step.message is not None else None
    asked = re.search(r"\((\d+)", step.action)
    about = int(asked[1]) if asked else None
    for letter, place in ((pattern.at, step.replica), (pattern.sender, source), (pattern.about, about)):
        if not letter:
            continue
        taken = any(each == place for other, each in named.items() if other != letter)
        if place is None or taken or named.setdefault(letter, place) != place:
            return
    yield named


def _ran(pattern: Pattern, run: Run) -> bool:
    happened = [type(effect).__name__ for effect in run.effects[: run.completed]]
    never = {type(effect).__name__ for effect in run.effects[run.completed :]}
    # Kafka 3.9 has the transitions of the states before KIP-996.
    rules = {f"TRANS-{rule[4:]}" if rule.startswith("OLD-") else rule for rule in run.rules}
    return (
        (run.start or not pattern.start)
        and pattern.rules <= rules | set(run.rules)
        and not pattern.lacks & set(run.rules)
        and pattern.effects <= set(happened)
        and pattern.never <= never - set(happened)
        and ("Fatal" in happened or not pattern.fatal)
    )
