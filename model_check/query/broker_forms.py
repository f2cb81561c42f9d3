"""Which form a question about brokers is of: the draft (KIP-343) or what shipped (KIP-631)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kraftcheck.query.broker_consistency import draft_evidence, shipped_evidence
from kraftcheck.reference.brokers import events, messages
from kraftcheck.reference.brokers.broker import Broker
from kraftcheck.reference.brokers.controller import Controller, Store
from kraftcheck.reference.brokers.events import BrokerEvent, ControllerEvent
from kraftcheck.support.errors import InputError
from kraftcheck.systems.brokers.switches import FORMS
from kraftcheck.systems.short_form import name_of

_DRAFT, _SHIPPED = FORMS
_BOTH = " or ".join(f"--protocol {form}" for form in FORMS)

#: Events and messages that one form alone has.
_OWN: Mapping[str, Any] = {
    _DRAFT: (
        events.RegistrationWritten
        | events.RegistrationRemoved
        | events.StoreIsrReceived
        | events.LeaderMoveDue
        | events.StoreAnswered
        | messages.MetadataHeartbeatRequest
        | messages.MetadataHeartbeatResponse
    ),
    _SHIPPED: (
        messages.BrokerRegistrationRequest
        | messages.BrokerRegistrationResponse
        | messages.BrokerHeartbeatRequest
        | messages.BrokerHeartbeatResponse
    ),
}
#: Events and messages that belong to a form unless ``--protocol`` or the state says otherwise.
_USUAL: Mapping[str, Any] = {
    _DRAFT: events.ContactLost | messages.IsrChangeRequest | messages.IsrChangeResponse,
    _SHIPPED: events.RegistrationDue | messages.AlterPartitionRequest | messages.AlterPartitionResponse,
}


def of_question(
    preset: str | None, state: Controller | Broker, event: ControllerEvent | BrokerEvent
) -> tuple[str, str]:
    """The form of a question, and what says so. Raises InputError if nothing does, or ``event`` is of the
    other form.
    """
    form, says = _form(preset, state, event)
    message = _message(event)
    other = _form_in(_OWN, message)
    if other not in (None, form):
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
    known = _form_in(_OWN, message) or _form_in(_USUAL, message)
    if known is None and isinstance(event, events.MetadataReceived) and event.update.offset >= 0:
        known = _SHIPPED
    if known is None:
        raise InputError(f"--protocol: neither STATE nor EVENT says which form is meant; pass {_BOTH}.")
    return known, "EVENT"


def _by_state(state: Controller | Broker) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The fields of ``state`` that belong to the draft, and those that belong to the shipped form."""
    if isinstance(state, Broker):
        return draft_evidence(state), shipped_evidence(state)
    return (("durable",), ()) if isinstance(state.durable, Store) else ((), ("durable",))


def _form_in(forms: Mapping[str, Any], message: object) -> str | None:
    return next((form for form, kinds in forms.items() if isinstance(message, kinds)), None)


def _message(event: ControllerEvent | BrokerEvent) -> object:
    """The request or response that an event brings, else the event itself."""
    if _form_in(_OWN, event) is not None:
        return event
    return getattr(event, "request", getattr(event, "response", event))
