"""Which steps of KRaft are treated fairly: deliveries by link and kind of message, timers by replica."""

from __future__ import annotations

from collections.abc import Hashable
from typing import cast, get_args

from kraftcheck.engine.cycles import Strength
from kraftcheck.engine.liveness import Fairness
from kraftcheck.engine.system import PathStep
from kraftcheck.reference.events import Timer
from kraftcheck.reference.messages import Message
from kraftcheck.systems.kraft.network import InFlight
from kraftcheck.systems.kraft.scenario import Eventually
from kraftcheck.systems.kraft.step import Action, Also
from kraftcheck.systems.kraft.system import KRaftSystem

_KINDS: tuple[type, ...] = get_args(Message)


def classes_of(system: KRaftSystem, wanted: Eventually) -> list[Fairness]:
    """The classes of steps that ``wanted`` asks fairness of."""
    classes: list[Fairness] = []
    ids = [identity.id for identity in system.identities]
    if wanted.fairness.deliveries != "none":
        strength = Strength(wanted.fairness.deliveries)
        for source in ids:
            for destination in ids:
                if (source, destination) not in system.wiring.cut:
                    classes += [_deliveries(source, destination, kind, strength) for kind in _KINDS]
    if wanted.fairness.timers != "none":
        strength = Strength(wanted.fairness.timers)
        for replica in ids:
            for timer in system.environment.timers[replica]:
                classes.append(_timer(replica, timer.value, strength))
            classes.append(_kind(replica, "back-off over", strength))
            classes.append(_kind(replica, "start", strength))
            if system.environment.discovery:
                classes += [_asks(replica, server, strength) for server in ids if server != replica]
    return classes


def budgets_of(system: KRaftSystem, wanted: Eventually) -> tuple[int, ...]:
    """The numbers of the budgets that these steps cost: one for each timer that expires."""
    promised = wanted.fairness.timers != "none" and "timers" in system.budget_names
    return (system.budget_names.index("timers"),) if promised else ()


def _deliveries(source: int, destination: int, kind: type, strength: Strength) -> Fairness:
    def matches(step: PathStep, action: Hashable) -> bool:
        message = cast(InFlight, step.message)
        return (
            step.kind == "deliver"
            and not _is_fault(action)
            and (message.source, message.destination) == (source, destination)
            and isinstance(message.payload, kind)
        )

    return Fairness(f"{kind.__name__} {source}→{destination} arrives", strength, matches)


def _timer(replica: int, timer: str, strength: Strength) -> Fairness:
    over = (Also.UPDATE_VOTER_OVER,) if timer == Timer.UPDATE_VOTER.value else None

    def matches(step: PathStep, action: Hashable) -> bool:
        if not isinstance(action, Action) or action.replica != replica:
            return False
        return (action.kind, action.about, action.also) == ("timer", timer, ()) or action.also[-1:] == over

    return Fairness(f"the {timer} timer of {replica} expires", strength, matches)


def _kind(replica: int, kind: str, strength: Strength) -> Fairness:
    def matches(step: PathStep, action: Hashable) -> bool:
        return isinstance(action, Action) and (action.kind, action.replica) == (kind, replica)

    return Fairness(f"{kind} at {replica}", strength, matches)


def _asks(replica: int, server: int, strength: Strength) -> Fairness:
    """A replica that looks for the leader asks a random server: each of the servers again and again.

    Kafka: RequestManager.findReadyBootstrapServer.
    """
    action = Action("looks for the leader", replica, f"at {server}")
    return Fairness(str(action), strength, lambda step, taken: taken == action)


def _is_fault(action: Hashable) -> bool:
    return isinstance(action, Action) and bool(action.crashes)
