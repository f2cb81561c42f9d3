"""Answers to Vote requests, held against the state of the node that gave them.

Production decides in the canGrantVote methods of its state classes; the same in the catalogue: VOTE-8 to
VOTE-14 for standard votes, PREVOTE-10 to PREVOTE-13 for pre-votes.
"""

from __future__ import annotations

from typing import Final

from kraftcheck.evidence.logs.memory import Contradiction
from kraftcheck.evidence.logs.messages import VoteAnswer
from kraftcheck.evidence.logs.progress import Progress, Report
from kraftcheck.evidence.logs.states import NOT_SHOWN, LoggedState

_VOTING: Final = frozenset({"Unattached", "Voted", "Prospective"})


def check_vote(vote: VoteAnswer, state: LoggedState, progress: Progress, report: Report) -> None:
    """Judge an answer that a node in ``state`` gave in its epoch."""
    if vote.pre_vote:
        _check_pre_vote(vote, state, progress, report)
    else:
        _check_standard(vote, state, progress, report)


def _check_pre_vote(vote: VoteAnswer, state: LoggedState, progress: Progress, report: Report) -> None:
    if vote.granted and state.role == "Leader":
        report(Contradiction("pre-vote-answer", "a rejection by the leader", "granted", None))
    elif vote.granted and state.role == "Follower" and progress.fetched is not None:
        expected = f"a rejection, having fetched from leader {state.leader}"
        report(Contradiction("pre-vote-answer", expected, "granted", progress.fetched))
    elif state.role not in ("Leader", "Follower") or vote.granted:
        _check_log(vote, progress, report)


def _check_standard(vote: VoteAnswer, state: LoggedState, progress: Progress, report: Report) -> None:
    voted = state.voted
    if vote.granted:
        if (
            state.role not in _VOTING
            or voted is NOT_SHOWN
            or voted is None
            or not voted.matches(vote.candidate)
        ):
            expected = f"a vote for {vote.candidate} on record before it is granted"
            report(Contradiction("vote-answer", expected, str(state), None))
        else:
            _check_log(vote, progress, report)
    elif state.role in _VOTING and voted is not NOT_SHOWN:
        if voted is not None and voted.directory is not None and voted == vote.candidate:
            expected = f"a vote for {vote.candidate} to be granted again"
            report(Contradiction("vote-answer", expected, "rejected", None))
        elif voted is None and state.leader is None:
            _check_log(vote, progress, report)


def _check_log(vote: VoteAnswer, progress: Progress, report: Report) -> None:
    longer = progress.up_to_date(vote)
    if longer is not None and longer != vote.granted:
        expected = "rejected" if vote.granted else "granted"
        own = f"epoch {progress.end_epoch}, offset {progress.end}"
        candidate = f"epoch {vote.last_epoch}, offset {vote.last_offset}"
        answer = "granted" if vote.granted else "rejected"
        found = f"{answer}: the candidate's log ends with {candidate}, this one with {own}"
        report(Contradiction("vote-log", expected, found, progress.end_where))
