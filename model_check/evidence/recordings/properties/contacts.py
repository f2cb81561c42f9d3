"""What a leader records of the fetches of others: S-15, S-20, S-28, S-42."""

from __future__ import annotations

from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.evidence.recordings.properties.ballots import WIPED_IS_ANOTHER
from kraftcheck.evidence.recordings.properties.track import Step
from kraftcheck.evidence.recordings.properties.view import Key, View, fetching, same_replica, shown
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft import names


class Contacts:
    """Fetches under way that ask for more than their sender has flushed: message id to that offset."""

    def __init__(self) -> None:
        self.unflushed: dict[int, int] = {}

    def sent(self, step: Step) -> None:
        """Remember fetches that run ahead of what is flushed."""
        node = step.node
        if node.flushed >= node.log.end:
            return
        for sent in step.event.sent:
            if sent.api == "Fetch" and sent.is_request:
                self.unflushed[sent.mid] = node.flushed

    def judge(self, step: Step) -> None:
        """Judge what one step of a leader changes in its view of others."""
        before, after = step.before, step.after
        if before is None or after is None or after.role != "Leader" or before.role != "Leader":
            return
        message = step.event.message
        if message is not None and message.api == "Fetch" and message.is_request:
            found = fetching(message)
            if found is not None:
                self._judge_fetch(step, before, after, message.mid, *found)
        if before.contacts != after.contacts:
            _judge_times(step, before, after)

    def _judge_fetch(self, step: Step, before: View, after: View, mid: int, who: Key, offset: int) -> None:
        if any(same_replica(who, voter) for voter in (*before.voters, *after.voters)):
            flushed = self.unflushed.pop(mid, None)
            entry = after.contacts.get(str(who[0]))
            if flushed is not None and entry != before.contacts.get(str(who[0])) and offset > flushed:
                evidence = (
                    f"takes a fetch of voter {shown(who)} at {offset} for an acknowledgement; that voter has "
                    f"flushed up to {flushed}"
                )
                step.report(names.ACKNOWLEDGED_IS_DURABLE, evidence, who[0])
            return
        counted = []
        if before.high_watermark != after.high_watermark:
            counted.append("its high watermark")
        if before.contacts.get(str(who[0])) != after.contacts.get(str(who[0])):
            counted.append("what it knows of a voter")
        if _check_quorum(before) != _check_quorum(after) and _check_quorum(after) != -1:
            counted.append("its check-quorum timer")
        if counted:
            known = any(voter[0] == who[0] for voter in before.voters)
            evidence = f"changes {' and '.join(counted)} on a fetch of {shown(who)}, which is no voter"
            step.report(WIPED_IS_ANOTHER if known else names.OBSERVERS_DO_NOT_COUNT, evidence, who[0])


def _check_quorum(view: View) -> Json:
    deadlines = view.fields.values.get("deadlines")
    return deadlines.get("checkQuorum") if isinstance(deadlines, dict) else None


def _judge_times(step: Step, before: View, after: View) -> None:
    """Times of the last fetch and of being caught up; -1 where there was none."""
    now = step.event.now
    for replica, entry in after.contacts.items():
        times, old = _times(entry, after), _times(before.contacts.get(replica, []), before)
        for index, time in enumerate(times):
            if time > now or (index < len(old) and time < old[index]):
                what = ("last fetch", "time of being caught up")[index]
                then = f", before it was {old[index]}" if index < len(old) else ""
                evidence = f"records {time} as the {what} of {replica} at {now}{then}"
                step.report(names.DESCRIBE_TIMES_MONOTONE, evidence)


def _times(entry: Json, view: View) -> list[int]:
    if not isinstance(entry, list) or any(type(value) is not int for value in entry):
        raise InputError(f"{view.fields.where}: field 'progress' must hold lists of integers.")
    return entry[1:3]
