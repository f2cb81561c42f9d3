"""Exploration on Spark, level after level; see the package for how the answer stays that of the engine."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from kraftcheck.engine.explorer import LimitReached, Search, explore
from kraftcheck.engine.frontier import Frontier
from kraftcheck.engine.resume import ask_again, explored, go_on
from kraftcheck.engine.system import UNLIMITED, Exploration, Limits, System
from kraftcheck.engine.visited import Visited
from kraftcheck.engine.watch import INTERRUPTED, Progress
from kraftcheck.pipeline.explore.level import OnSpark, Spent
from kraftcheck.pipeline.explore.pieces import fingerprints_table, found_here, level_here, links_table
from kraftcheck.pipeline.explore.store import FORMAT, Manifest, Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The driver keeps at most so many times the states of the largest level that it explores.
HERE = 32


@dataclass(frozen=True, slots=True)
class Options:
    """How a run is set up.

    ``folder``: of the run, in any file system; ``made_for``: what the run is for, a digest; ``parts``: into
    how many each level and the visited set are divided (``None``: twice the cluster's cores, at least 4);
    ``hand_over``: the largest level that is explored in the driver.
    """

    folder: str
    made_for: str
    parts: int | None = None
    hand_over: int = 1_000_000


def session_of(spark: SparkSession, parts: int) -> SparkSession:
    """A session of its own, with what exploration needs and the settings of ``spark`` untouched."""
    session = spark.newSession()
    settings: dict[str, str | int | bool] = {
        # As many partitions as buckets: what is in buckets is then read where it is, without an exchange.
        "spark.sql.shuffle.partitions": parts,
        "spark.sql.adaptive.enabled": False,
        "spark.sql.sources.bucketing.autoBucketedScan.enabled": False,
        "spark.sql.execution.arrow.useLargeVarTypes": True,
        # A row is a chunk of up to some megabytes: read, hand on and write few at a time.
        "spark.sql.execution.arrow.maxRecordsPerBatch": 1,
        "spark.sql.parquet.columnarReaderBatchSize": 1,
        # Of some hundred megabytes at most: a task that computes its checksum has it in memory.
        "spark.sql.files.maxRecordsPerFile": 8,
        "parquet.block.size": 32 << 20,
        "parquet.block.size.row.check.min": 1,
        "parquet.page.size.row.check.min": 1,
        "parquet.enable.dictionary": False,
        "spark.sql.inMemoryColumnarStorage.compressed": False,
    }
    for name, value in settings.items():
        session.conf.set(name, value)
    return session


def explore_on_spark(
    system: System,
    *,
    spark: SparkSession,
    options: Options,
    spent: Spent | None = None,
    threads: int = 1,
    limits: Limits = UNLIMITED,
    keep_going: bool = False,
    partial_order: bool = True,
    progress: Callable[[Progress], None] | None = None,
    checkpoint: None = None,
) -> Exploration:
    """Explore all states of ``system``; what :func:`~kraftcheck.engine.explorer.explore` returns.

    Limits are looked at after each level on Spark. ``spent`` is filled in. Raises InputError for a folder
    that cannot be used, and besides what the engine does.
    """
    if keep_going or checkpoint is not None:
        raise ValueError("exploration on Spark stops at the first violation and has its own checkpoints")
    parts = options.parts or max(4, 2 * spark.sparkContext.defaultParallelism)

    def run(search: Search) -> str | None:
        name = uuid.uuid4().hex
        store = Store(session_of(spark, parts), options.folder, name)
        return Distributed(search, store, options, parts, name, spent or Spent()).run()

    return explore(
        system, threads=threads, limits=limits, partial_order=partial_order, progress=progress, run=run,
        keep_fingerprints=True,
    )  # fmt: skip


class Distributed:
    """One exploration. ``search`` holds what was found, as for the engine."""

    def __init__(
        self, search: Search, store: Store, options: Options, parts: int, run: str, spent: Spent
    ) -> None:
        self.search, self.store = search, store
        self.options, self.spent = options, spent
        self.tables = search.tables
        self._parts, self._run = parts, run
        self.on_spark = OnSpark(search, store, spent, run)
        self._keys: list[tuple[int, int, int]] = []
        self._asked = 0

    # -- the whole ---------------------------------------------------------------------------------

    def run(self) -> str | None:
        """Explore; the limit that ended it, if any."""
        context = self.store.spark.sparkContext
        context.setJobGroup(self._run, "kraftcheck pipeline explore", interruptOnCancel=True)
        try:
            self._explore()
        except LimitReached as reached:
            return str(reached)
        except KeyboardInterrupt:
            context.cancelJobGroup(self._run)
            return INTERRUPTED
        finally:
            self.on_spark.close()
            self.store.close()
        return None

    def _explore(self) -> None:
        """Explore in the driver until a level is large, and from there on Spark."""
        search, store = self.search, self.store
        manifest = store.load(self.options.made_for)
        store.claim()
        if manifest is None:
            store.begin()
            if self._explore_in_driver(search.start()):
                return
        else:
            self._take_up(manifest)
        while not search.violations and self._explore_on_spark():
            pass

    def _explore_in_driver(self, frontier: Frontier) -> bool:
        """Explore levels here until one is too large; whether that was all."""
        search, most = self.search, self.options.hand_over
        while frontier.alive and not search.violations:
            if frontier.size > most or search.distinct > HERE * most:
                self._hand_over(frontier)
                return False
            if search.limits.max_depth is not None and len(search.levels) > search.limits.max_depth:
                raise LimitReached("max_depth")
            frontier = search.expand_level(frontier)
        return True

    def _hand_over(self, frontier: Frontier) -> None:
        """Write what was found here."""
        search, store, links = self.search, self.store, self.search.links
        level = len(search.levels) - 1
        create = store.spark.createDataFrame
        links.flush()
        self.spent.handed_over = level
        store.choose_parts(self._parts)
        store.new_visited()
        store.write_links(create(links_table(links, level)), level)
        store.append_visited(create(fingerprints_table(found_here(links, level + 1), level, store.parts)))
        store.write_level(create(level_here(links, frontier, level, store.parts)), level)
        search.blocks.visited = Visited()
        links.elsewhere = self._link_of
        for path in links.written():
            path.unlink()
        self._commit()

    def _link_of(self, level: int, number: int) -> tuple[int, int]:
        return self.store.link_of(level, number, self.search.levels[level])

    def _explore_on_spark(self) -> bool:
        """Explore one level on Spark; whether there is one after it."""
        search, level = self.search, len(self.search.levels) - 1
        most = search.limits.max_depth
        last = most is not None and len(search.levels) > most
        candidates = self.on_spark.expand(level, steps=not last)
        if candidates is None:
            if last and not search.violations:
                raise LimitReached("max_depth")
            return False
        size = self.on_spark.advance(level, candidates)
        if not size:
            return False
        self._commit()
        try:
            search._check_limits()
        except LimitReached:
            self.on_spark.expand(level + 1, steps=False)
            raise
        if search.violations:
            # By a step; of the states that it and others lead to some may break an invariant.
            self.on_spark.expand(level + 1, steps=False)
            return False
        search._report(size)
        return True

    # -- how far it has come ---------------------------------------------------------------------------

    def _commit(self) -> None:
        """The last level is complete, and in the folder."""
        search, tables = self.search, self.tables
        level = len(search.levels) - 1
        self.store.add_sums(level)
        self._keys.append(self.store.write_keys(level, tables.resolved[self._asked :]))
        self._asked = len(tables.resolved)
        self.store.commit(
            Manifest(
                format=FORMAT,
                made_for=self.options.made_for,
                parts=list(self.store.parts),
                handed_over=self.store.handed_over,
                on_spark=self.spent.states,
                tables=tables.columns.digest(tables.columns.sizes()),
                keys=self._keys,
                visited=self.store.visited_sums,
                **explored(search),
            )
        )

    def _take_up(self, manifest: Manifest) -> None:
        """Go on where ``manifest`` says."""
        search, store = self.search, self.store
        keys = (key for entry in manifest.keys for key in store.read_keys(entry))
        ask_again(search, keys, manifest, partial(store.damaged, "keys"))
        self._keys, self._asked = list(manifest.keys), len(self.tables.resolved)
        self.spent.taken_up = len(manifest.levels) - 1
        self.spent.handed_over = manifest.handed_over
        self.spent.states = manifest.on_spark
        store.take_up(manifest)
        store.spark.conf.set("spark.sql.shuffle.partitions", len(store.parts))
        search.links.elsewhere = self._link_of
        go_on(search, manifest)
        if search.violations:
            # The run may have ended before the last level was judged.
            self.on_spark.expand(len(search.levels) - 1, steps=False)
