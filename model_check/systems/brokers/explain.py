"""Sentences on which part of a violated property of brokers does not hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from kraftcheck.engine.system import GlobalState, Outcome
from kraftcheck.systems.brokers.history import Committed, HeartbeatAccepted, History, Label, Served
from kraftcheck.systems.brokers.places import Control, Machine
from kraftcheck.systems.brokers.system import BrokerSystem, control_of
from kraftcheck.systems.brokers.words import records, value_text
from kraftcheck.systems.kind import Run

#: Properties whose violation shows in the partition before and after the step.
_OF_PARTITIONS = (
    "IsrChangedByLeaderOnly",
    "IsrWellFormed",
    "RejectedIsrChangeHasNoEffect",
    "LeavingBrokerIsNotChosen",
)


def explain(
    system: BrokerSystem,
    violated: str,
    before: GlobalState,
    after: GlobalState,
    outcome: Outcome | None,
    run: Run | None,
) -> tuple[str, ...]:
    """The sentences that say what is wrong with the last step, or with the state after it."""
    found = list(_explain(system, violated, before, after, outcome))
    return tuple(found) or ("The last step violates it.",)


def _explain(
    system: BrokerSystem, violated: str, before: GlobalState, after: GlobalState, outcome: Outcome | None
) -> Iterator[str]:
    history = cast(History, before.history)
    labels = () if outcome is None else cast(tuple[Label, ...], outcome.labels)
    if violated == "CommittedPartitionDataSurvives":
        committed = [each.records for each in labels if isinstance(each, Committed)]
        for now in committed:
            yield f"Committed before: {records(history.committed)}. Committed now: {records(now)}."
        if not committed:
            (partition,) = control_of(after).controller.durable.partitions
            yield (
                f"Broker {value_text(partition.leader)} leads in epoch {partition.leader_epoch} and does not "
                f"hold what was committed: {records(history.committed)}."
            )
    for each in labels:
        monotone = violated in ("IncarnationMonotone", "OneLiveIncarnation")
        if monotone and isinstance(each, HeartbeatAccepted):
            known, name = dict(history.newest).get(each.broker), f"broker {each.broker}"
            yield f"A heartbeat of incarnation {each.incarnation} of {name} is accepted after one of {known}."
        elif isinstance(each, Served) and violated == "InactiveBeforeSelfFenced":
            place = _place(system, before, each.process)
            yield f"{place} fences itself, and the controller holds it to be active."
    if violated == "InactiveBrokerServesBriefly":
        for process, ticks in history.inactive_for:
            if process in history.serving:
                place = _place(system, before, process)
                yield f"{place} serves {ticks + 1} ticks after it was declared inactive."
    if violated in ("ShutdownHandsLeadersOver", "HandOverSurvivesFailover"):
        yield from _unread(control_of(before))
    if violated in _OF_PARTITIONS:
        old, new = (control_of(each).controller.durable.partitions for each in (before, after))
        for one, other in zip(old, new, strict=True):
            of = f" of {one.topic}-{one.index}" if len(old) > 1 else ""
            yield (
                f"The ISR{of} was {value_text(one.isr)}, led by {value_text(one.leader)} in epoch "
                f"{one.leader_epoch}; now it is {value_text(other.isr)}"
                + (
                    "."
                    if one.leader_epoch == other.leader_epoch
                    else f", led by {value_text(other.leader)} in epoch {other.leader_epoch}."
                )
            )


def _place(system: BrokerSystem, state: GlobalState, process: int) -> str:
    """The place of the process with an incarnation id."""
    places = zip(system.places, state.locals, strict=True)
    return next(
        place
        for place, local in places
        if isinstance(local, Machine) and local.broker is not None and local.broker.incarnation == process
    )


def _unread(control: Control) -> Iterator[str]:
    """The brokers for which a broker in controlled shutdown has to wait."""
    read = {each.broker: each.offset for each in control.controller.sessions}
    for broker, offset in control.leaving:
        others = (
            f"{id} ({value_text(at) if at >= 0 else 'nothing'})" for id, at in read.items() if id != broker
        )
        yield (
            f"Broker {broker} may stop once the others have read up to offset {offset}. "
            f"They have reported to the controller: {', '.join(sorted(others))}."
        )
