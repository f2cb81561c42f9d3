"""A small set of candidates that covers every pair: the greedy cover, on a cluster.

The greedy choice takes the candidate that covers most pairs which are still wanted; of several the smallest,
and of those the one with the first hash; until nothing is wanted that any candidate covers. Production's
protocol comes first: what it covers is covered by its candidates, and other variants add what is left.

As long as there are few candidates, the driver chooses. Of many, one at a time would be one job of the
cluster for each; there a round takes every candidate that is the best of all that share a wanted pair with
it. Nothing that the greedy choice takes before such a candidate shares a pair with it, as it would have to be
better, and the others only become worse: the greedy choice takes it too. So both take the same set (the
argument is that of locally dominant edges: Preis, "Linear time 1/2-approximation algorithm for maximum
weighted matching in general graphs", STACS 1999).
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Up to how many candidates are chosen from in the driver: some hundred megabytes.
MOST_HERE = 100_000
#: Between a kind and a pair: kinds are chosen apart, and in the same rounds.
_BETWEEN = "\t"


@dataclass(frozen=True, slots=True)
class Chosen:
    """A candidate that was chosen, by its ``tie``, and the pairs for which it was."""

    tie: str
    covers: tuple[str, ...]


def smallest(candidates: DataFrame, keep: int) -> DataFrame:
    """``candidates`` without those that cannot be chosen: the smallest by kind, tier and set of pairs."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    alike = Window.partitionBy("kind", "tier", "features").orderBy("size", "tie", "source")
    once = candidates.dropDuplicates(["kind", "tie"])
    placed = once.withColumn("place", f.row_number().over(alike)).where(f.col("place") <= keep).drop("place")
    return placed.coalesce(_parts(candidates))


def _parts(data: DataFrame) -> int:
    """Into how many parts what is kept for the rounds goes: they are many, and little is left for each."""
    return max(1, int(data.sparkSession.sparkContext.defaultParallelism))


def cover(
    candidates: DataFrame,
    keep: int,
    progress: Callable[[int, int], None] | None = None,
    most_here: int = MOST_HERE,
) -> list[Chosen]:
    """The choice among ``candidates``, which have the columns of ``CANDIDATES``, each ``tie`` once: every
    pair ``keep`` times by each kind, as far as there are so many. In the order of hashes.

    Up to ``most_here`` candidates are chosen from in the driver, one after the other. Of more than that only
    what is chosen comes to the driver. ``progress``: the round, and what is chosen.
    """
    from pyspark.sql import functions as f

    if candidates.count() <= most_here:
        return _cover_here(candidates, keep)
    each = f.explode("features").alias("pair")
    exploded = candidates.select("kind", "tier", "size", "tie", each).select(
        "tier", "size", "tie", f.concat_ws(_BETWEEN, "kind", "pair").alias("pair")
    )
    pairs = exploded.coalesce(_parts(candidates)).persist()
    try:
        tiers = [row["tier"] for row in pairs.select("tier").distinct().orderBy("tier").collect()]
        had: Counter[str] = Counter()
        covers: dict[str, tuple[str, ...]] = {}
        for tier in tiers:
            _cover_tier(pairs.where(f.col("tier") == tier), keep, had, covers, progress)
    finally:
        pairs.unpersist()
    return [Chosen(tie, tuple(pair.partition(_BETWEEN)[2] for pair in covers[tie])) for tie in sorted(covers)]


def _cover_here(candidates: DataFrame, keep: int) -> list[Chosen]:
    by_kind: dict[str, list[tuple[int, int, str, tuple[str, ...]]]] = {}
    for row in candidates.select("kind", "tier", "size", "tie", "features").collect():
        by_kind.setdefault(row["kind"], []).append(
            (row["tier"], row["size"], row["tie"], (*row["features"],))
        )
    chosen = (cover_plainly(of_kind, keep).items() for of_kind in by_kind.values())
    return sorted((Chosen(tie, pairs) for found in chosen for tie, pairs in found), key=lambda each: each.tie)


def _cover_tier(
    pairs: DataFrame,
    keep: int,
    had: Counter[str],
    covers: dict[str, tuple[str, ...]],
    progress: Callable[[int, int], None] | None,
) -> None:
    from pyspark.sql import functions as f

    session = pairs.sparkSession
    round_ = 0
    while True:
        done = [(pair,) for pair, count in had.items() if count >= keep]
        taken = [(tie,) for tie in covers]
        wanted = pairs
        if done:
            closed = session.createDataFrame(done, "pair string")
            wanted = wanted.join(f.broadcast(closed), "pair", "left_anti")
        if taken:
            out = session.createDataFrame(taken, "tie string")
            wanted = wanted.join(f.broadcast(out), "tie", "left_anti")
        found = _dominant(wanted).collect()
        if not found:
            return
        for row in sorted(found, key=lambda row: str(row["tie"])):
            covers[row["tie"]] = tuple(sorted(row["pairs"]))
            had.update(row["pairs"])
        round_ += 1
        if progress is not None:
            progress(round_, len(covers))


def _dominant(wanted: DataFrame) -> DataFrame:
    """The candidates that are the best of all that share one of their pairs."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    of_candidate = Window.partitionBy("tie")
    gains = wanted.withColumn("gain", f.count("pair").over(of_candidate))
    best = Window.partitionBy("pair").orderBy(f.desc("gain"), "size", "tie")
    ranked = gains.withColumn("place", f.row_number().over(best))
    return (
        ranked.groupBy("tie")
        .agg(f.max("place").alias("worst"), f.collect_list("pair").alias("pairs"))
        .where(f.col("worst") == 1)
        .select("tie", "pairs")
    )


def cover_plainly(
    candidates: Iterable[tuple[int, int, str, tuple[str, ...]]], keep: int
) -> dict[str, tuple[str, ...]]:
    """The same choice, made one after the other: of candidates (tier, size, tie, pairs) the pairs that each
    of those chosen covers, by its tie.
    """
    had: Counter[str] = Counter()
    covers: dict[str, tuple[str, ...]] = {}
    by_tier: dict[int, list[tuple[int, int, str, tuple[str, ...]]]] = {}
    for tier, size, tie, pairs in candidates:
        by_tier.setdefault(tier, []).append((-len(pairs), size, tie, pairs))
    for _, heap in sorted(by_tier.items()):
        heapq.heapify(heap)
        while heap:
            gain, size, tie, pairs = heapq.heappop(heap)
            wanted = tuple(sorted(pair for pair in pairs if had[pair] < keep))
            # What a candidate gains only shrinks: who was the best before and has lost nothing is the best.
            if wanted and -len(wanted) != gain:
                heapq.heappush(heap, (-len(wanted), size, tie, pairs))
            elif wanted:
                covers[tie] = wanted
                had.update(wanted)
    return covers
