"""Voter sets and kraft.version: S-23, S-24, S-29, S-38, S-39."""

from __future__ import annotations

from kraftcheck.evidence.history.chain import Link
from kraftcheck.evidence.recordings.properties.track import Step
from kraftcheck.evidence.recordings.properties.view import Key, View, same_replica, shown

ONE_AT_A_TIME = "OneVoterChangeAtATime"
NEEDS_OWN_EPOCH = "VoterChangeNeedsOwnEpochCommit"
NOT_EMPTY = "VoterSetNotEmpty"
ACKNOWLEDGED_WHEN_COMMITTED = "VoterChangeAcknowledgedWhenCommitted"
KRAFT_VERSION_MONOTONE = "KRaftVersionMonotone"

_CHANGES = ("AddRaftVoter", "RemoveRaftVoter", "UpdateRaftVoter")


def judge_change(step: Step, old: tuple[Key, ...] | None, link: Link) -> None:
    """Judge a voter set that a leader appends behind another one; ``old``: ``None``: the first in the log."""
    new = link.voters or ()
    before = step.before
    if old is None:
        old = () if before is None else before.voters
    added = [key for key in new if not any(same_replica(key, other) for other in old)]
    removed = [key for key in old if not any(same_replica(key, other) for other in new)]
    if len(added) > 1 or len(removed) > 1:
        evidence = f"appends a voter set that adds {_listed(added)} and removes {_listed(removed)}"
        step.report(ONE_AT_A_TIME, evidence)
    if old and not new:
        step.report(NOT_EMPTY, f"appends an empty voter set at offset {link.base}")
    if not added and not removed:
        return
    committed = None if before is None else before.high_watermark
    if committed is None or link.before is None or link.before.at(committed).epoch != link.epoch:
        evidence = (
            f"appends a voter set at offset {link.base} before a record of its epoch {link.epoch} is "
            "committed"
        )
        step.report(NEEDS_OWN_EPOCH, evidence)
    if before is not None and before.kraft_version < 1:
        evidence = f"appends another voter set under kraft.version {before.kraft_version}"
        step.report(KRAFT_VERSION_MONOTONE, evidence)


def judge(step: Step, after: View) -> None:
    """Judge kraft.version and the answers to requests that change the voter set."""
    before = step.before
    # A truncation may take back an upgrade that was not committed.
    if before is not None and after.kraft_version < before.kraft_version and after.end >= before.end:
        evidence = f"goes from kraft.version {before.kraft_version} back to {after.kraft_version}"
        step.report(KRAFT_VERSION_MONOTONE, evidence)
    for sent in step.event.sent:
        if sent.api in _CHANGES and not sent.is_request:
            _judge_answer(step, before or after, after, sent.mid, sent.answers)


def _judge_answer(step: Step, before: View, after: View, mid: int, answers: int | None) -> None:
    response = step.messages.get(mid)
    if response is None or response.data.number("errorCode") != 0:
        return
    request = step.messages.get(-1 if answers is None else answers)
    if request is None or not request.data.flag("ackWhenCommitted", True):
        return
    offset = after.fields.number("votersOffset")
    committed = max(view.high_watermark or 0 for view in (before, after))
    if committed <= offset:
        evidence = f"answers {response.api} with success, its voter set at offset {offset} is not committed"
        step.report(ACKNOWLEDGED_WHEN_COMMITTED, evidence)


def _listed(keys: list[Key]) -> str:
    return ", ".join(map(shown, keys)) or "nobody"
