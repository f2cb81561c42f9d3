"""How kernels are compiled: without the GIL, kept on disk, and without reference counts.

Numba counts references to arrays even in compiled code, at a price of several times the kernels' own work.
A kernel therefore allocates nothing: scratch arrays come in as arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def compiled(function: Callable[..., Any]) -> Any:
    """A kernel that Python calls."""
    return numba.njit(nogil=True, cache=True, _nrt=False)(function)  # type: ignore[call-overload]


def inlined(function: Callable[..., Any]) -> Any:
    """A part of a kernel, compiled into its callers."""
    options = {"nogil": True, "cache": True, "_nrt": False, "forceinline": True}
    return numba.njit(**options)(function)  # type: ignore[call-overload]
