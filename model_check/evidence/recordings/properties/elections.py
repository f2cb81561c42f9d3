"""Leaders and votes: S-1 to S-6, and that a vote is on disk before anybody hears of it."""

from __future__ import annotations

from typing import cast

from kraftcheck.evidence.recordings.properties.track import Step
from kraftcheck.evidence.recordings.properties.view import (
    Ballot,
    Key,
    Stored,
    View,
    ballot,
    is_granted,
    same_replica,
    shown,
)
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.systems.kraft import names
from kraftcheck.systems.kraft.history import History, record
from kraftcheck.systems.kraft.labels import Elected, Label, Voted

_JUDGED = frozenset(names.ALWAYS)


class Elections:
    """Who led, who voted for whom, and whom everybody took for the leader, in all epochs so far."""

    def __init__(self) -> None:
        self.history = History()
        self.numbers: dict[Key, int] = {}
        self.votes: dict[tuple[Key, int], Key] = {}
        self.leaders: dict[int, Key] = {}
        self.believed: dict[int, tuple[int, int]] = {}

    def judge(self, step: Step) -> None:
        """Judge the states around a step, the writes of the quorum-state file, and votes that were sent."""
        for before, now in step.written:
            self._judge_write(step, before, now)
        after = step.after
        if after is not None:
            if after.leader is not None:
                self._believe(step, after.epoch, after.leader)
            self._judge_vote_kept(step, after)
            if after.role == "Leader" and not _leads(step.before, after.epoch):
                self._elected(step, after.epoch)
        for sent in step.event.sent:
            if sent.api == "Vote":
                self._judge_vote_sent(step, sent.mid, sent.answers)

    # Leaders.

    def _believe(self, step: Step, epoch: int, leader: int) -> None:
        known, who = self.believed.setdefault(epoch, (leader, step.node.id))
        if known != leader:
            evidence = f"takes {leader} for the leader of epoch {epoch}, which node {who} knew to be {known}"
            step.report(names.SINGLE_KNOWN_LEADER, evidence, who)

    def _elected(self, step: Step, epoch: int) -> None:
        key = step.node.key
        for name in self._record(Elected(self._number(key), epoch)):
            other = self.leaders[epoch]
            evidence = f"becomes Leader of epoch {epoch}, which {shown(other)} has led before"
            step.report(name, evidence, *(() if other == key else (other[0],)))
        self.leaders.setdefault(epoch, key)

    # Votes.

    def _judge_write(self, step: Step, before: Stored | None, now: Stored) -> None:
        if now.leader is not None:
            self._believe(step, now.epoch, now.leader)
        if now.voted is not None:
            self._vote(step, now.epoch, now.voted)
        if before is None or before.epoch != now.epoch or now.leader == step.node.id:
            return
        if before.voted is not None and not _is_same(before.voted, now.voted):
            self._report_vote_lost(step, now.epoch, before.voted, now.voted, "in its quorum-state file")

    def _judge_vote_kept(self, step: Step, after: View) -> None:
        before = step.before
        if before is None or before.epoch != after.epoch or after.role in ("Leader", "Resigned"):
            return
        if before.voted is not None and not _is_same(before.voted, after.voted):
            self._report_vote_lost(step, after.epoch, before.voted, after.voted, "in memory")

    def _report_vote_lost(self, step: Step, epoch: int, old: Key, new: Key | None, where: str) -> None:
        other = "nobody" if new is None else shown(new)
        evidence = f"replaces its vote of epoch {epoch} for {shown(old)} by one for {other} {where}"
        step.report(names.VOTE_KEPT, evidence)

    def _judge_vote_sent(self, step: Step, mid: int, answers: int | None) -> None:
        message = step.messages.get(mid)
        if message is None:
            return
        if message.is_request:
            asked = ballot(message)
            if asked is not None and not asked.pre_vote:
                self._vote(step, asked.epoch, step.node.key)
                self._judge_stored(step, asked, names.SELF_VOTE_SURVIVES, "asks for votes")
            return
        request = step.messages.get(-1 if answers is None else answers)
        asked = None if request is None else ballot(request)
        if asked is None or asked.pre_vote or not is_granted(message):
            return
        self._vote(step, asked.epoch, asked.candidate)
        self._judge_stored(step, asked, names.VOTED_ONCE, "grants its vote")

    def _judge_stored(self, step: Step, asked: Ballot, property: str, what: str) -> None:
        file = step.node.file
        if file is None or file.epoch != asked.epoch or not _is_same(asked.candidate, file.voted):
            evidence = f"{what} in epoch {asked.epoch} before its vote for {shown(asked.candidate)} is stored"
            step.report(property, evidence)

    def _vote(self, step: Step, epoch: int, candidate: Key) -> None:
        voter = step.node.key
        candidate = voter if same_replica(candidate, voter) else candidate
        known = self.votes.setdefault((voter, epoch), candidate)
        if known != candidate and same_replica(known, candidate):
            return
        for name in self._record(Voted(self._number(voter), epoch, ReplicaKey(self._number(candidate)))):
            evidence = f"votes for {shown(candidate)} in epoch {epoch}"
            if known != candidate:
                evidence += f", in which it has voted for {shown(known)}"
            elif name == names.EX_LEADER_NEVER_LEADS_AGAIN:
                evidence += ", which it has led"
            step.report(name, evidence, *(() if candidate == voter else (candidate[0],)))

    def _record(self, label: Label) -> list[str]:
        recorded = record(self.history, label)
        self.history = cast(History, recorded.history)
        return [name for name in recorded.violations if name in _JUDGED]

    def _number(self, key: Key) -> int:
        return self.numbers.setdefault(key, len(self.numbers))


def _leads(view: View | None, epoch: int) -> bool:
    return view is not None and view.role == "Leader" and view.epoch == epoch


def _is_same(one: Key, other: Key | None) -> bool:
    return other is not None and same_replica(one, other)
