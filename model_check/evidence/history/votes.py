"""Answers to vote requests, held against the state of the replica that gave them.

Production decides in the canGrantVote methods of its state classes; the same in the catalogue: VOTE-8 to
VOTE-14 for standard votes, PREVOTE-10 to PREVOTE-13 for pre-votes.
"""

from __future__ import annotations

from typing import Final

from kraftcheck.evidence.history.facts import NOT_SHOWN, Report, State, Violation, VoteAnswer
from kraftcheck.evidence.history.progress import Progress

_VOTING: Final = frozenset({"Unattached", "Voted", "Prospective"})


def check_vote(vote: VoteAnswer, state: State, progress: Progress, report: Report) -> None:
    """Judge an answer that a replica gave in its epoch, being in ``state``."""
    if vote.pre_vote:
        check_pre_vote(vote, state, progress, report)
    else:
        _check_standard(vote, state, progress, report)


def check_pre_vote(vote: VoteAnswer, state: State, progress: Progress, report: Report) -> None:
    """Judge an answer to a pre-vote request."""
    fetched, others = progress.fetched, (vote.candidate.id,)
    if vote.granted and state.role == "Leader":
        expected = "a rejection by the leader"
        report(Violation("FetchingFollowerRejectsPreVote", expected, "granted", others=others))
    elif vote.granted and state.role == "Follower" and fetched is not None:
        expected = f"a rejection, having fetched from leader {state.leader}"
        report(Violation("FetchingFollowerRejectsPreVote", expected, "granted", fetched, others=others))
    elif state.role not in ("Leader", "Follower") or vote.granted:
        check_log(vote, progress, report)


def _check_standard(vote: VoteAnswer, state: State, progress: Progress, report: Report) -> None:
    voted = state.voted
    if vote.granted:
        if (
            state.role not in _VOTING
            or voted is NOT_SHOWN
            or voted is None
            or not voted.matches(vote.candidate)
        ):
            expected = f"a vote for {vote.candidate} on record before it is granted"
            report(Violation("vote-answer", expected, str(state)))
        else:
            check_log(vote, progress, report)
    elif state.role in _VOTING and voted is not NOT_SHOWN:
        if voted is not None and voted.directory is not None and voted == vote.candidate:
            expected = f"a vote for {vote.candidate} to be granted again"
            report(Violation("vote-answer", expected, "rejected"))
        elif voted is None and state.leader is None:
            check_log(vote, progress, report)


def check_log(vote: VoteAnswer, progress: Progress, report: Report) -> None:
    """Judge that the vote goes to a candidate whose log is as long as this one, where its end is known."""
    if progress.end is None or progress.end_epoch is None:
        return
    is_as_long = (vote.last_epoch, vote.last_offset) >= (progress.end_epoch, progress.end)
    if is_as_long != vote.granted:
        expected = "rejected" if vote.granted else "granted"
        own = f"epoch {progress.end_epoch}, offset {progress.end}"
        candidate = f"epoch {vote.last_epoch}, offset {vote.last_offset}"
        answer = "granted" if vote.granted else "rejected"
        found = f"{answer}: the candidate's log ends with {candidate}, this one with {own}"
        others = (vote.candidate.id,)
        report(Violation("VoteComparesEpochFirst", expected, found, progress.end_where, others=others))
