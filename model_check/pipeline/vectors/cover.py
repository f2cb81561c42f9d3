"""A small set of candidates that covers every pair of a rule and an outcome: the greedy cover.

It takes the candidate that covers most pairs which are still wanted; of several the smallest, and of those
the one with the first hash. The protocol of Apache Kafka comes first; other variants add what is left.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Tier, size, tie and pairs of a candidate; the columns are those of the data set of candidates.
Entry = tuple[int, int, str, tuple[str, ...]]


def smallest(candidates: DataFrame, keep: int) -> DataFrame:
    """``candidates`` without those that cannot be chosen: the smallest by kind, tier and set of pairs."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    alike = Window.partitionBy("kind", "tier", "features").orderBy("size", "tie", "source")
    once = candidates.dropDuplicates(["kind", "tie"])
    placed = once.withColumn("place", f.row_number().over(alike)).where(f.col("place") <= keep)
    return placed.drop("place").coalesce(max(1, int(candidates.sparkSession.sparkContext.defaultParallelism)))


def cover(candidates: DataFrame, keep: int) -> list[tuple[str, list[str]]]:
    """The choice among ``candidates``, each ``tie`` once, as (tie, pairs for which it was chosen).

    Every pair is covered ``keep`` times by each kind, as far as there are so many candidates.
    """
    by_kind: dict[str, list[Entry]] = {}
    for row in candidates.select("kind", "tier", "size", "tie", "features").collect():
        entry = (row["tier"], row["size"], row["tie"], (*row["features"],))
        by_kind.setdefault(row["kind"], []).append(entry)
    return sorted((tie, [*pairs]) for each in by_kind.values() for tie, pairs in choose(each, keep).items())


def choose(candidates: Iterable[Entry], keep: int) -> dict[str, tuple[str, ...]]:
    """The pairs that each chosen candidate covers, by its tie; all ``candidates`` are of one kind."""
    had: Counter[str] = Counter()
    covers: dict[str, tuple[str, ...]] = {}
    by_tier: dict[int, list[Entry]] = {}
    for tier, size, tie, pairs in candidates:
        by_tier.setdefault(tier, []).append((-len(pairs), size, tie, pairs))
    for _, heap in sorted(by_tier.items()):
        heapq.heapify(heap)
        while heap:
            gain, size, tie, pairs = heapq.heappop(heap)
            wanted = tuple(sorted(pair for pair in pairs if had[pair] < keep))
            # What a candidate gains only shrinks: the best one before that lost nothing is the best now.
            if wanted and -len(wanted) != gain:
                heapq.heappush(heap, (-len(wanted), size, tie, pairs))
            elif wanted:
                covers[tie] = wanted
                had.update(wanted)
    return covers
