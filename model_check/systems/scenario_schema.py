"""The JSON Schema of scenario files, with which editors complete keys and mark mistakes."""

from __future__ import annotations

import json
from typing import Any

from kraftcheck.systems.kinds import KINDS


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a scenario file of any kind, made from the models that read it.

    The schema accepts what :func:`kraftcheck.systems.scenario.load` accepts, and more: conditions on several
    keys together are not in it.
    """
    definitions: dict[str, Any] = {}
    first, *others = (kind.name for kind in KINDS)
    judged: dict[str, Any] = {"$ref": f"#/$defs/{first}"}
    for name in others:
        judged = {"if": {"required": [name]}, "then": {"$ref": f"#/$defs/{name}"}, "else": judged}
    for kind in KINDS:
        prefix = f"{kind.name}-"
        model = kind.scenario.model_json_schema(by_alias=True, ref_template=f"#/$defs/{prefix}{{model}}")
        definitions |= {prefix + name: each for name, each in model.pop("$defs", {}).items()}
        model["required"] = sorted({*model.get("required", ()), kind.name})
        definitions[kind.name] = model
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "kraftcheck-scenario-1",
        "title": "kraftcheck scenario",
        # From these alternatives editors complete keys. The last one accepts everything: what follows marks a
        # mistake where it is; without it the whole file would be marked, as it fits no alternative.
        "anyOf": [*({"$ref": f"#/$defs/{kind.name}"} for kind in KINDS), {}],
        **judged,
        "$defs": definitions,
    }


def text_of_schema() -> str:
    """The schema as a file."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(text_of_schema(), end="")
