"""Profiles of faults: each makes the schedule of a cluster from a seed (``docs/record.md``).

A cluster starts, elects and appends; from the third second on there are the faults of the profile; in the
last seconds there are none, and every process runs.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping

from kraftcheck.evidence.recorder.schedule import Choice, Cluster, Schedule
from kraftcheck.evidence.recordings.processes import POINTS

#: When faults begin, and how long before the end the last ones end, in ms.
BEGIN, QUIET = 3_000, 8_000

Choices = Iterator[Choice]
Faults = Callable[[random.Random, Cluster, int, int], Choices]


def schedule(profile: str, seed: int, seconds: int) -> Schedule:
    """The schedule of ``profile`` (a name in :data:`PROFILES`) with this seed."""
    draw = random.Random(f"{profile} {seed}")
    cluster, faults = PROFILES[profile](draw)
    until = seconds * 1000
    choices = [
        *_ordinary(draw, cluster, until),
        *faults(draw, cluster, BEGIN, until - QUIET),
        *_quiet(cluster, until - QUIET),
    ]
    return Schedule(profile, seed, until, cluster, tuple(sorted(choices, key=lambda choice: choice.at)))


def _ordinary(draw: random.Random, cluster: Cluster, until: int) -> Choices:
    for node in cluster.nodes:
        yield Choice(draw.randrange(10, 300), "start", node)
    for at in range(2_000, until - 500, 400):
        yield Choice(at + draw.randrange(300), "append", count=draw.randint(1, 4))


def _quiet(cluster: Cluster, at: int) -> Choices:
    yield Choice(at, "heal")
    for node in cluster.nodes:
        yield Choice(at + 10, "start", node)


def _times(draw: random.Random, begin: int, end: int, every: int) -> Iterator[int]:
    at = begin
    while (at := at + draw.randrange(every // 2, every * 3 // 2)) < end:
        yield at


# Faults.


def _none(draw: random.Random, cluster: Cluster, begin: int, end: int) -> Choices:
    return iter(())


def _resignations(draw: random.Random, cluster: Cluster, begin: int, end: int) -> Choices:
    for at in _times(draw, begin, end, 8_000):
        yield Choice(at, "resign")


def _partitions(draw: random.Random, cluster: Cluster, begin: int, end: int) -> Choices:
    nodes = cluster.nodes
    pairs = [(one, other) for one in nodes for other in nodes if one != other]
    for at in _times(draw, begin, end, 5_000):
        kind = draw.choice(["node", "leader", "split", "links"])
        if kind == "node":
            yield Choice(at, "isolate", draw.choice(nodes))
        elif kind == "leader":
            yield Choice(at, "isolate-leader")
        elif kind == "split":
            side = {node for node in nodes if draw.random() < 0.5}
            yield Choice(at, "block", links=tuple(p for p in pairs if (p[0] in side) != (p[1] in side)))
        else:
            yield Choice(at, "block", links=tuple(pair for pair in pairs if draw.random() < 0.25))
        yield Choice(min(end, at + draw.randrange(500, 6_000)), "heal")


def _stops(draw: random.Random, cluster: Cluster, begin: int, end: int) -> Choices:
    for at in _times(draw, begin, end, 4_000):
        node = draw.choice(cluster.nodes)
        yield Choice(at, "shut-down", node)
        yield Choice(at + draw.randrange(300, 6_000), "start", node)


def _kills(draw: random.Random, cluster: Cluster, begin: int, end: int) -> Choices:
    for at in _times(draw, begin, end, 4_000):
        node = draw.choice(cluster.nodes)
        yield Choice(at, "kill", node, power=draw.random() < 0.6)
        yield Choice(at + draw.randrange(1, 4_000), "start", node)


def _crashes(draw: random.Random, cluster: Cluster, begin: int, end: int) -> Choices:
    for at in _times(draw, begin, end, 2_500):
        node = draw.choice(cluster.nodes)
        yield Choice(at, "crash-at", node, point=draw.choice(list(POINTS)))
        yield Choice(at + draw.randrange(300, 3_000), "start", node)
        if draw.random() < 0.3:
            yield Choice(at + 1, "resign")


def _voter_changes(draw: random.Random, cluster: Cluster, begin: int, end: int) -> Choices:
    controllers = [node for node in cluster.nodes if node < 101]
    for at in _times(draw, begin, end, 2_500):
        to = draw.choice(controllers) if draw.random() < 0.15 else None
        if draw.random() < 0.55:
            yield Choice(at, "add-voter", draw.choice(controllers), to)
        else:
            yield Choice(at, "remove-voter", draw.choice([None, *controllers]), to)


def _upgrades(draw: random.Random, cluster: Cluster, begin: int, end: int) -> Choices:
    for at in _times(draw, begin, end, 5_000):
        yield Choice(at, "upgrade", count=draw.choice([1, 1, 1, 0]))


def _snapshots(draw: random.Random, cluster: Cluster, begin: int, end: int) -> Choices:
    for at in _times(draw, begin, end, 1_500):
        yield Choice(at, "snapshot", draw.choice(cluster.nodes), power=draw.random() < 0.7)


def _disk_losses(draw: random.Random, cluster: Cluster, begin: int, end: int) -> Choices:
    for at in _times(draw, begin, end, 12_000):
        node = draw.choice(cluster.nodes)
        yield Choice(at, "kill", node)
        yield Choice(at + 50, "wipe", node)
        yield Choice(at + draw.randrange(100, 3_000), "start", node)


def _pauses(draw: random.Random, cluster: Cluster, begin: int, end: int) -> Choices:
    for at in _times(draw, begin, end, 5_000):
        yield Choice(at, "pause", draw.choice(cluster.nodes), count=draw.choice([50, 500, 2_500, 4_000]))


def _early_broker_crashes(draw: random.Random, cluster: Cluster, begin: int, end: int) -> Choices:
    for node in (node for node in cluster.nodes if node > 100):
        for at in _times(draw, begin, end, 2_500):
            yield Choice(at, "kill", node, power=draw.random() < 0.8)
            yield Choice(at + draw.randrange(1, 400), "start", node)
            if draw.random() < 0.3:
                yield Choice(at + 400 + draw.randrange(400), "write-back", node)


def _refused_calls(draw: random.Random, cluster: Cluster, begin: int, end: int) -> Choices:
    for at in _times(draw, begin, end, 4_000):
        yield Choice(at, "append-elsewhere", draw.choice(cluster.nodes))
        yield Choice(at + 7, "resign-at", draw.choice(cluster.nodes), count=draw.randrange(4))


def _together(*faults: Faults) -> Faults:
    def all_of(draw: random.Random, cluster: Cluster, begin: int, end: int) -> Choices:
        for each in faults:
            yield from each(draw, cluster, begin, end)

    return all_of


# Profiles.


def _skewed(draw: random.Random) -> Cluster:
    drifts = {node: round(draw.uniform(-0.005, 0.005), 6) for node in ("1", "2", "3", "101")}
    skew = {node: (draw.randint(-300, 300), drift) for node, drift in drifts.items()}
    return Cluster(brokers=1, skew=skew, slow=0.01, tail=60)


_ALL = (
    *(_resignations, _partitions, _stops, _kills, _crashes, _snapshots, _disk_losses, _pauses),
    _refused_calls,
)


def _mixed(draw: random.Random) -> tuple[Cluster, Faults]:
    cluster = Cluster(
        voters=draw.randint(1, 5),
        joiners=draw.randint(0, 2),
        brokers=draw.randint(0, 2),
        auto_join=draw.random() < 0.2,
        drop=draw.choice([0.0, 0.0, 0.04]),
        slow=0.02,
        tail=300,
    )
    return cluster, _together(*draw.sample(_ALL, 3), _voter_changes)


#: The profiles by name: the cluster and its faults.
PROFILES: Mapping[str, Callable[[random.Random], tuple[Cluster, Faults]]] = {
    "steady": lambda draw: (Cluster(brokers=1, slow=0.01, tail=60), _none),
    "lossy": lambda draw: (Cluster(brokers=1, drop=0.06, slow=0.05, tail=300), _resignations),
    "partition": lambda draw: (Cluster(voters=draw.randint(2, 5), slow=0.01, tail=60), _partitions),
    "crash": lambda draw: (
        Cluster(voters=draw.randint(2, 5), brokers=1, slow=0.01, tail=60),
        _together(_crashes, _kills),
    ),
    "restart": lambda draw: (
        Cluster(voters=draw.choice([3, 5]), brokers=1, slow=0.01, tail=60),
        _together(_stops, _resignations, _refused_calls),
    ),
    "reconfiguration": lambda draw: (
        Cluster(joiners=2, slow=0.01, tail=60),
        _together(_voter_changes, draw.choice([_none, _partitions, _resignations])),
    ),
    "auto-join": lambda draw: (
        Cluster(voters=draw.choice([1, 3]), joiners=2, auto_join=True, slow=0.01, tail=60),
        _kills,
    ),
    "upgrade": lambda draw: (
        Cluster(voters=draw.choice([3, 5]), brokers=1, kraft_version=0, slow=0.01, tail=60),
        _together(_upgrades, draw.choice([_resignations, _kills, _partitions])),
    ),
    "snapshot": lambda draw: (
        Cluster(joiners=2, slow=0.01, tail=60),
        _together(_snapshots, _disk_losses, _voter_changes, _kills),
    ),
    "skew": lambda draw: (_skewed(draw), _together(_kills, _partitions, _pauses)),
    "observer": lambda draw: (
        Cluster(brokers=2, slow=0.01, tail=60),
        _together(_early_broker_crashes, _resignations),
    ),
    "mixed": _mixed,
}
