"""What vectors need of a kind of system: where candidates come from, and how one is held to the reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from kraftcheck.support.codec import Json
from kraftcheck.support.errors import InputError
from kraftcheck.systems.scenario import Scenario
from kraftcheck.vectors import form
from kraftcheck.vectors.brokers import Brokers
from kraftcheck.vectors.candidate import Candidate
from kraftcheck.vectors.replicas import Replicas


class Nodes(Protocol):
    """A kind of system. ``names``: the values of the field ``node`` of its vectors."""

    @property
    def names(self) -> tuple[str, ...]: ...

    def of_scenario(self, scenario: Scenario, max_states: int) -> Iterator[Candidate]:
        """What exploring a scenario comes to."""
        ...

    def beyond(self) -> Iterator[tuple[str, str]]:
        """The tasks for what no scenario comes to: a kind and a name each."""
        ...

    def of_task(self, kind: str, name: str) -> Iterator[Candidate]:
        """What one of these tasks comes to."""
        ...

    def difference(self, vector: Mapping[str, Json], where: str) -> str | None:
        """In which field the reference does something else than ``vector`` says; ``None``: nowhere. Raises
        InputError for what is no vector.
        """
        ...

    def in_steps(self) -> Mapping[str, tuple[str, ...]]:
        """The rules that can decide a step, and where they do."""
        ...

    def why_silent(self, rule: str) -> str | None:
        """Why a rule never decides a step, where that is known."""
        ...


#: By the name of the model (:class:`kraftcheck.systems.model.Model`).
NODES: Mapping[str, Nodes] = {"replicas": Replicas(), "brokers": Brokers()}


def difference(vector: Mapping[str, Json], where: str) -> str | None:
    """See :meth:`Nodes.difference`."""
    node = vector.get("node")
    for nodes in NODES.values():
        if node in nodes.names:
            return nodes.difference(vector, where)
    raise InputError(f"{where}.node: expected one of {', '.join(form.NODES)}.")
