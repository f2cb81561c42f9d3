"""The known differences of Apache Kafka from the proved systems: expected steps outside the proof.

Each is a guard without which the proof fails, and a finding in Apache Kafka; see "What is proved of what" in
``docs/proofs.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

from kraftcheck.proof.refinement.walk import Taken


@dataclass(frozen=True, slots=True)
class Difference:
    """``name`` is its name in reports; ``says`` describes Kafka's behaviour; ``guards`` are the (action,
    guard) that fail; ``scenario`` shows it.
    """

    name: str
    says: str
    guards: frozenset[tuple[str, str]]
    scenario: str


BROKER = Difference(
    "broker-log-shown",
    "fetches as a broker, whose log counts for nothing (HWM-5), with records that it has not flushed",
    frozenset({("fetch", "which is flushed")}),
    "observer",
)
DIFFERENCES = (
    BROKER,
    Difference(
        "unflushed-log-shown",
        "fetches, stands for election or asks for votes with records that it has not flushed",
        frozenset(
            {
                ("fetch", "which is flushed"),
                ("become-candidate", "its log is flushed"),
                ("ask-for-votes", "which is flushed"),
            }
        ),
        "finding-restart-before-write-back",
    ),
    Difference(
        "unflushed-log-counted",
        "counts the own log of a leader before it is flushed",
        frozenset({("count-own-log", "which is flushed")}),
        "finding-removal-before-flush",
    ),
    Difference(
        "candidate-under-leader",
        "becomes Candidate by its own stored vote at a restart, although a leader is stored",
        frozenset({("restart", "no Candidate if it knows a leader")}),
        "finding-second-leader-of-epoch",
    ),
)
#: By the names of reports.
BY_NAME = {each.name: each for each in DIFFERENCES}
NAMES = frozenset(BY_NAME)


def difference(taken: Taken, guard: str) -> str | None:
    """The name of the listed difference by which ``guard`` of an action that was taken fails."""
    for each in DIFFERENCES:
        if (each is BROKER) == taken.flushes:
            continue
        if (taken.action, guard) in each.guards:
            return each.name
    return None
