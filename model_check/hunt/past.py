"""Scenarios that show known findings again, and scenarios that go past one."""

from __future__ import annotations

import tomllib
from typing import Any

from kraftcheck.checking.findings import Known, known_findings
from kraftcheck.hunt.causes import NO_FATAL
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.kraft.known_exits import KNOWN
from kraftcheck.systems.scenario import Scenario, from_data

Data = dict[str, Any]


def whole(scenario: Scenario) -> Scenario:
    """``scenario`` as the protocol is, with all that it judges by default: nothing goes past a known finding,
    no expectation, no reduction. The hunt sets known findings aside itself.
    """
    data = scenario.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    switches = data.get("protocol", {}).get("set", {})
    for known in known_findings():
        for switch, value in _keys(known).get("protocol", {}).get("set", {}).items():
            if switches.get(switch) == value:
                del switches[switch]
    for key in ("ignore-fatal", "without", "goals"):
        data.get("check", {}).pop(key, None)
    data = {key: value for key, value in data.items() if key not in ("tags", "reduction")}
    return from_data(data | {"expect": {"verdict": "holds"}}, scenario.name)


def gone_past(scenario: Scenario, violated: str, known: Known | None) -> Scenario | None:
    """``scenario`` with the keys by which it goes past ``known``; without the property where there are none,
    or they change nothing, or they do not fit. ``None``: no other property is left.
    """
    if known is not None and known.sets_a_key:
        data = scenario.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        # To ignore an exit hides less than a switch, which other findings may share.
        exits = violated == NO_FATAL and any(each.finding == known.id for each in KNOWN)
        _merge(data, {"check": {"ignore-fatal": [known.id]}} if exits else _keys(known))
        try:
            found = from_data(data, scenario.name)
            kind_of(found).build(found)
        except InputError:
            found = scenario
        if found != scenario:
            return found
    return without(scenario, violated)


def without(scenario: Scenario, violated: str) -> Scenario | None:
    """``scenario`` without the property ``violated``; ``None`` if no other one is left."""
    check = scenario.check
    eventually = tuple(each for each in check.eventually if each.property != violated)
    if len(eventually) < len(check.eventually):
        return _judging(scenario, eventually=eventually)
    if violated in check.only:
        only = tuple(name for name in check.only if name != violated)
        return _judging(scenario, only=only) if only or eventually else None
    if violated in check.properties:
        return _judging(scenario, properties=tuple(name for name in check.properties if name != violated))
    return _judging(scenario, without=(*check.without, violated)) if violated not in check.without else None


def _judging(scenario: Scenario, **changed: Any) -> Scenario:
    return scenario.model_copy(update={"check": scenario.check.model_copy(update=changed)})


def _keys(known: Known) -> Data:
    return tomllib.loads(known.past) if known.sets_a_key else {}


def _merge(data: Data, keys: Data) -> None:
    for key, value in keys.items():
        if isinstance(value, dict):
            _merge(data.setdefault(key, {}), value)
        elif isinstance(value, list) and value:
            data[key] = [*data.get(key, []), *(each for each in value if each not in data.get(key, []))]
        else:
            data[key] = value
