"""Messages, local states and history of brokers as the views of a trace print them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from enum import Enum
from functools import cache
from typing import Any, cast

from msgspec import NODEFAULT

from kraftcheck.reference.brokers.broker import Broker
from kraftcheck.reference.brokers.controller import Controller, MetadataLog, Store
from kraftcheck.reference.brokers.messages import BrokerState, PartitionState
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.frozen import field_defaults, field_types, is_frozen
from kraftcheck.systems.brokers.history import History
from kraftcheck.systems.brokers.network import InFlight, Record
from kraftcheck.systems.brokers.places import Control, Machine, Time
from kraftcheck.systems.kraft.text.fields import NOTHING

LEGEND = (
    "→controller sends to the controller; ←broker-1 receives from the process of broker 1; broker-1b: "
    "another process with the id of broker 1. An incarnation is an incarnation id (KIP-343) or a broker "
    "epoch (KIP-631). Partition 'leader 1@2 isr 1,2 v3': led by broker 1 in leader epoch 2, partition epoch "
    "3. 'by' names the rules that decided, in order ('kraftcheck rules ID' prints one). The sender of an "
    "'unanswerable' request no longer awaits the response. The history names processes by their incarnation "
    "ids."
)

#: Fields of messages that follow from the name of the message or from another field.
_LEFT_OUT = frozenset({"cluster_id", "recovering", "features"})
#: Durable states are named, as they tell the form of the protocol.
_DURABLE: dict[type, str] = {Store: "store", MetadataLog: "metadata-log"}
#: The partition that need not be named.
_USUAL = {"topic": "t", "index": 0}


def value_text(value: Any) -> str:
    """A value of the reference in a few words: ``1,2``, ``ACTIVE``, ``(isr=1,2 leader-epoch=1)``."""
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, tuple):
        inner = [value_text(each) for each in value]
        return ",".join(inner) or NOTHING
    if is_frozen(type(value)):
        name = _DURABLE.get(type(value), "")
        return f"{name}({' '.join(_parts(value))})"
    return str(value)


def _parts(value: Any) -> Iterable[str]:
    """The fields of a value that are not at their default, and all states of brokers."""
    for name, default in _defaults(cast(Hashable, type(value))).items():
        part = getattr(value, name)
        usual = default is not NODEFAULT and default == part and not isinstance(part, BrokerState)
        if name in _LEFT_OUT or usual:
            continue
        yield f"{name.replace('_', '-')}={value_text(part)}"


@cache
def _defaults(kind: Any) -> Mapping[str, Any]:
    """The fields of a class of values in their order, with the values that are left out."""
    defaults = {**field_defaults(kind), **_USUAL}
    return {name: defaults.get(name, NODEFAULT) for name in field_types(kind)}


def label(message: InFlight) -> str:
    """A message in a few words: ``MetadataHeartbeatRequest(broker=1 incarnation=1 target=ACTIVE)``."""
    node = "" if message.node is None else f" node={message.node}"
    words = f"{type(message.payload).__name__}({' '.join(_parts(message.payload))}{node})".replace("( ", "(")
    return words + ("" if message.answerable else " unanswerable")


def fields(local: Control | Machine | Time) -> Mapping[str, str]:
    """The fields of a local state."""
    if isinstance(local, Control):
        return _of_controller(local.controller)
    if isinstance(local, Machine):
        return _of_machine(local)
    return {"role": "time", "process": "running", "ahead": value_text(local.ahead)}


def _of_controller(controller: Controller) -> dict[str, str]:
    active = "no controller" if controller.active is None else f"node {controller.active}"
    found = {"role": active, "process": "running", "epoch": str(controller.epoch)}
    durable = controller.durable
    found["registrations"] = value_text(durable.registrations)
    if isinstance(durable, Store):
        found["brokers"] = value_text(controller.brokers)
    else:
        found["sessions"] = value_text(controller.sessions)
        found["end offset"] = str(durable.end_offset)
    found["partition"] = _partitions(durable.partitions)
    return found


def _partitions(partitions: Sequence[Partition | PartitionState]) -> str:
    """The leader and ISR of each partition; their names only if there are several."""
    return (
        "; ".join(
            (f"{each.topic}-{each.index} " if len(partitions) > 1 else "")
            + f"leader {value_text(each.leader)}@{each.leader_epoch} isr {value_text(each.isr)} "
            f"v{each.partition_epoch}"
            for each in partitions
        )
        or NOTHING
    )


def _of_machine(machine: Machine) -> dict[str, str]:
    broker = machine.broker
    found = {"link": "cut" if machine.cut else "up", "log": records(machine.log)}
    if broker is None or broker.ended:
        status = "registers" if machine.registers else "ended" if broker is not None else "stopped"
        return {"role": NOTHING, "process": status, **found}
    found |= _of_broker(broker)
    found["committed"] = str(machine.committed)
    found["followers"] = ", ".join(f"{id}@{life}:{end}" for id, life, end in machine.ends) or NOTHING
    found["reads"] = value_text(machine.reads)
    return found


def _of_broker(broker: Broker) -> dict[str, str]:
    draft = broker.epoch < 0 and broker.offset < 0 and broker.life.name == "STARTING"
    shown = "legacy" if broker.legacy else broker.state.name if draft else broker.life.name
    return {
        "role": shown.replace("_", "-").lower(),
        "process": "running",
        "epoch": str(broker.incarnation if broker.epoch < 0 else broker.epoch),
        "fenced": value_text(broker.fenced),
        "requested state": broker.target.name.lower(),
        "controller": value_text(broker.controller),
        "controller epoch": str(broker.controller_epoch),
        "awaiting": value_text(broker.awaiting),
        "ticks": str(broker.ticks),
        "request ticks": str(broker.request_ticks),
        "offset": str(broker.offset),
        "accepted": str(broker.accepted),
        "superseded": value_text(broker.superseded),
        "visible": value_text(broker.visible),
        "partition": _partitions(broker.partitions),
        "pending": value_text(broker.pending),
    }


#: All fields that :func:`fields` may give, with "-" for blanks.
FIELDS = (
    "role", "process", "epoch", "registrations", "brokers", "sessions", "end-offset", "partition", "link",
    "log", "fenced", "requested-state", "controller", "controller-epoch", "awaiting", "ticks",
    "request-ticks", "offset", "accepted", "superseded", "visible", "pending", "committed", "followers",
    "reads", "ahead",
)  # fmt: skip


def records(log: Sequence[Record]) -> str:
    """Records by their leader epoch and the process that appended them: ``0 by broker-1, 1 by broker-2``."""
    return ", ".join(f"{each.epoch} by {each.by}" for each in log) or NOTHING


def history_fields(history: History) -> Mapping[str, str]:
    """The history, as the properties need it."""
    return {
        "newest incarnations": ", ".join(f"{each} of broker {id}" for id, each in history.newest) or NOTHING,
        "heartbeats unanswered": value_text(history.unanswered),
        "held active": value_text(history.active),
        "serving": value_text(history.serving),
        "inactive for": ", ".join(f"{id}: {ticks} ticks" for id, ticks in history.inactive_for) or NOTHING,
        "committed": records(history.committed),
    }


def start_lines(local: Control | Machine | Time) -> list[str]:
    """A component at the beginning: its role and what is not empty."""
    found = fields(local)
    if found["process"] != "running":
        return [found["process"]]
    epoch = f", epoch {found['epoch']}" if "epoch" in found else ""
    lines = [f"{found['role']}{epoch}"]
    shown = ("registrations", "brokers", "sessions", "fenced", "link", "partition", "log", "visible")
    return [*lines, *(f"{name}: {found[name]}" for name in shown if found.get(name, NOTHING) != NOTHING)]


def short_event(event: Any) -> str:
    """An event, or a state, by its name and its fields."""
    parts = " ".join(_parts(event))
    return type(event).__name__ + (f" {parts}" if parts else "")


def describe_effect(effect: Any) -> tuple[str, str]:
    """The name of an effect, and its fields."""
    return type(effect).__name__, " ".join(_parts(effect))
