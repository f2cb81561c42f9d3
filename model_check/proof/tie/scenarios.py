"""The scenarios by which the proofs are tied to the reference."""

from __future__ import annotations

#: Together some hundred thousand transitions: one of each kind.
SMALL = (
    "parity-crash",
    "parity-before-kip-996",
    "parity-message-loss",
    "two-voters-restart",
    "parity-two-crashes",
    "parity-leader-removes-itself",
    "grow-and-restart",
    "grow-and-power-loss",
    "upgrade-and-removal",
    "auto-join-again",
)
#: Without any step outside the proof, and with more than ten million transitions.
LARGE = (
    "three-voters-elect",
    "three-voters-crash",
    "parity-three-voters",
    "upgrade-reverted",
    "leader-removes-itself",
    "admin-retries-next-leader",
    "voter-change-reverted",
    "addition-answered-on-append",
    "replace-node",
)
#: In which production does what the proved systems do not.
DIFFERING = (
    "observer",
    "finding-single-voter-power-loss",
    "finding-removal-before-flush",
    "finding-second-leader-of-epoch",
)
ALL = (*SMALL, *LARGE, *DIFFERING)
