"""One node: its lines, in order, become its history and are judged on the way."""

from __future__ import annotations

from collections.abc import Callable

from kraftcheck.evidence.history.checks import property_id
from kraftcheck.evidence.history.cluster import Cluster, Seen
from kraftcheck.evidence.history.facts import NOT_SHOWN, Appended, HighWatermark, Key, Violation, VoteAnswer
from kraftcheck.evidence.history.memory import Memory
from kraftcheck.evidence.history.transitions import (
    EITHER,
    START,
    check_election,
    check_leader_kept,
    legal,
    no_voter,
)
from kraftcheck.evidence.history.votes import check_vote
from kraftcheck.evidence.logs.findings import Findings, Where
from kraftcheck.evidence.logs.messages import (
    CAUSES,
    FATAL,
    FETCH_BACK,
    LOADING,
    OLD_PEER,
    STARTING,
    STOPPED,
    Fact,
    Said,
    SnapshotLoaded,
    Transition,
    Truncated,
    VersionRead,
    VoterSetRead,
)
from kraftcheck.evidence.logs.node_history import HistoryEntry, LastLines, Summary
from kraftcheck.evidence.logs.process import Process
from kraftcheck.evidence.logs.releases import Releases, forms
from kraftcheck.evidence.logs.states import LoggedState


