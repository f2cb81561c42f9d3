"""What the driver explored by itself, as data sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from model_check.engine.block import Batch
from model_check.engine.frontier import Frontier
from model_check.engine.links import Links
from model_check.pipeline.explore.kernels import split
from model_check.pipeline.explore.tasks import CHUNK, MOST_FINGERPRINTS, Cutter


def early_table(links: Links, level: int) -> Any:
    """How the states before ``level`` were reached."""
    levels, firsts, values = [], [], []
    for before in range(level):
        pairs = np.fromfile(links.links_of(before), np.uint32).reshape(-1, 2)
        for begin in range(0, len(pairs), CHUNK):
            levels.append(before)
            firsts.append(begin)
            values.append(pairs[begin : begin + CHUNK].tobytes())
    return pa.table(
        {
            "level": pa.array(levels, pa.int32()),
            "first": pa.array(firsts, pa.int64()),
            "links": pa.array(values, pa.large_binary()),
        }
    )


def visited_table(links: Links, level: int, keys: Sequence[int]) -> Any:
    """The fingerprints of all states up to ``level``."""
    all_of = [np.fromfile(links.fingerprints_of(each), np.uint64) for each in range(level + 1)]
    fps, _, starts = split(np.concatenate(all_of), len(keys))
    parts, values = [], []
    for owner, key in enumerate(keys):
        owned = fps[starts[owner] : starts[owner + 1]]
        for begin in range(0, len(owned), MOST_FINGERPRINTS):
            parts.append(key)
            values.append(owned[begin : begin + MOST_FINGERPRINTS].tobytes())
    return pa.table(
        {
            "part": pa.array(parts, pa.int32()),
            "level": pa.array([level] * len(parts), pa.int32()),
            "fingerprints": pa.array(values, pa.large_binary()),
        }
    )


def first_chunks(links: Links, frontier: Frontier, level: int, keys: Sequence[int]) -> Any:
    """The states of ``level``, which is ``frontier``."""
    pairs = np.fromfile(links.links_of(level), np.uint32).reshape(-1, 2)
    cutter, begin = Cutter(keys, level, frontier.size), 0
    for rows, fps in frontier.pieces():
        parents, codes = pairs[begin : begin + len(rows)].T
        cutter.append(begin, Batch(rows, fps, np.ascontiguousarray(parents), np.ascontiguousarray(codes)), 0)
        begin += len(rows)
    return cutter.table()
