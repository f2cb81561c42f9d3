"""Findings in Apache Kafka that a problem in logs looks like (``signatures.toml``)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from kraftcheck.evidence.logs.findings import Problem


class Signature(NamedTuple):
    """How ``findings`` look: a check that fails, with ``found`` in what was found; ``look``: what tells."""

    findings: tuple[str, ...]
    check: str
    found: re.Pattern[str]
    look: str


class Likeness(NamedTuple):
    """A problem that looks like findings."""

    problem: Problem
    signature: Signature


@cache
def signatures() -> tuple[Signature, ...]:
    """All signatures."""
    text = (files("kraftcheck.evidence.logs") / "signatures.toml").read_text("utf-8")
    return tuple(
        Signature(tuple(each["findings"]), each["check"], re.compile(each["found"], re.S), each["look"])
        for each in tomllib.loads(text)["signature"]
    )


def likenesses(problems: Iterable[Problem]) -> Iterator[Likeness]:
    """The problems that look like findings, the first of each signature."""
    seen = set[Signature]()
    for problem in problems:
        for signature in signatures():
            fits = signature.check == problem.check and signature.found.search(problem.found)
            if fits and signature not in seen:
                seen.add(signature)
                yield Likeness(problem, signature)
