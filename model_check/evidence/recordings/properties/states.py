"""A step's states, quorum-state file, role and votes as facts: epochs, leaders, transitions, voter sets."""

from __future__ import annotations

from kraftcheck.evidence.history.chain import Link
from kraftcheck.evidence.history.facts import Key, Violation, VoteAnswer
from kraftcheck.evidence.history.progress import check_step
from kraftcheck.evidence.history.replica import WholeState
from kraftcheck.evidence.history.transitions import (
    OBSERVER,
    STANDING,
    START,
    VOTER,
    illegal,
    legal,
    no_voter,
)
from kraftcheck.evidence.history.votes import check_log, check_pre_vote
from kraftcheck.evidence.recordings.lines import EndLine, StartLine
from kraftcheck.evidence.recordings.properties.step import Step, ballot, is_granted, stored

#: The steps of a quorum of one in a single poll: it needs no answer. A Follower may have become the only
#: voter.
_ALONE = frozenset(
    (role, "Leader") for role in ("Unattached", "Prospective", "Candidate", "Resigned", "Follower")
)


def find_file(step: Step) -> None:
    """A process must find the quorum-state file as the previous process left it."""
    line = step.event.line
    assert isinstance(line, StartLine)
    replica, found = step.replica, step.event.shown["persisted"]
    if found != replica.file_shown:
        evidence = f"finds the quorum-state file {found}, the last state written is {replica.file_shown}"
        step.violates("QuorumStateIsAtomic", evidence)
        replica.memory.forget()
    if line.found is not None:
        replica.file, replica.file_shown = stored(line.found), found


def write_file(step: Step) -> None:
    """The step's writes of the quorum-state file."""
    replica = step.replica
    for file, shown in zip(step.event.line.persisted, step.event.effects["persist"], strict=True):
        now = stored(file)
        step.written.append((replica.file, now))
        replica.file, replica.file_shown = now, shown
        replica.memory.stored(*now, step.event, step.report)
        step.knows_leader(now.epoch, now.leader)


def judge_state(step: Step) -> None:
    """Judge the state after a step, or the end of the process."""
    after, before, file = step.after, step.before, step.replica.file
    if after is None:
        _judge_end(step)
        return
    if file is None or file.epoch < after.epoch:
        evidence = (
            f"is in epoch {after.epoch}, its quorum-state file in {'none' if file is None else file.epoch}"
        )
        step.violates("EpochMonotone", evidence)
    if after.last_epoch > after.epoch:
        evidence = f"has records of epoch {after.last_epoch} in epoch {after.epoch}"
        step.violates("LogEpochsMonotone", evidence)
    step.replica.memory.observe(after, step.event, step.report)
    step.knows_leader(after.epoch, after.leader)
    if after.role == "Leader" and not (before is not None and before[:2] == after[:2]):
        _judge_elected(step, after.epoch)
    if before is None:
        _judge_start(step, after)
    elif before[:2] != after[:2]:
        _judge_change(step, before, after)


def _judge_end(step: Step) -> None:
    line = step.event.line
    if isinstance(line, EndLine) and line.reason == "fatal":
        cause = (line.exception or "an exception").partition("\n")[0]
        role = "at its start" if step.before is None else f"as {step.before.role}"
        step.violates("NoFatal", f"the process ends {role}: {cause}")


def _judge_elected(step: Step, epoch: int) -> None:
    key = step.replica.key
    other = step.run.led.get(epoch)
    if other is None:
        step.run.led[epoch] = key
    elif other != key:
        step.violates(
            "SingleLeaderPerEpoch", f"becomes Leader of epoch {epoch}, which {other} has led before", other.id
        )
    elif step.replica.memory.led is step.event:
        # Its memory of the epoch has begun anew since, after another epoch or a role that it must not have.
        evidence = f"becomes Leader of epoch {epoch}, which it has led before"
        step.violates("NoReturnAfterLeading", evidence)


def _judge_start(step: Step, after: WholeState) -> None:
    members = VOTER if after.is_voter else OBSERVER
    alone = after.role == "Leader" and _is_only_voter(step, after)
    if not alone and not any(legal(step.run.tables, START, after.role, one, members) for one in (0, 1)):
        step.report(illegal(step.run.tables, START, after, 0, None))
    if not after.is_voter and after.role in STANDING:
        step.report(no_voter(step.replica.id, after, [key.id for key in after.voters]))
    file = step.written[0][0] if step.written else step.replica.file
    if file is None or file.leader is None or file.epoch != after.epoch or after.leader == step.replica.id:
        return
    if after.role == "Candidate" and step.replica.log.epoch == after.epoch:
        evidence = (
            f"starts as Candidate of epoch {after.epoch}, whose leader {file.leader} is in its quorum-state "
            "file and a record of which is in its log"
        )
        hazard = Violation("NoFatal", "", evidence, others=(file.leader,))
        step.run.findings.add(step.event, step.replica.id, hazard, hazard=True)


