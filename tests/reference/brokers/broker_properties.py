"""The properties of every step of a controller and of broker processes: B-1 to B-5, B-6 (in the form that
shipped), B-8, B-9 and B-10; and in each state, what does not run is not counted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

from kraftcheck import spec
from kraftcheck.reference.brokers import effects, events, messages, pending_isrs, views
from kraftcheck.reference.brokers.broker import Api, Broker
from kraftcheck.reference.brokers.controller import LEGACY_VERSION, Controller, MetadataLog, Store
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.protocol import BrokerProtocol, IsrChanges
from kraftcheck.reference.brokers.step import BrokerOutcome, ControllerOutcome


@cache
def rules_of_others(protocol: BrokerProtocol) -> frozenset[str]:
    """The rules that belong to other variants."""
    catalogue = spec.load()
    chosen = {"V-BLIVE": protocol.liveness.value, "V-ISR": protocol.isr_changes.value}
    choices = {name: chosen.get(name, variant.values[0]) for name, variant in catalogue.variants.items()}
    return frozenset(each.id for each in catalogue.rules.values() if not each.belongs_to(choices))


@dataclass
class Judge:
    """The properties of one cluster's steps. ``known``, ``accepted``: by broker the largest incarnation id or
    broker epoch that the controller knew, and from which it accepted a heartbeat; ``forgets``: it may forget
    them.
    """

    protocol: BrokerProtocol
    known: dict[int, int] = field(default_factory=dict)
    accepted: dict[int, int] = field(default_factory=dict)
    forgets: bool = False

    def of_controller(self, before: Controller, event: Any, outcome: ControllerOutcome) -> None:
        """Assert what holds of a step of the controller."""
        assert not rules_of_others(self.protocol) & {*outcome.rules}
        # B-2 does not survive the removal of a registration together with a failover.
        self.forgets = self.forgets or isinstance(event, events.RegistrationRemoved)
        if isinstance(event, events.RequestReceived):
            (response,) = (each.response for each in outcome.effects if isinstance(each, effects.Reply))
            assert response.error is not BrokerErrorCode.NONE or event.node == before.active
            self._request(event.request, response, before, outcome)
        self._lives(outcome.state)
        for partition in outcome.state.durable.partitions:  # B-5
            assert partition.isr and set(partition.isr) <= set(partition.replicas)
            assert partition.leader is None or partition.leader in partition.isr
        _fenced_brokers_are_invisible(self.protocol, outcome.state)
        for memory in outcome.state.brokers:
            if memory.state is messages.BrokerState.INACTIVE:
                assert memory.ticks == 0 and memory.incarnation is not None

    def _request(self, request: Any, response: Any, before: Controller, outcome: ControllerOutcome) -> None:
        """B-2, B-3, B-4, B-8 and B-9 of one request."""
        after = outcome.state
        for effect in outcome.effects:
            if isinstance(effect, effects.BrokerFenced) and not effect.fenced:  # B-8
                assert request.offset >= request.epoch
        if response.error is not BrokerErrorCode.NONE:
            assert after.durable.partitions == before.durable.partitions
            if response.error in (BrokerErrorCode.INVALID_INCARNATION_ID, BrokerErrorCode.NOT_CONTROLLER):
                assert after == before
            return
        if isinstance(request, messages.MetadataHeartbeatRequest | messages.BrokerHeartbeatRequest):
            draft = isinstance(request, messages.MetadataHeartbeatRequest)
            life = request.incarnation if draft else request.epoch
            assert self.forgets or life >= self.accepted.get(request.broker, life)
            self.accepted[request.broker] = life
        if isinstance(request, messages.IsrChangeRequest | messages.AlterPartitionRequest):
            errors = list(getattr(response, "results", ())) or [each.error for each in response.partitions]
            taken = {
                wanted.index: wanted
                for wanted, error in zip(request.partitions, errors, strict=True)
                if error is BrokerErrorCode.NONE
            }
            for old, new in zip(before.durable.partitions, after.durable.partitions, strict=True):
                if old != new:  # B-4: at the request of the leader, in its leader epoch
                    assert request.broker == old.leader
                    assert taken[old.index].leader_epoch == old.leader_epoch

    def _lives(self, controller: Controller) -> None:
        """B-2, across failovers as well."""
        durable = controller.durable
        if isinstance(durable, MetadataLog):
            lives = {each.broker: each.epoch for each in durable.registrations}
        else:
            memory = controller.brokers
            lives = {each.broker: each.incarnation for each in memory if each.incarnation is not None}
        for broker, life in lives.items():
            assert self.forgets or life >= self.known.get(broker, life)
            self.known[broker] = life

    def of_process(self, before: Broker, event: Any, outcome: BrokerOutcome) -> None:
        """Assert what holds of a step of a process."""
        assert not rules_of_others(self.protocol) & {*outcome.rules}
        if isinstance(event, events.ClientRequest):  # B-1
            assert (effects.Accepted() in outcome.effects) == views.serves(self.protocol, before)
        after = outcome.state
        assert not after.fenced or after.ticks == 0
        names = [(change.topic, change.index) for change in after.pending]
        assert len(set(names)) == len(names)
        if self.protocol.isr_changes is IsrChanges.ISR_CHANGE and Api.ISR in after.awaiting:
            assert pending_isrs.asked(after)
        for change in after.pending:
            known = views.partition_of(after, change.topic, change.index)
            assert known is not None and change.leader_epoch <= known.leader_epoch
        assert not after.ended or after == Broker(after.id, after.incarnation, ended=True)


def _fenced_brokers_are_invisible(protocol: BrokerProtocol, controller: Controller) -> None:
    """B-6 and B-10."""
    if isinstance(controller.durable, Store):
        visible = {each.broker for each in views.visible_brokers(controller)}
        inactive = {
            each for each in (1, 2) if views.state_of(controller, each) is messages.BrokerState.INACTIVE
        }
        assert not inactive & visible
        registrations = controller.durable.registrations
        assert {each.broker for each in registrations if each.version == LEGACY_VERSION} <= visible
    elif protocol.isr_changes is IsrChanges.ALTER_PARTITION:
        fenced = {each.broker for each in controller.durable.registrations if each.fenced}
        for partition in controller.durable.partitions:
            assert partition.leader not in fenced
            assert len(partition.isr) == 1 or not fenced & {*partition.isr}
