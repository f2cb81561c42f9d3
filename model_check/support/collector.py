"""Python's search for cyclic garbage, switched off where there is none and much to search."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collector() -> Iterator[None]:
    """No search for cyclic garbage meanwhile, for work that builds many values without cycles.

    A search looks at every value that is alive, and other threads wait for it.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            # New objects count as old; otherwise the collector would search all of them now.
            gc.freeze()
            gc.unfreeze()
            gc.enable()
