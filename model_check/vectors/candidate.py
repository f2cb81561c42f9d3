"""A vector that may be chosen, before its JSON is made, and what provides them for a kind of system."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from kraftcheck.support.codec import Json
from kraftcheck.systems.scenario import Scenario
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


class Candidates(Protocol):
    """The vectors of a kind of system (:attr:`kraftcheck.systems.kind.Kind.vectors`). ``names``: the values
    of the field ``node`` of its vectors.
    """

    @property
    def names(self) -> tuple[str, ...]: ...

    def of_scenario(self, scenario: Scenario, max_states: int) -> Iterator[Candidate]:
        """The candidates among the steps that exploring a scenario takes."""
        ...

    def beyond(self) -> Iterator[tuple[str, str]]:
        """The tasks for steps that no scenario takes: a kind and a name each."""
        ...

    def of_task(self, kind: str, name: str) -> Iterator[Candidate]:
        """The candidates of one of these tasks."""
        ...

    def difference(self, vector: Mapping[str, Json], where: str) -> str | None:
        """The field in which the reference differs from ``vector``, with both values; ``None``: it agrees.
        Raises InputError for data that is no vector.
        """
        ...

    def in_steps(self) -> Mapping[str, tuple[str, ...]]:
        """The rules that can decide a step, and where they do."""
        ...

    def why_silent(self, rule: str) -> str | None:
        """Why a rule never decides a step, where that is known."""
        ...
