"""Statements about numbers and finite sets, each decided by the solver with one formula."""

from __future__ import annotations

from dataclasses import dataclass

from kraftcheck.proof.logic import Formula


@dataclass(frozen=True)
class Statement:
    """A statement. ``holds`` is whether it is to be proved, or to be refuted by an example.

    ``premise`` is its assumption: if that were unsatisfiable, the statement would be vacuous.
    """

    name: str
    says: str
    rules: tuple[str, ...]
    premise: Formula
    conclusion: Formula
    holds: bool = True
