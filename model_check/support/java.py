"""The Java that TLC, Spark and adapters of Kafka run on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from kraftcheck.support.errors import InputError

#: What Java says where a limit of the machine keeps it from starting.
NOT_BEGUN = "Error occurred during initialization of VM"


def find_java(user: str, oldest: int) -> str:
    """The program ``java``, of JAVA_HOME or on the path, ``oldest`` or later, for ``user`` ("TLC").

    Raises InputError, and MemoryError where it gets no memory.
    """
    return _find("java", f"{user} needs Java {oldest} or later", oldest, "default-jre-headless")


def find_javac(user: str, oldest: int) -> str:
    """The compiler ``javac``, likewise."""
    needs = f"{user} needs javac, the compiler of a JDK, {oldest} or later"
    return _find("javac", needs, oldest, "default-jdk-headless")


def _find(program: str, needs: str, oldest: int, package: str) -> str:
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(program, path=str(Path(home) / "bin")) if home else None
    found = found or shutil.which(program)
    if found is None:
        raise InputError(
            f"{needs}, and there is none on the path or in JAVA_HOME; install it, for example the package "
            f"{package}."
        )
    version = _version(found)
    if version is None or version < oldest:
        what = "does not say which version it is" if version is None else f"is Java {version}"
        raise InputError(f"{needs}, and {found} {what}; name another with JAVA_HOME.")
    return found


def _version(java: str) -> int | None:
    """The feature release: 17 of 'openjdk version "17.0.2"' or 'javac 17.0.2', 8 of '1.8.0_392'."""
    try:
        done = subprocess.run(
            [java, "-version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    said = (done.stderr + done.stdout).decode("utf-8", "replace")
    match = re.search(r'(?:version "|javac )(\d{1,4})(?!\d)(?:\.(\d{1,4}))?', said, re.ASCII)
    if done.returncode != 0 and NOT_BEGUN in said:
        raise MemoryError
    if done.returncode != 0 or match is None:
        return None
    return int(match[2] or 0) if match[1] == "1" else int(match[1])
