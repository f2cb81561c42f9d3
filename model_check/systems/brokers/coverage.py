"""The coverage targets of steps of brokers: actions, rules, transitions, messages, error codes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast, get_args

from kraftcheck import spec
from kraftcheck.reference.brokers.effects import Reply, Send, SendMetadata, StoreReply, WriteStore
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.messages import Request, Response
from kraftcheck.reference.brokers.protocol import BrokerLiveness, BrokerProtocol, IsrChanges
from kraftcheck.systems.brokers.network import Payload
from kraftcheck.systems.brokers.short_form import error_name
from kraftcheck.systems.brokers.step import Action, Step
from kraftcheck.systems.citations import in_broker_steps
from kraftcheck.systems.coverage import ACTION, ERROR, MESSAGE, RULE, TRANSITION, Item, rules_among
from kraftcheck.systems.switches import choices

#: Actions without a message.
_ENVIRONMENT = (
    "timeout", "failover", "leader moves", "start", "heartbeat", "register", "read metadata", "contact lost",
    "finds the controller", "request timed out", "client's request", "client's request is done", "shutdown",
    "proposes an ISR", "append", "replicate", "crash", "link is cut", "link heals", "tick",
)  # fmt: skip

#: Actions and classes of messages that only one choice of the protocol has.
_ONLY: Mapping[BrokerLiveness | IsrChanges, frozenset[str]] = {
    BrokerLiveness.KIP343: frozenset({
        "contact lost", "leader moves", "MetadataHeartbeatRequest", "MetadataHeartbeatResponse",
        "StoreRegistration", "StoreRegistered", "SessionGone", "StoreIsrRequest", "StoreIsrResponse",
    }),
    BrokerLiveness.KIP631: frozenset({
        "register", "read metadata", "BrokerRegistrationRequest", "BrokerRegistrationResponse",
        "BrokerHeartbeatRequest", "BrokerHeartbeatResponse", "ReadMetadata",
    }),
    IsrChanges.ISR_CHANGE: frozenset({"IsrChangeRequest", "IsrChangeResponse"}),
    IsrChanges.ALTER_PARTITION: frozenset({"AlterPartitionRequest", "AlterPartitionResponse"}),
}  # fmt: skip
_MESSAGES = tuple(kind.__name__ for kind in (*get_args(Request), *get_args(Response)))
#: The responses whose error codes have the names of KIP-343.
_OF_DRAFT = frozenset({"MetadataHeartbeatResponse", "IsrChangeResponse"})


def covered(step: Step) -> Iterator[Item]:
    """The coverage targets that ``step`` reaches."""
    yield ACTION, cast(Action, step.outcome.action).kind
    if step.execution is None:
        return
    yield from ((RULE, rule) for rule in step.execution.rules)
    yield from ((TRANSITION, goal) for goal in step.outcome.goals if is_transition(goal))
    for effect in step.execution.effects:
        if isinstance(effect, Send | WriteStore):
            yield MESSAGE, type(effect.request).__name__
        elif isinstance(effect, SendMetadata):
            yield MESSAGE, type(effect.update).__name__
        elif isinstance(effect, Reply | StoreReply):
            name = type(effect.response).__name__
            yield MESSAGE, name
            yield from ((ERROR, _name_of(code, name)) for code in _errors(effect.response))


def is_transition(goal: str) -> bool:
    """Whether a goal is a transition of ``spec/broker_transitions.toml``."""
    return "->" in goal


def transitions(protocols: Iterable[BrokerProtocol]) -> tuple[str, ...]:
    """The transitions, as goals, that are legal by any of these variants; without any, all of them."""
    chosen = [choices(each) for each in protocols] or [{}]
    rows = (row for each in chosen for row in spec.load().broker_transitions_under(each))
    return tuple(dict.fromkeys(row.goal for row in rows))


def _errors(response: object) -> Iterator[BrokerErrorCode]:
    parts = (*getattr(response, "partitions", ()), *getattr(response, "results", ()))
    for code in (getattr(response, "error", None), *(getattr(part, "error", part) for part in parts)):
        if isinstance(code, BrokerErrorCode) and code is not BrokerErrorCode.NONE:
            yield code


def to_cover(protocols: Iterable[BrokerProtocol]) -> Mapping[str, tuple[str, ...]]:
    """The coverage targets of these variants by kind; without any variant, of all of them."""
    given = tuple(protocols)
    chosen = [choices(each) for each in given]
    foreign = _foreign(given)
    actions = (*_ENVIRONMENT, *(kind.__name__ for kind in get_args(Payload)))
    messages = tuple(name for name in _MESSAGES if name not in foreign)
    return {
        ACTION: tuple(name for name in actions if name not in foreign),
        RULE: rules_among(in_broker_steps(), chosen),
        TRANSITION: transitions(given),
        MESSAGE: messages,
        ERROR: tuple(_codes(messages)),
    }


def _foreign(protocols: Sequence[BrokerProtocol]) -> frozenset[str]:
    """What none of these variants has; without any variant, nothing."""
    chosen = {choice for each in protocols for choice in (each.liveness, each.isr_changes)} or set(_ONLY)
    return frozenset[str]().union(*(names for choice, names in _ONLY.items() if choice not in chosen))


def _codes(messages: Iterable[str]) -> Iterator[str]:
    """The error codes that responses among ``messages`` may have."""
    known = spec.load().errors
    responses = [name for name in messages if name.endswith("Response")]
    for code in BrokerErrorCode:
        if code is BrokerErrorCode.NONE:
            continue
        users = known[code.name].used_by
        having = (each for each in responses if {each.removesuffix("Response"), "all"} & set(users))
        yield from dict.fromkeys(_name_of(code, each) for each in having)


def _name_of(code: BrokerErrorCode, response: str) -> str:
    """The name that an error code has in a response."""
    return error_name(code, draft=response in _OF_DRAFT)
