"""Why events without a message do not happen to the controller or a process, although scenarios can have
them: the other side of ``actions`` in :mod:`kraftcheck.systems.brokers.control` and
:mod:`kraftcheck.systems.brokers.machine`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kraftcheck.systems.brokers.places import Control, Machine, Time
from kraftcheck.systems.brokers.wiring import Wiring
from kraftcheck.systems.hindrance import Hindrance, no_budget

if TYPE_CHECKING:
    from kraftcheck.systems.brokers.system import BrokerSystem

#: What a running process does on a budget, by what the step is called.
_BY_BUDGET = {
    "shutdown": "shutdowns",
    "client's request": "requests",
    "proposes an ISR": "isr_changes",
    "request timed out": "request_timeouts",
    "crash": "crashes",
    "append": "appends",
}


def hindrances(system: BrokerSystem, component: int, local: Control | Machine | Time) -> Iterator[Hindrance]:
    """The events that a scenario could have and that cannot happen to ``local``, by what they are called."""
    if local.left:
        yield Hindrance("everything else", "a tick is under way: all clocks move first")
    elif isinstance(local, Control):
        yield from _of_the_controller(system.wiring, local)
    elif isinstance(local, Machine):
        yield from _of_a_machine(system.wiring, local)


def _of_the_controller(wiring: Wiring, control: Control) -> Iterator[Hindrance]:
    if wiring.is_timed:
        yield Hindrance("timeout", "time-outs are counted in ticks here")
    elif wiring.price("timeouts") is None:
        yield Hindrance("timeout", no_budget("timeouts"))
    if wiring.price("failovers") is None:
        yield Hindrance("failover", no_budget("failovers"))
    elif len(wiring.nodes) == 1:
        yield Hindrance("failover", "brokers.controllers = 1: no other node can be the controller")


def _of_a_machine(wiring: Wiring, machine: Machine) -> Iterator[Hindrance]:
    broker = machine.broker
    if broker is None or broker.ended:
        if machine.registers:
            yield Hindrance("everything", "the starting process awaits its registration in the store")
        elif machine.cut:
            yield Hindrance("start", "the link to the controller is cut")
        elif broker is not None and not wiring.environment.restarts:
            yield Hindrance("start", "environment.restarts = false: the process has ended")
        yield Hindrance("everything else", "no process runs on this machine")
        return
    yield Hindrance("start", "the process runs")
    for what, budget in _BY_BUDGET.items():
        if wiring.price(budget) is None:
            yield Hindrance(what, no_budget(budget))
    if wiring.price("request_timeouts") is not None and not broker.awaiting:
        yield Hindrance("request timed out", "the process awaits no answer")
    if not machine.cut:
        yield Hindrance("link heals", "the link is not cut")
        if wiring.price("cuts") is None:
            yield Hindrance("link is cut", no_budget("cuts"))
    yield from _of_reading(wiring, machine)


def _of_reading(wiring: Wiring, machine: Machine) -> Iterator[Hindrance]:
    if not wiring.is_draft:
        if machine.reads:
            yield Hindrance("read metadata", "the process is reading the metadata log")
        elif machine.cut:
            yield Hindrance("read metadata", "the link to the controller is cut")
    elif wiring.is_timed:
        yield Hindrance("contact lost", "time-outs are counted in ticks here")
    elif wiring.price("contact_losses") is None:
        yield Hindrance("contact lost", no_budget("contact_losses"))
    elif not machine.cut and wiring.silent_only:
        yield Hindrance("contact lost", "environment.timeouts = 'silent': the link is not cut")
