"""How kernels are compiled: without the GIL, kept on disk, and without reference counts.

Numba counts references to arrays even in compiled code, at a price of several times the kernels' own work.
A kernel therefore allocates nothing: scratch arrays come in as arguments.

Numba notices a change of the file a kernel is in, but not of what the kernel takes from other files. What is
kept on disk is therefore stamped with a digest of this whole folder: a checkout that moves from one commit to
another never runs a kernel of the one with tables of the other.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numba


def _digest() -> str:
    found = blake2b(digest_size=16)
    for path in sorted(Path(__file__).parent.glob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()


SOURCES = _digest()


def _stamped(dispatcher: Any) -> Any:
    """``dispatcher``, whose cache on disk is one of these sources alone."""
    file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if file is not None:
        file._source_stamp = SOURCES
    return dispatcher


def compiled(function: Callable[..., Any]) -> Any:
    """A kernel that Python calls."""
    return _stamped(numba.njit(nogil=True, cache=True, _nrt=False)(function))  # type: ignore[call-overload]


def inlined(function: Callable[..., Any]) -> Any:
    """A part of a kernel, compiled into its callers."""
    options = {"nogil": True, "_nrt": False, "forceinline": True}
    return numba.njit(**options)(function)  # type: ignore[call-overload]
