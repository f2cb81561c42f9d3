"""Mutants of the reference that the refinement check kills, each in a process of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kraftcheck.support import forks
from kraftcheck.support.errors import InputError, ProcessKilledError
from kraftcheck.support.failures import ended_by_the_machine

#: By mutant of ``mutants.toml``, a scenario in which the refinement check kills it.
KILLED = {
    # Elections and voting.
    "majority-is-half": "parity-crash",
    "pre-votes-counted-as-votes": "three-voters-crash",
    "pre-vote-grant-recorded": "parity-message-loss",
    "pre-vote-raises-epoch": "parity-message-loss",
    "old-leader-followed": "two-voters-restart",
    "old-epoch-responses-accepted": "mutants-old-epoch",
    "resigned-leader-votes": "mutants-two-candidates",
    "grant-without-looking-at-vote": "mutants-two-candidates",
    "grant-without-comparing-logs": "parity-leader-removes-itself",
    "vote-without-comparing-logs": "parity-leader-removes-itself",
    # Persistence and restarts.
    "vote-not-persisted": "parity-crash",
    "answer-before-persisting": "parity-crash",
    "own-vote-not-persisted": "parity-crash",
    "new-epoch-not-persisted": "parity-crash",
    "following-not-persisted": "parity-crash",
    "leadership-not-persisted": "parity-crash",
    "quorum-state-written-in-place": "parity-crash",
    "candidate-restarts-without-vote": "parity-crash",
    "leader-restarts-as-leader": "parity-crash",
    "leader-restarts-unattached": "parity-crash",
    "vote-dropped-on-restart": "parity-crash",
    "vote-dropped-on-restart-as-follower": "parity-crash",
    "vote-of-a-prospective-not-persisted": "mutants-two-candidates",
    "leader-does-not-flush": "parity-crash",
    "follower-does-not-flush": "parity-crash",
    # Logs that diverge.
    "every-offset-is-valid": "parity-leader-removes-itself",
    "compare-offsets-only": "three-voters-diverge",
    "truncation-keeps-epoch-start": "mutants-diverged",
    "position-beyond-the-end-of-its-epoch": "diverged-tail",
    "epochs-survive-truncation": "diverged-epochs",
    "truncate-below-high-watermark": "parity-leader-removes-itself",
    "diverging-fetch-counts": "parity-leader-removes-itself",
    # Commitment.
    "commit-at-epoch-start": "parity-crash",
    "majority-index-rounded-down": "parity-crash",
    "sent-counts-as-stored": "parity-crash",
    "high-watermark-beyond-own-log": "mutants-catch-up",
    "high-watermark-goes-back": "mutants-timed-out-change",
    "removed-leader-counts-itself": "mutants-leader-removed",
    "leader-counts-the-old-voters": "voters-grow-1-to-3",
    # Voter changes.
    "two-changes-at-once": "mutants-two-changes",
    "voter-set-is-a-delta": "mutants-two-changes",
    "two-changes-lose-records": "mutants-two-removals",
    "change-on-uncommitted-voters": "mutants-timed-out-change",
    "voter-set-applied-on-commit": "mutants-timed-out-change",
    "voter-set-applied-on-commit-by-followers": "parity-leader-removes-itself",
    "change-before-own-commit": "mutants-early-change",
    "single-server-change-bug": "mutants-early-change",
}

_NOT_NEEDED = "the proof makes no use of the guard: safety does not rest on it"
_LESS = "less is cut than may be; what is cut too little, the next fetch finds again"
_ALIVE = "nothing wrong happens, but less or later than it should"
_TWICE = "another guard refuses the same: no behaviour changes that the proof sees"
#: By mutant that survives the refinement check: the scenario in which it was tried, and the reason.
SURVIVING = {
    "leader-grants-pre-vote": ("parity-message-loss", _NOT_NEEDED),
    "fetching-follower-grants-pre-vote": ("parity-message-loss", _NOT_NEEDED),
    "candidate-without-pre-votes": ("parity-message-loss", _NOT_NEEDED),
    "candidate-vote-rule-removed": ("parity-crash", _NOT_NEEDED),
    "diverging-end-of-wrong-epoch": ("mutants-diverged", _LESS),
    "truncate-to-the-leaders-end": ("mutants-diverged", _LESS),
    "truncates-where-the-leader-says": ("diverged-epochs", _LESS),
    "no-record-opens-the-epoch": ("parity-crash", _ALIVE),
    "old-epoch-requests-accepted": ("two-voters-restart", _ALIVE),
    "start-not-persisted": ("parity-crash", _ALIVE),
    "known-leader-rule-removed": ("parity-crash", _TWICE),
    "truncation-guard-removed": ("mutants-committed", _TWICE),
    "batch-behind-a-gap-appended": ("diverged-epochs", _TWICE),
    "update-on-uncommitted-voters": (
        "mutants-moved-voter",
        "the set has the same ids as the one before it: a record like any other",
    ),
}


@dataclass(frozen=True)
class Verdict:
    """Whether a mutant was killed, and the failures: guards of actions, or conjuncts."""

    killed: bool
    why: tuple[str, ...]
    seconds: float

    def as_data(self) -> dict[str, Any]:
        """As JSON data."""
        return {"killed": self.killed, "why": list(self.why), "seconds": self.seconds}


class Mutants:
    """Checks mutants, each in a process forked from one that has imported their common modules."""

    def __init__(self) -> None:
        self._server = forks.Server("kraftcheck.proof.refinement.worker")

    def __enter__(self) -> Mutants:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def refute(self, mutant: str, scenario: str | None = None) -> Verdict:
        """Check ``mutant`` in ``scenario`` (that of ``KILLED``). Raises InputError where that fails."""
        answer = self._server.ask(f"{mutant} {scenario or KILLED[mutant]}")
        if answer is None:
            raise ProcessKilledError
        if ended_by_the_machine(answer["status"]):
            raise ProcessKilledError if answer["status"] < 0 else MemoryError
        if not answer["found"]:
            raise InputError(f"mutant '{mutant}' could not be judged; its process ended without a verdict.")
        (found,) = answer["found"]
        if "error" in found:
            raise InputError(found["error"])
        return Verdict(found["killed"], tuple(found["why"]), found["seconds"])
