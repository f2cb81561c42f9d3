"""Two brokers, one of them with two processes, and a controller that fails over, driven at random.

The network delays, reorders and loses. Whatever happens, no step raises, and B-2 to B-5, B-6 (in the form
that shipped), B-8, B-9 and B-10 hold; states say nothing that does not matter.
"""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from kraftcheck import spec
from kraftcheck.reference.brokers import pending_isrs, views
from kraftcheck.reference.brokers.broker import Api
from kraftcheck.reference.brokers.controller import LEGACY_VERSION, MetadataLog, Store
from kraftcheck.reference.brokers.effects import Accepted, BrokerFenced, Reply
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.events import (
    ClientRequest,
    ClientRequestDone,
    ContactLost,
    ControllerFound,
    Failover,
    HeartbeatDue,
    IsrWish,
    IsrWished,
    LeaderMoveDue,
    MetadataDue,
    RegistrationDue,
    RegistrationRemoved,
    RequestTimedOut,
    SessionExpired,
    ShutdownWished,
    Tick,
)
from kraftcheck.reference.brokers.messages import (
    AlterPartitionRequest,
    BrokerHeartbeatRequest,
    BrokerState,
    IsrChangeRequest,
    MetadataHeartbeatRequest,
    Process,
)
from kraftcheck.reference.brokers.protocol import KIP343, SHIPPED, BrokerLiveness, BrokerProtocol, IsrChanges
from kraftcheck.reference.brokers.step import ControllerOutcome
from kraftcheck.reference.frozen import replace
from tests.reference.brokers.broker_world import World

NODES = st.sampled_from([1, 2, None])
BROKERS = st.sampled_from([1, 2])
WHICH = st.integers(0, 30)
ISRS = st.sampled_from([(1,), (2,), (1, 2), (1, 2, 3), ()])
#: Each leader wants to be alone in its ISR, or to have everybody in it.
BOTH_ALONE = IsrWished((IsrWish("t", 0, (1,)), IsrWish("t", 1, (2,))))
BOTH_FULL = IsrWished((IsrWish("t", 0, (1, 2)), IsrWish("t", 1, (1, 2))))
INDEXES = st.sampled_from([0, 1])


