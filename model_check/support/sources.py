"""The sources of this version of kraftcheck."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import PurePath

from kraftcheck.support import places
from kraftcheck.support.errors import InputError


@cache
def source_digest() -> str:
    """A digest of the sources and data of all packages, whatever the version number says. It is the same of a
    checkout and of what is installed from it, where the packages lie in one another.
    """
    files = {}
    for package in places.PACKAGES:
        folder, place = places.folder_of(package), PurePath(*package.split("."))
        for path in folder.rglob("*"):
            if path.suffix in (".py", ".toml"):
                files[(place / path.relative_to(folder)).as_posix()] = path
    found = hashlib.sha256()
    for name, path in sorted(files.items()):
        found.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()


def require_sources(digest: str) -> None:
    """In an executor: raise InputError where it has other sources than the driver, whose digest this is."""
    if source_digest() != digest:
        raise InputError(
            "the executors have another version of kraftcheck than the driver; install the same on both."
        )
