"""Files and folders in any file system that the cluster knows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from kraftcheck.pipeline.errors import reason, spark_errors
from kraftcheck.support.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: What Spark, in a path that it reads, takes for more than a character.
_WILDCARDS = "*?[]{}\\"


def located(spark: SparkSession, path: str) -> tuple[Any, Any]:
    """``path`` from the root on, and its file system, as objects of Hadoop.

    Raises InputError for a path that Spark would take for a pattern: it would read other folders.
    """
    place = spark._jvm.org.apache.hadoop.fs.Path(path)
    system = place.getFileSystem(spark._jsc.hadoopConfiguration())
    place = system.makeQualified(place)
    text = shown(place)
    for character in _WILDCARDS:
        if character in text:
            raise InputError(
                f"{text}: Spark takes the '{character}' for a wildcard; name a path that has none of "
                f"{_WILDCARDS}."
            )
    return place, system


def shown(place: Any) -> str:
    """A path as users write it: of this machine without ``file:`` or ``file://``."""
    return re.sub("^file:(//)?(?=/)", "", str(place if isinstance(place, str) else place.toString()))


def exists(spark: SparkSession, path: str) -> bool:
    """Whether there is something at ``path``. Raises InputError where the cluster cannot find out."""
    with _told(path, "name a folder that the cluster can use"):
        place, system = located(spark, path)
        return bool(system.exists(place))


def remove(spark: SparkSession, path: str) -> None:
    """Remove ``path`` and all below it, as far as possible."""
    with suppress(*spark_errors()):
        place, system = located(spark, path)
        system.delete(place, True)


@contextmanager
def _told(path: str, hint: str) -> Iterator[None]:
    try:
        yield
    except spark_errors() as error:
        raise InputError(f"{shown(path)}: cannot be used ({reason(error)}); {hint}.") from None


class Files:
    """Small files below ``folder``. Raises InputError where that is not possible, which ends with ``hint``.

    ``create``: whether the folder is created.
    """

    def __init__(self, spark: SparkSession, folder: str, hint: str, *, create: bool = True) -> None:
        # Py4J looks for a class of each part of a name, in every archive: once is enough.
        self._path = spark._jvm.org.apache.hadoop.fs.Path
        self._streams = spark._jvm.org.apache.commons.io.IOUtils
        self.folder, self._hint = folder.rstrip("/") or "/", hint
        with _told(folder, hint):
            root, self._system = located(spark, folder)
            self._whole = str(root.toString())
            if create and not self._system.mkdirs(root):
                raise InputError(f"{shown(folder)}: cannot be created; {hint}.")

    def path(self, name: str) -> str:
        """The path of the file ``name``."""
        return f"{self.folder}/{name}"

    def whole_path(self, name: str) -> str:
        """The same from the root on: Spark's catalog has a folder of its own for relative paths."""
        return f"{self._whole.rstrip('/')}/{name}"

    def _at(self, name: str) -> Any:
        return self._path(self.path(name) if name else self.folder)

    def names(self, folder: str = "") -> list[str]:
        """The names in a folder below this one; none if it is not there."""
        with _told(self.path(folder), self._hint):
            if not self._system.exists(self._at(folder)):
                return []
            return [status.getPath().getName() for status in self._system.listStatus(self._at(folder))]

    def read(self, name: str) -> bytes:
        """The content of a file."""
        with _told(self.path(name), self._hint):
            stream = self._system.open(self._at(name))
            try:
                return bytes(self._streams.toByteArray(stream))
            finally:
                stream.close()

    def write(self, name: str, content: bytes) -> None:
        """Write a file that appears as a whole, in place of one that is there."""
        temporary = self._at(f"{name}.new")
        with _told(self.path(name), self._hint):
            stream = self._system.create(temporary, True)
            try:
                stream.write(bytearray(content))
            finally:
                stream.close()
            self._system.delete(self._at(name), False)
            if not self._system.rename(temporary, self._at(name)):
                raise InputError(f"{self.path(name)}: cannot be written; {self._hint}.")

    def remove(self, name: str) -> None:
        """Remove a file or a folder, if it is there."""
        with _told(self.path(name), self._hint):
            self._system.delete(self._at(name), True)
