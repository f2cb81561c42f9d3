"""The laboratory: simulators and generators under ``tests/laboratory``, which only a checkout has."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from kraftcheck.support.errors import InputError
from kraftcheck.support.places import root


def laboratory(module: str) -> Any:
    """The module ``tests.laboratory.MODULE`` of the checkout. Raises InputError where there is none."""
    checkout = root()
    if not (checkout / "tests" / "laboratory").is_dir():
        raise InputError(
            f"bench: the figure needs tests/laboratory/{module.replace('.', '/')}.py, which only a checkout "
            "of kraftcheck has; run 'kraftcheck bench' there, or choose another part with --only."
        )
    if str(checkout) not in sys.path:
        sys.path.append(str(checkout))
    return import_module(f"tests.laboratory.{module}")
