"""From a step of the checker to actions of the proof: each effect of the reference is one action, or none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from kraftcheck.proof.refinement.abstraction import (
    NO_PROCESS,
    SYMBOLS,
    NotAbstract,
    abstraction_of,
    records_of,
)
from kraftcheck.proof.refinement.actions import Sequence
from kraftcheck.proof.refinement.effects import Effects, Setting
from kraftcheck.reference import disk as disks
from kraftcheck.reference import effects, messages
from kraftcheck.reference.replica import Leader, Replica
from kraftcheck.systems.kraft.network import InFlight
from kraftcheck.systems.kraft.node import Execution, Node
from kraftcheck.systems.kraft.step import Step

_SNAPSHOTS = effects.StoreSnapshot | effects.DeleteBefore | effects.LoadSnapshot


@dataclass(frozen=True)
class Translator(Setting):
    """Translates the steps of a system."""

    def sequence(self, component: int, node: Node, message: InFlight | None, step: Step) -> Sequence:
        """The image in the proof of ``step`` of ``component``, which was ``node``."""
        try:
            replica = abstraction_of(node, self.component_of)
        except NotAbstract as why:
            return Sequence((), (str(why),), (), frozenset(), forgets=False, knows=frozenset())
        translation = StepTranslation(self, component, node, message, replica)
        translation.run(step)
        return translation.proof.sequence()

    def same(self, before: Node, after: Node) -> bool:
        """Whether the proof does not distinguish two states of a node."""
        try:
            return abstraction_of(before, self.component_of) == abstraction_of(after, self.component_of)
        except NotAbstract:
            return False


class StepTranslation(Effects):
    """One step: its effects happen one by one, to the disk and to the proof's replica."""

    # -- the whole step -------------------------------------------------------------------------------

    def run(self, step: Step) -> None:
        """All effects of ``step``, and whether the replica then has the state that the step reports."""
        node = self.node
        if step.execution is not None:
            if node.replica is None:
                self._start(step.execution, len(step.execution.effects))
            else:
                self._execution(step.execution, step.completed, node.replica)
        if step.restarted is not None:
            if node.replica is not None:
                self._crash(step.loses_power)
            for cut in step.cut:
                self._start(cut.execution, cut.completed)
                self._crash(cut.loses_power)
            self._start(step.restarted, len(step.restarted.effects))
        self._compare(cast(Node, step.outcome.local))

    def _compare(self, node: Node) -> None:
        proof = self.proof
        try:
            expected = abstraction_of(node, self.component_of)
        except NotAbstract as why:
            proof.problem(str(why))
            return
        for name in SYMBOLS:
            found = getattr(proof.replica, name)
            wanted = getattr(expected, name)
            if found != wanted:
                proof.problem(
                    f"the actions leave {name}: {_shown(name, found)}; the replica has {_shown(name, wanted)}"
                )
        covered = -1 if proof.replica.covered is None else proof.replica.covered
        if expected.covered is not None and expected.covered > covered:
            proof.problem(f"the replica takes {expected.covered} for committed, which no action tells it")

    # -- starts and crashes ---------------------------------------------------------------------------

    def _crash(self, loses_power: bool) -> None:
        """The process ends. Unflushed records are lost with the power."""
        if loses_power:
            self.disk = disks.lose_power(self.disk)
        self._end_process()

    def _end_process(self) -> None:
        last = max((offset for offset, _ in records_of(self.disk.log)), default=0)
        self.proof.take("restart", NO_PROCESS, last)

    def _start(self, execution: Execution, completed: int) -> None:
        written_back = self.setting.system.wiring.written_back
        self.disk = disks.as_found(self.disk, written_back=written_back)
        if written_back and not self.proof.replica.flushed:
            self.proof.take("flush")
        self.message = self.payload = None
        self._effects(execution, completed, None)

    def _execution(self, execution: Execution, completed: int, before: Replica) -> None:
        payload = self.payload
        if isinstance(payload, messages.FetchRequest) and isinstance(before.role, Leader):
            self.count_fetch(payload)
        self._effects(execution, completed, before)

    def _effects(self, execution: Execution, completed: int, before: Replica | None) -> None:
        self.handled = None
        for number, effect in enumerate(execution.effects[:completed]):
            self._effect(number, effect, execution, before)
            if isinstance(effect, effects.Stop):
                # An orderly shutdown closes the log, which flushes it.
                self.disk = disks.as_found(self.disk)
            else:
                self.disk = disks.apply(self.disk, effect)
        if completed == len(execution.effects):
            self.has_fetched(execution.replica)
        if self.counts_flush and self.proof.replica.role == "Leader" and self.proof.replica.flushed:
            self.proof.take("count-own-log", *self.proof.replica.end)
        self.counts_flush = False

    # -- single effects -------------------------------------------------------------------------------

    def _effect(
        self, number: int, effect: effects.Effect, execution: Execution, before: Replica | None
    ) -> None:
        proof = self.proof
        if isinstance(effect, effects.Persist):
            self.persist(number, effect.quorum_state, execution, before)
        elif isinstance(effect, effects.Transition):
            if number != self.handled:
                self.transition(effect, None, execution, before)
        elif isinstance(effect, effects.AppendBatch):
            self.append(effect.batch)
        elif isinstance(effect, effects.Flush):
            self.flush(effect.offset)
        elif isinstance(effect, effects.Truncate):
            self.truncate(effect.offset)
        elif isinstance(effect, effects.HighWatermark):
            self.high_watermark(effect.offset, execution, before)
        elif isinstance(effect, effects.Send):
            self.send(effect)
        elif isinstance(effect, effects.Reply):
            self.reply(effect)
        elif isinstance(effect, effects.Fatal):
            self._end_process()
        elif isinstance(effect, effects.Stop):
            proof.take("flush")
            self._end_process()
        elif isinstance(effect, _SNAPSHOTS):
            proof.problem("the proof knows of no snapshots")


def _shown(name: str, value: Any) -> str:
    """A field of a replica; replicas are named by numbers from 1 on, as in all reports."""
    if name in ("voted", "leader"):
        return ", ".join(str(each + 1) for each in sorted(value)) or "nobody"
    if name in ("holds", "unflushed"):
        texts = ("@".join(map(str, each)) if isinstance(each, tuple) else str(each) for each in sorted(value))
        return ", ".join(texts) or "none"
    return str(value)
