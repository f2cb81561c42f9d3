"""The JSON that commands print under ``--json``: a format and a version in each output, and its schema.

A version may gain fields; it grows where a field is removed, renamed or gets another meaning. All outputs are
described in ``outputs.toml``; ``python -m kraftcheck.support.outputs docs/schemas`` publishes the schemas.
Values of the reference in outputs have the form that ``tests/vectors/schema.json`` describes.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from kraftcheck.support.files import write_atomically

_TYPES = ("string", "integer", "number", "boolean", "object", "null")


@cache
def outputs() -> Mapping[str, Mapping[str, Any]]:
    """The tables of ``outputs.toml``, by the name of the output."""
    return tomllib.loads((resources.files("kraftcheck.support") / "outputs.toml").read_text("utf-8"))


def versioned(name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """``data`` as the output ``name``: with its format and version first."""
    head = {"format": f"kraftcheck-{name}", "version": outputs()[name].get("version", 1)}
    return head | {key: value for key, value in data.items() if key not in head}


def print_output(name: str, data: Mapping[str, Any], *, indent: int | None = None) -> None:
    """Print ``data`` as the output ``name``, on one line unless it has an ``indent``."""
    print(json.dumps(versioned(name, data), indent=indent), flush=True)


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of the output ``name``."""
    output = outputs()[name]
    version = output.get("version", 1)
    head = {"format": {"const": f"kraftcheck-{name}"}, "version": {"const": version}}
    tables = {key: _object(each) for key, each in output.items() if isinstance(each, dict)}
    whole = tables.pop("fields", _object({}))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"kraftcheck-{name}-{version}",
        "title": f"kraftcheck {output['command']}",
        "description": output["about"],
        **({"$defs": tables} if tables else {}),
        "type": "object",
        "properties": head | whole["properties"],
        "required": [*head, *whole["required"]],
    }


def _object(fields: Mapping[str, str]) -> dict[str, Any]:
    properties = {field: _schema(form) for field, form in fields.items()}
    return {"type": "object", "properties": properties, "required": list(fields)}


def _schema(form: str) -> dict[str, Any]:
    """The schema of a type as ``outputs.toml`` writes it."""
    if form[0] == "[" and form[-1] == "]":
        return {"type": "array", "items": _schema(form[1:-1])}
    if form[0] == "{" and form[-1] == "}":
        return {"type": "object", "additionalProperties": _schema(form[1:-1])}
    if " or " in form:
        return {"anyOf": [_schema(each) for each in form.split(" or ")]}
    return {"type": form} if form in _TYPES else {"$ref": f"#/$defs/{form}"}


def text_of_schema(name: str) -> str:
    """The content of the published file ``NAME.json``."""
    return json.dumps(schema(name), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for each in outputs():
        write_atomically(Path(sys.argv[1]) / f"{each}.json", text_of_schema(each), create_folder=True)
