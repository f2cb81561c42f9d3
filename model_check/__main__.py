"""``python -m model_check`` is ``kraftcheck``."""

from __future__ import annotations

from model_check.cli import script

script()
