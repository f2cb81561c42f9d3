"""Writes the logs of a made-up fleet, with faults planted, and a list of what was planted.

Each cluster is a walk of its own of the simulator over the reference (`tests.laboratory.logs.walk`).

    python -m tests.laboratory.logs.make_fleet FOLDER [--clusters N] [--lines N] [--faults N] [--seed N]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

from kraftcheck.evidence.history.checks import CHECKS
from kraftcheck.evidence.logs.releases import forms
from kraftcheck.support import signals
from kraftcheck.support.arguments import positive, whole_number
from kraftcheck.support.collector import without_collector
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import require_folder_can_be_written, write_atomically
from tests.laboratory.logs.faults import FAULTS, Planted
from tests.laboratory.logs.fleet import Cluster
from tests.laboratory.logs.node_log import Place
from tests.laboratory.logs.walk import Walk

MANIFEST: Final = "planted.json"
_RELEASES: Final = ("4.3", "3.9", "4.0", "3.7", "4.1", "3.8", "4.2", "3.5")
#: The shares of messages that are lost, one cluster after the other.
_DROP: Final = (0.0, 0.01, 0.03)
#: So many lines of other loggers at most come in a second, on each node; of its own, a node has about four.
_NOISE: Final = 160
#: A cluster lives for at least so many seconds, and so many more for each fault.
_SECONDS: Final = 10


@dataclass(frozen=True, slots=True)
class FleetOptions:
    """How large a fleet is. ``lines`` are those of all clusters; ``faults`` of each kind are planted."""

    clusters: int = 4
    lines: int = 100_000
    seed: int = 1
    faults: int = 1
    files: int = 3
    """About so many files of each node."""
    skew: int = 600
    """Clocks are wrong by up to so many seconds."""


def make_fleet(folder: Path, options: FleetOptions) -> dict[str, Any]:
    """Write ``folder``/cluster/node/controller.log... and `MANIFEST`, which is returned.

    The same options give the same text. Raises InputError if the folder has content.
    """
    if os.path.exists(folder) and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: is not an empty folder; give one for the fleet.")
    folder.mkdir(parents=True, exist_ok=True)
    jobs = _allotted(options)
    work = partial(_cluster, options, folder)
    if options.lines < 1_000_000 or len(jobs) == 1:
        made = [work(job) for job in jobs]
    else:
        with ProcessPoolExecutor(
            os.cpu_count(), mp_context=get_context("spawn"), initializer=signals.ignore
        ) as pool:
            try:
                made = list(pool.map(work, jobs))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    manifest = {
        "format": 1,
        "seed": options.seed,
        "lines": sum(one["lines"] for one in made),
        "clusters": [{key: one[key] for key in ("cluster", "release", "nodes", "absent")} for one in made],
        "planted": [fault for one in made for fault in one["planted"]],
    }
    write_atomically(folder / MANIFEST, json.dumps(manifest, indent=1) + "\n")
    return manifest


@dataclass(frozen=True, slots=True)
class _Job:
    number: int
    release: str
    size: int
    dynamic: bool
    """The voter set is in the log."""
    faults: tuple[str, ...]


def _allotted(options: FleetOptions) -> list[_Job]:
    """The clusters, and the faults that each gets: the first, of the newest release, what others cannot."""
    known = forms().releases
    draw = random.Random(options.seed)
    releases = [_RELEASES[number % len(_RELEASES)] for number in range(options.clusters)]
    dynamic = [
        known.index(release) >= known.index("3.9") and number % 5 != 4
        for number, release in enumerate(releases)
    ]
    kinds = [check for check in CHECKS for _ in range(options.faults)]
    draw.shuffle(kinds)
    faults: list[list[str]] = [[] for _ in releases]
    for check in kinds:
        fault = FAULTS[check]
        able = [n for n, one in enumerate(releases) if fault.shows_in(one, dynamic=dynamic[n])]
        faults[draw.choice(able)].append(check)
    return [
        _Job(
            number,
            release,
            draw.choice((3, 3, 5)) if number % 3 < 2 else 5,
            dynamic[number],
            tuple(faults[number]),
        )
        for number, release in enumerate(releases)
    ]


def _cluster(options: FleetOptions, folder: Path, job: _Job) -> dict[str, Any]:
    name = f"cluster-{job.number:03}"
    absent = job.size if job.number % 3 == 2 else None
    lines = max(1, options.lines // options.clusters // (job.size - (absent is not None)))
    cluster = Cluster(
        options.seed * 1_000_003 + job.number,
        name,
        job.release,
        folder,
        size=job.size,
        absent=absent,
        skew=options.skew,
        noise=min(_NOISE, lines // (_SECONDS * (1 + len(job.faults)))),
        trace=job.number % 4 == 1,
        dynamic=job.dynamic,
        drop=_DROP[job.number % len(_DROP)],
    )
    with without_collector():
        rotate = max(1, lines // options.files)
        planted = _walk(cluster, job.faults, lines, rotate)
    cluster.finish()
    return {
        "cluster": name,
        "release": job.release,
        "nodes": [node for node in cluster.nodes if node != absent],
        "absent": [] if absent is None else [absent],
        "lines": sum(log.total for log in cluster.logs.values() if log.folder is not None),
        "planted": [_entry(cluster, folder, check, *where) for check, where in planted],
    }


def _walk(cluster: Cluster, faults: tuple[str, ...], lines: int, rotate: int) -> list[tuple[str, Planted]]:
    """A walk with so many lines of each node, ``rotate`` in a file, and ``faults`` at even distances."""
    walk = Walk(cluster)
    planted: list[tuple[str, Planted]] = []
    logs = cluster.logs.values()
    for number, check in enumerate((*faults, None), 1):
        while max(log.total for log in logs) < lines * number // (len(faults) + 1):
            walk.go_on()
            cluster.rotate(rotate)
        walk.settle()
        if check is not None:
            planted.append(_plant(cluster, check))
    died = (place for place in cluster.died if place.node != cluster.absent)
    return [*planted, *(("NoFatal", (place, None)) for place in died)]


def _plant(cluster: Cluster, check: str) -> tuple[str, Planted]:
    able = _victims(cluster, check)
    if not able:  # every node was found misnamed: that is said once of each
        check, able = "same-state", _victims(cluster, "same-state")
    node = cluster.random.choice(able)
    with cluster.planting(node):
        return check, FAULTS[check].plant(cluster, node)


def _victims(cluster: Cluster, check: str) -> list[int]:
    """Followers that are voters and have logs."""
    return [
        one
        for one in cluster.voters
        if cluster.states[one].role == "Follower"
        and one != cluster.absent
        and (check != "own-id" or one not in cluster.misnamed)
    ]


def _entry(cluster: Cluster, folder: Path, check: str, place: Place, other: Place | None) -> dict[str, Any]:
    def shown(one: Place) -> dict[str, Any]:
        path = cluster.logs[one.node].paths[one.file]
        return {"node": one.node, "file": path.relative_to(folder).as_posix(), "line": one.line}

    entry = {"cluster": cluster.name, "check": check, **shown(place)}
    return entry if other is None else entry | {"or": shown(other)}


#: The options of the script.
_SIZE: Final = {
    "clusters": "clusters",
    "lines": "lines of all clusters, about",
    "faults": "faults of each kind",
    "seed": "what chance begins with",
}


def main(words: list[str] | None = None) -> int:
    """The script: 0 if the fleet was written, 2 and a sentence if it cannot be."""
    parser = argparse.ArgumentParser(prog="make_fleet", description="Write made-up logs with faults planted.")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="empty, or not there yet")
    for name, what in _SIZE.items():
        default = getattr(FleetOptions(), name)
        kind = positive if name == "clusters" else whole_number
        parser.add_argument(
            f"--{name}", type=kind, default=default, metavar="N", help=f"{what} (default: {default})"
        )
    arguments = parser.parse_args(words)
    options = FleetOptions(**{name: getattr(arguments, name) for name in _SIZE})
    try:
        require_folder_can_be_written(arguments.folder, "FOLDER")
        made = make_fleet(arguments.folder, options)
    except InputError as error:
        print(f"make_fleet: {error}", file=sys.stderr)
        return 2
    nodes = sum(len(one["nodes"]) for one in made["clusters"])
    print(
        f"{made['lines']:,} lines of {nodes:,} nodes in {len(made['clusters']):,} clusters; "
        f"{len(made['planted']):,} faults planted, listed in {MANIFEST}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
