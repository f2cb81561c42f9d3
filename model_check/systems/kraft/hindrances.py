"""Why events without a message do not happen to a replica in a state, although scenarios can have them.

This is the other side of :mod:`kraftcheck.systems.kraft.environment` and of the faults in
:mod:`kraftcheck.systems.kraft.host`: what they offer has no entry here, and the reverse.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kraftcheck.reference.events import Timer
from kraftcheck.reference.replica import Follower, Leader, Replica, Unattached
from kraftcheck.reference.transitions import role_name
from kraftcheck.systems.hindrance import Hindrance, no_budget
from kraftcheck.systems.kraft import administration, environment
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.wiring import Wiring

if TYPE_CHECKING:
    from kraftcheck.systems.kraft.system import KRaftSystem


def hindrances(system: KRaftSystem, component: int, local: Node) -> Iterator[Hindrance]:
    """The events that a scenario could have and that cannot happen to ``local``, by what they are called."""
    wiring, host = system.wiring, system.hosts[component]
    id = host.identity.id
    for source, destination in sorted(wiring.cut):
        if destination == id:
            yield Hindrance(f"a message from replica {source}", "network.cut: the link carries nothing")
    if local.replica is None:
        yield from _of_a_stopped(local, id)
    else:
        yield Hindrance("start", "the process runs")
        offered = {
            f"{each.kind} ({each.about})" if each.about else each.kind
            for each in _offers(system, component, local)
        }
        found = (
            *_timers(system, component, local),
            *_connections(wiring, local.replica),
            *_input(wiring, local.replica),
        )
        yield from (each for each in found if each.what not in offered)
        if next(host.crash(local), None) is None:
            yield Hindrance("crash", _no_budget_at(wiring, "crashes", "crashes-at", id))
        if next(host.move(local), None) is None:
            yield Hindrance("move", _no_budget_at(wiring, "moves", "moves-at", id))
        yield from _clock(wiring, local)
    if local.died is None:
        yield from _disks(wiring, local, id)


def _offers(system: KRaftSystem, component: int, node: Node) -> Iterator[environment.Offer]:
    assert node.replica is not None
    return environment.offers(system.wiring, system.hosts[component].protocol, node.replica, node.timers)


def _of_a_stopped(node: Node, id: int) -> Iterator[Hindrance]:
    everything = "messages, timers, requests"
    if node.died is None:
        yield Hindrance(everything, f"the process of replica {id} does not run; it starts first")
    else:
        reason = node.end.rstrip(".")
        yield Hindrance(f"{everything}, start", f"the process of replica {id} does not start again: {reason}")


def _no_budget_at(wiring: Wiring, budget: str, at: str, id: int) -> str:
    """Why a fault that the scenario may have at some replicas alone does not happen here."""
    if wiring.price(budget) is None:
        return no_budget(budget)
    return f"environment.{at} does not name replica {id}"


# Timers.


def _timers(system: KRaftSystem, component: int, node: Node) -> Iterator[Hindrance]:
    assert node.replica is not None
    for timer in Timer:
        yield Hindrance(f"timer ({timer.value})", _why_no_timer(system, component, node, node.replica, timer))


def _why_no_timer(system: KRaftSystem, component: int, node: Node, replica: Replica, timer: Timer) -> str:
    wiring, protocol = system.wiring, system.hosts[component].protocol
    if timer not in wiring.timers[replica.id]:
        return "environment.timers leaves it out"
    if replica.shutting_down:
        return "the replica is shutting down"
    if node.timers is not None:
        if timer in node.timers.expired:
            return "it has expired, and stays so until the replica arms it again"
        if timer not in node.timers.running:
            return "the replica has not armed it (environment.expiry = 'armed')"
    elif timer in (Timer.UPDATE_VOTER, Timer.LINGER):
        return "it is over in a variation of the step in which it matters"
    elif timer is Timer.ELECTION and isinstance(replica.role, Unattached):
        return "an observer that has not voted waits for no election"
    elif timer is Timer.VOTER_CHANGE and isinstance(replica.role, Leader):
        return "no change of the voter set is under way"
    elif timer not in environment.possible_timers(replica):
        return f"it does not run in the role {role_name(replica.role)}"
    if timer is Timer.CHECK_QUORUM and not protocol.counts_contacts:
        return "the protocol has no check of the quorum (switch check-quorum)"
    leader = replica.quorum_state.leader
    return f"environment.timely: replica {leader} leads, and the network is fast enough to hear from it"


# Requests under way.


def _connections(wiring: Wiring, replica: Replica) -> Iterator[Hindrance]:
    awaiting = [each.node for each in replica.connections if each.awaiting]
    if wiring.price("timeouts") is None:
        yield Hindrance("request timed out", no_budget("timeouts"))
    elif not awaiting:
        yield Hindrance("request timed out", "the replica awaits no answer")
    if len(awaiting) == len(replica.connections):
        yield Hindrance("back-off over", "no connection is backing off")
    if not replica.parked:
        yield Hindrance("fetch wait over", "no fetch waits at this replica")
    if reason := _why_no_discovery(wiring, replica, awaiting):
        yield Hindrance("looks for the leader", reason)


def _why_no_discovery(wiring: Wiring, replica: Replica, awaiting: list[int]) -> str:
    """Empty where the replica may look for the leader."""
    role = replica.role
    if not wiring.choice.discovery:
        return "environment.discovery = false"
    if awaiting:
        return f"the replica awaits an answer from {awaiting[0]}"
    if not isinstance(role, Unattached | Follower):
        return f"a {role_name(role)} looks for no leader"
    if isinstance(role, Follower) and not replica.connections:
        return "the follower reaches its leader"
    busy = {connection.node for connection in replica.connections} | {replica.id}
    servers = wiring.servers or replica.voters.ids
    return "" if set(servers) - busy else "no other server is left to be asked"


# Input of the state machine, and requests of the admin client.


def _input(wiring: Wiring, replica: Replica) -> Iterator[Hindrance]:
    yield Hindrance("append", _why_no_input(wiring, replica, "appends"))
    yield Hindrance("resign", _why_no_input(wiring, replica, "resigns"))
    shut = "it is shutting down already" if replica.shutting_down else no_budget("shutdowns")
    yield Hindrance("shutdown", shut)
    yield from _admin(wiring, replica)
    if reason := _why_no_snapshot(wiring, replica):
        yield Hindrance("snapshot", reason)


def _why_no_input(wiring: Wiring, replica: Replica, budget: str) -> str:
    if wiring.price(budget) is None:
        return no_budget(budget)
    if not isinstance(replica.role, Leader):
        return f"only a leader does; the role is {role_name(replica.role)}"
    return "the replica is shutting down"


def _admin(wiring: Wiring, replica: Replica) -> Iterator[Hindrance]:
    for step in wiring.steps:
        about = f" ({step})" if str(step) else ""
        yield Hindrance(f"{environment.ADMIN_NAMES[step.verb]}{about}", _why_not_asked(wiring, replica, step))


def _why_not_asked(wiring: Wiring, replica: Replica, step: administration.AdminStep) -> str:
    if wiring.price("admin") is None:
        return no_budget("admin")
    if not isinstance(replica.role, Leader):
        return f"the model leaves out requests to a {role_name(replica.role)}, which refuses them"
    if wiring.admin.at and replica.id not in wiring.admin.at:
        return "admin.at does not name this replica"
    if reason := administration.why_busy(replica):
        return reason
    if administration.is_done(step, replica):
        return "the voter set of the leader shows it as done"
    first = next(each for each in wiring.steps if not administration.is_done(each, replica))
    words = f"{environment.ADMIN_NAMES[first.verb]} {first}".strip()
    return f"admin.order = 'listed': '{words}' comes first"


def _why_no_snapshot(wiring: Wiring, replica: Replica) -> str:
    """Empty where the replica may write a snapshot."""
    if wiring.price("snapshots") is None:
        return no_budget("snapshots")
    if replica.high_watermark is None:
        return "the replica knows no high watermark"
    if replica.shutting_down:
        return "the replica is shutting down"
    if any(environment.snapshots(wiring, replica)):
        return ""
    return "its newest snapshot has all that is committed"


# Clocks and disks.


def _clock(wiring: Wiring, node: Node) -> Iterator[Hindrance]:
    if wiring.price("ticks") is None:
        yield Hindrance("clock", no_budget("ticks"))
    elif node.replica is None or not isinstance(node.replica.role, Leader):
        yield Hindrance("clock", "leaders alone read the clock")


def _disks(wiring: Wiring, node: Node, id: int) -> Iterator[Hindrance]:
    if wiring.price_at("wipes", id, wiring.choice.wipes_at) is None:
        yield Hindrance("wipe", _no_budget_at(wiring, "wipes", "wipes-at", id))
    if wiring.price("restores") is None:
        yield Hindrance("restore", no_budget("restores"))
    elif node.replaced is None:
        yield Hindrance("restore", "no disk has been taken out")
