"""The decision tables of brokers and their controller by form and name."""

from __future__ import annotations

from collections.abc import Mapping

from kraftcheck.query import draft_situations as draft
from kraftcheck.query import isr_situations as isr
from kraftcheck.query import leader_situations, timer_situations
from kraftcheck.query import shipped_situations as shipped
from kraftcheck.query.broker_tables import BrokerTable
from kraftcheck.systems.brokers.switches import FORMS

_OF_DRAFT = (
    draft.METADATA_HEARTBEAT_REQUEST,
    draft.METADATA_HEARTBEAT_RESPONSE,
    isr.ISR_CHANGE_REQUEST,
    isr.ISR_CHANGE_RESPONSE,
    draft.STORE_ISR_REQUEST,
    leader_situations.STORE_ISR_RESPONSE,
    draft.STORED_REGISTRATION,
    draft.LEADER_MOVE,
    draft.CONTACT_LOST,
)
_OF_SHIPPED = (
    shipped.BROKER_REGISTRATION_REQUEST,
    shipped.BROKER_REGISTRATION_RESPONSE,
    shipped.BROKER_HEARTBEAT_REQUEST,
    shipped.BROKER_HEARTBEAT_RESPONSE,
    isr.ALTER_PARTITION_REQUEST,
    isr.ALTER_PARTITION_RESPONSE,
    shipped.REGISTRATION_DUE,
)


def _by_name(own: tuple[BrokerTable, ...], *, is_draft: bool) -> Mapping[str, BrokerTable]:
    shared = (*timer_situations.tables(draft=is_draft), *leader_situations.tables(draft=is_draft))
    return {table.name: table for table in (*own, *shared)}


#: By form (``draft``, ``shipped``) its tables by name. Some names are in both.
BROKER_TABLES: Mapping[str, Mapping[str, BrokerTable]] = {
    form: _by_name(_OF_DRAFT if protocol.is_draft else _OF_SHIPPED, is_draft=protocol.is_draft)
    for form, protocol in FORMS.items()
}


def forms_of(name: str) -> tuple[str, ...]:
    """The forms that have a table of this name."""
    return tuple(form for form, known in BROKER_TABLES.items() if name in known)
