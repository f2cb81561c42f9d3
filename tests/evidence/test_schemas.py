"""The published JSON Schemas are those of the types that read recordings and adapters' answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.evidence.adapters import answers
from kraftcheck.evidence.recordings import lines

DOCS = Path(__file__).parents[2] / "docs" / "schemas"
SCHEMAS = {"recording.json": lines.schema, "adapter.json": answers.schema}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_published_schema_is_that_of_the_types(name: str) -> None:
    """To publish a change: write what the function returns, as ``json.dumps(…, indent=1)``, to the file."""
    made: Callable[[], dict[str, Any]] = SCHEMAS[name]
    assert json.loads((DOCS / name).read_text()) == made()
