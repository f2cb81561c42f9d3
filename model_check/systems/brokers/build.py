"""From a scenario of brokers to the system that the engine explores."""

from __future__ import annotations

from collections import Counter

from kraftcheck.engine.system import GlobalState, Loss, Network
from kraftcheck.reference.brokers.controller import Store
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.brokers.protocol import BrokerProtocol
from kraftcheck.reference.brokers.starting import running_cluster
from kraftcheck.support.errors import InputError
from kraftcheck.systems.brokers import coverage
from kraftcheck.systems.brokers.control import active_processes
from kraftcheck.systems.brokers.history import beginning
from kraftcheck.systems.brokers.network import CONTROLLER
from kraftcheck.systems.brokers.places import Control, Machine, Time
from kraftcheck.systems.brokers.scenario import NAMES, BrokerScenario
from kraftcheck.systems.brokers.switches import SWITCHES
from kraftcheck.systems.brokers.system import BrokerSystem
from kraftcheck.systems.brokers.wiring import PARTITION, Listener, Name, Wiring

#: The engine keeps no more counters in a state.
MAX_BUDGETS = 7
#: Budgets without which something may happen any number of times.
UNBOUNDED = ("timeouts", "contact_losses")
#: Goals that speak of brokers which fence themselves (HBK-10).
_OF_THE_DRAFT = ("cut-off-are-fenced", "connected-are-unfenced")


def build(
    scenario: BrokerScenario,
    where: str | None = None,
    *,
    absorbs: bool = False,
    listener: Listener | None = None,
) -> BrokerSystem:
    """The system of ``scenario``, in which no state is outside the bounds.

    ``absorbs``: a time-out that may never end is a budget of 0, so that fairness knows of it. ``listener``
    receives every question to the reference. Raises InputError if the scenario contradicts itself.
    """
    return _Builder(scenario, where or scenario.file, absorbs, listener).build()


