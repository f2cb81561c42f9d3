"""The engine's machine code, loaded before processes are forked."""

from __future__ import annotations

from kraftcheck.engine.explorer import explore
from kraftcheck.engine.synthetic import Synthetic


def prepare() -> None:
    """Load the machine code of the engine, which is compiled if there is none yet."""
    explore(Synthetic(nodes=2, epochs=1, entries=1, restarts=0), threads=1)
