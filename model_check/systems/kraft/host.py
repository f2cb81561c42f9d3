"""The host of a replica's process: from events and starts to executions of the reference, and to outcomes for
the engine, in full or cut short by a crash after any of their effects. Its disk may be replaced.

An event is handled as in Kafka's loop: the message or timer first, then the poll routine of the role, until
the replica waits for another event. Sends that would come a poll later are part of the same atomic step; a
message that is never delivered makes up for the difference.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

from kraftcheck.engine.system import Outcome, Signal
from kraftcheck.reference import disk as disks
from kraftcheck.reference import step as reference
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import Fatal, Stop
from kraftcheck.reference.events import Event, Poll, Timer
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import QuorumState, Replica
from kraftcheck.reference.startup import configured
from kraftcheck.reference.types import INT32
from kraftcheck.reference.voters import ReplicaKey, VoterSet
from kraftcheck.support.remembering import Remembered
from kraftcheck.systems.kraft import (
    addresses,
    administration,
    assignments,
    checks,
    goals,
    membership,
    reductions,
)
from kraftcheck.systems.kraft import timers as timers_of
from kraftcheck.systems.kraft.labels import Label, Restored, Wiped
from kraftcheck.systems.kraft.network import InFlight, after_forgetting
from kraftcheck.systems.kraft.node import Ended, Execution, Node, expired_at_once
from kraftcheck.systems.kraft.starts import Due, with_labels, with_sends
from kraftcheck.systems.kraft.step import Action, Also, Crash, CutStart, Step
from kraftcheck.systems.kraft.timers import Timers
from kraftcheck.systems.kraft.wiring import Wiring
from kraftcheck.systems.kraft.world import CrashPoint, Left, World, before_step, happen

_MAX_POLLS = 8


@dataclass(frozen=True, slots=True)
class Course:
    """The course of a start on a disk, independent of the process before: the node ``after`` it, the state
    ``left`` by it, and the crashes within it that leave a different state.
    """

    execution: Execution
    after: Node
    left: Left
    crash_points: tuple[CrashPoint, ...]


class Host:
    """The machine of one replica: ``identity`` configures its process, which runs ``protocol``.

    It keeps the courses of starts and their verdicts: many crashes leave the same disk.
    """

    def __init__(self, wiring: Wiring, protocol: Protocol, identity: Replica) -> None:
        self.wiring, self.protocol, self.identity = wiring, protocol, identity
        self._courses = Remembered[Course]()
        self._verdicts = Remembered[tuple[tuple[str, ...], tuple[str, ...]]]()
        self._judges = True
        self._max_epoch = INT32

    def bounded(self, max_epoch: int) -> Host:
        """The same machine, of which starts in larger epochs are outside the bounds."""
        other = copy.copy(self)
        other._max_epoch = max_epoch
        return other

    def unjudged(self) -> Host:
        """The same machine, which does not ask what a step violates."""
        other = copy.copy(self)
        other._judges = False
        return other

    # Executions of the reference.

    def execute(
        self,
        replica: Replica,
        event: Event,
        expired: tuple[Timer, ...] = (),
        now: int | None = None,
        timers: Timers | None = None,
    ) -> Execution:
        """Feed ``event`` and then poll until nothing changes.

        ``expired`` are timers that the first poll also finds expired; ``now`` is the reading of the replica's
        clock, where clocks run; ``timers`` are those of the process, where they expire only if they were
        armed.
        """
        outcome = self.wiring.ask(self.protocol, replica, event)
        return self._poll_on((event,), outcome, expired, now, timers)

    def boot(self, process: Replica, disk: Disk) -> Execution:
        """Start the process that ``process`` configures, on ``disk``, in the state that it finds there."""
        timers = Timers() if self.wiring.arms_timers else None
        return self._poll_on((), self.wiring.ask(self.protocol, process, disk), timers=timers)

    def _poll_on(
        self,
        events: tuple[Event, ...],
        outcome: reference.Outcome,
        overdue: tuple[Timer, ...] = (),
        now: int | None = None,
        timers: Timers | None = None,
    ) -> Execution:
        effects, rules = list(outcome.effects), list(outcome.rules)
        addable, timed = self.wiring.addable, now is not None
        replica = reductions.without_unread_fields(outcome.replica, addable, timed=timed)
        timers = self._timers_after(timers, outcome)
        expired = (Timer.LINGER, *expired_at_once(outcome.effects), *overdue)
        for _ in range(_MAX_POLLS):
            if effects and isinstance(effects[-1], Fatal | Stop):
                break
            event = Poll(expired if timers is None else timers.expired, now=now)
            polled = self.wiring.ask(self.protocol, replica, event)
            if not polled.effects and polled.replica == replica:
                break
            events += (event,)
            effects += polled.effects
            rules += [rule for rule in polled.rules if rule not in rules]
            replica = reductions.without_unread_fields(polled.replica, addable, timed=timed)
            timers, expired = self._timers_after(timers, polled), (Timer.LINGER,)
        else:
            raise AssertionError(f"replica {replica.id} has not come to rest after {_MAX_POLLS} polls")
        return Execution(events, tuple(effects), tuple(rules), replica, timers)

    def _timers_after(self, known: Timers | None, outcome: reference.Outcome) -> Timers | None:
        if known is None:
            return None
        lingers = Timer.LINGER in self.wiring.timers[self.identity.id]
        return timers_of.after(known, outcome.effects, outcome.replica, lingers=lingers)

    # Events.

    def steps(
        self, node: Node, event: Event, execution: Execution, action: Action, costs: tuple[int, ...] = ()
    ) -> Iterator[Step]:
        """Every course of the execution: to its end, or cut short by a crash after one of its effects."""
        assert node.replica is not None
        before = node.replica
        world = before_step(self.wiring, before, node.disk, event, execution)
        cut: list[Step] = []
        crashes = self.wiring.choice.boundaries and self._crash_cost() is not None
        for each in happen(world, execution, crashes=crashes):
            if each.completed < len(execution.effects):
                torn = checks.cut_short(node.disk, each.execution.effects, each.left.disk)
                crashed = self._crashes(each.left, before, action, costs, each.execution, each.completed)
                cut += _judged(crashed, torn)
        ended = execution.ended
        if isinstance(ended, Stop):
            # An orderly shutdown closes the log, which flushes it.
            world.disk = disks.as_found(world.disk)
        after = world.node_after(execution)
        violated: tuple[str, ...] = ()
        if self._judges:
            violated = checks.violations(self.wiring, self.protocol, before, event, execution, after)
        outcome = Outcome(
            action=action,
            local=after,
            sends=tuple(world.sends),
            labels=tuple(world.labels),
            costs=costs,
            signals=tuple(world.signals),
            violations=violated,
            goals=goals.reached(before, execution),
        )
        if checks.is_ignored(self.wiring, before, event, execution):
            yield from self._restarted_after(world, before, outcome, execution)
            return
        yield Step(outcome, execution, len(execution.effects))
        if not isinstance(ended, Fatal):
            yield from _distinct(cut)

    def crash(self, node: Node) -> Iterator[Step]:
        """The process is killed between two events, with or without loss of the unflushed tail."""
        if node.replica is not None:
            yield from self._crashes(Left(node.disk), node.replica, Action("crash", node.replica.id))

    def _restarted_after(
        self, world: World, before: Replica, exited: Outcome, execution: Execution
    ) -> Iterator[Step]:
        """The process exits for a reason that a finding has shown already, and restarts on the same disk."""
        again = cast(Action, exited.action).with_also(Also.RESTARTS)
        disk = self._found(world.disk)
        for start in self._booted(before, disk, again, exited.costs, world.sends, world.labels):
            violated = tuple(dict.fromkeys((*exited.violations, *start.outcome.violations)))
            outcome = replace(start.outcome, violations=violated)
            yield replace(start, outcome=outcome, execution=execution, completed=len(execution.effects))

    # Starts.

    def restart(self, node: Node) -> Iterator[Step]:
        """Starts a process that does not run: in full first, then cut short by each possible crash."""
        known = identity_on(self.identity, node.disk)
        for start in self._booted(known, self._found(node.disk), Action("start", self.identity.id)):
            if start.cut:
                yield start
            else:
                assert start.restarted is not None
                yield Step(start.outcome, start.restarted, len(start.restarted.effects))

    def move(self, node: Node) -> Iterator[Step]:
        """The process ends, without loss of power, and starts on the same disk at another address."""
        id = self.identity.id
        cost = self.wiring.price_at("moves", id, self.wiring.choice.moves_at)
        if cost is None or node.replica is None:
            return
        endpoints = addresses.elsewhere(id, node.replica.endpoints)
        action = Action("move", id, f"to {endpoints[0].host}")
        moved = replace(node.replica, endpoints=endpoints)
        yield from self._booted(moved, self._found(node.disk), action, cost)

    def crash_matters(self, node: Node) -> bool:
        """Whether a crash within the start of a stopped process leaves a changed disk.

        Otherwise the next start has the same result, and the crash only spends one crash of the budget.
        """
        full, *cut = self.restart(node)
        expected = _left_behind(full.outcome)
        return any(_left_behind(step.outcome) != expected for step in cut)

    def _crashes(
        self,
        left: Left,
        before: Replica,
        action: Action,
        costs: tuple[int, ...] = (),
        execution: Execution | None = None,
        completed: int = 0,
    ) -> Iterator[Step]:
        """The process is killed after ``completed`` effects of ``execution``, and starts on the disk that is
        ``left``.

        Once without and, where that makes a difference, once with the loss of the unflushed tail.
        """
        cost = self._crash_cost()
        if cost is None:
            return
        for loses in self._losses(left.disk):
            crash = Crash(loses, completed, None if execution is None else len(execution.effects))
            named = action.with_also(crash)
            kept = disks.lose_power(left.disk) if loses else left.disk
            if membership.lacks_snapshot(kept.log):
                yield _unreadable(kept, left, named, (*costs, *cost), execution, completed)
                continue
            disk = self._found(left.disk, loses)
            for start in self._booted(before, disk, named, (*costs, *cost), left.sends, left.labels):
                yield replace(start, execution=execution, completed=completed, loses_power=loses)

    def _course(self, process: Replica, disk: Disk) -> Course:
        """The start of the process that ``process`` configures on ``disk``."""
        # Of a replica's configuration only this changes with its disk, or when it moves.
        key = process.key, process.bootstrap_kraft_version, process.endpoints, disk
        return self._courses.of(key, partial(self._new_course, process, disk))

    def _new_course(self, process: Replica, disk: Disk) -> Course:
        process = configured(process)
        execution = self.boot(process, disk)
        decided = assignments.decided_in(disk.log) if self.wiring.targets is not None else -1
        origin = membership.own_origin(process)
        world = World(self.wiring, process.id, disk, origin, assignment=decided, sender=execution.replica)
        points = happen(world, execution)
        left = world.left()
        # No effect is left: the possible crash between two steps has the same result.
        other = tuple(point for point in points if point.left != left)
        return Course(execution, world.node_after(execution), left, other)

    def _booted(
        self,
        process: Replica,
        disk: Disk,
        action: Action,
        costs: tuple[int, ...] = (),
        sends_before: Sequence[InFlight] = (),
        labels_before: Sequence[Label] = (),
    ) -> Iterator[Step]:
        """A start on ``disk``: in full, then cut short by a crash after each effect that matters.

        The messages of the previous process are in flight; its requests are unanswerable.
        """
        orphans = self._unanswerable(sends_before)
        due = [Due(disk, action, costs, orphans, tuple(labels_before))]
        # Many crashes leave the same: in a loop over what is new their number grows with the budget alone.
        seen, made = set[Hashable](), list[Step]()
        while due:
            start = due.pop()
            key = start.key()
            if key in seen:
                continue
            seen.add(key)
            course = self._course(process, start.disk)
            made.append(self._started(process, start, course))
            if not isinstance(course.execution.ended, Fatal) and self._may_crash(start):
                due += reversed([*self._cut_short(start, course)])
        yield from _distinct(made)

    def _started(self, process: Replica, start: Due, course: Course) -> Step:
        """The start, in full."""
        violations, reached = self._verdict(process, start.disk, course)
        outcome = Outcome(
            action=start.action,
            local=course.after,
            sends=with_sends(start.sends, course.left.sends, self.wiring.network.capacity),
            labels=with_labels(start.labels, course.left.labels),
            costs=start.costs,
            signals=(Signal(self.wiring.component(process.id)),),
            violations=(*start.violated, *violations),
            goals=reached,
        )
        return Step(outcome, None, 0, course.execution, cut=start.cut)

    def _verdict(
        self, before: Replica, disk: Disk, started: Course
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The properties that a start violates and the goals that it reaches, after a process that was as
        ``before``.
        """
        return self._verdicts.of((before, disk), partial(self._new_verdict, before, disk, started))

    def _new_verdict(
        self, before: Replica, disk: Disk, started: Course
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        # The voters are those that the process found: a crash may have cut short a step that changed them.
        known, execution = replace(before, log=disk.log), started.execution
        violated = checks.violations(self.wiring, self.protocol, known, None, execution, started.after)
        return violated, goals.reached(before, execution)

    def _crash_cost(self) -> tuple[int, ...] | None:
        return self.wiring.price_at("crashes", self.identity.id, self.wiring.choice.crashes_at)

    def _may_crash(self, start: Due) -> bool:
        """Whether a crash is left that may fall within ``start``: none where that is outside the bounds."""
        cost = self._crash_cost()
        if cost is None or not self.wiring.choice.boundaries:
            return False
        stored = start.disk.quorum_state
        if stored is not None and stored.epoch > self._max_epoch:
            return False
        return start.costs.count(*cost) < self.wiring.crashes

    def _cut_short(self, start: Due, course: Course) -> Iterator[Due]:
        """The starts after a crash within ``start``, one for each state that such a crash leaves."""
        costs = (*start.costs, *(self._crash_cost() or ()))
        for crash in course.crash_points:
            left, completed = crash.left, crash.completed
            sends = with_sends(start.sends, left.sends, self.wiring.network.capacity)
            labels = with_labels(start.labels, left.labels)
            torn = checks.cut_short(start.disk, crash.execution.effects, left.disk)
            for loses in self._losses(left.disk):
                within = Crash(loses, completed, len(crash.execution.effects), within_start=True)
                yield Due(
                    self._found(left.disk, loses),
                    start.action.with_also(within),
                    costs,
                    with_sends((), self._unanswerable(sends), self.wiring.network.capacity),
                    labels,
                    (*start.cut, CutStart(crash.execution, completed, loses)),
                    (*start.violated, *torn),
                )

    def _losses(self, disk: Disk) -> tuple[bool, ...]:
        """Whether power is lost in the crashes that may happen: only where that makes a difference."""
        unflushed = disk.flushed < disk.log.end_offset
        return (False, True) if self.wiring.choice.power_loss and unflushed else (False,)

    def _found(self, disk: Disk, loses_power: bool = False) -> Disk:
        """The contents that a process finds at its start after another one ended that left ``disk``."""
        left = disks.lose_power(disk) if loses_power else disk
        return disks.as_found(left, written_back=self.wiring.written_back)

    def _unanswerable(self, sends: Iterable[InFlight]) -> tuple[InFlight, ...]:
        """The messages among ``sends`` that remain when their process has ended."""
        stay = self.wiring.forgotten_stay
        left = (after_forgetting(sent, self.identity.id, None, stay) for sent in sends)
        return tuple(sent for sent in left if sent is not None)

    # Disks that are replaced.

    def wipe(self, node: Node) -> Iterator[Step]:
        """The process ends, its disk is replaced by an empty one with another directory id, and it starts."""
        id, old = self.identity.id, node.disk
        cost = self.wiring.price_at("wipes", id, self.wiring.choice.wipes_at)
        if cost is None:
            return
        assert old.directory is not None
        disk = Disk(directory=administration.next_directory(old.directory))
        action = Action("wipe", id, f"new directory {disk.directory}")
        reborn = identity_on(self.identity, disk)
        for start in self._booted(reborn, disk, action, cost, labels_before=[self._taken_out(node)]):
            yield replace(start, outcome=self._keeping(start.outcome, old))

    def restore(self, node: Node) -> Iterator[Step]:
        """The process ends, the disk that was taken out last is put back in its place, and it starts on
        that.
        """
        id, back, cost = self.identity.id, node.replaced, self.wiring.price("restores")
        if cost is None or back is None:
            return
        labels: list[Label] = [self._taken_out(node), Restored(ReplicaKey(id, back.directory))]
        action = Action("restore", id, f"directory {back.directory} again")
        known = identity_on(self.identity, back)
        for start in self._booted(known, back, action, cost, labels_before=labels):
            yield replace(start, outcome=self._keeping(start.outcome, node.disk))

    def _keeping(self, outcome: Outcome, disk: Disk) -> Outcome:
        """``outcome``, after which ``disk`` lies next to the machine, where it may be put back in."""
        if self.wiring.price("restores") is None:
            return outcome
        return replace(outcome, local=replace(cast(Node, outcome.local), replaced=self._found(disk)))

    def _taken_out(self, node: Node) -> Wiped:
        """The durable contents that are lost with the disk of ``node``."""
        disk = node.disk
        known = node.replica or identity_on(self.identity, disk)
        entry = membership.newest(membership.own_origin(known), disk.log).find(known.id)
        held = tuple(batch for batch in disk.log.batches if batch.end_offset <= disk.flushed)
        another = entry is None or entry.key.directory is not None
        return Wiped(node.key(known.id), held, disk.log.start_offset, another)


def _unreadable(
    kept: Disk,
    left: Left,
    action: Action,
    costs: tuple[int, ...],
    execution: Execution | None,
    completed: int,
) -> Step:
    """A crash that leaves a log whose first records are neither there nor in a snapshot: nothing starts."""
    node = Node(None, kept, Ended.UNREADABLE)
    violated = ("SnapshotIsCommittedPrefix",)
    outcome = Outcome(action, node, left.sends, left.labels, costs, violations=violated)
    return Step(outcome, execution, completed)


def identity_on(identity: Replica, disk: Disk) -> Replica:
    """The replica of a process on ``disk`` with the configuration of ``identity``, with the state and log
    that it finds there.

    A disk that was empty has no checkpoint with a voter set.
    """
    stored = disk.quorum_state or QuorumState()
    if disk.directory == identity.key.directory:
        return replace(identity, quorum_state=stored, log=disk.log)
    key = ReplicaKey(identity.id, disk.directory)
    reborn = replace(identity, key=key, quorum_state=stored, log=disk.log)
    if identity.bootstrap_kraft_version < 1:
        return reborn
    return replace(reborn, bootstrap_voters=VoterSet(), bootstrap_kraft_version=0)


def _left_behind(outcome: Outcome) -> tuple[object, ...]:
    return outcome.local, outcome.sends, outcome.labels, outcome.violations


def _distinct(crashes: Iterable[Step]) -> Iterator[Step]:
    """The ``crashes`` that differ in the state or the budgets that they leave."""
    seen = set()
    for crashed in crashes:
        left = crashed.outcome
        key = (left.local, left.sends, left.labels, left.costs, left.violations)
        if key not in seen:
            seen.add(key)
            yield crashed


def _judged(crashes: Iterable[Step], violated: tuple[str, ...]) -> Iterator[Step]:
    """``crashes``, with the violations by the contents that they leave on the disk, before any start on
    it.
    """
    for crashed in crashes:
        found = (*violated, *crashed.outcome.violations)
        yield replace(crashed, outcome=replace(crashed.outcome, violations=found)) if violated else crashed
