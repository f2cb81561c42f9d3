"""The folder of a run: its data sets, and how far it has come (docs/pipeline/explore.md).

A level counts when ``complete/N.json`` is there, which is written last. ``run`` names the run that began
last: an earlier one that still runs finds that and ends.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine.checkpoint import Explored
from kraftcheck.engine.summed import Count
from kraftcheck.pipeline.datasets import (
    Dataset,
    Sum,
    read,
    require_sealed,
    require_sums,
    sums_of,
    write,
    write_sums,
)
from kraftcheck.pipeline.files import Files
from kraftcheck.support.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMAT = 5
_BEGUN = "complete/begun"
#: The name of a run.
_RUN = re.compile(rb"[0-9a-f]{32}")
#: The name of a file that Spark writes.
_PART = re.compile(r"part-[^/]*\.parquet", re.ASCII)
#: States of a level in pieces of at most 65,536, in the order of their numbers.
LEVELS = Dataset(
    "explored states",
    1,
    "part int, level int, first bigint, states bigint, with_renamed bigint, fingerprints binary, "
    "parents binary, codes binary, rows binary",
)
VISITED = Dataset("visited fingerprints", 1, "part int, level int, fingerprints binary")
LINKS = Dataset("first steps", 1, "level int, first bigint, links binary")


class Manifest(Explored, frozen=True, kw_only=True):
    """What was known when the last of ``levels`` was complete.

    ``parts``: the values of the column ``part``. ``handed_over``: the first level in ``levels/``; those
    before it are in ``links``. ``on_spark``: the number of states found on Spark. ``keys``: for each file in
    ``keys/`` its level, number of keys and CRC-32; ``visited``: by name the bytes and CRC-32 of each file
    there.
    """

    parts: list[int]
    handed_over: Count
    on_spark: Count
    keys: list[tuple[Count, Count, Count]]
    visited: dict[str, Sum]


class Store:
    """The data sets and manifests of one run."""

    def __init__(self, spark: SparkSession, folder: str, run: str) -> None:
        self.spark = spark
        self.files = Files(spark, folder, "name another folder with --dir")
        self._run = run
        self._tables: list[str] = []
        self._links: dict[int, NDArray[np.uint32]] = {}
        self.parts: tuple[int, ...] = ()
        #: The first level in ``levels``.
        self.handed_over = 0
        #: The sums of the files of the visited set, by their names.
        self.visited_sums: dict[str, Sum] = {}
        self._whole: set[int] = set()

    # -- data sets -------------------------------------------------------------------------------

    def choose_parts(self, count: int) -> None:
        """Have ``count`` parts."""
        self.parts = keys_of_parts(self.spark, count)

    def _name(self, what: str) -> str:
        return f"kraftcheck_{self._run}_{what}"

    def _drop(self, what: str) -> None:
        self.spark.sql(f"DROP TABLE IF EXISTS {self._name(what)}")

    def close(self) -> None:
        """Let go of the names in Spark's catalog; the data stays."""
        for what in self._tables:
            self._drop(what)
        self._tables = []

    def _create(self, what: str, dataset: Dataset, folder: str) -> None:
        """Give a name to a data set in buckets, so that Spark knows that it is."""
        place = self.files.whole_path(folder).replace("'", r"\'")
        self.spark.sql(
            f"CREATE TABLE {self._name(what)} ({dataset.ddl}) USING parquet "
            f"CLUSTERED BY (part) INTO {len(self.parts)} BUCKETS LOCATION '{place}'"
        )
        self._tables.append(what)

    def _append(self, data: DataFrame, what: str, dataset: Dataset) -> None:
        data.select(*dataset.names).write.insertInto(self._name(what))

    def write_level(self, data: DataFrame, level: int) -> None:
        """Write the states of a level, in place of what an earlier run left of it."""
        self._require_own()
        folder = f"levels/{level:05d}"
        self.files.remove(folder)
        self._create(f"level_{level}", LEVELS, folder)
        self._append(data, f"level_{level}", LEVELS)
        self._whole.add(level)

    def _require_level(self, level: int) -> None:
        """Raise InputError unless the files of a level are those that were written."""
        if level not in self._whole:
            folder = self.files.path(f"levels/{level:05d}")
            require_sealed(self.spark, LEVELS, [folder], repair(self.files.folder))
            self._whole.add(level)

    def _require_visited(self) -> None:
        """Raise InputError unless the files of the visited set are those of the manifest. What else a run
        left there, of a level that it did not complete, is removed.
        """
        folder = self.files.path("visited")
        expected = {folder: self.visited_sums}
        others = require_sums(self.spark, expected, repair(self.files.folder), more=True)
        for name in others:
            if not _PART.fullmatch(name):
                raise self.damaged(f"visited/{name}", "was not written by kraftcheck")
            self.files.remove(f"visited/{name}")

    def take_up(self, manifest: Manifest) -> None:
        """Use what an earlier run wrote. Raises InputError where some of it is missing or was changed."""
        self.parts, self.handed_over = tuple(manifest.parts), manifest.handed_over
        self.visited_sums = dict(manifest.visited)
        last = len(manifest.levels) - 1
        self._require_own()
        # First of all: what reads a damaged file may fail in any way.
        self._require_level(last)
        self._require_visited()
        for level in range(self.handed_over, len(manifest.levels)):
            self._create(f"level_{level}", LEVELS, f"levels/{level:05d}")
        self._create("visited", VISITED, "visited")

    def level(self, level: int) -> DataFrame:
        """The states of a level, in buckets."""
        return self.spark.table(self._name(f"level_{level}"))

    def require_whole(self, level: int, pieces: Iterable[tuple[int, int]], size: int) -> None:
        """Raise InputError unless ``pieces`` of a level, (number of the first state, states) each, are all of
        its ``size`` states, each once.
        """
        end = 0
        for first, states in sorted(pieces):
            if first != end:
                break
            end += states
        else:
            if end == size:
                return
        raise self._not_whole(level)

    def _not_whole(self, level: int) -> InputError:
        return self.damaged(f"levels/{level:05d}", "has not all states of the level, or some twice")

    def new_visited(self) -> None:
        """Begin the set of fingerprints."""
        self._require_own()
        self.files.remove("visited")
        self.visited_sums = {}
        self._create("visited", VISITED, "visited")

    def append_visited(self, data: DataFrame) -> None:
        """Append fingerprints."""
        self._require_own()
        self._append(data, "visited", VISITED)

    def add_sums(self, level: int) -> None:
        """Note the sums of the files of ``level`` and of the visited set that were written with it."""
        folder = self.files.path(f"levels/{level:05d}")
        names = [name for name in self.files.names("visited") if name.endswith(".parquet")]
        new = [self.files.path(f"visited/{name}") for name in names if name not in self.visited_sums]
        of_level = {}
        for path, each in sums_of(self.spark, [folder, *new]).items():
            place, _, name = path.rpartition("/")
            if place.endswith("/visited"):
                self.visited_sums[name] = each
            else:
                of_level[path] = each
        write_sums(self.spark, LEVELS, folder, of_level)

    def visited(self, level: int) -> DataFrame:
        """The fingerprints of all levels up to ``level``, in buckets."""
        return self.spark.table(self._name("visited")).where(f"level <= {level}")

    def write_links(self, data: DataFrame, end: int) -> None:
        """Write how the states of the levels before ``end`` were reached."""
        self._require_own()
        write(data.coalesce(1), LINKS, self.files.path("links"), mode="overwrite")
        self.handed_over = end

    def _read_links(self) -> dict[int, NDArray[np.uint32]]:
        """By level, how its states were reached: (states, 2)."""
        pieces: dict[int, list[bytes]] = {}
        data = read(self.spark, LINKS, self.files.path("links"), repair=repair(self.files.folder))
        for row in sorted(data.collect(), key=lambda row: (row["level"], row["first"])):
            pieces.setdefault(row["level"], []).append(row["links"])
        return {
            level: np.frombuffer(b"".join(found), np.uint32).reshape(-1, 2) for level, found in pieces.items()
        }

    def link_of(self, level: int, number: int, size: int) -> tuple[int, int]:
        """(number in the level before, step) of state ``number`` of a level of ``size`` states."""
        if level < self.handed_over:
            self._links = self._links or self._read_links()
            links = self._links.get(level)
            if links is None or len(links) != size:
                raise self.damaged("links", "has not all states")
            parent, code = links[number].tolist()
            return parent, code
        self._require_level(level)
        part = self.parts[number * len(self.parts) // size]
        data = self.level(level).where(f"part = {part} AND first <= {number} AND first + states > {number}")
        found = data.select("first", "parents", "codes").collect()
        if len(found) != 1:
            raise self._not_whole(level)
        (row,) = found
        at = number - row["first"]
        parents, codes = np.frombuffer(row["parents"], np.int64), np.frombuffer(row["codes"], np.uint32)
        return int(parents[at]), int(codes[at])

    # -- how far it has come ---------------------------------------------------------------------

    def write_keys(self, level: int, keys: Sequence[int]) -> tuple[int, int, int]:
        """Write what was asked for a level; its entry in the manifest."""
        self._require_own()
        content = np.array(keys, "<i8").tobytes()
        self.files.write(f"keys/{level:05d}", content)
        return level, len(keys), zlib.crc32(content)

    def read_keys(self, entry: tuple[int, int, int]) -> list[int]:
        """The questions to the system that a level led to."""
        level, count, checksum = entry
        content = self.files.read(f"keys/{level:05d}")
        if len(content) != 8 * count or zlib.crc32(content) != checksum:
            raise self.damaged(f"keys/{level:05d}", "is not what was written")
        keys: list[int] = np.frombuffer(content, "<i8").tolist()
        return keys

    def claim(self) -> None:
        """The folder is this run's now."""
        self.files.write("run", self._run.encode())

    def begin(self) -> None:
        """Nothing in the folder counts until the first level is complete."""
        self.files.write(_BEGUN, b"")

    def _require_own(self) -> None:
        """Before anything is written or removed: raise InputError where another run took the folder."""
        if self.files.read("run") != self._run.encode():
            raise InputError(
                f"{self.files.folder}: another run uses it now; let that one end, or name another folder "
                "with --dir."
            )

    def commit(self, manifest: Manifest) -> None:
        """From now on ``manifest`` describes the run. Raises InputError where another run took the folder."""
        self._require_own()
        level = len(manifest.levels) - 1
        self.files.write(f"complete/{level:05d}.json", manifest.text().encode())
        self.files.remove(_BEGUN)

    def load(self, made_for: str) -> Manifest | None:
        """Where the run is, if it was begun. Raises InputError for a folder of something else, or damaged."""
        found = self.files.names("complete")
        names = sorted(name for name in found if name.endswith(".json"))
        if not names:
            if _BEGUN.rpartition("/")[2] not in found:
                self._require_free()
            return None
        name = f"complete/{names[-1]}"
        try:
            manifest = Manifest.parse(self.files.read(name))
        except ValueError:
            raise self.damaged(name, "is not what was written") from None
        if manifest.format != FORMAT or manifest.made_for != made_for:
            raise InputError(
                f"{self.files.folder}: holds a run of another scenario, other options or another version of "
                "kraftcheck; name another folder with --dir, or remove this one."
            )
        if names[-1] != f"{len(manifest.levels) - 1:05d}.json":
            raise self.damaged(name, "is not what was written")
        return manifest

    def _require_free(self) -> None:
        """Raise InputError where there is more than a run leaves that ended before it had begun."""
        strange = sorted(set(self.files.names("")) - {"run", "run.new", "complete"})
        if not strange and "run" in self.files.names("") and not _RUN.fullmatch(self.files.read("run")):
            strange = ["run"]
        strange += [f"complete/{name}" for name in self.files.names("complete") if name != "begun.new"]
        if strange:
            raise InputError(
                f"{self.files.folder}: has '{strange[0][:80]}' but no complete/*.json, so it is not a run or "
                "a damaged one; name another folder with --dir, or remove this one if it was a run."
            )

    def damaged(self, name: str, what: str) -> InputError:
        """The error for what is not as it was written."""
        return InputError(f"{self.files.path(name)}: {what}; {repair(self.files.folder)}.")


def repair(folder: str) -> str:
    """The remedy for the run in ``folder`` where a file is not as it was written."""
    return f"the run is damaged: remove {folder} to begin anew"


def keys_of_parts(spark: SparkSession, count: int) -> tuple[int, ...]:
    """For each of ``count`` buckets a number that Spark puts there."""
    found: dict[int, int] = {}
    begin, step = 0, 16 * count + 64
    while len(found) < count:
        data = spark.range(begin, begin + step).selectExpr(
            "CAST(id AS INT) AS key", f"pmod(hash(CAST(id AS INT)), {count}) AS bucket"
        )
        for row in data.groupBy("bucket").min("key").collect():
            found.setdefault(row[0], row[1])
        begin += step
    return tuple(found[bucket] for bucket in range(count))
