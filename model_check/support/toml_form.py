"""Data as TOML text: a table for each table at the top, values on one line each."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_text(data: Mapping[str, Any]) -> str:
    """``data``, of texts, numbers, truth values, lists and tables, as TOML, without the keys that have
    ``None``.
    """
    plain = {key: value for key, value in data.items() if not isinstance(value, Mapping)}
    lines = [f"{_key(key)} = {_value(value)}" for key, value in plain.items() if value is not None]
    for key, table in data.items():
        if isinstance(table, Mapping) and table:
            lines += ["", f"[{_key(key)}]"]
            lines += [f"{_key(each)} = {_value(value)}" for each, value in table.items() if value is not None]
    return "\n".join(lines) + "\n"


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        pairs = (f"{_key(key)} = {_value(each)}" for key, each in value.items() if each is not None)
        return f"{{ {', '.join(pairs)} }}" if value else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return str(value)


def _text(text: str) -> str:
    """A basic string: its escapes are those of JSON, which leaves out the last control character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
