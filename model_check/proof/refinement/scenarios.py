"""The scenarios of the refinement check, and the differences that are expected in them."""

from __future__ import annotations

from kraftcheck.proof.refinement.differences import NAMES

#: Together half a million transitions, in which every action of the proof is taken.
SMALL = (
    "parity-crash",
    "parity-before-kip-996",
    "parity-message-loss",
    "two-voters-restart",
    "parity-two-crashes",
    "parity-divergence",
    "parity-leader-removes-itself",
    "grow-and-restart",
    "grow-and-power-loss",
    "upgrade-and-removal",
    "auto-join-again",
)
#: Without any step outside the proof, and with more than ten million transitions.
LARGE = (
    "three-voters-crash",
    "three-voters-diverge",
    "three-voters-elect",
    "divergence",
    "parity-three-voters",
    "upgrade-reverted",
    "addition-answered-on-append",
    "replace-node",
    "voter-change-reverted",
    "voter-misses-change",
    "leader-removes-itself",
    "admin-retries-next-leader",
    "nightly-leader-removal-completes",
    "nightly-remove-leader-and-restart",
    "nightly-shrink-and-restart",
)
#: Scenarios in which Apache Kafka differs from the proved systems.
DIFFERING = (
    "parity-observer",
    "finding-restart-before-write-back",
    "finding-single-voter-power-loss",
    "finding-removal-before-flush",
    "finding-second-leader-of-epoch",
)
ALL = (*SMALL, *LARGE, *DIFFERING)

_COUNTED = frozenset({"unflushed-log-counted"})
_EXPECTED = {
    "parity-two-crashes": _COUNTED | {"broker-log-shown"},
    "grow-and-restart": _COUNTED,
    "grow-and-power-loss": _COUNTED,
    "upgrade-and-removal": _COUNTED,
    "auto-join-again": _COUNTED,
    "parity-observer": frozenset({"broker-log-shown"}),
    "finding-restart-before-write-back": frozenset({"unflushed-log-shown"}),
    "finding-single-voter-power-loss": _COUNTED | {"unflushed-log-shown"},
    "finding-removal-before-flush": _COUNTED,
    "finding-second-leader-of-epoch": _COUNTED | {"candidate-under-leader"},
}


def allowed(scenario: str) -> frozenset[str]:
    """The listed differences that may occur in ``scenario``: all of them, if it is not named above."""
    return _EXPECTED.get(scenario, frozenset() if scenario in ALL else NAMES)
