"""The records of the partition, coarsely: a leader appends records, sends its log, and commits.

A message carries the whole log of the leader to a follower, which replaces its own; a later message of the
same epoch holds the same records or more. Two things protect committed records. Both ends of a message
compare its leader epoch with their own. A record is committed once every member of the ISR holds it, and
every member of an ISR that the leader has proposed (KIP-497).
"""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.engine.system import Outcome
from kraftcheck.reference.brokers import views
from kraftcheck.reference.brokers.broker import Broker, Life
from kraftcheck.reference.brokers.messages import IsrMember, PartitionState
from kraftcheck.reference.brokers.work import BrokerWork
from kraftcheck.reference.frozen import replace
from kraftcheck.systems.brokers.history import Committed, Label, LaterProcessLeads
from kraftcheck.systems.brokers.network import InFlight, Record, Replicate, Replicated
from kraftcheck.systems.brokers.places import Machine
from kraftcheck.systems.brokers.step import Action, Step
from kraftcheck.systems.brokers.wiring import PARTITION, Wiring


def _known(machine: Machine) -> PartitionState | None:
    broker = machine.broker
    return None if broker is None else views.partition_of(broker, PARTITION.topic, PARTITION.index)


def led_partition(wiring: Wiring, machine: Machine) -> PartitionState | None:
    """The state of the partition as a process knows it, if that process takes itself for the leader.

    A starting shipped process may read that its previous incarnation leads. It answers no request before it
    has caught up with its own registration (HBK-9), so it does not count as a leader.
    """
    known = _known(machine)
    if known is None or known.leader != machine.id or _starts(wiring, machine):
        return None
    return known


def _starts(wiring: Wiring, machine: Machine) -> bool:
    """Whether a shipped process has not caught up with its own registration, and answers no request yet."""
    return not wiring.is_draft and machine.broker is not None and machine.broker.life is Life.STARTING


def with_metadata(wiring: Wiring, machine: Machine) -> Machine:
    """``machine`` after its process may have learned something of the partition."""
    if not wiring.environment.data:
        return machine
    led = led_partition(wiring, machine)
    if led is None:
        return replace(machine, ends=(), sent=(), committed=0)
    if any(epoch != led.leader_epoch for _, _, epoch, _ in machine.sent):
        machine = replace(machine, ends=(), sent=())
    return replace(machine, committed=max(machine.committed, _end_of_all(wiring, machine, led)))


def _end_of_all(wiring: Wiring, machine: Machine, led: PartitionState) -> int:
    """The offset up to which every replica that counts holds the log."""
    if wiring.environment.commits == "leader":
        return len(machine.log)
    assert machine.broker is not None
    proposed = {member for change in machine.broker.pending for member in change.isr}
    ends = {member: end for member, _, end in machine.ends}
    return min(
        len(machine.log) if member == machine.id else ends.get(member, 0)
        for member in {*led.isr, *proposed, machine.id}
    )


def labels(wiring: Wiring, before: Machine, after: Machine) -> Iterator[Label]:
    """The labels of a step: newly committed records, and a later process of a machine that leads."""
    if after.committed > before.committed:
        yield Committed(after.log[: after.committed])
    is_later = wiring.environment.data and after.starts > 1
    if is_later and not led_partition(wiring, before) and led_partition(wiring, after):
        yield LaterProcessLeads()


def actions(wiring: Wiring, component: int, machine: Machine) -> Iterator[Step]:
    """The steps of a leader: it appends a record of a client, or sends its log to a follower."""
    led = led_partition(wiring, machine)
    if not wiring.environment.data or led is None or machine.broker is None:
        return
    place = wiring.places[component]
    price = wiring.price("appends")
    if price is not None and views.serves(wiring.protocol, machine.broker):
        longer = replace(machine, log=(*machine.log, Record(led.leader_epoch, place)))
        yield _step(wiring, machine, longer, Action("append", place), costs=price)
    sent = {broker: (life, epoch, end) for broker, life, epoch, end in machine.sent}
    for follower in wiring.replicas:
        previous = sent[follower][0] if follower in sent else -1
        life = _life_of(wiring, machine.broker, follower, previous)
        news = (life, led.leader_epoch, len(machine.log))
        if follower == machine.id or sent.get(follower) == news or not machine.log:
            continue
        noted = {**sent, follower: news}
        after = replace(machine, sent=tuple(sorted((member, *what) for member, what in noted.items())))
        for other, broker in zip(wiring.places[1:], wiring.ids, strict=False):
            if broker == follower:
                message = InFlight(place, other, Replicate(led.leader_epoch, machine.log))
                action = Action("replicate", place, f"to {other}")
                yield _step(wiring, machine, after, action, sends=(message,))


