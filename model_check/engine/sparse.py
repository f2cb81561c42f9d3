"""scipy's searches of graphs on arrays, which few scenarios need; it takes as long to load as numba."""

from __future__ import annotations

from functools import cache
from typing import Any

from kraftcheck.support.failures import require_memory

#: Address space that scipy takes as it is loaded.
_LOADING = 112 << 20


@cache
def loaded() -> Any:
    """The module ``scipy.sparse``, with ``csgraph``. Raises MemoryError where too little is free to load it.

    OpenBLAS, which it loads and nothing here uses, would retry the allocation of its buffer until it
    succeeds.
    """
    require_memory(_LOADING)
    import scipy.sparse.csgraph

    return scipy.sparse
