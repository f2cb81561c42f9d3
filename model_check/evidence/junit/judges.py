"""By property the assertion of a test: whether the replicas have done what the property forbids."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from kraftcheck.evidence.adapters.asked import Question
from kraftcheck.systems.kraft.network import request_of

#: The property that is judged by the last event itself.
NO_FATAL = "NoFatal"


class Judge(NamedTuple):
    """An assertion. parts: the files of Java that it needs; observe: calls after each poll; last: the kind of
    event that it is about, ``""`` for any; before, after: statements around the last event.
    """

    parts: tuple[str, ...] = ()
    observe: tuple[str, ...] = ()
    last: str = ""
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@cache
def judges() -> dict[str, Judge]:
    """All assertions, by property."""
    text = resources.files(__package__).joinpath("judges.toml").read_text(encoding="utf-8")
    found = {name: _judge(each) for name, each in tomllib.loads(text).items()}
    return {NO_FATAL: Judge(), **found}


def _judge(table: dict[str, Any]) -> Judge:
    parts, observe, before, after = (
        tuple(table.get(key, ())) for key in ("parts", "observe", "before", "after")
    )
    return Judge(parts, observe, table.get("last", ""), before, after)


def fits(judge: Judge, question: Question) -> bool:
    """Whether the last event is of the kind that an assertion is about."""
    names = (type(question.event).__name__, type(request_of(question.event)).__name__)  # type: ignore[arg-type]
    return not judge.last or judge.last in names
