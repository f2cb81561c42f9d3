"""The checks: their demands, the rules and properties behind them, and the sources that show them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Final

from kraftcheck import spec


class Verdict(StrEnum):
    """The verdict of a source on a check."""

    HOLDS = "holds"
    """Nothing that the source shows contradicts it."""
    VIOLATED = "violated"
    NOT_JUDGED = "not judged"
    """The source does not show the facts that the check needs."""


@dataclass(frozen=True, slots=True)
class Check:
    """A property of the specification, or a check of rules alone, and how sources show it."""

    name: str
    demands: str = ""
    """The demand on a log; empty where logs do not show it at all."""
    cites: tuple[str, ...] = ()
    """Ids of the properties and rules behind it."""
    level: str = ""
    """The log level of the lines that it needs; at INFO some checks see a part: those that need DEBUG."""
    any_order: bool = False
    """Whether lines in any order show it."""
    recorded: str = ""
    """The part of a recording that is judged; empty where it is not judged there."""
    unrecorded: str = ""
    """Why a recording cannot show it."""


#: Log levels; each shows the lines of those before it, too.
LEVELS: Final = ("INFO", "DEBUG", "TRACE")


def _read() -> dict[str, Check]:
    text = (files("kraftcheck.evidence.history") / "checks.toml").read_text(encoding="utf-8")
    found = {}
    for entry in tomllib.loads(text)["check"]:
        values = {key.replace("-", "_"): value for key, value in entry.items()}
        found[entry["name"]] = Check(**{**values, "cites": tuple(values.get("cites", ()))})
    return found


#: Every check, of whatever source.
ALL: Final[Mapping[str, Check]] = MappingProxyType(_read())
#: Judged on logs.
CHECKS: Final = MappingProxyType({name: each for name, each in ALL.items() if each.level})
#: Judged on recordings, and the part of a recording that is judged.
JUDGED: Final = MappingProxyType({name: each.recorded for name, each in ALL.items() if each.recorded})
#: Not judged on recordings, and why.
NOT_JUDGED: Final = MappingProxyType({name: each.unrecorded for name, each in ALL.items() if each.unrecorded})

#: The goals of the catalogue: the report on recordings says which ones a run does not reach.
GOALS: Final = ("GoalLeaderElected", "GoalRecordCommitted", "GoalDivergenceTruncated", "GoalValueCommitted")

_EVENTUALLY = "a run that ends cannot refute what must hold sooner or later"
_BY_RULES = "the list of rules that a run exercised tells whether it happened"
_BROKERS = "recordings show the raft module only, not brokers and the controller above it"


@cache
def property_id(name: str) -> str:
    """The catalogue's id of a property, such as ``S-8``."""
    return next(each.id for each in spec.load().properties.values() if each.name == name)


@cache
def why_not(name: str) -> str | None:
    """Why a property of the catalogue is not judged on recordings; ``None``: it is judged, or a goal."""
    if name in JUDGED or name in GOALS:
        return None
    if name in NOT_JUDGED:
        return NOT_JUDGED[name]
    found = next(each for each in spec.load().properties.values() if each.name == name)
    brokers = ("BrokerLivenessEventuallyKnown", "PartitionedBrokerEventuallyFenced")
    if found.id.startswith("B-") or name in brokers:
        return _BROKERS
    return _BY_RULES if found.kind == "sometimes" else _EVENTUALLY
