"""Roles and epochs of single nodes: S-8, S-32 to S-34, S-41, P-1 and P-2."""

from __future__ import annotations

from kraftcheck.evidence.recordings.properties.track import Step
from kraftcheck.evidence.recordings.properties.view import View, same_replica, stored
from kraftcheck.reference.protocol import StateMachine
from kraftcheck.systems.kraft import names
from kraftcheck.systems.kraft.checks import epoch_changes, legal_transitions

QUORUM_STATE_ATOMIC = "QuorumStateIsAtomic"
_ELECTING = ("Prospective", "Candidate", "Leader")
_ANY_CHANGE = ("same", "larger", "plus-one")


def judge(step: Step, state_machine: StateMachine) -> None:
    """Judge the change of role and epoch of one step, and how a process ends."""
    for old, new in step.written:
        if old is not None and new.epoch < old.epoch:
            step.report(names.EPOCH_MONOTONE, f"writes epoch {new.epoch} over epoch {old.epoch}")
    after = step.after
    if after is None:
        _judge_end(step)
        return
    file = step.node.file
    if file is None or file.epoch < after.epoch:
        evidence = (
            f"is in epoch {after.epoch}, its quorum-state file in {'none' if file is None else file.epoch}"
        )
        step.report(names.EPOCH_MONOTONE, evidence)
    before = step.before
    if before is None:
        _judge_start(step, after, state_machine)
    elif (before.role, before.epoch, before.leader) != (after.role, after.epoch, after.leader):
        _judge_change(step, before, after, state_machine)


def judge_file_found(step: Step) -> None:
    """A process must find the quorum-state file as the last process left it."""
    node, found = step.node, step.event.fields.value("persisted")
    if found != node.file_shown:
        old, new = node.file_shown, found
        evidence = f"finds the quorum-state file {new}, the last state written is {old}"
        step.report(QUORUM_STATE_ATOMIC, evidence)
    if found is not None:
        node.file, node.file_shown = stored(step.event.fields.inner("persisted")), found


def _judge_end(step: Step) -> None:
    fields = step.event.fields
    if fields.text("reason") == "fatal":
        cause = fields.text("exception", "an exception").partition("\n")[0]
        role = "at its start" if step.before is None else f"as {step.before.role}"
        step.report(names.NO_FATAL, f"the process ends {role}: {cause}")


def _judge_start(step: Step, after: View, state_machine: StateMachine) -> None:
    file = step.node.file
    observer = not after.is_voter
    legal = legal_transitions(state_machine, observer)
    elected_alone = after.role == "Leader" and _is_alone(step, after)
    if not elected_alone and not any(("Start", after.role, change) in legal for change in _ANY_CHANGE):
        step.report(names.TRANSITIONS_LEGAL, f"starts as {after.role}")
    if observer and after.role in _ELECTING:
        step.report(names.OBSERVERS_STAND_NO_ELECTION, f"starts as {after.role} and is no voter")
    if after.role == "Follower" and after.leader == step.node.id:
        step.report(names.RESIGNED_LEAVES_ITS_EPOCH, f"starts as Follower of itself in epoch {after.epoch}")
    if file is None or after.leader == step.node.id:
        return
    found = step.written[0][0] if step.written else file
    if found is None:
        return
    if after.epoch < found.epoch:
        step.report(names.EPOCH_MONOTONE, f"starts in epoch {after.epoch} and had reached {found.epoch}")
    if found.leader is None or found.epoch != after.epoch:
        return
    if after.role == "Candidate" and step.node.log.epoch == after.epoch:
        evidence = (
            f"starts as Candidate of epoch {after.epoch}, whose leader {found.leader} is in its quorum-state "
            "file and a record of which is in its log"
        )
        step.report(names.NO_FATAL, evidence, found.leader, hazard=True)


def _judge_change(step: Step, before: View, after: View, state_machine: StateMachine) -> None:
    if after.epoch < before.epoch:
        evidence = f"goes from epoch {before.epoch} back to {after.epoch}"
        step.report(names.EPOCH_MONOTONE, evidence)
    if after.role == "Follower" and after.leader == step.node.id:
        step.report(names.RESIGNED_LEAVES_ITS_EPOCH, f"is Follower of itself in epoch {after.epoch}")
    if (before.role, before.epoch) == (after.role, after.epoch):
        return
    change = f"goes from {before.role} of epoch {before.epoch} to {after.role} of epoch {after.epoch}"
    only_voter = _is_alone(step, before)
    if before.role == "Resigned" and after.epoch <= before.epoch and not only_voter:
        step.report(names.RESIGNED_LEAVES_ITS_EPOCH, change)
    if after.role == "Candidate" and before.role != "Prospective":
        step.report(names.CANDIDATE_FROM_PROSPECTIVE, change)
    stands = after.role in _ELECTING and before.role not in _ELECTING
    if stands and not (before.is_voter or after.is_voter):
        step.report(names.OBSERVERS_STAND_NO_ELECTION, f"{change} and is no voter")
    observers = {not before.is_voter, not after.is_voter}
    if not any(_is_legal(before, after, observer, only_voter, state_machine) for observer in observers):
        step.report(names.TRANSITIONS_LEGAL, change)


def _is_alone(step: Step, view: View) -> bool:
    """Whether the node is the only voter."""
    return len(view.voters) == 1 and same_replica(view.voters[0], step.node.key)


def _is_legal(
    before: View, after: View, observer: bool, only_voter: bool, state_machine: StateMachine
) -> bool:
    """Whether transitions of the table lead from one role to another within one recorded step.

    Besides a single one these are: a larger epoch makes a node Unattached before the rest of the message is
    looked at, and a quorum of one goes on to Leader at once.
    """
    legal = legal_transitions(state_machine, observer)

    def goes(source: str, target: str, old: int, new: int) -> bool:
        return any((source, target, change) in legal for change in epoch_changes(old, new))

    if goes(before.role, after.role, before.epoch, after.epoch):
        return True
    unattached = after.epoch > before.epoch and goes(before.role, "Unattached", before.epoch, after.epoch)
    if unattached and goes("Unattached", after.role, after.epoch, after.epoch):
        return True
    return only_voter and (before.role, after.role) in _ALONE and after.epoch == before.epoch + 1


#: What a quorum of one does in a single step: it needs nobody's answer.
_ALONE = frozenset((role, "Leader") for role in ("Unattached", "Prospective", "Candidate", "Resigned"))
