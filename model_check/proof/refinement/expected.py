"""The scenarios, differences and mutants of ``expected.toml``."""

from __future__ import annotations

from kraftcheck.proof.refinement.actions import Taken
from kraftcheck.proof.tables import Table, read


class Difference(Table, frozen=True):
    """A known difference of Apache Kafka from the proved systems, an expected step outside the proof.

    ``name`` is its name in reports; ``says`` describes Kafka's behaviour; ``guards`` are the (action, guard)
    that fail, of replicas that flush nothing where ``of_brokers``, else of others; ``scenario`` shows it.
    """

    name: str
    says: str
    scenario: str
    guards: frozenset[tuple[str, str]]
    of_brokers: bool = False


class _Surviving(Table, frozen=True):
    why: str
    tried: dict[str, str]


class _Expected(Table, frozen=True):
    small: tuple[str, ...]
    large: tuple[str, ...]
    differing: tuple[str, ...]
    expected: dict[str, frozenset[str]]
    difference: tuple[Difference, ...]
    killed: dict[str, str]
    surviving: tuple[_Surviving, ...]


EXPECTED = read("refinement/expected.toml", _Expected)
#: The scenarios of the refinement check.
ALL = EXPECTED.small + EXPECTED.large + EXPECTED.differing
#: The differences by their names.
DIFFERENCES = {each.name: each for each in EXPECTED.difference}
NAMES = frozenset(DIFFERENCES)


def difference(taken: Taken, guard: str) -> str | None:
    """The name of the listed difference by which ``guard`` of an action that was taken fails."""
    for each in EXPECTED.difference:
        if each.of_brokers is not taken.flushes and (taken.action, guard) in each.guards:
            return each.name
    return None


def allowed(scenario: str) -> frozenset[str]:
    """The listed differences that may occur in ``scenario``: all of them, if the file does not name it."""
    return EXPECTED.expected.get(scenario, frozenset() if scenario in ALL else NAMES)
