"""From a scenario to the system that the engine explores."""

from __future__ import annotations

from functools import partial
from typing import cast

from kraftcheck.engine.system import Loss, Network
from kraftcheck.reference.events import Timer
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.protocol import PreVoteCompatibility, Protocol
from kraftcheck.reference.replica import Replica
from kraftcheck.systems.kraft import consistency, initial_prefix, initial_states
from kraftcheck.systems.kraft import identities as identities_of
from kraftcheck.systems.kraft.clock import Clock
from kraftcheck.systems.kraft.host import Host
from kraftcheck.systems.kraft.initial_prefix import BrokenInitialPrefix, InitialPrefix
from kraftcheck.systems.kraft.network import InFlight
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.scenario import KRaftScenario
from kraftcheck.systems.kraft.system import Bounds, KRaftSystem
from kraftcheck.systems.kraft.wiring import Listener, Wiring

#: The engine keeps no more counters in a state.
MAX_BUDGETS = 7


def build(
    scenario: KRaftScenario,
    where: str | None = None,
    *,
    absorbs: bool = False,
    listener: Listener | None = None,
) -> KRaftSystem:
    """The system of ``scenario``; ``absorbs``: see :class:`~kraftcheck.systems.kraft.system.KRaftSystem`.
    ``listener`` receives every question to the reference.

    Raises InputError where the scenario contradicts itself, and BrokenInitialPrefix where the run that
    leads to ``replicas.initial-leader`` violates a property.
    """
    return _Builder(scenario.called(where or scenario.file), absorbs, listener).build()


def run_initial_prefix(scenario: KRaftScenario) -> InitialPrefix:
    """The run that leads to ``replicas.initial-leader``, which the scenario must name: its system and steps.

    Raises as :func:`build`.
    """
    return _Builder(scenario, False, None).initial_prefix(scenario.replicas.initial_leader or 0)


