"""The reading of a step of the checker: its replica, the disk, and the information in the message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from kraftcheck.engine.system import PathStep
from kraftcheck.proof.refinement.firing import Actions
from kraftcheck.proof.refinement.own import START, Own, Record, voter_sets_of
from kraftcheck.proof.refinement.walk import Walk
from kraftcheck.reference.log import Log
from kraftcheck.systems.kraft.network import InFlight
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.step import Step
from kraftcheck.systems.kraft.system import KRaftSystem


@dataclass(frozen=True)
class Setting:
    """The system that takes the steps, and the proof's actions. ``changing``: those with voter changes."""

    system: KRaftSystem
    actions: Actions
    changing: bool

    @property
    def component_of(self) -> dict[int, int]:
        """Components by replica id."""
        return {identity.id: number for number, identity in enumerate(self.system.identities)}

    def steps_of(self, path: PathStep, node: Node) -> list[Step]:
        """The steps that the system offers, with ``path`` among them."""
        if path.kind == "deliver":
            return self.system.deliver_steps(path.component, node, cast(InFlight, path.message))
        return self.system.action_steps(path.component, node)


class Scene:
    """A step of ``actor`` under way: the ``message`` that it receives with its ``payload``, the current
    ``disk``, and the actions of the proof taken so far (``walk``).
    """

    def __init__(
        self, setting: Setting, component: int, node: Node, message: InFlight | None, own: Own
    ) -> None:
        self.setting = setting
        self.component_of = setting.component_of
        self.changing = setting.changing
        self.start_voters = frozenset(self.component_of[key.id] for key in setting.system.voters)
        self.actor = component
        self.node = node
        self.message = message
        self.payload = None if message is None else message.payload
        self.disk = node.disk
        flushes = setting.system.identities[component].can_become_voter
        self.walk = Walk(setting.actions, component, own, flushes=flushes)

    def voter_sets(self, log: Log) -> dict[Record, frozenset[int]]:
        """The records of ``log`` that change the voters, with the new voters."""
        found = voter_sets_of(log, frozenset(key.id for key in self.setting.system.voters))
        return {
            record: frozenset(self.component_of[each] for each in voters) for record, voters in found.items()
        }

    def voters(self) -> tuple[Record, frozenset[int]]:
        """The last voter set in the log on disk, and its record."""
        if not self.changing:
            return START, self.start_voters
        return max(self.voter_sets(self.disk.log).items(), key=lambda found: found[0])

    def in_force(self) -> tuple[tuple[int, ...], frozenset[tuple[Any, ...]]]:
        """The parameters of actions about the effective voter set: its place, and the fact that it is this
        set.
        """
        if not self.changing:
            return (), frozenset()
        record, voters = self.voters()
        return record, frozenset({("set_of", *record, voters)})
