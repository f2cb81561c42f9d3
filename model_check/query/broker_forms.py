"""Which form a question about brokers is of: the draft (KIP-343) or what shipped (KIP-631)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kraftcheck.query.broker_consistency import draft_evidence, shipped_evidence
from kraftcheck.query.broker_tables import BROKER_TABLES, forms_of
from kraftcheck.reference.brokers.broker import Broker
from kraftcheck.reference.brokers.controller import Controller, Store
from kraftcheck.reference.brokers.events import (
    BrokerEvent,
    ContactLost,
    ControllerEvent,
    LeaderMoveDue,
    MetadataReceived,
    RegistrationDue,
    RegistrationRemoved,
    RegistrationWritten,
    StoreAnswered,
    StoreIsrReceived,
)
from kraftcheck.reference.brokers.messages import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    IsrChangeRequest,
    IsrChangeResponse,
    MetadataHeartbeatRequest,
    MetadataHeartbeatResponse,
)
from kraftcheck.reference.brokers.protocol import BrokerProtocol
from kraftcheck.support.errors import InputError
from kraftcheck.systems.brokers.switches import FORMS, with_switches
from kraftcheck.systems.short_form import name_of
from kraftcheck.systems.variants import read_switch

_DRAFT, _SHIPPED = FORMS
_BOTH = " or ".join(f"--protocol {form}" for form in FORMS)

#: Events and messages that one form alone has.
_OWN: Mapping[type, str] = {
    **dict.fromkeys(
        (
            RegistrationWritten,
            RegistrationRemoved,
            StoreIsrReceived,
            LeaderMoveDue,
            StoreAnswered,
            MetadataHeartbeatRequest,
            MetadataHeartbeatResponse,
        ),
        _DRAFT,
    ),
    **dict.fromkeys(
        (
            BrokerRegistrationRequest,
            BrokerRegistrationResponse,
            BrokerHeartbeatRequest,
            BrokerHeartbeatResponse,
        ),
        _SHIPPED,
    ),
}
#: Events and messages that belong to a form unless ``--protocol`` or the state says otherwise.
_USUAL: Mapping[type, str] = {
    ContactLost: _DRAFT,
    IsrChangeRequest: _DRAFT,
    IsrChangeResponse: _DRAFT,
    RegistrationDue: _SHIPPED,
    AlterPartitionRequest: _SHIPPED,
    AlterPartitionResponse: _SHIPPED,
}


def read_protocol(form: str, settings: Sequence[str]) -> BrokerProtocol:
    """A form with some switches set, each ``switch=value``. Raises InputError."""
    switches = dict(read_switch(setting) for setting in settings)
    return with_switches(form, switches, lambda said: InputError(f"--set: {said}."))


def of_table(name: str, preset: str | None) -> str:
    """The form whose table of this name is asked for; ``preset`` is what ``--protocol`` says, if anything.

    Raises InputError if that form has no such table, and if nothing says which form is meant.
    """
    forms = forms_of(name)
    wanted = " or ".join(f"--protocol {form}" for form in forms)
    if preset is None and len(forms) > 1:
        raise InputError(f"--table '{name}': both forms of brokers have it; pass {wanted}.")
    if preset is not None and preset not in forms:
        raise InputError(
            f"--table '{name}' is about brokers, {' and '.join(forms)}: "
            f"pass {wanted}, not --protocol {preset[:40]!r}."
        )
    return forms[0] if preset is None else preset


def names_of_tables() -> tuple[str, ...]:
    """The names of the tables of both forms."""
    return tuple(dict.fromkeys(name for known in BROKER_TABLES.values() for name in known))


def of_question(
    preset: str | None, state: Controller | Broker, event: ControllerEvent | BrokerEvent
) -> tuple[str, str]:
    """The form of a question, and what says so. Raises InputError if nothing does, or ``event`` is of the
    other form.
    """
    form, says = _form(preset, state, event)
    message = _message(event)
    other = _OWN.get(type(message), form)
    if other != form:
        raise InputError(
            f"EVENT: '{name_of(type(message))}' is of the {other} form, and {says} says {form}; "
            f"give a state of the {other} form, and --protocol {other}."
        )
    return form, says


def _form(
    preset: str | None, state: Controller | Broker, event: ControllerEvent | BrokerEvent
) -> tuple[str, str]:
    if preset is not None:
        if preset not in FORMS:
            raise InputError(
                f"--protocol '{preset[:40]}': expected {' or '.join(FORMS)} for brokers and their controller."
            )
        return preset, "--protocol"
    of_draft, of_shipped = _by_state(state)
    if of_draft and of_shipped:
        raise InputError(
            f"STATE: expected fields of one form, found '{of_draft[0]}' of the {_DRAFT} and "
            f"'{of_shipped[0]}' of the {_SHIPPED} form; leave one out."
        )
    if of_draft or of_shipped:
        return _DRAFT if of_draft else _SHIPPED, "STATE"
    message = _message(event)
    known = _OWN.get(type(message)) or _USUAL.get(type(message))
    if known is None and isinstance(event, MetadataReceived) and event.update.offset >= 0:
        known = _SHIPPED
    if known is None:
        raise InputError(f"--protocol: neither STATE nor EVENT says which form is meant; pass {_BOTH}.")
    return known, "EVENT"


def _by_state(state: Controller | Broker) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The fields of ``state`` that belong to the draft, and those that belong to the shipped form."""
    if isinstance(state, Broker):
        return draft_evidence(state), shipped_evidence(state)
    return (("durable",), ()) if isinstance(state.durable, Store) else ((), ("durable",))


def _message(event: ControllerEvent | BrokerEvent) -> object:
    """The request or response that an event brings, else the event itself."""
    if type(event) in _OWN:
        return event
    return getattr(event, "request", getattr(event, "response", event))
