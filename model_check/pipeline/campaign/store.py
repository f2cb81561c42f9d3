"""The folder of a campaign, in any file system that the cluster knows (docs/pipeline/campaign.md).

Each folder of a plan or of a batch of cells appears when it is complete, and none is changed later.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kraftcheck.pipeline.campaign.cells import NO_MUTANT, Cell
from kraftcheck.pipeline.campaign.executor import coordinates
from kraftcheck.pipeline.datasets import Dataset, read, write, write_whole
from kraftcheck.pipeline.files import Files, exists
from kraftcheck.support.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = dict[str, Any]

_COORDINATES = (
    "cell string, scenario string, protocol string, bounds string, mutant string, judged string, "
    "engine string, seed bigint, expected string"
)
PLAN = Dataset(
    "campaign-plan",
    3,
    f"{_COORDINATES}, control string, content string, coverage boolean, sources string, campaign string",
)
CELLS = Dataset(
    "campaign-cells",
    3,
    f"{_COORDINATES}, verdict string, as_expected boolean, differences array<string>, "
    "violated array<struct<property:string,kind:string,steps:int,trace:string>>, judged_to int, "
    "eventually_judged boolean, distinct bigint, states bigint, generated bigint, depth int, "
    "covered array<string>, limit string, error string, seconds double, explored_seconds double, "
    "peak_memory bigint, finished timestamp, host string",
)

_MARK = "campaign"
_PLANS, _CELLS = "plans", f"cells.v{CELLS.version}"
#: Without counterexamples, which are large.
_WITHOUT_TRACES = """transform(violated, v -> named_struct(
    'property', v.property, 'kind', v.kind, 'steps', v.steps)) violated"""
#: What to do about a damaged file.
REPAIR = "remove the folder of this batch and run the campaign again: only its cells are repeated"


def planned_rows(cells: Sequence[Cell], ids: Sequence[str], sources: str, campaign: str) -> list[Row]:
    """The rows of the plan for ``cells``, whose ids are ``ids``."""
    controls = {cell.control: id_ for cell, id_ in zip(cells, ids, strict=True) if cell.mutant == NO_MUTANT}
    return [
        coordinates(cell, id_)
        | {"control": None if cell.mutant == NO_MUTANT else controls[cell.control]}
        | {"content": cell.content, "coverage": cell.coverage}
        | {"sources": sources, "campaign": campaign}
        for cell, id_ in zip(cells, ids, strict=True)
    ]


class Store:
    """The results in the folder ``path``."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self.spark, self.path = spark, path.rstrip("/")

    def _files(self, *, create: bool) -> Files:
        return Files(self.spark, self.path, "name another folder", create=create)

    def _new(self, folder: str) -> str:
        now = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        return f"{self.path}/{folder}/{now}-{uuid.uuid4().hex[:12]}"

    def _complete(self, folder: str) -> list[str]:
        """The complete folders in ``folder``, the oldest first."""
        names = self._files(create=False).names(folder)
        return [f"{self.path}/{folder}/{name}" for name in sorted(names) if name[0] not in "_."]

    def plan(self, cells: Sequence[Cell], ids: Sequence[str], sources: str, campaign: str) -> None:
        """Store what the campaign consists of. Raises InputError for a folder of something else."""
        files = self._files(create=True)
        names = files.names()
        if _MARK not in names:
            foreign = sorted(name for name in names if name != f"{_MARK}.new")
            if foreign:
                raise InputError(
                    f"{self.path}: has '{foreign[0]}' and is no folder of a campaign; choose another one."
                )
            files.write(_MARK, b"results of kraftcheck pipeline campaign\n")
        rows = planned_rows(cells, ids, sources, campaign)
        plan = self.spark.createDataFrame(rows, PLAN.schema()).coalesce(1)
        write_whole(self.spark, self._new(_PLANS), lambda folder: write(plan, PLAN, f"{folder}/plan"))

    def add(self, found: DataFrame) -> None:
        """Store what a batch of cells found."""
        write_whole(self.spark, self._new(_CELLS), lambda folder: write(found, CELLS, f"{folder}/cells"))

    def _last_plan(self) -> str:
        give = "give a folder in which a campaign has kept its results (--results)"
        if not exists(self.spark, self.path):
            raise InputError(f"{self.path}: there is no such folder; {give}.")
        plans = self._complete(_PLANS)
        if not plans or _MARK not in self._files(create=False).names():
            raise InputError(f"{self.path}: holds no campaign; {give}.")
        return plans[-1]

    def _plan(self) -> DataFrame:
        return read(self.spark, PLAN, f"{self._last_plan()}/plan")

    def planned(self) -> list[Row]:
        """The cells of the campaign, without their scenarios. Raises InputError where there is no plan."""
        return _rows(self._plan().drop("content"))

    def covering(self) -> list[str]:
        """The scenarios, as JSON, of the cells that note what their steps exercise. Raises InputError."""
        found = self._plan().where("coverage").select("content").distinct().collect()
        return sorted(row["content"] for row in found)

    def _finished(self) -> DataFrame | None:
        batches = [f"{batch}/cells" for batch in self._complete(_CELLS)]
        return read(self.spark, CELLS, *batches, repair=REPAIR) if batches else None

    def finished(self) -> list[Row]:
        """What finished cells found, without counterexamples, a row each. Raises InputError for what is
        damaged.
        """
        data = self._finished()
        rows = [] if data is None else _rows(data.selectExpr("* except (violated)", _WITHOUT_TRACES))
        return list({row["cell"]: row for row in rows}.values())

    def finished_ids(self) -> set[str]:
        """The ids of the finished cells."""
        data = self._finished()
        return set() if data is None else {row.cell for row in data.select("cell").collect()}


def _rows(data: DataFrame) -> list[Row]:
    rows: list[Row] = data.toArrow().to_pylist()
    return rows