class BrokerCluster(RuleBasedStateMachine):
    protocol: BrokerProtocol = KIP343
    legacy: tuple[int, ...] = ()

    @initialize()
    def begin(self) -> None:
        self.world = World(self.protocol, self.legacy)
        self.known: dict[int, int] = {}
        self.accepted: dict[int, int] = {}
        catalogue = spec.load()
        told = {"V-BLIVE": self.protocol.liveness.value, "V-ISR": self.protocol.isr_changes.value}
        choices = {name: told.get(name, variant.values[0]) for name, variant in catalogue.variants.items()}
        self.of_others = {each.id for each in catalogue.rules.values() if not each.belongs_to(choices)}

    def process(self, which: int) -> Process:
        return sorted(self.world.processes, key=lambda each: (each.broker, each.incarnation))[
            which % len(self.world.processes)
        ]

    @rule(which=WHICH)
    def delivers(self, which: int) -> None:
        if self.world.network:
            self.deliver(which % len(self.world.network))

    def deliver(self, which: int) -> None:
        message = self.world.network[which]
        before = self.world.controller
        outcome = self.world.deliver(which)
        if isinstance(outcome, ControllerOutcome) and message.node is not None:
            (response,) = (each.response for each in outcome.effects if isinstance(each, Reply))
            assert response.error is not BrokerErrorCode.NONE or message.node == before.active
            self.judge(message.content, response, before)
            for effect in outcome.effects:
                if isinstance(effect, BrokerFenced) and not effect.fenced:  # B-8
                    assert message.content.offset >= message.content.epoch

    def judge(self, request: Any, response: Any, before: Any) -> None:
        """B-2, B-3, B-4 and B-9 of one request."""
        after = self.world.controller
        if response.error is not BrokerErrorCode.NONE:
            assert after.durable.partitions == before.durable.partitions
            refused = (BrokerErrorCode.INVALID_INCARNATION_ID, BrokerErrorCode.NOT_CONTROLLER)
            if response.error in refused:
                assert after == before
            return
        if isinstance(request, MetadataHeartbeatRequest | BrokerHeartbeatRequest):
            life = request.incarnation if isinstance(request, MetadataHeartbeatRequest) else request.epoch
            assert life >= self.accepted.get(request.broker, life)
            self.accepted[request.broker] = life
        if isinstance(request, IsrChangeRequest | AlterPartitionRequest):
            errors = list(getattr(response, "results", ())) or [each.error for each in response.partitions]
            taken = {
                wanted.index: wanted
                for wanted, error in zip(request.partitions, errors, strict=True)
                if error is BrokerErrorCode.NONE
            }
            for old, new in zip(before.durable.partitions, after.durable.partitions, strict=True):
                if old != new:  # B-4: at the wish of the leader, in its leader epoch
                    assert request.broker == old.leader
                    assert taken[old.index].leader_epoch == old.leader_epoch

    @rule(which=WHICH, event=st.sampled_from([HeartbeatDue(), RegistrationDue(), BOTH_ALONE, BOTH_FULL]))
    def asks_and_is_answered(self, which: int, event: Any) -> None:
        """A request that arrives at the controller at once, and its answer."""
        process = self.process(which)
        if self.world.controller.active is not None:
            self.world.on_process(process, ControllerFound(self.world.controller.active))
        if event == BOTH_ALONE and self.world.processes[process].legacy:
            event = BOTH_FULL  # Nobody looks at what a legacy broker writes.
        if self.world.on_process(process, event).effects:
            self.deliver(len(self.world.network) - 1)
            answers = [
                at for at, each in enumerate(self.world.network) if each.to_process and each.api is not None
            ]
            if answers:
                self.deliver(answers[-1])

    @rule(which=WHICH)
    def reads_metadata(self, which: int) -> None:
        outcome = self.world.on_controller(MetadataDue(self.process(which)))
        if outcome.effects:
            self.deliver(len(self.world.network) - 1)

    @rule(which=WHICH)
    @precondition(lambda self: len(self.world.network) > 3)
    def lose(self, which: int) -> None:
        self.world.network.pop(which % len(self.world.network))

    @rule(which=WHICH, event=st.sampled_from([HeartbeatDue(), HeartbeatDue(), RegistrationDue(), Tick()]))
    def timer(self, which: int, event: Any) -> None:
        self.world.on_process(self.process(which), event)

    @rule(which=WHICH, api=st.sampled_from(Api))
    def gives_up(self, which: int, api: Api) -> None:
        self.world.on_process(self.process(which), RequestTimedOut(api))

    @rule(which=WHICH, node=st.sampled_from([1, 2]))
    def finds_controller(self, which: int, node: int) -> None:
        self.world.on_process(self.process(which), ControllerFound(node))

    @rule(which=WHICH)
    def loses_contact(self, which: int) -> None:
        self.world.on_process(self.process(which), ContactLost())

    @rule(which=WHICH)
    def client(self, which: int) -> None:
        """B-1: what is fenced accepts nothing new."""
        process = self.process(which)
        serves = views.serves(self.protocol, self.world.processes[process])
        outcome = self.world.on_process(process, ClientRequest())
        assert (Accepted() in outcome.effects) == serves
        if self.world.processes[process].accepted > 1:
            self.world.on_process(process, ClientRequestDone())

    @rule(which=WHICH)
    def completes(self, which: int) -> None:
        self.world.on_process(self.process(which), ClientRequestDone())

    @rule(which=WHICH, first=ISRS, second=ISRS)
    def wants_isr(self, which: int, first: tuple[int, ...], second: tuple[int, ...]) -> None:
        process = self.process(which)
        if self.world.processes[process].legacy:
            first = second = (1, 2)  # Nobody looks at what a legacy broker writes.
        self.world.on_process(process, IsrWished((IsrWish("t", 0, first), IsrWish("t", 1, second))))

    @rule(which=WHICH)
    @precondition(lambda self: len(self.world.processes) > 2)
    def shuts_down(self, which: int) -> None:
        self.world.on_process(self.process(which), ShutdownWished())

    @rule(broker=BROKERS, legacy=st.booleans())
    @precondition(lambda self: len(self.world.processes) < 4)
    def starts(self, broker: int, legacy: bool) -> None:
        self.world.start_process(broker, 4 if legacy and broker in self.legacy else 5)

    @rule(broker=BROKERS)
    def session_expires(self, broker: int) -> None:
        self.world.on_controller(SessionExpired(broker))

    @rule()
    def controller_ticks(self) -> None:
        self.world.on_controller(Tick())

    @rule(node=NODES)
    def fails_over(self, node: int | None) -> None:
        self.world.on_controller(Failover(node))

    @rule(which=WHICH)
    def metadata(self, which: int) -> None:
        self.world.on_controller(MetadataDue(self.process(which)))

    @rule(index=INDEXES)
    @precondition(lambda self: self.protocol.liveness is BrokerLiveness.KIP343)
    def leader_moves(self, index: int) -> None:
        self.world.on_controller(LeaderMoveDue("t", index))

    @rule(broker=BROKERS)
    @precondition(lambda self: self.protocol.liveness is BrokerLiveness.KIP343)
    def legacy_registration_goes(self, broker: int) -> None:
        """Not that of another broker: B-2 does not survive it together with a failover."""
        if views.is_legacy(self.world.controller, broker):
            self.world.on_controller(RegistrationRemoved(broker))

    @invariant()
    def rules_are_of_this_variant(self) -> None:
        assert self.world.rules & self.of_others == set()

    @invariant()
    def known_lives_never_decrease(self) -> None:
        """B-2, across failovers as well."""
        durable = self.world.controller.durable
        if isinstance(durable, MetadataLog):
            lives = {each.broker: each.epoch for each in durable.registrations}
        else:
            memory = self.world.controller.brokers
            lives = {each.broker: each.incarnation for each in memory if each.incarnation is not None}
        for broker, life in lives.items():
            assert life >= self.known.get(broker, life)
            self.known[broker] = life

    @invariant()
    def isrs_are_well_formed(self) -> None:
        """B-5."""
        for each in self.world.controller.durable.partitions:
            assert each.isr and set(each.isr) <= set(each.replicas)
            assert each.leader is None or each.leader in each.isr

    @invariant()
    def who_is_out_is_invisible(self) -> None:
        """B-6 and B-10."""
        controller = self.world.controller
        visible = {each.broker for each in views.visible_brokers(controller)}
        if isinstance(controller.durable, Store):
            inactive = {each for each in (1, 2) if views.state_of(controller, each) is BrokerState.INACTIVE}
            assert not inactive & visible
            registrations = controller.durable.registrations
            legacy = {each.broker for each in registrations if each.version == LEGACY_VERSION}
            assert legacy <= visible
            return
        for each in controller.durable.registrations:
            if each.fenced and self.protocol.isr_changes is IsrChanges.ALTER_PARTITION:
                for partition in controller.durable.partitions:
                    assert partition.leader != each.broker
                    assert each.broker not in partition.isr or partition.isr == (each.broker,)

    @invariant()
    def what_does_not_run_is_not_counted(self) -> None:
        for known in self.world.controller.brokers:
            if known.state is BrokerState.INACTIVE:
                assert known.ticks == 0 and known.incarnation is not None
        for each in self.world.processes.values():
            assert not each.fenced or each.ticks == 0
            names = [(change.topic, change.index) for change in each.pending]
            assert len(set(names)) == len(names)
            if self.protocol.isr_changes is IsrChanges.ISR_CHANGE and Api.ISR in each.awaiting:
                assert pending_isrs.asked(each)
            for change in each.pending:
                known = views.partition_of(each, change.topic, change.index)
                assert known is not None and change.leader_epoch <= known.leader_epoch
            assert not each.ended or each == type(each)(each.id, each.incarnation, ended=True)


