"""Scenarios for the tests of the KRaft system: small ones, made by changing a shipped one."""

from __future__ import annotations

from typing import Any

from model_check.scenario import Scenario, find, from_data


def changed(name: str, **changes: Any) -> Scenario:
    """The shipped scenario ``name`` with keys changed; ``network__capacity=2`` reaches into tables."""
    data = find(name).model_dump(by_alias=True, exclude_none=True)
    data["expect"] = {"verdict": "holds"}
    for key, value in changes.items():
        *tables, last = key.replace("_", "-").split("--")
        target = data
        for table in tables:
            target = target[table]
        target[last] = value
    return from_data(data, name)
