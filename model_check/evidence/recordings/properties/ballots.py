"""Votes and pre-votes as they are answered: S-13, S-30, S-31 and S-35."""

from __future__ import annotations

from kraftcheck.evidence.recordings.properties.track import Step
from kraftcheck.evidence.recordings.properties.view import Ballot, View, ballot, is_granted, same_replica
from kraftcheck.systems.kraft import names

WIPED_IS_ANOTHER = "WipedReplicaIsAnother"


class Ballots:
    """The largest epoch that any node of the run has had so far."""

    def __init__(self) -> None:
        self.largest_epoch = 0

    def judge(self, step: Step) -> None:
        """Judge what a step has to do with votes."""
        before, after = step.before, step.after
        if after is not None:
            if after.epoch > self.largest_epoch:
                self._judge_new_epoch(step, before, after)
            if after.role == "Prospective" and before is not None and before.role != "Prospective":
                self._judge_prospective(step, before, after)
            self.largest_epoch = max(self.largest_epoch, after.epoch)
        message = step.event.message
        if message is not None and message.api == "Vote" and message.is_request and before is not None:
            asked = ballot(message)
            if asked is not None:
                self._judge_answer(step, before, asked)

    @staticmethod
    def _judge_prospective(step: Step, before: View, after: View) -> None:
        if after.epoch != before.epoch:
            evidence = f"becomes Prospective and goes from epoch {before.epoch} to {after.epoch}"
            step.report(names.PRE_VOTE_CREATES_NO_EPOCH, evidence)

    def _judge_new_epoch(self, step: Step, before: View | None, after: View) -> None:
        """An epoch that no node has had before: no pre-vote may be at its origin."""
        message = step.event.message
        handled = None
        if message is not None and message.api == "Vote" and message.is_request:
            handled = ballot(message)
        asks = any(
            request is not None and request.pre_vote
            for sent in step.event.sent
            if sent.api == "Vote" and sent.is_request
            for request in [ballot(step.messages[sent.mid]) if sent.mid in step.messages else None]
        )
        if before is not None and (asks or (handled is not None and handled.pre_vote)):
            evidence = f"goes to epoch {after.epoch}, which nobody had before, with a pre-vote"
            step.report(names.PRE_VOTE_CREATES_NO_EPOCH, evidence)

    def _judge_answer(self, step: Step, before: View, asked: Ballot) -> None:
        granted = any(
            is_granted(step.messages[sent.mid])
            for sent in step.event.sent
            if sent.api == "Vote" and not sent.is_request and sent.mid in step.messages
        )
        if not granted:
            return
        who, kind = asked.candidate[0], "pre-vote" if asked.pre_vote else "vote"
        ours, theirs = (before.last_epoch, before.end), (asked.last_epoch, asked.end)
        voted = before.voted if before.epoch == asked.epoch else None
        again = not asked.pre_vote and voted is not None and same_replica(voted, asked.candidate)
        if theirs < ours and not again:
            evidence = (
                f"grants {who} a {kind} of epoch {asked.epoch}: its own log ends with epoch {ours[0]} at "
                f"{ours[1]}, that of {who} with epoch {theirs[0]} at {theirs[1]}"
            )
            step.report(names.VOTE_COMPARES_EPOCH_FIRST, evidence, who)
        if asked.voter and asked.voter != step.node.key[1]:
            evidence = (
                f"grants a {kind} asked of directory {asked.voter}, and has directory {step.node.key[1]}"
            )
            step.report(WIPED_IS_ANOTHER, evidence, who)
        if asked.pre_vote and asked.epoch == before.epoch:
            self._judge_pre_vote(step, before, who)

    def _judge_pre_vote(self, step: Step, before: View, who: int) -> None:
        fetching = before.role == "Follower" and step.node.has_fetched
        if before.role == "Leader" or fetching:
            evidence = f"is {before.role} of epoch {before.epoch} and grants {who} a pre-vote"
            step.report(names.FETCHING_FOLLOWER_REJECTS, evidence, who)
        changed = ["quorum-state file"] if step.written else []
        changed += ["log"] if step.event.log else []
        changed += [] if step.after is None else changed_fields(before, step.after)
        if changed:
            evidence = f"grants {who} a pre-vote and changes {', '.join(changed)}"
            step.report(names.PRE_VOTE_HAS_NO_EFFECT, evidence, who)


def changed_fields(before: View, after: View) -> list[str]:
    """The fields of the recorded state that differ; a deadline that has passed is shown as -1."""
    old, new = dict(before.fields.values), dict(after.fields.values)
    timers, now = old.pop("deadlines", None), new.pop("deadlines", None)
    names_of = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    if isinstance(timers, dict) and isinstance(now, dict):
        names_of += [name for name in now if now[name] not in (-1, timers.get(name))]
    return names_of
