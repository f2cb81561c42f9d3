"""The votes and pre-votes of a step as facts."""

from __future__ import annotations

from kraftcheck.evidence.history.facts import VoteAnswer
from kraftcheck.evidence.history.replica import WholeState
from kraftcheck.evidence.history.votes import check_log, check_pre_vote
from kraftcheck.evidence.recordings.properties.run import Step
from kraftcheck.evidence.recordings.properties.view import Ballot, ballot, is_granted


def judge_sent(step: Step) -> None:
    """Judge requested and granted votes: once in an epoch, and stored before."""
    for message, _ in step.messages("Vote", requests=True):
        asked = ballot(message)
        if asked is not None and not asked.pre_vote:
            step.replica.memory.voted_for(step.replica.key, asked.epoch, step.event, step.report)
            _judge_stored(step, asked, "SelfVoteSurvivesRestart", "asks for votes")
    for message, request in step.messages("Vote", requests=False):
        asked = ballot(request)
        if asked is not None and not asked.pre_vote and is_granted(message):
            step.replica.memory.voted_for(asked.candidate, asked.epoch, step.event, step.report)
            _judge_stored(step, asked, "VotedOncePerEpoch", "grants its vote")


def _judge_stored(step: Step, asked: Ballot, name: str, what: str) -> None:
    file = step.replica.file
    stored = None if file is None or file.epoch != asked.epoch else file.voted
    if stored is None or not stored.matches(asked.candidate):
        step.violates(name, f"{what} in epoch {asked.epoch} before its vote for {asked.candidate} is stored")


def judge_epoch(step: Step) -> None:
    """Judge that no pre-vote is the origin of an epoch that no node has had before."""
    after, before, run = step.after, step.before, step.run
    if after is None:
        return
    if after.epoch > run.largest_epoch and before is not None:
        handled = ballot(step.event.message)
        asked = [ballot(message) for message, _ in step.messages("Vote", requests=True)]
        if any(one is not None and one.pre_vote for one in (handled, *asked)):
            evidence = f"goes to epoch {after.epoch}, which no node had before, with a pre-vote"
            step.violates("PreVoteCreatesNoEpoch", evidence)
    if before is not None and after.role == "Prospective" != before.role and after.epoch != before.epoch:
        evidence = f"becomes Prospective and goes from epoch {before.epoch} to {after.epoch}"
        step.violates("PreVoteCreatesNoEpoch", evidence)
    run.largest_epoch = max(run.largest_epoch, after.epoch)


def judge_answer(step: Step) -> None:
    """Judge a vote or pre-vote that the step grants, by the state and the log before it."""
    before, asked = step.before, ballot(step.event.message)
    if before is None or asked is None:
        return
    if not any(is_granted(message) for message, _ in step.messages("Vote", requests=False)):
        return
    answer = VoteAnswer(asked.candidate, asked.epoch, asked.last_epoch, asked.end, asked.pre_vote, True)
    progress, in_epoch = step.replica.progress, asked.epoch == before.epoch
    voted = before.voted if in_epoch else None
    if asked.pre_vote and in_epoch:
        check_pre_vote(answer, before, progress, step.report)
        _judge_effects(step, before, asked)
    elif asked.pre_vote or voted is None or not voted.matches(asked.candidate):
        check_log(answer, progress, step.report)
    own = step.replica.key.directory
    if asked.voter is not None and asked.voter != own:
        kind = "pre-vote" if asked.pre_vote else "vote"
        evidence = f"grants a {kind} asked of directory {asked.voter}, and has directory {own}"
        step.violates("WipedReplicaIsAnother", evidence, asked.candidate.id)


def _judge_effects(step: Step, before: WholeState, asked: Ballot) -> None:
    changed = ["quorum-state file"] if step.event.persisted else []
    changed += ["log"] if step.event.log else []
    changed += [] if step.after is None else _changed_fields(before, step.after)
    if changed:
        evidence = f"grants {asked.candidate.id} a pre-vote and changes {', '.join(changed)}"
        step.violates("PreVoteGrantHasNoEffect", evidence, asked.candidate.id)


def _changed_fields(before: WholeState, after: WholeState) -> list[str]:
    """The fields of the recorded state that differ; a deadline that has passed is shown as -1."""
    old, new = before.shown, after.shown
    changed = sorted(
        name for name in old.keys() | new.keys() if name != "deadlines" and old.get(name) != new.get(name)
    )
    if "deadlines" in old:
        changed += [name for name, at in after.timers.items() if at not in (-1, before.timers.get(name))]
    return changed
