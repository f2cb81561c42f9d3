"""Why something that scenarios can have does not happen in a state."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hindrance:
    """``what`` does not happen to a component, because of ``why``. ``what`` is called as the step would be;
    without its details, where it does not happen with any.
    """

    what: str
    why: str


def no_budget(name: str) -> str:
    """The reason where a scenario has none of a budget."""
    return f"budgets.{name.replace('_', '-')} = 0"


def is_no_budget(why: str) -> bool:
    """Whether ``why`` is such a reason."""
    return why.startswith("budgets.") and why.endswith(" = 0")
