"""A vector that may be chosen, before its JSON is made."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from kraftcheck.vectors.form import Vector


@dataclass(frozen=True, slots=True)
class Candidate:
    """A vector that may be chosen.

    tier: of what is to be covered, those of a lower one come first. features: the pairs of a rule and an
    outcome that it covers, sorted. size: characters of the question; tie: decides between equal sizes.
    """

    kind: str
    tier: int
    features: tuple[str, ...]
    size: int
    tie: str
    make: Callable[[], Vector]

    @property
    def order(self) -> tuple[int, str]:
        return self.size, self.tie


def tie(text: str) -> str:
    """The SHA-256 of a question as text."""
    return hashlib.sha256(text.encode()).hexdigest()
