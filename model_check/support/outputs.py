"""The JSON that commands print under ``--json``: a format and a version in each output, and its schema.

Every output is an object with ``format`` and ``version``. A version may gain fields; it grows where a field
is removed, renamed or gets another meaning. The schemas are generated from the classes of
:mod:`kraftcheck.support.output_forms`; ``python -m kraftcheck.support.outputs docs/schemas`` publishes them.
Values of the reference in outputs have the form that ``tests/vectors/schema.json`` describes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kraftcheck.support.files import write_atomically
from kraftcheck.support.output_forms import Output

OUTPUTS: Mapping[str, type[Output]] = {each.output: each for each in Output.__subclasses__()}


def versioned(name: str, data: Any) -> dict[str, Any]:
    """``data``, an object, as the output ``name``: with its format and version first."""
    head = {"format": f"kraftcheck-{name}", "version": OUTPUTS[name].revision}
    return head | {key: value for key, value in data.items() if key not in head}


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of the output ``name``."""
    output = OUTPUTS[name]
    found = _without_titles(output.model_json_schema())
    head = {"format": {"const": f"kraftcheck-{name}"}, "version": {"const": output.revision}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"kraftcheck-{name}-{output.revision}",
        **found,
        "title": f"kraftcheck {output.command}",
        "properties": {**head, **found["properties"]},
        "required": [*head, *found.get("required", ())],
    }


def _without_titles(data: Any) -> Any:
    """A schema without the titles that repeat the names of its fields."""
    if isinstance(data, list):
        return [_without_titles(each) for each in data]
    if not isinstance(data, dict):
        return data
    titled = isinstance(data.get("title"), str)
    return {key: _without_titles(each) for key, each in data.items() if key != "title" or not titled}


def text_of_schema(name: str) -> str:
    """The content of the published file ``NAME.json``."""
    return json.dumps(schema(name), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for each in OUTPUTS:
        write_atomically(Path(sys.argv[1]) / f"{each}.json", text_of_schema(each), create_folder=True)