class _Builder:
    def __init__(self, scenario: KRaftScenario, absorbs: bool, listener: Listener | None) -> None:
        self.scenario, self.absorbs, self.listener = scenario, absorbs, listener
        self.ids = scenario.replicas.everybody

    def build(self) -> KRaftSystem:
        scenario = self.scenario
        protocol = scenario.place("protocol")
        protocols = [identities_of.protocol_of(scenario, replica, protocol) for replica in self.ids]
        consistency.check(scenario, protocols)
        budgets = self._budgets()
        index = {name: number for number, name in enumerate(budgets)}
        identities = [identities_of.identity_of(scenario, replica) for replica in self.ids]
        cut = self._cut()
        wiring = self._wiring(index, protocols, identities, cut)
        initial_states.require_one_cluster(scenario, identities)
        machines = map(partial(Host, wiring), protocols, identities)
        hosts = tuple(host.bounded(scenario.bounds.max_epoch) for host in machines)
        begun = [initial_states.begin(scenario, host) for host in hosts]
        history = initial_states.history_before(scenario, identities)
        history, reached, broken = initial_states.after_first_polls(scenario, identities, history, begun)
        messages = sum(len(outcome.sends) for outcome in begun)
        if messages > scenario.network.capacity and scenario.replicas.initial_leader is None:
            raise self.scenario.error(
                f"network.capacity: {messages} messages are in flight in the beginning; allow as many"
            )
        network = Network(scenario.network.capacity, Loss(scenario.network.loss))
        system = KRaftSystem(
            scenario.name,
            hosts,
            tuple(self._with_clock(cast(Node, outcome.local)) for outcome in begun),
            wiring,
            network,
            Bounds(scenario.bounds.max_epoch),
            budgets,
            consistency.requested(scenario, cut),
            tuple(goal for goal in scenario.check.goals if goal not in reached),
            identities_of.voters_of(scenario).keys,
            initial_messages=tuple(cast(InFlight, sent) for outcome in begun for sent in outcome.sends),
            initial_history=history,
            broken_at_start=broken,
            absorbs=self.absorbs,
        )
        if scenario.replicas.initial_leader is not None:
            self._run_initial_prefix(system, scenario.replicas.initial_leader)
        # With relative epochs the past that safety properties read is left out.
        relative = self.absorbs and scenario.reduction.epochs == "relative"
        return system.unjudged() if relative else system

    def _with_clock(self, node: Node) -> Node:
        return replace(node, clock=Clock()) if self.scenario.budgets.ticks else node

    def _wiring(
        self,
        index: dict[str, int],
        protocols: list[Protocol],
        identities: list[Replica],
        cut: frozenset[tuple[int, int]],
    ) -> Wiring:
        scenario, choice = self.scenario, self.scenario.environment
        timers = {replica: frozenset(map(Timer, choice.timers)) for replica in self.ids}
        timers |= {int(word): frozenset(map(Timer, allowed)) for word, allowed in choice.timers_at.items()}
        steps = identities_of.admin_steps(scenario)
        return Wiring(
            choice,
            scenario.network,
            scenario.admin,
            costs=index,
            crashes=scenario.budgets.crashes,
            component={replica: number for number, replica in enumerate(self.ids)}.__getitem__,
            cut=cut,
            flag_ignored=frozenset(
                replica
                for replica, protocol in zip(self.ids, protocols, strict=True)
                if protocol.pre_vote_compatibility is PreVoteCompatibility.RESPONSE_FLAG
            ),
            timers=timers,
            servers=self._servers(),
            steps=steps,
            origin=identities_of.origin_of(scenario),
            addable=identities_of.addable(scenario),
            targets=tuple(step.target for step in steps) if scenario.admin.alters else None,
            ignored_exits=scenario.check.ignore_fatal,
            listener=self.listener,
            listening={each.id: each.endpoints for each in identities}
            | {replica: identities_of.listens_at(replica) for replica in scenario.replicas.misadvertised},
            misadvertised=frozenset(scenario.replicas.misadvertised),
        )

    def _run_initial_prefix(self, system: KRaftSystem, leader: int) -> None:
        """Let ``system`` begin in the state to which a run without faults has brought all replicas but the
        fresh ones.
        """
        run, replicas = self.initial_prefix(leader), self.scenario.replicas
        if len(run.messages) > self.scenario.network.capacity:
            raise self.scenario.error(
                f"replicas.initial-leader: {len(run.messages)} fetches are in flight in the beginning; "
                "network.capacity must allow them"
            )
        fresh = [component for component, replica in enumerate(self.ids) if replica in replicas.fresh]
        system.begin(initial_prefix.beginning(system, run.state, fresh))

    def initial_prefix(self, leader: int) -> InitialPrefix:
        """The run, complete, in which ``leader`` comes to lead all replicas that take part."""
        replicas, prefix_scenario = self.scenario.replicas, initial_prefix.scenario_of(self.scenario)
        idle = (*replicas.fresh, *replicas.stopped)
        run = InitialPrefix(
            _Builder(prefix_scenario, False, self.listener).build(),
            [component for component, replica in enumerate(self.ids) if replica not in idle],
            judged=self.scenario.check.initial_prefix,
        )
        settled = leader in replicas.voters and leader not in idle and run.run(self.ids.index(leader))
        if run.violated:
            error = self.scenario.error(
                f"replicas.initial-leader: the run that leads there violates {', '.join(run.violated)} in "
                f"step {len(run.path)}, which 'kraftcheck check' shows; mend that, or set "
                "check.initial-prefix = false"
            )
            raise BrokenInitialPrefix(str(error), prefix_scenario, run.system, run.violations)
        if not settled:
            cut = "; network.cut holds in the run that leads there too: give replicas.initial instead"
            raise self.scenario.error(
                f"replicas.initial-leader: {leader} does not come to lead all the others in epoch 1"
                + (cut if self.scenario.network.cut else "")
            )
        return run

    def _budgets(self) -> dict[str, int]:
        wanted = self.scenario.budgets
        offered = {name: getattr(wanted, name) for name in type(wanted).model_fields if name != "timers"}
        budgets = {name: value for name, value in offered.items() if value}
        budgets = budgets if wanted.timers is None else {**budgets, "timers": wanted.timers}
        if len(budgets) > MAX_BUDGETS:
            raise self.scenario.error(
                f"budgets: at most {MAX_BUDGETS} of them can be given, found {len(budgets)}"
            )
        return budgets

    def _cut(self) -> frozenset[tuple[int, int]]:
        links = set()
        for link in self.scenario.network.cut:
            ends = link.replace(">", "-").split("-")
            one, other = (consistency.replica_named(self.scenario, "network.cut", end) for end in ends)
            if one == other:
                raise self.scenario.error(f"network.cut: '{link}' is no link between two replicas")
            links.add((one, other))
            if "-" in link:
                links.add((other, one))
        for stopped in self.scenario.replicas.stopped:
            links |= {(stopped, other) for other in self.ids} | {(other, stopped) for other in self.ids}
        return frozenset(links)

    def _servers(self) -> tuple[int, ...]:
        """The bootstrap servers; none where the configuration names the voters themselves."""
        replicas = self.scenario.replicas
        if replicas.bootstrap_servers:
            return replicas.bootstrap_servers
        return replicas.voters if replicas.dynamic else ()
