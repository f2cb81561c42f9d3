"""Requests of the admin client to leaders, as a scenario lists them: ``add 4``, ``add 4 ack-when-appended``
(KIP-1186), ``remove 3/d3-2``, ``upgrade kraft.version``, ``downgrade kraft.version``; with KIP-595 ``alter
4,5,6``, ``alter cancel``.

The network may delay or lose a request, or the request times out and the client repeats it. So the model lets
a request arrive at a leader at any time that the budget allows. The model leaves out requests to other
replicas: they refuse at once and do not change. The answer leaves the model; the properties see it as a
label.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kraftcheck.reference.events import Event, RequestReceived, UpgradeKRaftVersion
from kraftcheck.reference.messages import AddRaftVoterRequest, AlterQuorumRequest, RemoveRaftVoterRequest
from kraftcheck.reference.replica import Leader, Replica
from kraftcheck.reference.voters import Endpoint, ReplicaKey
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft import membership
from kraftcheck.systems.kraft.network import CLIENT

#: Ends a step that asks for an answer as soon as the change is in the leader's log.
_ON_APPEND = " ack-when-appended"


@dataclass(frozen=True, slots=True)
class AdminStep:
    """One step: ``verb`` is add or remove, of the replica ``key``, or upgrade or downgrade; or alter, which
    makes ``target`` the voters (``None``: keeps the current ones). ``ack_when_committed`` False: the answer
    to add is not to wait for the commit.
    """

    verb: str
    key: ReplicaKey | None = None
    endpoints: tuple[Endpoint, ...] = ()
    target: tuple[int, ...] | None = None
    ack_when_committed: bool = True

    def __str__(self) -> str:
        if self.verb == "alter":
            return "cancel" if self.target is None else ",".join(map(str, self.target))
        if self.key is None:
            return ""
        return f"{self.key.id}/{self.key.directory}" + ("" if self.ack_when_committed else _ON_APPEND)


def first_directory(id: int) -> str:
    """The directory id with which a replica begins; its disk is replaced by one with the next."""
    return f"d{id}"


def next_directory(directory: str) -> str:
    """The directory id of the disk that replaces the one with this id: d3, d3-2, d3-3."""
    name, _, number = directory.partition("-")
    return f"{name}-{int(number or 1) + 1}"


def parse_step(text: str, endpoints: dict[int, tuple[Endpoint, ...]], where: str) -> AdminStep:
    """The step that ``text`` describes; a replica without a directory has its first one.

    ``endpoints``: the endpoint of each replica; ``where``: the scenario's file. Raises InputError for a
    replica that does not exist.
    """
    verb, _, what = text.partition(" ")
    if what == "kraft.version":
        return AdminStep(verb)
    if verb == "alter":
        target = None if what == "cancel" else tuple(map(int, what.split(",")))
        if not set(target or ()) <= set(endpoints):
            raise InputError(
                f"{where}: admin.steps: '{text}' names a replica that the scenario does not have."
            )
        return AdminStep(verb, target=target)
    named = what.removesuffix(_ON_APPEND)
    word, _, directory = named.partition("/")
    if int(word) not in endpoints:
        replicas = ", ".join(map(str, sorted(endpoints)))
        raise InputError(
            f"{where}: admin.steps: '{text}' names a replica that the scenario does not have; "
            f"its replicas are {replicas}."
        )
    key = ReplicaKey(int(word), directory or first_directory(int(word)))
    return AdminStep(verb, key, endpoints[key.id], ack_when_committed=named == what)


def requests(
    steps: tuple[AdminStep, ...], listed: bool, leader: Replica
) -> Iterator[tuple[AdminStep, Event]]:
    """The steps that the admin client may request from ``leader`` now, with their events.

    ``listed``: only the first that the leader's voter set does not show as done, once a change can begin.
    """
    assert isinstance(leader.role, Leader)
    if not listed:
        wanted = steps
    elif why_busy(leader):
        wanted = ()
    else:
        wanted = tuple(step for step in steps if not is_done(step, leader))[:1]
    for step in wanted:
        yield step, _event(step, leader, steps.index(step))


def why_busy(leader: Replica) -> str:
    """Why the leader would refuse any change for the time being, so that a request changes nothing; empty if
    it would not.
    """
    assert isinstance(leader.role, Leader)
    committed = -1 if leader.high_watermark is None else leader.high_watermark
    if leader.role.change is not None:
        return "another change of the voter set is under way"
    if committed < 0:
        return "the leader knows no high watermark"
    return "the newest voter set is not committed" if leader.voters_offset >= committed else ""


def is_done(step: AdminStep, leader: Replica) -> bool:
    """Whether the voter set of ``leader`` shows ``step`` as done."""
    if step.key is None:
        return leader.kraft_version == _level(step)
    return (step.key in membership.own_voters(leader).keys) == (step.verb == "add")


def _level(step: AdminStep) -> int:
    """The requested level of kraft.version."""
    return int(step.verb == "upgrade")


def _event(step: AdminStep, leader: Replica, number: int) -> Event:
    if step.verb == "alter":
        # Several may wait at a leader; the number of the step identifies the request of an answer.
        return RequestReceived(CLIENT, AlterQuorumRequest(step.target), number)
    if step.key is None:
        return UpgradeKRaftVersion(leader.epoch, _level(step))
    if step.verb == "add":
        asked = AddRaftVoterRequest(step.key, step.endpoints, step.ack_when_committed)
        return RequestReceived(CLIENT, asked)
    return RequestReceived(CLIENT, RemoveRaftVoterRequest(step.key))
