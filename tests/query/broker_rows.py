"""Decisions of tables on the combinations that have some values."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from kraftcheck.query.broker_decisions import possible
from kraftcheck.query.broker_tables import BROKER_TABLES
from kraftcheck.query.cover import Cell
from kraftcheck.query.decision_table import Decision, decide
from kraftcheck.query.tables import BY_FORM, REPLICAS
from kraftcheck.reference.brokers.protocol import (
    KIP343,
    SHIPPED,
    BrokerProtocol,
    ContactTime,
    IsrChanges,
    KnownLife,
)
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.protocol import KAFKA

#: Each form with the other form's requests for ISRs.
DRAFT_BY_EPOCH = replace(KIP343, isr_changes=IsrChanges.ALTER_PARTITION)
SHIPPED_BY_LIFE = replace(SHIPPED, isr_changes=IsrChanges.ISR_CHANGE)
#: The presets, clocks that run as long as can be, the other requests for ISRs, what is compared with what is
#: remembered, and a new controller that takes over no incarnation ids.
PROTOCOLS: Mapping[str, tuple[Any, ...]] = {
    REPLICAS: (KAFKA,),
    "draft": (
        KIP343,
        replace(KIP343, controller_timeout=9, broker_timeout=9, contact_time=ContactTime.REQUEST),
        replace(DRAFT_BY_EPOCH, known_life=KnownLife.REMEMBERED, rebuilds_incarnations=False),
    ),
    "shipped": (SHIPPED, replace(SHIPPED_BY_LIFE, controller_timeout=9)),
}


@cache
def decided(form: str, name: str, protocol: Any) -> dict[Cell, Decision]:
    """What a table says, row by row."""
    return dict(decide(BY_FORM[form][name], protocol))


def occurring(name: str, protocol: BrokerProtocol, **wanted: str) -> set[tuple[str, str]]:
    """The columns and values that occur together with the wanted values."""
    form = "draft" if protocol.is_draft else "shipped"
    table = BROKER_TABLES[form][name]
    given = {column.replace("_", " "): value for column, value in wanted.items()}.items()
    named = (dict(zip(table.columns, cell, strict=True)) for cell in decided(form, name, protocol))
    return {pair for each in named if given <= each.items() for pair in each.items()}


#: Asked of the node that answers.
ASKED = {"node_asked": "the controller"}


def situations(form: str, name: str, protocol: BrokerProtocol) -> Iterator[tuple[Any, Any]]:
    """The situations of a table that can occur under ``protocol``, in order."""
    table = BROKER_TABLES[form][name]
    for cell in itertools.product(*table.columns.values()):
        situation = table.situation(dict(zip(table.columns, cell, strict=True)))
        if situation is not None and (found := possible(protocol, situation)) is not None:
            yield found
