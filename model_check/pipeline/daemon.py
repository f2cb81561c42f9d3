"""The process that Python workers of a local Spark are forked from, with a short path for modules.

Spark puts pyspark.zip and the archive of its own Java classes first on the path of workers, and before each
task has Python forget what it knows of that path. Until Python 3.13 that reads the tables of contents of
these archives again, for each package imported from them: about 0.1 s of processor time for a task. With
PySpark installed as a package nothing in them is needed. Named by ``spark.python.daemon.module``; it is run
with the name of the workers' module as its argument.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib.machinery import PathFinder

_ARCHIVES = (".jar", ".zip")


def without_archives(path: Iterable[str]) -> list[str]:
    """``path`` without archives, if PySpark and Py4J are found in the rest of it; else as it is."""
    whole = list(path)
    rest = [entry for entry in whole if not entry.endswith(_ARCHIVES)]
    found = all(PathFinder.find_spec(name, rest) is not None for name in ("pyspark", "py4j"))
    return rest if found else whole


if __name__ == "__main__":
    sys.path[:] = without_archives(sys.path)
    from pyspark.daemon import manager

    manager()
