"""The findings in a made-up fleet, compared with the planted faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

#: Cluster, check, node, file below the fleet's folder, line.
Finding = tuple[str, str, int, str, int]


def unlike_planted(made: dict[str, Any], found: Iterable[Finding]) -> list[str]:
    """The faults that were planted and not found, and the findings that were not planted."""
    left = Counter(found)
    wrong = []
    for one in made["planted"]:
        places = [one, one["or"]] if "or" in one else [one]
        keys = [(one["cluster"], one["check"], at["node"], at["file"], at["line"]) for at in places]
        match = next((key for key in keys if left[key]), None)
        if match is None:
            wrong.append(f"not found: {one}")
        else:
            left[match] -= 1
    return wrong + [f"invented: {one}" for one in left.elements()]
