"""Widenings of a scenario: each allows all that the scenario allows, and more. Two switch a mode on that
Kafka has, and change the course of things instead: fetches in purgatory, and late reads.

A widening is a name and a function from the data of a scenario to wider data. It does not know whether the
kind of system can be built with it: :func:`widened` tries that.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from kraftcheck import spec
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.kraft.scenario import KRaftScenario
from kraftcheck.systems.scenario import Scenario, from_data

Data = dict[str, Any]

#: The timers of replicas that any scenario may have.
_TIMERS = ("election", "fetch", "check-quorum", "begin-quorum-epoch")
#: The budgets of brokers and their controller.
_OF_BROKERS = (
    "timeouts", "contact-losses", "request-timeouts", "failovers", "crashes", "cuts", "shutdowns", "appends",
    "duplicates", "isr-changes",
)  # fmt: skip

#: The properties that are judged where a scenario asks for them.
_REQUESTED = frozenset(each.name for each in spec.load().properties.values() if each.judged == "on-request")


@dataclass(frozen=True, slots=True)
class Widening:
    """``name``: what it allows; ``widen`` changes the data of a scenario."""

    name: str
    widen: Callable[[Data], None]


def widenings(scenario: Scenario) -> Iterator[Widening]:
    """The widenings of ``scenario``, in a fixed order; some of them may not fit it."""
    yield Widening("network.capacity", lambda data: _add(data, "network", "capacity", 4))
    if scenario.network.loss == "when-full" and not scenario.check.eventually:
        yield Widening("network.loss", lambda data: _set(data, "network", "loss", "always"))
    if isinstance(scenario, KRaftScenario):
        yield from _of_replicas(scenario)
    else:
        yield from _of_brokers(scenario)


def widened(scenario: Scenario, widening: Widening) -> Scenario | None:
    """``scenario`` with ``widening``; ``None`` where it does not fit, or changes nothing. Properties that
    hold within the bounds of ``scenario`` only are left out.
    """
    data = scenario.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    wider = copy.deepcopy(data)
    widening.widen(wider)
    if scenario.check.eventually and isinstance(scenario, KRaftScenario):
        # Whatever happens now, a wait must end by itself.
        _timers(wider, {*_TIMERS, *scenario.all_timers})
    if wider == data:
        return None
    for key in ("properties", "only"):
        if key in wider.get("check", {}):
            wider["check"][key] = [name for name in wider["check"][key] if name not in _REQUESTED]
    try:
        found = from_data(wider, scenario.name)
        kind_of(found).build(found)
    except InputError:
        return None
    return found


def _of_brokers(scenario: Scenario) -> Iterator[Widening]:
    if getattr(scenario.check, "serves_at_most", None) is not None:
        return  # What it promises holds within its own bounds.
    for name in _OF_BROKERS:
        yield _budget(scenario, name)


def _of_replicas(scenario: KRaftScenario) -> Iterator[Widening]:
    replicas, environment = scenario.replicas, scenario.environment
    yield Widening("bounds.max-epoch", lambda data: _add(data, "bounds", "max-epoch", 1))
    if replicas.views:
        return  # Replicas that differ on the voters stand for a history that more faults would contradict.
    budgets = ["appends", "crashes", "timeouts", "resigns", "duplicates", "timers"]
    if not environment.late_reads:
        budgets.append("snapshots")  # A late read of what a snapshot has deleted is not modelled.
    if not scenario.check.eventually:
        budgets.append("shutdowns")  # A process that has stopped for ever reaches no goal.
    if replicas.changing:
        budgets.append("wipes")  # Without directory ids Kafka does not survive the loss of a disk.
    for name in budgets:
        yield _budget(scenario, name)
    yield Widening("timers", lambda data: _timers(data, {*_TIMERS, *scenario.all_timers}))
    if environment.crashes_at or not environment.boundaries:
        yield Widening("crashes anywhere", _crashes_anywhere)
    yield Widening("power loss", _power_loss)
    # A read that may always be late may wait for ever.
    reads = () if scenario.check.eventually or scenario.budgets.snapshots else ("late-reads",)
    for name in ("discovery", "delayed-fetches", *reads):
        yield Widening(f"environment.{name}", partial(_set, table="environment", key=name, value=True))
    if scenario.network.cut:
        yield Widening("network.cut", lambda data: _set(data, "network", "cut", []))
    if replicas.changing and not scenario.admin.alters:
        yield from _of_voter_sets(scenario)
    if scenario.network.addresses == "known":
        yield Widening("moves", lambda data: _move(data, scenario))
        for id in replicas.voters:
            yield Widening(f"misadvertised {id}", partial(_listed, key="misadvertised", id=id))
    yield from _more_replicas(scenario)


def _of_voter_sets(scenario: KRaftScenario) -> Iterator[Widening]:
    replicas, voters = scenario.replicas, (*scenario.replicas.voters, *scenario.replicas.joining)
    if replicas.upgradable:
        yield Widening("upgrade", lambda data: _request(data, "upgrade kraft.version", first=True))
    for id in voters:
        yield Widening(f"remove {id}", partial(_request, step=f"remove {id}"))
        yield Widening(f"add {id}", partial(_request, step=f"add {id}"))
    if scenario.admin.steps:
        yield Widening("admin at any leader", lambda data: data["admin"].pop("at", None))
        yield Widening("admin in any order", lambda data: _set(data, "admin", "order", "any"))
        yield Widening("budgets.admin", lambda data: _add(data, "budgets", "admin", 0))
        timer = {*scenario.all_timers, "voter-change"}
        yield Widening("voter-change timer", lambda data: _timers(data, timer))


def _more_replicas(scenario: KRaftScenario) -> Iterator[Widening]:
    replicas = scenario.replicas
    new = max(replicas.everybody) + 1
    # Given states may have a high watermark that the next fetch of any replica moves.
    if not (replicas.initial or replicas.disks):
        yield Widening("an observer", lambda data: _listed(data, "observers", new))
        if replicas.changing:
            yield Widening("a joining replica", lambda data: _joins(data, new))
    if not (replicas.disks or replicas.joining or replicas.observers):
        yield Widening("a voter", lambda data: _voter(data, new, scenario))


def _budget(scenario: Scenario, name: str) -> Widening:
    return Widening(f"budgets.{name}", lambda data: _more(data, name, scenario))


def _more(data: Data, name: str, scenario: Scenario) -> None:
    """One more of a budget. What is not bounded stays so."""
    if getattr(scenario.budgets, name.replace("-", "_"), 0) is not None:
        _add(data, "budgets", name, 0)


def _table(data: Data, name: str) -> Data:
    found: Data = data.setdefault(name, {})
    return found


def _set(data: Data, table: str, key: str, value: Any) -> None:
    _table(data, table)[key] = value


def _add(data: Data, table: str, key: str, default: int) -> None:
    there = _table(data, table)
    there[key] = there.get(key, default) + 1


def _listed(data: Data, key: str, id: int) -> None:
    there = _table(data, "replicas")
    there[key] = [*(each for each in there.get(key, ()) if each != id), id]


def _timers(data: Data, names: set[str]) -> None:
    """All these timers everywhere; if none could expire, one may now, or any number where *eventually*
    properties are judged.
    """
    environment = _table(data, "environment")
    before = dict(environment)
    environment.pop("timers-at", None)
    environment["timers"] = sorted({*before.get("timers", ()), *names})
    none = not before.get("timers", _TIMERS) and not any(before.get("timers-at", {}).values())
    if none and not data.get("check", {}).get("eventually"):
        _table(data, "budgets").setdefault("timers", 1)


def _crashes_anywhere(data: Data) -> None:
    environment = _table(data, "environment")
    environment.pop("crashes-at", None)
    environment.pop("boundaries", None)


def _power_loss(data: Data) -> None:
    """Crashes may lose power before a flush; one at least."""
    environment, budgets = _table(data, "environment"), _table(data, "budgets")
    environment.pop("power-loss", None)
    environment.pop("write-back", None)
    budgets["crashes"] = max(1, budgets.get("crashes", 0))


def _request(data: Data, step: str, *, first: bool = False) -> None:
    """A further request of the admin client; it is sent in addition to the others."""
    admin = _table(data, "admin")
    steps = [*admin.get("steps", ())]
    admin["steps"] = [step, *steps] if first else [*steps, step]
    _add(data, "budgets", "admin", 0)


def _move(data: Data, scenario: KRaftScenario) -> None:
    if not scenario.budgets.moves:
        _add(data, "budgets", "moves", 0)
    else:
        _table(data, "environment").pop("moves-at", None)


def _joins(data: Data, id: int) -> None:
    _listed(data, "joining", id)
    if data["replicas"].get("initial-leader") is not None:
        _listed(data, "fresh", id)
    _request(data, f"add {id}")


def _voter(data: Data, id: int, scenario: KRaftScenario) -> None:
    """One more voter; where the initial states are given it begins as the last follower there."""
    _listed(data, "voters", id)
    initial: Mapping[str, str] = data["replicas"].get("initial", {})
    followers = [text for text in initial.values() if text.startswith("follower")]
    if initial and followers:
        data["replicas"]["initial"] = {**initial, str(id): followers[0]}
