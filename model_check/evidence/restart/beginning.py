"""A scenario in which nodes start on disks that were read: who takes part, and what each finds."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

from kraftcheck.evidence.disks.disk import StoredDisk
from kraftcheck.evidence.disks.quorum import Quorum, cannot_start, disks_by_id
from kraftcheck.evidence.disks.records import LeaderChange, VoterKey, Voters
from kraftcheck.evidence.restart.shortened import Shortened, shorten
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.scenario import KRaftScenario, numbered, of_replicas
from kraftcheck.systems.kraft.text import DiskText, print_disk
from kraftcheck.systems.kraft.text.log import Count
from kraftcheck.systems.scenario import MOST_IN_FLIGHT, from_data

#: The most that a scenario has of either.
_MOST_VOTERS, _MOST_JOINING = 7, 4
_LARGEST_EPOCH: Final = 18
#: Of these properties a lost disk alone takes away the ground; an elected leader without a committed record
#: shows the loss.
_WITHOUT: Final = ("HighWatermarkOnMajority", "AcknowledgedIsDurable", "RemovedLeaderDoesNotCount")
GOALS: Final = ("GoalLeaderElected", "GoalRecordCommitted")


@dataclass(frozen=True, slots=True)
class LostVote:
    """The node ``voter`` has voted for ``candidate`` in ``epoch``, and its quorum-state does not show it.

    ``certain``: a LeaderChange record names it; otherwise it is possible.
    """

    voter: int
    epoch: int
    candidate: VoterKey
    certain: bool


@dataclass(frozen=True, slots=True)
class Assumed:
    """What the disks do not show: that all records of the log of ``disk`` below ``below`` are committed, and
    that votes were given.
    """

    below: int
    disk: StoredDisk | None
    votes: tuple[LostVote, ...] = ()


@dataclass(frozen=True)
class Beginning:
    """The nodes of ``quorum`` as replicas of a scenario. Raises InputError where they can be none.

    ``marks``: offsets that the scenario tells apart.
    """

    quorum: Quorum
    marks: tuple[int, ...] = ()
    preset: str = "kafka"

    @cached_property
    def sets(self) -> tuple[tuple[VoterKey, ...], ...]:
        """All voter sets on the disks, the first ones first."""
        entries = [each for disk in self.quorum.disks for each in disk.voter_sets]
        ordered = sorted(entries, key=lambda each: each.offset)
        return tuple(dict.fromkeys(each.voters.keys for each in ordered))

    @cached_property
    def is_static(self) -> bool:
        """Whether no disk has a voter set: kraft.version 0."""
        return not self.sets

    @cached_property
    def disks(self) -> dict[int, StoredDisk]:
        """The disks of the nodes that take part, by id. Raises InputError."""
        known = disks_by_id(self.quorum)
        found = {id: disk for id, disk in known.items() if id in self._once_voters}
        if not found:
            raise InputError(
                "the disks are of nodes that no voter set names; give the disk of a controller that has "
                "been a voter."
            )
        return found

    @property
    def left_out(self) -> list[str]:
        """The disks of nodes that do not take part, and the reason."""
        found = []
        for disk in self.quorum.disks:
            if disk.key is None:
                found.append(f"{disk.label}: it has no identity, and cannot start")
            elif disk.key.id not in self._once_voters:
                found.append(f"node {disk.key.id}: no voter set names it, so that it decides nothing")
        return found

    @cached_property
    def _once_voters(self) -> frozenset[int]:
        """The ids that a voter set or the configuration names."""
        return frozenset(key.id for keys in (*self.sets, self.static_voters) for key in keys)

    @cached_property
    def static_voters(self) -> tuple[VoterKey, ...]:
        """The voters of the configuration, as far as disks have them: in quorum-state, or in LeaderChange
        records.
        """
        for disk in self.quorum.disks:
            if disk.state is not None and disk.state.voters:
                return tuple(VoterKey(id, None) for id in disk.state.voters)
        for disk in self.quorum.disks:
            for batch in reversed(disk.batches):
                for each in batch.control:
                    if isinstance(each, LeaderChange) and each.voters:
                        return tuple(VoterKey(id, None) for id in each.voters)
        return ()

    @cached_property
    def formatted_voters(self) -> tuple[VoterKey, ...]:
        """The voters before any record: of the checkpoint 0-0, or else the first that a disk has."""
        for disk in self.quorum.disks:
            for snapshot in disk.snapshots:
                for batch in snapshot.batches if snapshot.end == 0 and snapshot.is_whole else ():
                    for each in batch.control:
                        if isinstance(each, Voters):
                            return each.keys
        return self.sets[0] if self.sets else self.static_voters

    @cached_property
    def is_upgraded(self) -> bool:
        """Whether kraft.version was 0 at first: the first voter set is behind the first batch of a log."""
        if self.is_static or any(each.end == 0 for disk in self.quorum.disks for each in disk.snapshots):
            return False
        firsts = [
            disk.voter_sets[0].offset for disk in self.disks.values() if disk.voter_sets and not disk.start
        ]
        return bool(firsts) and min(firsts) > 2

    @cached_property
    def current_voters(self) -> tuple[int, ...]:
        """The voters of the effective sets of the disks that take part, by id."""
        keys = {key.id for disk in self.disks.values() for key in disk.voters}
        return tuple(sorted(keys or {key.id for key in self.static_voters}))

    @cached_property
    def everybody(self) -> tuple[int, ...]:
        """All nodes that disks name in voter sets, votes or as leaders, by id; the first voters first."""
        first = [key.id for key in self.formatted_voters]
        named_too = {key.id for keys in self.sets for key in keys} | set(self.disks)
        for disk in self.disks.values():
            if disk.state is not None:
                named_too |= {disk.state.leader} if disk.state.leader is not None else set()
                named_too |= {disk.state.vote.id} if disk.state.vote is not None else set()
        later = sorted(named_too - set(first))
        if len(first) > _MOST_VOTERS or len(later) > _MOST_JOINING:
            raise InputError(
                f"the disks name {len(first)} first voters and {len(later)} other controllers; the "
                f"checker explores up to {_MOST_VOTERS} and {_MOST_JOINING}."
            )
        return (*first, *later)

    @cached_property
    def ids(self) -> Mapping[int, int]:
        """The ids of the replicas of the scenario by those of the nodes: the same, unless they are large."""
        return numbered(self.everybody)

    @cached_property
    def unable(self) -> dict[int, str]:
        """The nodes with a disk on which no process starts, and the reason."""
        return {id: why for id, disk in self.disks.items() if (why := cannot_start(disk))}

    @cached_property
    def shortened(self) -> Shortened:
        """The logs with the offsets of the scenario."""
        return shorten(self.quorum, tuple(self.disks.values()), self.marks)

    @cached_property
    def epochs(self) -> Mapping[int, int]:
        """The epochs of the scenario by those of the disks: in their order, with one between two that are not
        neighbours.
        """
        found = {0}
        for disk in self.disks.values():
            found |= {piece.epoch for piece in self.shortened.pieces[id(disk)]}
            found |= {disk.state.epoch} if disk.state is not None else set()
        ordered = sorted(found)
        numbers = {0: 0}
        for one, other in pairwise(ordered):
            numbers[other] = numbers[one] + min(other - one, 2 if one else 1)
        if max(numbers.values()) > _LARGEST_EPOCH:
            raise InputError(
                "the logs differ in too many epochs to be explored; inspect says what they have."
            )
        return numbers

    def directory(self, key: VoterKey) -> str | None:
        """The directory of a node in the scenario: ``d3`` is the first one of node 3, ``d3-2`` the next."""
        if self.is_static or key.directory is None:
            return None
        sources = [self.formatted_voters, *self.sets, [each.key for each in self.disks.values() if each.key]]
        votes = [
            disk.state.vote for disk in self.disks.values() if disk.state is not None and disk.state.vote
        ]
        every = [each.directory for keys in (*sources, votes) for each in keys if each.id == key.id]
        known = list(dict.fromkeys(each for each in every if each is not None))
        number = known.index(key.directory) + 1
        return f"d{self.ids[key.id]}" + (f"-{number}" if number > 1 else "")

    def next_directory(self, node: int) -> str | None:
        """The directory of the disk that replaces the one of ``node``."""
        disk = self.disks[node]
        own = None if disk.key is None else self.directory(disk.key)
        if own is None:
            return None
        used = {self.directory(key) for keys in (self.formatted_voters, *self.sets) for key in keys}
        number = 2
        while (name := f"d{self.ids[node]}-{number}") in used | {own}:
            number += 1
        return name

    def disk_text(self, node: int, assumed: Assumed) -> DiskText:
        """What the replica of ``node`` finds."""
        disk = self.disks[node]
        log, state, key = self.shortened.log_of(disk), disk.state, disk.key
        assert key is not None
        own = self.directory(key)
        return DiskText(
            directory=None if own == f"d{self.ids[node]}" else own,
            epoch=None if state is None else self.epochs[state.epoch],
            leader=None if state is None or state.leader is None else self.ids[state.leader],
            voted=None if state is None or state.vote is None else self._key(state.vote),
            log=tuple(Count(number, self.epochs[epoch], together) for number, epoch, together in log.counts),
            start=log.start,
            leaders=tuple(
                (self.epochs[epoch], self.ids.get(leader, leader))
                for epoch, leader in sorted(log.leaders.items())
            ),
            versions=tuple(sorted(log.versions.items())),
            sets=tuple((at, tuple(map(self._key, keys))) for at, keys in sorted(log.sets.items())),
            committed=self._committed(assumed, disk),
            lost_vote=self._lost_vote(assumed, node),
        )

    def _committed(self, assumed: Assumed, disk: StoredDisk) -> int:
        below = assumed.below if disk is assumed.disk else 0
        return self.shortened.at(below) if below else 0

    def _lost_vote(self, assumed: Assumed, node: int) -> tuple[int, ReplicaKey] | None:
        votes = [each for each in assumed.votes if each.voter == node and each.epoch in self.epochs]
        last = max(votes, key=lambda each: each.epoch, default=None)
        return None if last is None else (self.epochs[last.epoch], self._key(last.candidate))

    def _key(self, key: VoterKey) -> ReplicaKey:
        return ReplicaKey(self.ids[key.id], self.directory(key))

    def scenario(
        self,
        name: str,
        about: str,
        assumed: Assumed,
        *,
        stopped: Collection[int] = (),
        lost: Collection[int] = (),
    ) -> KRaftScenario:
        """The scenario in which all nodes start but those ``stopped``, and those ``lost`` on empty disks."""
        down = {*stopped, *self.unable, *(each for each in self.everybody if each not in self.disks)}
        texts = {each: self.disk_text(each, assumed) for each in self.disks}
        for each in lost:
            texts[each] = replace(texts[each], lost=self.next_directory(each) or "empty")
        first = [key.id for key in self.formatted_voters]
        later = [each for each in self.everybody if each not in first]
        replicas: dict[str, Any] = {"voters": sorted(self.ids[each] for each in first)}
        replicas |= {"joining": [self.ids[each] for each in later]} if later else {}
        replicas |= {} if self.is_static else {"upgradable" if self.is_upgraded else "dynamic": True}
        replicas |= {"stopped": sorted(self.ids[each] for each in down)} if down else {}
        replicas["disks"] = {str(self.ids[each]): print_disk(text) for each, text in sorted(texts.items())}
        last = max((self.epochs[disk.state.epoch] for disk in self.disks.values() if disk.state), default=0)
        last = max(
            [last, *(self.epochs[piece.epoch] for found in self.shortened.pieces.values() for piece in found)]
        )
        data = {
            "name": name,
            "about": about,
            "protocol": {"preset": self.preset},
            "replicas": replicas,
            "network": {"capacity": 4, "forgotten": "lost", "idle-answers": "left-out"},
            "environment": {"write-back": True, "discovery": bool(lost)},
            "bounds": {"max-epoch": last + 1},
            "check": {"without": list(_WITHOUT), "goals": list(GOALS)},
            "expect": {"verdict": "holds"},
        }
        return _with_room(of_replicas(from_data(data, name), "a start on disks"))


def _with_room(scenario: KRaftScenario) -> KRaftScenario:
    """``scenario`` with a network that holds what the processes send when they start."""
    wide = scenario.model_copy(
        update={"network": scenario.network.model_copy(update={"capacity": MOST_IN_FLIGHT})}
    )
    sent = len(build(wide).initial_messages)
    capacity = max(scenario.network.capacity, sent)
    return scenario.model_copy(update={"network": scenario.network.model_copy(update={"capacity": capacity})})
