"""The decision tables of brokers and their controller, in the draft and in the shipped form."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from kraftcheck.query.broker_decisions import Situation, decision
from kraftcheck.query.broker_step import parse_event, parse_state
from kraftcheck.query.decision_table import DecisionTable, Given, load
from kraftcheck.reference.brokers.controller import Controller, Liveness
from kraftcheck.reference.frozen import replace
from kraftcheck.systems.brokers.switches import FORMS

_state = cache(parse_state)
_event = cache(parse_event)


def _situation_of(state: str, event: str) -> Situation:
    return _state(state), _event(event)


def _remembering(situation: Situation, given: Given) -> Situation:
    """The memory of a controller, without empty entries; a node that is not the controller has none."""
    controller, event = situation
    assert isinstance(controller, Controller)
    if controller.active is None:
        return replace(controller, brokers=(), sessions=()), event
    known = tuple(each for each in controller.brokers if each != Liveness(each.broker))
    return replace(controller, brokers=known), event


#: By form (``draft``, ``shipped``) its tables by name. Some names are in both.
BROKER_TABLES: Mapping[str, Mapping[str, DecisionTable[Situation]]] = {
    form: load(["brokers.toml", f"{form}.toml"], _situation_of, decision, {"remembering": _remembering})
    for form in FORMS
}
