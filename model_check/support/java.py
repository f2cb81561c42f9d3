"""The Java that TLC and Spark run on."""

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
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home) / "bin")) if home else None
    found = found or shutil.which("java")
    if found is None:
        raise InputError(
            f"{user} needs Java {oldest} or later, and there is none on the path or in JAVA_HOME; install "
            "it, for example the package default-jre-headless."
        )
    version = _version(found)
    if version is None or version < oldest:
        what = "does not say which version it is" if version is None else f"is Java {version}"
        raise InputError(
            f"{user} needs Java {oldest} or later, and {found} {what}; name another with JAVA_HOME."
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
    if done.returncode != 0 and NOT_BEGUN in said:
        raise MemoryError
    if done.returncode != 0 or match is None:
        return None
    return int(match[2] or 0) if match[1] == "1" else int(match[1])
