"""The machine that the measurements were taken on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

from kraftcheck.support.arguments import cores


def description() -> dict[str, str]:
    """Cores, processor, memory, and the versions of what the speed depends on."""
    return {
        "cores": str(cores()),
        "load": _load(),
        "processor": _processor(),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "numba": version("numba"),
        "numpy": version("numpy"),
    }


def _load() -> str:
    """The load average of the last minute: other work on the same cores makes every figure smaller."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "not known"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "not known"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "not known"


def _memory() -> str:
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
    except (AttributeError, OSError, ValueError):
        return "not known"
