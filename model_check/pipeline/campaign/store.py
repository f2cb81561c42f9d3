"""The folder of a campaign's results, in any file system that the cluster knows.

``plan`` and ``scenarios`` say what the campaign that ran last consists of; ``cells.v3/`` holds what finished
cells found, a data set for each batch of them. A batch counts once the checksums of its files are there.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kraftcheck.pipeline import datasets
from kraftcheck.pipeline.campaign.cells import NO_MUTANT, Cell
from kraftcheck.pipeline.campaign.executor import coordinates
from kraftcheck.pipeline.campaign.schemas import CELLS, PLAN, SCENARIOS
from kraftcheck.pipeline.datasets import Dataset
from kraftcheck.pipeline.files import located
from kraftcheck.pipeline.seals import SEAL
from kraftcheck.support.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = dict[str, Any]

_NAMES = ("plan", "scenarios")
#: The folder of cells, of whatever version.
_CELLS = re.compile(r"cells\.v\d+", re.ASCII)
#: What to do about a batch that is not as it was written.
REPAIR = "remove the folder of this batch and run the campaign again: only its cells are repeated"


class Store:
    """The results in the folder ``path``."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self.spark, self.path = spark, path.rstrip("/")
        self._cells = f"{self.path}/cells.v{CELLS.version}"

    def plan(self, cells: Sequence[Cell], ids: Sequence[str], sources: str, campaign: str) -> None:
        """Write down what the campaign consists of. Raises InputError where something else is there."""
        foreign = self._foreign()
        if foreign is not None:
            raise InputError(
                f"{self.path}: there is something that is no campaign: {foreign}; choose another folder."
            )
        datasets.make_folder(self.spark, self.path)
        controls = {
            cell.control: id_ for cell, id_ in zip(cells, ids, strict=True) if cell.mutant == NO_MUTANT
        }
        texts = {_digest(cell.content): cell.content for cell in cells}
        rows = [
            coordinates(cell, id_)
            | {"control": None if cell.mutant == NO_MUTANT else controls[cell.control]}
            | {"content": _digest(cell.content), "coverage": cell.coverage}
            | {"sources": sources, "campaign": campaign}
            for cell, id_ in zip(cells, ids, strict=True)
        ]
        scenarios = [{"content": digest, "text": text} for digest, text in texts.items()]
        self._write(scenarios, SCENARIOS, "scenarios")
        self._write(rows, PLAN, "plan")

    def _foreign(self) -> str | None:
        """What is there that no campaign leaves, even one that was killed as it began; ``None``: nothing.

        Beside a campaign plain files may lie, such as its report: nothing is written over them.
        """
        if not datasets.exists(self.spark, self.path):
            return None
        place, system = located(self.spark, self.path)
        if not system.getFileStatus(place).isDirectory():
            return "it is a file"
        for name in _NAMES:
            # They are written anew, and so whatever is in them goes.
            if (foreign := datasets.foreign_in(self.spark, f"{self.path}/{name}")) is not None:
                return f"'{foreign}'"
        entries = {str(each.getPath().getName()): bool(each.isFile()) for each in system.listStatus(place)}
        others = sorted(name for name in entries if name not in _NAMES and not _CELLS.fullmatch(name))
        begun = any(map(_CELLS.fullmatch, entries)) or datasets.exists(
            self.spark, f"{self.path}/plan/_SUCCESS"
        )
        return next((f"'{name}'" for name in others if not (begun and entries[name])), None)

    def _write(self, rows: list[Row], dataset: Dataset, name: str) -> None:
        data = self.spark.createDataFrame(rows, dataset.schema()).coalesce(1)
        datasets.write(data, dataset, f"{self.path}/{name}", mode="overwrite")

    def planned(self) -> DataFrame:
        """The cells of the campaign. Raises InputError where there is none."""
        give = "give a folder in which a campaign has kept its results (--results)"
        if not datasets.exists(self.spark, self.path):
            raise InputError(f"{self.path}: there is no such folder; {give}.")
        place, system = located(self.spark, self.path)
        if not len(system.listStatus(place)):
            raise InputError(f"{self.path}: is empty; {give}.")
        if not datasets.exists(self.spark, f"{self.path}/plan"):
            raise InputError(f"{self.path}: holds no campaign ('plan' is missing); {give}.")
        return datasets.read(self.spark, PLAN, f"{self.path}/plan")

    def scenarios(self) -> DataFrame:
        """The scenarios of the campaign. Raises InputError where there are none."""
        return datasets.read(self.spark, SCENARIOS, f"{self.path}/scenarios")

    def finished(self) -> DataFrame:
        """What finished cells found, a row each. Raises InputError for what kraftcheck did not write."""
        batches = self._batches()
        if not batches:
            return self.spark.createDataFrame([], CELLS.schema())
        data = datasets.read(self.spark, CELLS, *batches, repair=REPAIR)
        return data.dropDuplicates(["cell"])

    def finished_ids(self) -> set[str]:
        """The ids of the cells that are finished."""
        return {row.cell for row in self.finished().select("cell").collect()}

    def new_batch(self) -> str:
        """A folder for the next batch."""
        now = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
        return f"{self._cells}/{now}-{uuid.uuid4().hex[:12]}"

    def _batches(self) -> list[str]:
        """The folders of complete batches, the oldest first."""
        if not datasets.exists(self.spark, self._cells):
            return []
        place, system = located(self.spark, self._cells)
        # One request for all batches: a folder of a campaign may have thousands of them.
        marks = system.globStatus(self.spark._jvm.org.apache.hadoop.fs.Path(place, f"*/{SEAL}")) or []
        return sorted(str(each.getPath().getParent().toString()) for each in marks)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