class Node:
    """The history of one node.

    ``apply`` takes the facts of its lines in order. ``disturb`` says that lines may be missing from here on,
    so that a state that does not follow from the one before is a gap and no problem.
    """

    def __init__(
        self,
        number: int,
        findings: Findings,
        cluster: Cluster,
        release: str | None,
        listen: Callable[[HistoryEntry], None] | None,
    ) -> None:
        self.number = number
        self.summary = Summary()
        self.last_lines = LastLines()
        self._findings = findings
        self._cluster = cluster
        self._fixed: Releases | None = None if release is None else frozenset({release})
        self._listen = listen
        self._voters_told: tuple[frozenset[Key] | None, tuple[Key, ...] | None] = None, None
        self._memory = Memory(number)
        self._loose = True
        """The state known need not be the present one."""
        self._doubted = False
        """It was so before the present line."""
        self._misnamed = False
        self._disorder: Where | None = None
        """Where time goes back, until two lines in order have followed."""
        self._recovers = False
        self._where = Where("", 0)
        self._time = b""
        self._process = Process(self._fixed or forms().all)

    # --- entry --------------------------------------------------------------------------------------------

    def disturb(self) -> None:
        """Lines may be missing before the next one."""
        self._share_high_watermark()
        self._loose = True
        self._process.progress.doubt()
        self._memory.doubt()

    def order(self, where: Where, *, behind: bool) -> None:
        """The next line stands at ``where``; ``behind``: its time is before that of a line above it."""
        if behind:
            self._disorder, self._recovers = self._disorder or where, False
        elif self._disorder is not None:
            # The first line in order again is held against one that is not, and so may others be.
            if self._recovers:
                self._disorder = None
                self.disturb()
            self._recovers = True

    @property
    def voters(self) -> frozenset[Key] | None:
        """The effective voter set after the last line; None if no line shows one."""
        return self._process.progress.voters

    def apply(self, fact: Fact, where: Where, time: bytes) -> None:
        """Apply the fact of the next line."""
        self._where, self._time = where, time
        summary = self.summary
        summary.lines += 1
        summary.last_time = time
        if not summary.first_time:
            summary.first_time = time
        if type(fact) is HighWatermark:
            if not fact.first and summary.level == "INFO":
                summary.level = "DEBUG"
            self._high_watermark(fact)
        elif type(fact) is Transition:
            self._transition(fact)
        elif type(fact) is Appended:
            summary.level = "TRACE"
            self._process.progress.append(fact, self._state, where, self._report)
            self._tell("append", offset=fact.offset)
        else:
            self._other(fact)

    def finish(self) -> None:
        """No line follows."""
        if self._process.attempt is not None:
            self._interrupted()
        self._close_process()

    def _other(self, fact: Fact) -> None:
        process, where = self._process, self._where
        match fact:
            case VoteAnswer():
                self._vote(fact)
            case VoterSetRead():
                self._voters(fact)
            case VersionRead():
                process.progress.read_version(fact.offset, fact.version, where, self._report)
                self._tell("version", offset=fact.offset)
            case Truncated():
                process.progress.truncate(fact.offset, where, self._report)
                self._tell("truncation", offset=fact.offset)
            case SnapshotLoaded():
                process.progress.load_snapshot(fact.offset, fact.epoch, self._state, where, self._report)
                self._tell("snapshot", offset=fact.offset)
            case Said():
                self._said(fact.what, fact.detail)

    def _said(self, what: str, detail: str) -> None:
        process = self._process
        if what == STARTING:
            self._begin()
        elif what == LOADING:
            process.progress.forget_sets()
        elif what == OLD_PEER:
            process.old_peer = True
        elif what == FETCH_BACK:
            self._findings.note("fetch-back", self._where)
        elif what == FATAL:
            found = "a fatal fault in the raft thread" + (f": {detail}" if detail else "")
            self._problem("NoFatal", "a process that goes on", found)
            self._tell("fatal")
        elif what == STOPPED:
            self._tell("end")
        elif what in CAUSES:
            self._tell(what)

    @property
    def _state(self) -> LoggedState | None:
        """The present state; None if lines may be missing since the last change."""
        return None if self._loose else self._process.state

    # --- processes ----------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """A process starts."""
        if self._process.attempt is not None:
            self._interrupted()
        self._close_process()
        self._process = Process(self._fixed or forms().all)
        self._memory.restarted()
        self._loose = False
        self.summary.processes += 1

    def _interrupted(self) -> None:
        self._findings.note("interrupted", self._process.attempt_where or self._where)
        self._tell("interrupted", self._process.attempt)
        self._process.attempt = None

    def _close_process(self) -> None:
        self._share_high_watermark()
        process = self._process
        if process.state is not None or process.attempt is not None:
            self.summary.add_releases(process.releases)

    def _share_high_watermark(self) -> None:
        progress = self._process.progress
        if progress.high is not None and progress.high_where is not None and progress.high_epoch is not None:
            seen = Seen(progress.high, self.number, progress.high_where, self._time)
            self._cluster.high_watermark(progress.high_epoch, seen)

    # --- transitions --------------------------------------------------------------------------------------

    def _transition(self, fact: Transition) -> None:
        self._doubted = self._loose
        attempted = fact.new is self._process.attempt and fact.old is self._process.state
        if attempted and fact.completed and not self._loose and not fact.starts:
            self._completed(fact)  # as usual: all else was done then
            return
        if fact.starts:
            self._starts()
        for note in self._process.recognise(fact, self._fixed):
            self._findings.note(note, self._where)
        if fact.old is not None:
            self._continue_from(fact.old)
        elif not fact.starts:
            self._continue_unseen(fact.new)
        if fact.completed:
            self._completed(fact)
        else:
            self._attempted(fact)

    def _starts(self) -> None:
        """A line says that there was no state before; it may not be the process's first line."""
        process = self._process
        if process.state is not None or process.progress.high is not None:
            self._begin()
        elif self.summary.processes == 0:
            self.summary.processes = 1
        self._loose = False

    def _continue_unseen(self, new: LoggedState) -> None:
        """Up to release 3.4 no line tells the old state, nor a start.

        A change that is legal from the start only must be one. Where lines may be missing, the state known
        need not be the old one, and nothing is held against it.
        """
        process, tables = self._process, self._process.tables
        state = process.state
        if state is None:
            return
        step = new.epoch - state.epoch
        # A follower takes the high watermark along from any state but one that it led in; a start forgets it.
        forgot = new.role == "Follower" and new.high_watermark is None and process.progress.high is not None
        forgot = forgot and state.role not in ("Leader", "Resigned")
        follows = not forgot and legal(tables, state.role, new.role, step, EITHER)
        if self._loose:
            process.state = None
            if not follows:
                self._findings.note("gaps", self._where)
        elif not follows and legal(tables, START, new.role, step, EITHER):
            self._begin()

    def _continue_from(self, old: LoggedState) -> None:
        """Hold the old state of a line against the state known, and go on from it."""
        process = self._process
        known = process.state
        if known is None or (old is not known and old.identity != known.identity):
            self._resume(old, known)
            process.state, process.state_where = old, self._where
            self._observe(old)
        self._share_shown_high_watermark(old)
        process.state = old

    def _resume(self, old: LoggedState, known: LoggedState | None) -> None:
        process = self._process
        completed = process.attempt is not None and process.attempt.identity == old.identity
        if self._loose or known is None:
            if known is not None or (self._loose and self.summary.transitions):
                self._findings.note("gaps", self._where)
        elif completed:
            expected = f"a line that the attempted transition to {old} is completed"
            self._problem("durable-first", expected, "the next transition", process.attempt_where)
        else:
            self._problem("same-state", str(known), str(old), process.state_where)
        if process.attempt is not None and (completed or self._loose):
            process.attempt = None
        process.progress.fetched = None
        self._loose = False

    def _attempted(self, fact: Transition) -> None:
        process = self._process
        if process.attempt is not None and not self._doubted:
            expected = f"the attempted transition to {process.attempt} to be completed first"
            self._problem(
                "durable-first", expected, f"an attempt to become {fact.new}", process.attempt_where
            )
        process.attempt, process.attempt_where = fact.new, self._where
        self._loose = False
        self._tell("attempt", fact.new)

    def _completed(self, fact: Transition) -> None:
        process, new = self._process, fact.new
        self._check_pair(fact)
        old, earlier = process.state, process.state_where
        process.check_legal(self.number, fact, self._report)
        self._check_election(fact)
        self._share_high_watermark()
        if old is not None and not fact.starts:
            check_leader_kept(old, new, earlier, self._report)
        if fact.starts:
            self._check_empty_disk(new)
        process.state, process.state_where = new, self._where
        process.attempt = None
        process.old_peer = False
        process.progress.fetched = None
        self._observe(new)
        self._share_shown_high_watermark(new)
        if new.role == "Leader":
            process.progress.lead(new, self._where, self._report)
        self._loose = False
        self.summary.count(new)
        self._tell("start" if fact.starts else "transition", left=old)

    # --- checks of transitions ----------------------------------------------------------------------------

    def _check_pair(self, fact: Transition) -> None:
        process, new = self._process, fact.new
        if process.attempt is not None:
            if process.attempt is new:
                return
            if process.attempt.identity != new.identity and not self._doubted:
                expected = f"the attempted transition to {process.attempt} to be completed first"
                self._problem("durable-first", expected, str(new), process.attempt_where)
            return
        always = process.releases <= forms().marks["Attempting durable transition to"]
        if always and (new.durable or fact.starts) and not self._doubted:
            expected = f"a line that attempts the transition to {new} first"
            self._problem("durable-first", expected, "none", process.state_where)

    def _check_election(self, fact: Transition) -> None:
        new, old = fact.new, self._process.state
        if new.electorate is not None and self.number not in new.electorate:
            self._report(no_voter(self.number, new, new.electorate))
        if new.local is not None and new.local.id != self.number and not self._misnamed:
            self._misnamed = True
            self._problem("own-id", f"node {self.number}", f"node {new.local.id} is {new.role}")
        if old is not None and fact.old is not None:
            self._check_majority(old, new)

    def _check_majority(self, old: LoggedState, new: LoggedState) -> None:
        """Judge an election that was won, and keep the grants that its winner counts."""
        if old.granted is None or not old.electorate:
            return
        if (old.role, new.role) == ("Candidate", "Leader"):
            check_election(old.granted, old.electorate, self._report)
            for voter in sorted(old.granted):
                self._cluster.grant(old.epoch, voter, self._seen(self.number))
        elif (old.role, new.role) == ("Prospective", "Candidate") and not self._process.old_peer:
            # The answer of a peer without pre-votes makes a Candidate without a majority.
            check_election(old.granted, old.electorate, self._report)

    def _check_empty_disk(self, new: LoggedState) -> None:
        """A node without file and without log has lost its disk or was given a new one: another replica."""
        read = any(entry.offset >= 0 for entry in self._process.progress.sets)
        if new.epoch == 0 and self._memory.epoch > 0 and not read and new.role == "Unattached":
            self._findings.note("empty-disk", self._where)
            self._memory.forget()
            self._cluster.wiped(self.number)

    def _observe(self, state: LoggedState) -> None:
        self._memory.observe(state, self._where, self._report)
        if isinstance(state.leader, int):
            self._cluster.leader(state.epoch, self._seen(state.leader))
        if state.voted is not NOT_SHOWN and state.voted is not None:
            self._cluster.vote(state.epoch, self._seen(state.voted.id))
        if state.epoch_start is not None:
            self._cluster.starts(state.epoch, self._seen(state.epoch_start))

    # --- the log ------------------------------------------------------------------------------------------

    def _high_watermark(self, fact: HighWatermark) -> None:
        process, state = self._process, self._state
        if fact.epoch is not None and state is not None and fact.epoch != state.epoch:
            expected, found = f"epoch {state.epoch}", f"a high watermark of epoch {fact.epoch}"
            self._problem("same-state", expected, found, process.state_where)
            self.disturb()
            state = None
        process.progress.high_watermark(fact, state, self._where, self._report)
        if process.progress.published < len(process.progress.sets):
            self._publish()
        if self._listen is not None:
            self._tell("high watermark", offset=fact.offset)

    def _share_shown_high_watermark(self, state: LoggedState) -> None:
        if isinstance(state.high_watermark, int):
            self._process.progress.raise_high(state.high_watermark, state.epoch, self._where, self._report)
            if self._process.progress.published < len(self._process.progress.sets):
                self._publish()

    def _publish(self) -> None:
        for entry in self._process.progress.newly_committed():
            if entry.offset >= 0:
                self._cluster.committed_set(
                    entry.offset, entry.voters, Seen(entry.offset, self.number, entry.where, self._time)
                )

    def _vote(self, fact: VoteAnswer) -> None:
        if fact.cluster and not self._cluster.same(fact.cluster):
            self._findings.note("other-cluster", self._where)
        state = self._state
        if state is not None and fact.epoch != state.epoch:
            expected, found = f"an answer in epoch {state.epoch}", f"an answer in epoch {fact.epoch}"
            self._problem("same-state", expected, found, self._process.state_where)
            self.disturb()
        elif state is not None:
            check_vote(fact, state, self._process.progress, self._report)
        what = f"{'pre-' if fact.pre_vote else ''}vote {'granted' if fact.granted else 'rejected'}"
        self._tell(what, offset=fact.last_offset, vote=fact)

    def _voters(self, fact: VoterSetRead) -> None:
        process = self._process
        if fact.offset is None:
            process.progress.static = frozenset(fact.voters)
        else:
            process.progress.read_voters(
                fact.offset, frozenset(fact.voters), self._state, self._where, self._report
            )
        self._tell("voters", offset=fact.offset)

    # --- telling ------------------------------------------------------------------------------------------

    def _seen(self, value: int) -> Seen:
        return Seen(value, self.number, self._where, self._time)

    def _problem(
        self,
        check: str,
        expected: str,
        found: str,
        earlier: Where | None = None,
        cites: tuple[str, ...] = (),
    ) -> None:
        self._findings.problem(
            check, self.number, self._where, self._time, expected, found, earlier, cites, self._disorder
        )

    def _report(self, wrong: Violation) -> None:
        cites = (*wrong.cites, *map(property_id, wrong.also))
        self._problem(wrong.check, wrong.expected, wrong.found, wrong.earlier, cites)

    def _tell(
        self,
        what: str,
        state: LoggedState | None = None,
        offset: int | None = None,
        vote: VoteAnswer | None = None,
        left: LoggedState | None = None,
    ) -> None:
        if self._listen is None:
            return
        process = self._process
        progress = process.progress
        last = progress.sets[-1] if progress.sets else None
        self._listen(
            HistoryEntry(
                node=self.number,
                process=self.summary.processes,
                what=what,
                where=self._where,
                time=self._time.decode("ascii", "replace"),
                offset=offset,
                state=process.state if state is None else state,
                high_watermark=progress.high,
                log_end=progress.end,
                voters=self._sorted(progress.voters),
                voters_offset=None if last is None else last.offset,
                version=progress.versions[-1][1] if progress.versions else None,
                vote=vote,
                left=left,
            )
        )

    def _sorted(self, voters: frozenset[Key] | None) -> tuple[Key, ...] | None:
        """``voters`` in order: the same tuple as long as they are the same."""
        if voters is not self._voters_told[0]:
            self._voters_told = voters, None if voters is None else tuple(sorted(voters, key=str))
        return self._voters_told[1]