class _Builder:
    def __init__(
        self, scenario: BrokerScenario, where: str, absorbs: bool, listener: Listener | None
    ) -> None:
        self.scenario, self.where, self.absorbs, self.listener = scenario, where, absorbs, listener

    def build(self) -> BrokerSystem:
        scenario = self.scenario
        protocol = self._protocol()
        budgets = self._budgets(protocol)
        places = _places(scenario)
        wiring = self._wiring(protocol, tuple(budgets), places)
        control, machines = self._begin(wiring)
        timed = (Time((0,) * (1 + len(machines))),) if wiring.is_timed else ()
        judged = self._properties(wiring)
        history = beginning(
            (each.broker.incarnation for each in machines if each.broker is not None),
            active_processes(control.controller),
            scenario.check.serves_at_most,
            frozenset(judged),
        )
        begin = GlobalState((control, *machines, *timed), (), history, tuple(budgets.values()))
        network = Network(
            scenario.network.capacity,
            Loss(scenario.network.loss),
            duplicates="duplicates" in budgets,
            duplicate_budget=wiring.costs.get("duplicates", -1),
        )
        return BrokerSystem(
            scenario.name,
            wiring,
            network,
            begin,
            tuple(budgets),
            judged,
            self._goals(protocol),
            scenario.check.serves_at_most,
        )

    def _error(self, message: str) -> InputError:
        return self.scenario.error(message, self.where)

    def _protocol(self) -> BrokerProtocol:
        choice = self.scenario.protocol
        return SWITCHES.protocol(choice.form, choice.set, self.scenario.place("protocol.set"))

    def _budgets(self, protocol: BrokerProtocol) -> dict[str, int]:
        given = {
            name: getattr(self.scenario.budgets, name) for name in type(self.scenario.budgets).model_fields
        }
        if protocol.controller_timeout is not None:
            for name in UNBOUNDED:
                if given[name] is not None:
                    raise self._error(
                        f"budgets.{name.replace('_', '-')}: time-outs are counted in ticks here"
                    )
        budgets = {name: value for name, value in given.items() if value}
        if len(budgets) > MAX_BUDGETS:
            raise self._error(f"budgets: at most {MAX_BUDGETS} of them can be given, found {len(budgets)}")
        if self.absorbs:
            none = [name for name in UNBOUNDED if given[name] == 0]
            budgets |= dict.fromkeys(none[: MAX_BUDGETS - len(budgets)], 0)
        return budgets

    def _wiring(self, protocol: BrokerProtocol, budgets: tuple[str, ...], places: tuple[str, ...]) -> Wiring:
        scenario, environment = self.scenario, self.scenario.environment
        brokers = scenario.brokers
        unbounded = (name for name in UNBOUNDED if getattr(scenario.budgets, name) is None)
        return Wiring(
            protocol=protocol,
            nodes=tuple(range(1, brokers.controllers + 1)),
            places=places,
            ids=(*sorted(brokers.running), *brokers.starting),
            legacy=frozenset(brokers.legacy),
            costs={name: number for number, name in enumerate(budgets)},
            proposed_isrs=tuple(_isr(word) for word in environment.proposed_isrs),
            partitions=tuple(Name(PARTITION.topic, number) for number in range(brokers.partitions))
            if brokers.replicas
            else (),
            replicas=brokers.replicas,
            environment=environment,
            hand_over_survives="HandOverSurvivesFailover" in scenario.check.properties
            or "HandOverSurvivesFailover" in scenario.check.only,
            unbounded=frozenset(unbounded),
            listener=self.listener,
        )

    def _begin(self, wiring: Wiring) -> tuple[Control, list[Machine]]:
        brokers = self.scenario.brokers
        partitions: tuple[Partition, ...] = ()
        if brokers.replicas:
            isr = tuple(sorted(brokers.isr or brokers.replicas))
            leader = next(
                (each for each in brokers.replicas if each in isr and each in brokers.running), None
            )
            if leader is None:
                raise self._error(
                    "brokers.isr: none of its members runs in the beginning; add one to brokers.running"
                )
            partitions = tuple(
                Partition(each.topic, each.index, brokers.replicas, isr, leader) for each in wiring.partitions
            )
        controller, running = running_cluster(
            wiring.protocol, brokers.running, partitions, legacy=brokers.legacy
        )
        homes = tuple((each.incarnation, wiring.places[1 + at]) for at, each in enumerate(running))
        machines = [Machine(each.id, each, starts=1) for each in running]
        machines += [Machine(each) for each in brokers.starting]
        return Control(controller, homes if isinstance(controller.durable, Store) else ()), machines

    def _properties(self, wiring: Wiring) -> tuple[str, ...]:
        check = self.scenario.check
        for entry in check.eventually:
            if entry.goal in _OF_THE_DRAFT and not wiring.is_draft:
                raise self._error(
                    f"check.eventually: no shipped broker fences itself, so '{entry.goal}' says nothing; "
                    "ask for 'connected-serve'"
                )
        wanted = dict.fromkeys((*(check.only or NAMES.judged("always")), *check.properties))
        if check.serves_at_most is not None:
            wanted["InactiveBrokerServesBriefly"] = None
        if wiring.is_timed and wiring.is_draft and not check.only:
            wanted["ContactCountsByItsRequest"] = None
        if wiring.environment.data:
            wanted["CommittedPartitionDataSurvives"] = None
        if "HandOverSurvivesFailover" in wanted:
            # HandOverSurvivesFailover implies it.
            wanted.pop("ShutdownHandsLeadersOver", None)
        judged = tuple(name for name in wanted if name not in check.without)
        if not (judged or check.eventually or check.goals):
            raise self._error("check: no property is left to check; take one out of check.without")
        return judged

    def _goals(self, protocol: BrokerProtocol) -> tuple[str, ...]:
        check = self.scenario.check
        legal = coverage.transitions((protocol,))
        measured = f"GoalServesTicks{check.serves_at_most}"
        for name in check.goals:
            if name not in (*NAMES.goals, measured, *legal):
                raise self._error(
                    f"check.goals: '{name}' is no goal of this form and its check.serves-at-most; "
                    "'kraftcheck rules --transitions' lists the transitions of each form"
                )
        return check.goals


def _isr(word: str) -> tuple[int, ...]:
    return () if word == "none" else tuple(sorted(map(int, word.split(","))))


def _places(scenario: BrokerScenario) -> tuple[str, ...]:
    """The names of the controller and of each process: by its broker id; a second one with the id is 1b."""
    seen: Counter[int] = Counter()
    found = [CONTROLLER]
    for broker in (*sorted(scenario.brokers.running), *scenario.brokers.starting):
        found.append(f"broker-{broker}{'abc'[seen[broker]] if seen[broker] else ''}")
        seen[broker] += 1
    return tuple(found)
