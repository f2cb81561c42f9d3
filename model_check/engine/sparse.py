"""The parts of scipy that search graphs; loading them raises MemoryError where too little is free.

OpenBLAS, which they load and nothing here uses, asks for its buffer again and again until it gets it. So does
numba load it, which therefore finds it loaded.
"""

from __future__ import annotations

from kraftcheck.support.failures import require_memory

#: Of address space: what scipy takes as it is loaded.
require_memory(112 << 20)

from scipy.sparse import csr_array  # noqa: E402
from scipy.sparse.csgraph import breadth_first_order, connected_components  # noqa: E402

__all__ = ["breadth_first_order", "connected_components", "csr_array"]
