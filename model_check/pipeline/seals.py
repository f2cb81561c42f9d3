"""Checksums of stored data sets, so that a later run takes up nothing but what was written.

File systems differ in what they notice: a local one has checksums in files of their own (``.crc``), which
object stores and copies leave behind. So the size and the CRC-32 of each file are written down when a data
set is complete, and compared before it is read. The files are read for that in tasks of Spark, as many at a
time as there are cores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field

from kraftcheck.engine.summed import Summed
from kraftcheck.pipeline.files import Files, located, without_scheme
from kraftcheck.pipeline.spark_errors import in_a_sentence
from kraftcheck.support.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The file with the sums of a folder; Spark takes no such name for data.
SEAL: Final = "_sums.json"
#: How many of them are read at a time.
_AT_A_TIME: Final = 16
_Count = Annotated[int, Field(ge=0)]
#: Bytes and CRC-32 of a file.
Sum = tuple[_Count, _Count]


class Seal(Summed):
    """What the file of sums holds: the files of the folder, by their names."""

    files: dict[str, Sum]


def sums_of(spark: SparkSession, paths: Sequence[str]) -> dict[str, Sum]:
    """By path, the sums of the files ``paths``, and of those in them that are folders."""
    if not paths:
        return {}
    data = spark.read.format("binaryFile").load(list(paths))
    rows = data.selectExpr("path", "length", "crc32(content)").collect()
    return {str(row[0]): (int(row[1]), int(row[2])) for row in rows}


def seal(spark: SparkSession, folder: str) -> None:
    """Write the sums of the files in ``folder``, which is complete, next to them."""
    found = {path.rpartition("/")[2]: each for path, each in sums_of(spark, [folder]).items()}
    Files(spark, folder, "choose another place").write(SEAL, Seal(files=found).text().encode())


def require_sealed(spark: SparkSession, folders: Sequence[str], repair: str) -> None:
    """Raise InputError unless each of ``folders`` has the files that were there when it was sealed, as they
    were then; the sentence names the file and ends with ``repair``.
    """

    def sums(folder: str) -> Mapping[str, Sum]:
        files = Files(spark, folder, repair, create=False)
        try:
            return Seal.parse(files.read(SEAL)).files
        except ValueError:
            path = without_scheme(files.path(SEAL))
            raise InputError(f"{path}: is not what was written; {repair}.") from None

    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        require_sums(spark, dict(zip(folders, pool.map(sums, folders), strict=True)), repair)


def require_sums(
    spark: SparkSession, expected: Mapping[str, Mapping[str, Sum]], repair: str, *, more: bool = False
) -> list[str]:
    """Raise InputError unless the files of folders are as ``expected``: by folder and name.

    ``more``: others may be there; their names are returned.
    """
    with in_a_sentence(repair):
        found = sums_of(spark, list(expected))
        wanted: dict[str, Sum] = {}
        for folder, sums in expected.items():
            place, system = located(spark, folder)
            root = str(system.makeQualified(place).toString())
            wanted |= {f"{root}/{name}": each for name, each in sums.items()}
    others = sorted(found.keys() - wanted.keys())
    for path in sorted(wanted) if more else sorted(wanted.keys() | others):
        if (what := _difference(found.get(path), wanted.get(path))) is not None:
            raise InputError(f"{without_scheme(path)}: {what}; {repair}.")
    return [path.rpartition("/")[2] for path in others]


def _difference(found: Sum | None, wanted: Sum | None) -> str | None:
    """What is wrong with a file of which both, or one of both, are known; ``None``: nothing."""
    if found is None:
        return "is missing"
    if wanted is None:
        return "was not there when the data set was complete"
    if found[0] != wanted[0]:
        return f"has {found[0]:,} bytes instead of the {wanted[0]:,} that were written"
    return None if found == wanted else "is damaged (its checksum does not fit)"