def _judge_change(step: Step, before: WholeState, after: WholeState) -> None:
    stands = after.role in STANDING and before.role not in STANDING
    if stands and not (before.is_voter or after.is_voter):
        step.report(no_voter(step.replica.id, after, [key.id for key in after.voters]))
    alone, growth = _is_only_voter(step, before), after.epoch - before.epoch
    tables, views = step.run.tables, {VOTER if view.is_voter else OBSERVER for view in (before, after)}
    if not any(_is_legal(tables, before.role, after.role, growth, view, alone) for view in views):
        step.report(illegal(tables, before.role, after, growth, None))
    elif before.role == "Resigned" and growth <= 0 and not alone:
        evidence = f"goes from Resigned of epoch {before.epoch} to {after.role} of epoch {after.epoch}"
        step.violates("ResignedLeavesItsEpoch", evidence)


def _is_only_voter(step: Step, view: WholeState) -> bool:
    return len(view.voters) == 1 and view.voters[0].matches(step.replica.key)


def _is_legal(
    tables: tuple[str, ...], old: str, new: str, growth: int, members: frozenset[str], alone: bool
) -> bool:
    """Whether transitions of the table lead from one role to another within one recorded step.

    Apart from a single one these are: a larger epoch makes a node Unattached before it handles the rest of
    the message, and a quorum of one becomes Leader at once.
    """
    if legal(tables, old, new, growth, members):
        return True
    via_unattached = growth > 0 and legal(tables, old, "Unattached", growth, members)
    if via_unattached and legal(tables, "Unattached", new, 0, members):
        return True
    return alone and growth == 1 and (old, new) in _ALONE


# Voter sets and kraft.version.


def change_voters(step: Step, old: tuple[Key, ...] | None, link: Link) -> None:
    """Judge a voter set that a leader appends after another one; ``old``: ``None``: the first in the log."""
    new, before = link.voters or (), step.before
    if old is None:
        old = () if before is None else before.voters
    check_step(frozenset(old), frozenset(new), None, step.report)
    if old and not new:
        step.violates("VoterSetNotEmpty", f"appends an empty voter set at offset {link.base}")
    same = len(old) == len(new) and all(any(one.matches(other) for other in old) for one in new)
    if same:
        return
    committed = None if before is None else before.high_watermark
    if committed is None or link.before is None or link.before.at(committed).epoch != link.epoch:
        evidence = (
            f"appends a voter set at offset {link.base} before a record of its epoch {link.epoch} is "
            "committed"
        )
        step.violates("VoterChangeNeedsOwnEpochCommit", evidence)
    if before is not None and before.kraft_version < 1:
        evidence = f"appends another voter set under kraft.version {before.kraft_version}"
        step.violates("KRaftVersionMonotone", evidence)


def judge_voters(step: Step, after: WholeState) -> None:
    """Judge kraft.version and the answers to requests that change the voter set."""
    before, progress = step.before, step.replica.progress
    if not progress.versions or progress.versions[-1][1] != after.kraft_version:
        # The record is below the end of the log, or a truncation has removed it.
        progress.read_version(after.end - 1, after.kraft_version, step.event, step.report)
    for api in ("AddRaftVoter", "RemoveRaftVoter", "UpdateRaftVoter"):
        for response, request in step.messages(api, requests=False):
            if response.content.errorCode != 0 or request is None:
                continue
            if api == "AddRaftVoter" and not request.content.ackWhenCommitted:
                continue
            offset = after.shown["votersOffset"]
            committed = max(view.high_watermark or 0 for view in (before or after, after))
            if committed <= offset:
                evidence = f"answers {api} with success, its voter set at offset {offset} is not committed"
                step.violates("VoterChangeAcknowledgedWhenCommitted", evidence)


# Votes and pre-votes.


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


def _judge_stored(step: Step, asked: VoteAnswer, name: str, what: str) -> None:
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
    progress, in_epoch = step.replica.progress, asked.epoch == before.epoch
    voted = before.voted if in_epoch else None
    if asked.pre_vote and in_epoch:
        check_pre_vote(asked, before, progress, step.report)
        _judge_effects(step, before, asked)
    elif asked.pre_vote or voted is None or not voted.matches(asked.candidate):
        check_log(asked, progress, step.report)
    own = step.replica.key.directory
    if asked.voter is not None and asked.voter != own:
        kind = "pre-vote" if asked.pre_vote else "vote"
        evidence = f"grants a {kind} asked of directory {asked.voter}, and has directory {own}"
        step.violates("WipedReplicaIsAnother", evidence, asked.candidate.id)


def _judge_effects(step: Step, before: WholeState, asked: VoteAnswer) -> None:
    changed = ["quorum-state file"] if step.event.line.persisted else []
    changed += ["log"] if step.event.line.log else []
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
