"""The program ``kraftcheck``, which ``python -m model_check`` is too."""

from __future__ import annotations

import signal
from typing import NoReturn


def script() -> NoReturn:
    """Run :func:`model_check.cli.script`; a signal that ends it waits while that is imported."""
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    from model_check import cli

    cli.script()


if __name__ == "__main__":
    script()
