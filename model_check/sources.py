"""What this version of kraftcheck is made of."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import model_check
import reference
import spec


@cache
def source_digest() -> str:
    """A digest of the sources and data of all packages, whatever the version number says."""
    found = hashlib.sha256()
    for package in (spec, reference, model_check):
        folder = Path(package.__path__[0])
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".py", ".toml"):
                found.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()
