"""A schedule: a cluster and what happens to it, as a list of choices. The same one gives the same recording.

A choice that is not possible when its time comes (a process that does not run is killed) does nothing. So a
schedule from which choices are left out is a schedule, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from kraftcheck.evidence.recorder.hosts import Hosting, ReferenceHost
from kraftcheck.evidence.recorder.network import Delays
from kraftcheck.evidence.recorder.simulation import Simulation
from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.evidence.recordings.processes import POINTS
from kraftcheck.evidence.recordings.typed import typed
from kraftcheck.support import codec
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import read_text

FORMAT, VERSION = "kraftcheck-schedule", 1

#: The longest run, in ms of the simulated cluster.
MAX_MS = 3_600_000

_Milliseconds = Annotated[int, Meta(ge=0, le=MAX_MS)]
_Share = Annotated[float, Meta(ge=0, le=1)]
_Skew = tuple[Annotated[int, Meta(ge=-60_000, le=60_000)], Annotated[float, Meta(ge=-0.5, le=0.5)]]


class Cluster(Struct, frozen=True, omit_defaults=True, rename="kebab", forbid_unknown_fields=True):
    """The cluster of a schedule; the fields are those of :class:`.simulation.Simulation`.

    slow, tail: the share of messages that take longer, and by how much at most (ms). skew: offset (ms) and
    drift (ms per ms) of the clock of a node, by its id.
    """

    voters: Annotated[int, Meta(ge=1, le=9)] = 3
    joiners: Annotated[int, Meta(ge=0, le=9)] = 0
    brokers: Annotated[int, Meta(ge=0, le=9)] = 0
    kraft_version: Literal[0, 1] = 1
    auto_join: bool = False
    drop: _Share = 0.0
    slow: _Share = 0.0
    tail: Annotated[int, Meta(ge=0, le=10_000)] = 0
    skew: dict[str, _Skew] = {}

    @property
    def nodes(self) -> tuple[int, ...]:
        """The ids of the nodes."""
        return (*range(1, self.voters + self.joiners + 1), *range(101, 101 + self.brokers))


class Choice(Struct, frozen=True, omit_defaults=True, rename="kebab", forbid_unknown_fields=True):
    """At the time ``at`` (ms) the simulator does ``do`` (:data:`ACTIONS`).

    node: the node that it concerns; ``None``: no node, or the leader. to: the node that the admin client
    asks; ``None``: the leader. count: of values, ms, or a version. power: whether unflushed records
    are lost, or a snapshot deletes the log before it. point: a crash point. links: the links that are
    blocked.
    """

    at: _Milliseconds
    do: str
    node: int | None = None
    to: int | None = None
    count: Annotated[int, Meta(ge=0, le=MAX_MS)] = 1
    power: bool = True
    point: str = ""
    links: tuple[tuple[int, int], ...] = ()


class Schedule(Struct, frozen=True, rename="kebab", forbid_unknown_fields=True):
    """A cluster, the time until which it runs (ms), and the choices. profile, seed: where these are from."""

    profile: Annotated[str, Meta(pattern="^[a-z-]{1,40}$")]
    seed: Annotated[int, Meta(ge=0)]
    until: _Milliseconds
    cluster: Cluster
    choices: tuple[Choice, ...]


def _node(choice: Choice) -> int:
    assert choice.node is not None
    return choice.node


_Act = Callable[[Simulation, Choice], None]
#: What the simulator can do to a node, and to the cluster.
_TO_NODES: Mapping[str, _Act] = {
    "start": lambda cluster, it: cluster.start(_node(it)),
    "kill": lambda cluster, it: cluster.kill(_node(it), power_loss=it.power),
    "crash-at": lambda cluster, it: cluster.crash_at(_node(it), it.point),
    "shut-down": lambda cluster, it: cluster.shut_down(_node(it)),
    "pause": lambda cluster, it: cluster.pause(_node(it), it.count),
    "isolate": lambda cluster, it: cluster.isolate(_node(it)),
    "wipe": lambda cluster, it: cluster.wipe(_node(it)),
    "write-back": lambda cluster, it: cluster.write_back(_node(it)),
    "add-voter": lambda cluster, it: cluster.add_voter(_node(it), it.to),
    "snapshot": lambda cluster, it: cluster.snapshot(_node(it), clean=it.power),
    "append-elsewhere": lambda cluster, it: cluster.append_elsewhere(_node(it)),
    "resign-at": lambda cluster, it: cluster.resign_at(_node(it), it.count),
}
_TO_THE_CLUSTER: Mapping[str, _Act] = {
    "append": lambda cluster, it: cluster.append(it.count),
    "resign": lambda cluster, it: cluster.resign(),
    "upgrade": lambda cluster, it: cluster.upgrade(it.count),
    "block": lambda cluster, it: cluster.block("links", set(it.links)),
    "heal": lambda cluster, it: cluster.heal(),
    "isolate-leader": lambda cluster, it: cluster.isolate(*cluster.leaders()),
    "remove-voter": lambda cluster, it: cluster.remove_voter(it.node, it.to),
}
ACTIONS: Mapping[str, _Act] = {**_TO_NODES, **_TO_THE_CLUSTER}


def record(schedule: Schedule, hosting: Hosting = ReferenceHost, **labels: Json) -> list[Json]:
    """The lines of the recording that ``schedule`` gives. Raises AdapterError where an adapter fails."""
    cluster = schedule.cluster
    simulation = Simulation(
        schedule.seed,
        voters=cluster.voters,
        joiners=cluster.joiners,
        brokers=cluster.brokers,
        kraft_version=cluster.kraft_version,
        auto_join=cluster.auto_join,
        drop=cluster.drop,
        delays=Delays(slow=cluster.slow, tail=cluster.tail),
        skew={int(node): skew for node, skew in cluster.skew.items()},
        hosting=hosting,
        labels={"scenario": schedule.profile, "seed": schedule.seed, **labels},
    )
    for choice in schedule.choices:
        simulation.at(choice.at, lambda it=choice: ACTIONS[it.do](simulation, it))  # type: ignore[misc]
    simulation.run(schedule.until)
    return simulation.finish()


# Files.


def dumps(schedule: Schedule) -> str:
    """``schedule`` as the text of a file."""
    head = {"format": FORMAT, "version": VERSION, **msgspec.to_builtins(schedule)}
    choices = ",\n".join(f"  {json.dumps(each)}" for each in head.pop("choices"))
    return f'{json.dumps(head, indent=1)[:-2]},\n "choices": [\n{choices}\n ]\n}}\n'


def load(path: Path) -> Schedule:
    """The schedule in a file. Raises InputError."""
    data, place = codec.parse(read_text(path, "a schedule"), str(path)), str(path)
    head = (data.pop("format", None), data.pop("version", None)) if isinstance(data, dict) else ()
    if head != (FORMAT, VERSION):
        raise InputError(
            f"{path}: is no schedule of version {VERSION}; give a file that 'kraftcheck record' wrote."
        )
    schedule: Schedule = typed(data, Schedule, place)
    for number, choice in enumerate(schedule.choices):
        for wrong in _wrong(choice, schedule.cluster):
            raise InputError(f"{place}: choices[{number}]: {wrong}.")
    for node in schedule.cluster.skew:
        if node not in map(str, schedule.cluster.nodes):
            raise InputError(f"{place}: skew: the cluster has no node {node[:20]!r}.")
    return schedule


def _wrong(choice: Choice, cluster: Cluster) -> Iterator[str]:
    nodes = cluster.nodes
    if choice.do not in ACTIONS:
        yield f"do: must be one of {', '.join(sorted(ACTIONS))}"
    if choice.do in _TO_NODES and choice.node is None:
        yield f"node: {choice.do} needs one"
    named = [choice.node, choice.to, *(node for link in choice.links for node in link)]
    unknown = [node for node in named if node is not None and node not in nodes]
    if unknown:
        yield f"the cluster has no node {unknown[0]}"
    if choice.do == "crash-at" and choice.point not in POINTS:
        yield f"point: must be one of {', '.join(POINTS)}"
