"""The parts of scipy that search graphs; loading them raises MemoryError where too little is free.

OpenBLAS, which they load and nothing here uses, retries the allocation of its buffer until it succeeds. numba
would load OpenBLAS in the same way; it finds it loaded.
"""

from __future__ import annotations

from kraftcheck.support.failures import require_memory

#: Address space that scipy takes as it is loaded.
require_memory(112 << 20)

from scipy.sparse import csr_array  # noqa: E402
from scipy.sparse.csgraph import breadth_first_order, connected_components  # noqa: E402

__all__ = ["breadth_first_order", "connected_components", "csr_array"]
