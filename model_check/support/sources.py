"""The sources of this version of kraftcheck."""

from __future__ import annotations

import hashlib
from functools import cache

from kraftcheck.support import places
from kraftcheck.support.errors import InputError


@cache
def source_digest() -> str:
    """A digest of the sources and data of all packages, whatever the version number says."""
    found = hashlib.sha256()
    for package in places.PACKAGES:
        folder = places.folder_of(package)
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".py", ".toml"):
                found.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()


def require_sources(digest: str) -> None:
    """In an executor: raise InputError where it has other sources than the driver, whose digest this is."""
    if source_digest() != digest:
        raise InputError(
            "the executors have another version of kraftcheck than the driver; install the same on both."
        )
