"""The history of a quorum by epochs: who asked for votes and what came of it, who led and until when.

It follows the histories of the nodes, which come one node after the other, and needs the lines of INFO alone.
Memory does not grow with the lines: of many epochs the first and the last are kept.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kraftcheck.evidence.history.facts import Key, VoteAnswer
from kraftcheck.evidence.logs.findings import Where
from kraftcheck.evidence.logs.messages import CAUSES
from kraftcheck.evidence.logs.node_history import HistoryEntry
from kraftcheck.evidence.logs.states import LoggedState

#: Causes that tell how an attempt ended, and not why the next one begins.
_FAILURES: Final = frozenset({"too many voters reject it", "its pre-vote times out"})
_VOTES: Final = frozenset({"vote granted", "vote rejected", "pre-vote granted", "pre-vote rejected"})
#: So many of the first and of the last epochs are kept.
FIRST_KEPT: Final = 200
LAST_KEPT: Final = 800
#: So many leaderships of one epoch are kept; more than one is a fault.
_LEADERSHIPS_KEPT: Final = 20
#: A process ended between two lines of its log; when, only the next start bounds.
_STARTS_AGAIN: Final = "its process ends; it starts again"
_OWN_VOTE: Final = "it starts with its own vote"
_UNSEEN: Final = "starts again; its log does not show how its process ended"
#: By the role of a voter the rule by which it rejects a vote, where its vote and its leader do not decide.
_REJECTS: Final = {"Leader": "VOTE-12", "Candidate": "VOTE-11", "Resigned": "VOTE-14"}


class Line(NamedTuple):
    """A sentence of the story of an epoch: when it begins, where that stands, and the rules behind it."""

    time: str
    node: int
    text: str
    where: Where
    rules: tuple[str, ...] = ()


class Reason(NamedTuple):
    """Why a voter rejected. ``by_log``: its log is newer, or may be."""

    text: str
    rule: str
    by_log: bool = False


@dataclass
class Answers:
    """How one voter answered the requests of one node in one epoch. ``rejected``: by reason, how often, and
    the last request.
    """

    granted: int = 0
    rejected: dict[Reason, tuple[int, VoteAnswer]] = field(default_factory=dict)
    first: Where | None = None
    time: str = ""


@dataclass
class Attempts:
    """The elections, or the pre-votes, of one node in one epoch. ``causes``: why they began; ``ends``: what
    came of them; ``granted``: the most voters that granted one of them, where the log shows it;
    ``electorate``: the voters.
    """

    node: int
    pre_vote: bool
    time: str
    where: Where
    last: str = ""
    count: int = 0
    electorate: frozenset[int] | None = None
    granted: frozenset[int] | None = None
    causes: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    won: bool = False


@dataclass
class Leadership:
    """A node that led an epoch. ``ended``, ``end``: until when, and why; ``committed``: its high watermark
    became known.
    """

    node: int
    time: str
    where: Where
    end: str = ""
    ended: str = ""
    committed: bool = False


@dataclass
class Ends:
    """The processes of one node that ended alike in one epoch."""

    time: str
    where: Where
    last: str
    count: int = 0


@dataclass
class Epoch:
    """All that is known of one epoch. ``answers``: by pre-vote or vote, candidate and voter; ``followed``: by
    leader and follower, since when; ``ends``: by node, and how they ended.
    """

    attempts: dict[tuple[int, bool], Attempts] = field(default_factory=dict)
    leaderships: list[Leadership] = field(default_factory=list)
    answers: dict[tuple[bool, int, int], Answers] = field(default_factory=lambda: defaultdict(Answers))
    followed: dict[int, dict[int, tuple[str, Where]]] = field(default_factory=lambda: defaultdict(dict))
    ends: dict[tuple[int, str], Ends] = field(default_factory=dict)


@dataclass
class _Node:
    state: LoggedState | None = None
    cause: str = ""
    shown: tuple[Key, ...] | None = None
    voters: frozenset[int] | None = None
    leads: Leadership | None = None
    attempt: Attempts | None = None
    commits: bool = False


class Story:
    """Takes the entries of all nodes; :meth:`epochs` is the story."""

    def __init__(self, first: int = FIRST_KEPT, last: int = LAST_KEPT) -> None:
        self._first, self._last = first, last
        self._epochs: dict[int, Epoch] = {}
        self._order: list[int] = []
        self._dropped = False
        self._nodes: dict[int, _Node] = defaultdict(_Node)

    @property
    def gap(self) -> tuple[int, int] | None:
        """The epochs between these two were too many to keep; None: all are kept."""
        return (self._order[self._first - 1], self._order[self._first]) if self._dropped else None

    def _epoch(self, number: int) -> Epoch:
        """The epoch with this number; where it is one that is not kept, one that nothing else reads."""
        found = self._epochs.get(number)
        if found is None:
            found = self._epochs[number] = Epoch()
            insort(self._order, number)
            if len(self._order) > self._first + self._last:
                # An epoch with as many before and after it has them for ever, so it never comes back.
                del self._epochs[self._order.pop(self._first)]
                self._dropped = True
        return found

    def add(self, entry: HistoryEntry) -> None:
        """Take the next entry of its node."""
        node = self._nodes[entry.node]
        if entry.voters is not None and entry.voters is not node.shown:
            node.shown, node.voters = entry.voters, frozenset(each.id for each in entry.voters)
        if entry.vote is not None and entry.what in _VOTES:
            self._answered(entry, entry.vote)
        elif entry.what in CAUSES:
            node.cause = entry.what
        elif entry.what in ("start", "transition"):
            self._moved(node, entry)
        elif entry.what in ("end", "fatal"):
            how = "shuts down" if entry.what == "end" else "exits with a fatal error"
            self._leaves(node, entry, how)
            node.state = None
            if entry.state is not None:
                self._ends(entry.state.epoch, entry, how)
        elif entry.what == "high watermark":
            node.commits = True
            if node.leads is not None:
                node.leads.committed = True

    def _ends(self, epoch: int, entry: HistoryEntry, how: str) -> None:
        key = entry.node, how
        found = self._epoch(epoch).ends.setdefault(key, Ends(entry.time, entry.where, entry.time))
        found.count, found.last = found.count + 1, entry.time

    def _moved(self, node: _Node, entry: HistoryEntry) -> None:
        new, cause = entry.state, node.cause
        assert new is not None
        if entry.what == "start":
            self._leaves(node, entry, _STARTS_AGAIN)
            if node.state is not None:
                self._ends(node.state.epoch, entry, _UNSEEN)
        elif node.state is not None:
            self._leaves(node, entry, _because(node.state, new, cause))
        node.cause = cause
        if entry.what == "start":
            node.cause = _OWN_VOTE if new.role == "Candidate" else ""
        if isinstance(new.leader, int) and new.leader != entry.node:
            self._epoch(new.epoch).followed[new.leader].setdefault(entry.node, (entry.time, entry.where))
        if new.role in ("Prospective", "Candidate"):
            self._asks(node, new, entry)
        elif new.role == "Leader":
            node.leads = Leadership(entry.node, entry.time, entry.where)
            leaderships = self._epoch(new.epoch).leaderships
            if len(leaderships) < _LEADERSHIPS_KEPT:
                leaderships.append(node.leads)
        node.state, node.cause = new, ""

    def _leaves(self, node: _Node, entry: HistoryEntry, why: str) -> None:
        """The state of ``node`` ends."""
        if node.leads is not None:
            node.leads.end, node.leads.ended = why, entry.time
        if node.attempt is not None:
            node.attempt.last = entry.time
            if entry.what == "transition" and entry.state is not None and _wins(node.attempt, entry.state):
                node.attempt.won = True
            else:
                node.attempt.ends[why] += 1
            shown = None if entry.left is None else entry.left.granted
            if shown is not None and len(shown) >= len(node.attempt.granted or ()):
                node.attempt.granted = shown
        node.leads = node.attempt = None

    def _asks(self, node: _Node, new: LoggedState, entry: HistoryEntry) -> None:
        pre_vote = new.role == "Prospective"
        attempts = self._epoch(new.epoch).attempts
        found = attempts.get((entry.node, pre_vote))
        if found is None:
            found = Attempts(entry.node, pre_vote, entry.time, entry.where)
            attempts[entry.node, pre_vote] = found
        found.count, found.last = found.count + 1, entry.time
        found.electorate = new.electorate or node.voters
        if node.cause and node.cause not in _FAILURES:
            found.causes[node.cause] += 1
        node.attempt = found

    def _answered(self, entry: HistoryEntry, vote: VoteAnswer) -> None:
        answers = self._epoch(vote.epoch).answers[vote.pre_vote, vote.candidate.id, entry.node]
        if answers.first is None:
            answers.first, answers.time = entry.where, entry.time
        if vote.granted:
            answers.granted += 1
        else:
            reason = _rejection(vote, entry)
            count, _ = answers.rejected.get(reason, (0, vote))
            answers.rejected[reason] = count + 1, vote

    # -- telling --------------------------------------------------------------------------------------

    def epochs(self) -> Iterator[tuple[int, list[Line]]]:
        """The epochs in order, each with its lines by time."""
        for number in self._order:
            epoch = self._epochs[number]
            lines = [_ended(node, how, each) for (node, how), each in epoch.ends.items()]
            for attempts in epoch.attempts.values():
                lines += self._asked(epoch, attempts)
            for each in epoch.leaderships:
                lines.append(_led(each, shows_commits=self._nodes[each.node].commits))
            lines += self._without_log(epoch)
            if lines:
                yield number, sorted(lines, key=lambda line: line.time)

    def _without_log(self, epoch: Epoch) -> Iterator[Line]:
        """What others say of nodes whose logs were not given."""
        for leader, by in sorted(epoch.followed.items()):
            if leader not in self._nodes:
                time, where = min(by.values())
                yield Line(time, leader, f"leads, by the log of {_ids(by)}; its own was not given", where)
        asked: dict[tuple[bool, int], dict[int, Answers]] = defaultdict(dict)
        for (pre_vote, candidate, voter), answers in epoch.answers.items():
            if candidate not in self._nodes:
                asked[pre_vote, candidate][voter] = answers
        for (pre_vote, candidate), by_voter in sorted(asked.items()):
            first = min(by_voter.values(), key=lambda each: each.time)
            assert first.first is not None
            granted = [voter for voter, each in by_voter.items() if each.granted]
            rejected = [voter for voter, each in by_voter.items() if each.rejected]
            said = [f"granted by {_ids(granted)}"] if granted else []
            said += [f"rejected by {_ids(rejected)}"] if rejected else []
            what = "asks for pre-votes" if pre_vote else "asks for votes"
            yield Line(
                first.time, candidate, f"{what}; {', '.join(said)}; its log was not given", first.first
            )

    def leaderships(self) -> Iterator[tuple[int, Leadership]]:
        """Who led which epoch."""
        for number, epoch in sorted(self._epochs.items()):
            yield from ((number, each) for each in epoch.leaderships)

    def _asked(self, epoch: Epoch, attempts: Attempts) -> Iterator[Line]:
        what = "asks for pre-votes" if attempts.pre_vote else "becomes candidate"
        cause = attempts.causes.most_common(1)
        times = (
            f"{_often(attempts.count)} until {_clock(attempts.last, attempts.time)}"
            if attempts.count > 1
            else ""
        )
        because = f", as {cause[0][0]}" if cause else ""
        if cause and cause[0][0] == _OWN_VOTE and cause[0][1] < attempts.count:
            because += f" ({cause[0][1]} of {attempts.count})"
        yield Line(attempts.time, attempts.node, f"{what}{times}{because}", attempts.where)
        granted, answering = {attempts.node}, {attempts.node}
        for (pre_vote, candidate, voter), answers in sorted(epoch.answers.items()):
            if (pre_vote, candidate) != (attempts.pre_vote, attempts.node) or answers.first is None:
                continue
            answering.add(voter)
            if answers.granted:
                granted.add(voter)
            for reason, (count, vote) in answers.rejected.items():
                text = f"is rejected by node {voter}{_often(count)}: {reason.text}{_log(reason, vote)}"
                rules = (reason.rule,) if reason.rule else ()
                yield Line(attempts.time, attempts.node, text, answers.first, rules)
        shown = attempts.granted is not None
        yield _outcome(
            attempts, attempts.granted or frozenset(granted), answering, set(self._nodes), shown=shown
        )


def _outcome(
    attempts: Attempts, granted: frozenset[int], answering: set[int], given: set[int], *, shown: bool
) -> Line:
    """What came of it; ``answering``: the voters in whose logs an answer stands; ``given``: the nodes with
    logs; ``shown``: the lines of the node itself say who granted.
    """
    votes = f"granted by {'' if shown else 'at least '}{_ids(granted)}"
    silent = frozenset[int]()
    if attempts.electorate:
        count = len(attempts.electorate)
        votes += f", of voters {_ids(attempts.electorate)} ({count // 2 + 1} needed)"
        silent = attempts.electorate - answering - granted
    ends = [end for end, _ in attempts.ends.most_common(2)]
    result = "wins" if attempts.won else "fails" if ends else "still waits where its log ends"
    text = f"{result}: {votes}"
    if not attempts.won:
        text += f"; no answer in the log of {_ids(silent & given)}" if silent & given else ""
        text += f"; no log of {_ids(silent - given)}" if silent - given else ""
        text += "".join(f"; {end}" for end in ends)
    return Line(attempts.last or attempts.time, attempts.node, text, attempts.where)


def _ids(ids: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(ids)))


def _wins(attempts: Attempts, new: LoggedState) -> bool:
    return new.role == ("Candidate" if attempts.pre_vote else "Leader")


def _because(old: LoggedState, new: LoggedState, cause: str) -> str:
    """Why a replica left a state, for the next one."""
    if new.epoch > old.epoch and new.role != "Candidate":
        leader = f" and its leader {new.leader}" if isinstance(new.leader, int) else ""
        return f"learns of epoch {new.epoch}{leader}"
    if new.role == "Resigned":
        return f"resigns, as {cause}" if cause else "resigns"
    if new.role == "Follower" and isinstance(new.leader, int):
        return f"learns of leader {new.leader}"
    return cause or f"becomes {new.role}"


def _led(leadership: Leadership, *, shows_commits: bool) -> Line:
    stalled = "; commits nothing that its log shows" if shows_commits and not leadership.committed else ""
    until = ", still where its log ends"
    if leadership.ended:
        clock = _clock(leadership.ended, leadership.time)
        until = f" until {clock}: {leadership.end}"
        if leadership.end == _STARTS_AGAIN:
            until = f" until {leadership.end} at {clock}"
    return Line(leadership.time, leadership.node, f"leads{until}{stalled}", leadership.where)


def _ended(node: int, how: str, ends: Ends) -> Line:
    until = f"{_often(ends.count)} until {_clock(ends.last, ends.time)}" if ends.count > 1 else ""
    what, mark, why = how.partition(";")
    return Line(ends.time, node, what + until + mark + why, ends.where)


def _often(count: int) -> str:
    return f" {count} times" if count > 1 else ""


def _clock(time: str, since: str) -> str:
    """A time, without its date where that is the one of ``since``."""
    date, _, clock = time.rpartition(" ")
    return clock if date == since.rpartition(" ")[0] else time


def _log(reason: Reason, last: VoteAnswer) -> str:
    """The candidate's log in the ``last`` request, where that matters."""
    if not reason.by_log:
        return ""
    return f" (the candidate's log ends at offset {last.last_offset:,} in epoch {last.last_epoch})"


def _rejection(vote: VoteAnswer, entry: HistoryEntry) -> Reason:
    """Why a voter rejected, and by which rule, as far as its lines show it."""
    state = entry.state
    if state is None:
        return Reason("its state is not in the logs", "")
    leader = state.leader if isinstance(state.leader, int) else None
    voted = getattr(state.voted, "id", None)
    if vote.pre_vote:
        if state.role == "Leader":
            return Reason("it leads this epoch", "PREVOTE-10")
        if state.role == "Follower":
            text = f"it has fetched from leader {leader}, or its log is newer"
            return Reason(text, "PREVOTE-12", by_log=True)
        return Reason("its log is newer", "PREVOTE-11", by_log=True)
    if state.role == "Follower":
        return Reason(f"it follows leader {leader}", "VOTE-13")
    if state.role in _REJECTS:
        return Reason(f"it is {state.role} itself", _REJECTS[state.role])
    if leader is not None:
        return Reason(f"it knows leader {leader}", "VOTE-9")
    if voted is not None and voted != vote.candidate.id:
        return Reason(f"it has voted for {voted}", "VOTE-8")
    return Reason("its log is newer", "VOTE-10", by_log=True)
