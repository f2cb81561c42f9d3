"""The program ``kraftcheck``, which ``python -m kraftcheck`` is too."""

from __future__ import annotations

import signal
from typing import NoReturn


def script() -> NoReturn:
    """Run :func:`kraftcheck.cli.main.script`; a signal that ends it waits while that is imported."""
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    from kraftcheck.cli import main as cli

    cli.script()


if __name__ == "__main__":
    script()
