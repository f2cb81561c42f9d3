"""How kernels are compiled: without the GIL, kept on disk, and without reference counts.

Numba counts references to arrays even in compiled code, at a price of several times the kernels' own work.
A kernel therefore allocates nothing: scratch arrays come in as arguments.

Numba notices a change of the file a kernel is in, but not of what the kernel takes from other files: after
a change here, in ``native_map.py`` or of a constant in ``tables.py``, remove ``__pycache__/*.nbi``.
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
