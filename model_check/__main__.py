"""``python -m model_check`` is ``kraftcheck``."""

from __future__ import annotations

import sys

from model_check.cli import main

sys.exit(main())