def _life_of(wiring: Wiring, broker: Broker, follower: int, previous: int) -> int:
    """The incarnation of a follower to which a log is sent; it may lack what the previous one received."""
    if not wiring.protocol.says_lives:
        return -1
    shown = next((each.life for each in broker.visible if each.broker == follower), None)
    return previous if shown is None else shown


def follow(
    wiring: Wiring, component: int, machine: Machine, source: str, message: Replicate, action: Action
) -> Step:
    """A process receives a log and takes it over, unless it is starting or knows another leader epoch."""
    known = _known(machine)
    epoch = None if known is None else known.leader_epoch
    if _starts(wiring, machine) or (
        wiring.environment.leader_epochs == "compared"
        and (epoch != message.epoch or led_partition(wiring, machine) is not None)
    ):
        return Step(Outcome(action, machine))
    # An earlier message of the epoch brings no news.
    if machine.log[: len(message.log)] != message.log:
        machine = replace(machine, log=message.log)
    answer = Replicated(machine.id, _life(wiring, machine), message.epoch, len(message.log))
    return Step(Outcome(action, machine, sends=(InFlight(wiring.places[component], source, answer),)))


def _life(wiring: Wiring, machine: Machine) -> int:
    """The incarnation that a process names when it acknowledges; -1: none, before KIP-903."""
    assert machine.broker is not None
    return BrokerWork(wiring.protocol, machine.broker).own_life if wiring.protocol.says_lives else -1


def acknowledge(
    wiring: Wiring, component: int, machine: Machine, message: Replicated, action: Action
) -> Step:
    """A leader learns up to which offset a follower holds its log. An acknowledgement of a previous
    incarnation does not count; a new incarnation may hold less than the previous one.
    """
    led = led_partition(wiring, machine)
    if led is None or (wiring.environment.leader_epochs == "compared" and led.leader_epoch != message.epoch):
        return Step(Outcome(action, machine))
    ends = {member: (life, end) for member, life, end in machine.ends}
    said = (message.life, min(message.end, len(machine.log)))
    ends[message.broker] = max(ends.get(message.broker, said), said)
    noted = tuple(sorted((member, *what) for member, what in ends.items()))
    return _step(wiring, machine, replace(machine, ends=noted), action)


def _step(
    wiring: Wiring,
    before: Machine,
    after: Machine,
    action: Action,
    *,
    sends: tuple[InFlight, ...] = (),
    costs: tuple[int, ...] = (),
) -> Step:
    after = with_metadata(wiring, after)
    return Step(Outcome(action, after, sends=sends, labels=tuple(labels(wiring, before, after)), costs=costs))


def may_propose(wiring: Wiring, machine: Machine, isr: tuple[int, ...]) -> bool:
    """Whether a leader may propose this ISR: each joining member must have caught up with its log."""
    led = led_partition(wiring, machine)
    if not wiring.environment.data or led is None:
        return True
    ends = {member: end for member, _, end in machine.ends}
    joining = set(isr) - {*led.isr, machine.id}
    return all(ends.get(member) == len(machine.log) for member in joining)


def fetched(machine: Machine, isr: tuple[int, ...]) -> tuple[IsrMember, ...]:
    """The incarnation of each member of an ISR that acknowledged last, as far as they named it."""
    return tuple(IsrMember(id, life) for id, life, _ in machine.ends if id in isr and life >= 0)
