"""What an operator sees of a quorum: who votes, runs, is down, or has lost its disk; and what can be done."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from kraftcheck.reference.types import INT32
from kraftcheck.reference.voters import majority
from kraftcheck.support.errors import InputError

EXAMPLE: Final = "voters=1,2,3 observers=4 leader=1 down=3"
_WORDS: Final = ("voters", "observers", "leader", "down", "lost")
_IDS = re.compile(r"\d{1,10}(,\d{1,10})*", re.ASCII)
#: With more, a step has more states than can be explored.
_MOST_VOTERS: Final = 5


class Member(NamedTuple):
    """A controller on a disk: its id, and the number of the disk; the one that replaces a lost disk is the
    next.
    """

    id: int
    disk: int = 1


@dataclass(frozen=True, slots=True)
class Situation:
    """``voters``; ``running`` controllers, observers included; ``down``: those that can be started;
    ``empty``: the ids of machines with an empty disk; ``leaders``: the voters that may lead. After an
    election that an operator cannot direct these are all that run.
    """

    voters: frozenset[Member]
    running: frozenset[Member]
    down: frozenset[Member] = frozenset()
    empty: frozenset[int] = frozenset()
    leaders: frozenset[int] = frozenset()

    @property
    def running_voters(self) -> list[int]:
        """The ids of the voters that run, in order."""
        return sorted(each.id for each in self.voters & self.running)

    @property
    def needs_all(self) -> bool:
        """Whether the voters that run are a bare majority, so that no election does without one of them."""
        return len(self.running_voters) == majority(len(self.voters))

    def reaches(self, goal: frozenset[int]) -> bool:
        """Whether the voters are those of ``goal``, and all of them run."""
        return {each.id for each in self.voters} == goal and self.voters <= self.running

    def current(self, id: int) -> Member | None:
        """The controller with this id on its present disk."""
        return next((each for each in self.running | self.down if each.id == id), None)


class Operation(NamedTuple):
    """``verb``: add, remove, start, format (and start), or restart; of which controller."""

    verb: str
    member: Member

    def __str__(self) -> str:
        id, disk = self.member
        return {
            "add": f"add {id} to the voters, once it has caught up",
            "remove": f"remove {id} from the voters",
            "start": f"start {id}",
            "format": f"format the {'empty' if disk == 1 else 'new'} disk of {id}, and start it",
            "restart": f"if {id} leads, restart it, so that another voter leads",
        }[self.verb]


def parse_ids(text: str, what: str) -> frozenset[int]:
    """The ids in ``1,2,4``. Raises InputError; ``what`` names the text."""
    if not _IDS.fullmatch(text):
        raise InputError(f"{what}: expected ids such as 1,2,4, found '{text[:40]}'.")
    ids = frozenset(map(int, text.split(",")))
    if max(ids) > INT32:
        raise InputError(f"{what}: {max(ids)} is no id of a node; the largest is {INT32:,}.")
    return ids


def parse_goal(text: str) -> frozenset[int]:
    """The voters in ``voters=1,2,4``. Raises InputError."""
    word, _, ids = text.partition("=")
    if word != "voters":
        raise InputError(f"--goal: expected voters such as 'voters=1,2,4', found '{text[:40]}'.")
    found = parse_ids(ids, "--goal")
    if len(found) > _MOST_VOTERS:
        raise InputError(f"--goal: at most {_MOST_VOTERS} voters can be planned for, found {len(found)}.")
    return found


def parse_situation(text: str) -> Situation:
    """The situation that words such as ``voters=1,2,3 leader=1 down=3`` give. Raises InputError."""
    given: dict[str, frozenset[int]] = dict.fromkeys(_WORDS, frozenset())
    seen = set[str]()
    for word in text.split():
        key, _, ids = word.partition("=")
        if key not in _WORDS or key in seen:
            raise InputError(f"the situation: expected words such as '{EXAMPLE}', found '{word[:40]}'.")
        seen.add(key)
        given[key] = parse_ids(ids, f"the situation: {key}")
    voters, everybody = given["voters"], given["voters"] | given["observers"]
    if not voters or len(voters) > _MOST_VOTERS:
        raise InputError(f"the situation: it needs 1 to {_MOST_VOTERS} voters; for example '{EXAMPLE}'.")
    strangers = sorted((given["down"] | given["lost"] | given["leader"]) - everybody)
    if strangers:
        raise InputError(f"the situation: {strangers[0]} is neither a voter nor an observer; name it as one.")
    running = everybody - given["down"] - given["lost"]
    if len(given["leader"]) > 1 or not given["leader"] <= running & voters:
        raise InputError("the situation: leader is one voter that runs.")
    return led_by(
        given["leader"],
        Situation(
            frozenset(map(Member, voters)),
            frozenset(map(Member, running)),
            frozenset(map(Member, given["down"] - given["lost"])),
            given["lost"],
        ),
    )


def led_by(leaders: frozenset[int], situation: Situation) -> Situation:
    """``situation`` with those of ``leaders`` that are voters and run; if there are none, any that runs may
    lead.
    """
    ids = frozenset(situation.running_voters)
    return replace(situation, leaders=leaders & ids or ids)


def operations(situation: Situation, goal: frozenset[int]) -> Iterator[tuple[Operation, Situation]]:
    """What an operator can do towards ``goal``, and the situation afterwards if it works."""
    ids = {each.id for each in situation.voters}
    known = ids | {each.id for each in situation.running | situation.down}
    for id in sorted((situation.empty | (goal - known)) & goal):
        disk = max((each.disk for each in situation.voters if each.id == id), default=0) + 1
        member = Member(id, disk)
        after = replace(situation, running=situation.running | {member}, empty=situation.empty - {id})
        yield Operation("format", member), after
    for member in sorted(situation.down):
        if member.id in goal or member in situation.voters:
            after = replace(situation, running=situation.running | {member}, down=situation.down - {member})
            # What runs without a majority has no leader yet.
            led = len(situation.running_voters) >= majority(len(ids))
            yield Operation("start", member), led_by(situation.leaders if led else frozenset(), after)
    for member in sorted(situation.running):
        if member.id in goal and member.id not in ids and len(ids) < _MOST_VOTERS:
            yield Operation("add", member), replace(situation, voters=situation.voters | {member})
    for member in sorted(situation.voters):
        if (member.id not in goal or member not in situation.running | situation.down) and len(ids) > 1:
            after = replace(situation, voters=situation.voters - {member})
            # An election follows where the leader leaves.
            leaders = frozenset[int]() if member.id in situation.leaders else situation.leaders
            yield Operation("remove", member), led_by(leaders, after)
    for id in sorted(situation.leaders - goal):
        if others := frozenset(situation.running_voters) - {id}:
            yield Operation("restart", Member(id)), replace(situation, leaders=others)
