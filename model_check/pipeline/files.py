"""Small files in any file system that the cluster knows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from kraftcheck.pipeline.spark_errors import first_line, spark_errors
from kraftcheck.support.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: What Spark, in the path of something to read, takes for more than a character.
_WILDCARDS = "*?[]{}\\"


def located(spark: SparkSession, path: str) -> tuple[Any, Any]:
    """``path`` and its file system, as Hadoop has them. Raises InputError for one that Spark cannot read."""
    place = spark._jvm.org.apache.hadoop.fs.Path(path)
    system = place.getFileSystem(spark._jsc.hadoopConfiguration())
    # The whole one: the working folder may have such a name as well.
    require_plain(shown(system.makeQualified(place)))
    return place, system


def shown(place: Any) -> str:
    """A path of Hadoop as users write it."""
    return without_scheme(str(place.toString()))


def without_scheme(path: str) -> str:
    """A ``path`` of this machine without ``file:`` or ``file://``; others as they are."""
    return re.sub("^file:(//)?(?=/)", "", path)


def require_plain(path: str) -> None:
    """Raise InputError for a ``path`` that Spark takes for a pattern: it would read other folders."""
    for character in _WILDCARDS:
        if character in path:
            raise InputError(
                f"{path}: Spark takes the '{character}' for a wildcard; name a path that has none of "
                f"{_WILDCARDS}."
            )


class Files:
    """Small files below a folder of any file system. Raises InputError where that is not possible, which ends
    with ``hint``. ``create``: whether the folder is created.
    """

    def __init__(
        self,
        spark: SparkSession,
        folder: str,
        hint: str = "name another folder with --dir",
        *,
        create: bool = True,
    ) -> None:
        # Py4J looks for a class of each part of a name, in every archive: once is enough.
        self._path = spark._jvm.org.apache.hadoop.fs.Path
        self._streams = spark._jvm.org.apache.commons.io.IOUtils
        self._errors = spark_errors()
        self.folder, self._hint = folder, hint
        try:
            root, self._system = located(spark, folder)
            self._whole = str(self._system.makeQualified(root).toString())
            if create:
                self._system.mkdirs(root)
        except self._errors as error:
            raise self._failed(folder, error) from None

    def _failed(self, name: str, error: Any) -> InputError:
        return InputError(f"{without_scheme(name)}: cannot be used ({first_line(error)}); {self._hint}.")

    def path(self, name: str) -> str:
        """The path of what has this name in the folder."""
        return f"{self.folder.rstrip('/')}/{name}"

    def whole_path(self, name: str) -> str:
        """The same from the root on: Spark's catalog has a folder of its own for relative paths."""
        return f"{self._whole.rstrip('/')}/{name}"

    def _at(self, name: str) -> Any:
        return self._path(self.path(name))

    def names(self, folder: str) -> list[str]:
        """What there is in a folder below this one."""
        try:
            if not self._system.exists(self._at(folder)):
                return []
            return [status.getPath().getName() for status in self._system.listStatus(self._at(folder))]
        except self._errors as error:
            raise self._failed(self.path(folder), error) from None

    def read(self, name: str) -> bytes:
        """The content of a file."""
        try:
            stream = self._system.open(self._at(name))
            try:
                return bytes(self._streams.toByteArray(stream))
            finally:
                stream.close()
        except self._errors as error:
            raise self._failed(self.path(name), error) from None

    def write(self, name: str, content: bytes) -> None:
        """Write a file that appears as a whole, in place of one that is there."""
        temporary = self._at(f"{name}.new")
        try:
            stream = self._system.create(temporary, True)
            try:
                stream.write(bytearray(content))
            finally:
                stream.close()
            self._system.delete(self._at(name), False)
            if not self._system.rename(temporary, self._at(name)):
                raise InputError(f"{self.path(name)}: cannot be written; {self._hint}.")
        except self._errors as error:
            raise self._failed(self.path(name), error) from None

    def remove(self, name: str) -> None:
        """Remove a file or a folder, if it is there."""
        try:
            self._system.delete(self._at(name), True)
        except self._errors as error:
            raise self._failed(self.path(name), error) from None

    def bytes_of(self, name: str) -> int:
        """The bytes that a file or a folder takes."""
        try:
            return int(self._system.getContentSummary(self._at(name)).getLength())
        except self._errors:
            return 0