TIMED = {"controller_timeout": 2, "broker_timeout": 3}


class LegacyCluster(BrokerCluster):
    """One broker begins below the inter-broker protocol of the draft."""

    legacy = (2,)


class TimedCluster(BrokerCluster):
    """Ticks are all that ends a timer."""

    protocol = replace(KIP343, **TIMED)


class DraftWithPartitionEpochs(BrokerCluster):
    """The draft's liveness, AlterPartition."""

    protocol = replace(KIP343, isr_changes=IsrChanges.ALTER_PARTITION)


class ShippedCluster(BrokerCluster):
    """What shipped."""

    protocol = SHIPPED


class TimedShippedCluster(BrokerCluster):
    """What shipped, with sessions in ticks."""

    protocol = replace(SHIPPED, **TIMED)


class ShippedWithIsrChange(BrokerCluster):
    """Sessions and broker epochs, and IsrChange of the draft."""

    protocol = replace(SHIPPED, isr_changes=IsrChanges.ISR_CHANGE)


def as_case(machine: type[BrokerCluster]) -> Any:
    """The machine as a test."""
    machine.TestCase.settings = settings(
        max_examples=40, stateful_step_count=60, deadline=None, suppress_health_check=list(HealthCheck)
    )
    return machine.TestCase


TestDraft = as_case(BrokerCluster)
TestLegacy = as_case(LegacyCluster)
TestTimed = as_case(TimedCluster)
TestDraftWithPartitionEpochs = as_case(DraftWithPartitionEpochs)
TestShipped = as_case(ShippedCluster)
TestTimedShipped = as_case(TimedShippedCluster)
TestShippedWithIsrChange = as_case(ShippedWithIsrChange)
