"""The address that a request goes to, where the state of its sender tells it."""

from __future__ import annotations

from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.reference.effects import Effect, Send
from kraftcheck.reference.replica import Replica
from kraftcheck.systems.kraft.addresses import known_to


def address_of(effect: Effect, sender: Replica) -> dict[str, Json]:
    """The field ``address`` of a request of ``sender``, as it is after the step; empty where the effect is
    no request, or where the request goes to a bootstrap server, whose address is configuration.
    """
    known = known_to(sender, effect.to, effect.request, ()) if isinstance(effect, Send) else None
    return {} if known is None else {"address": {"host": known.host, "port": known.port}}
