"""The decision tables of brokers: rules and errors that they name; after each step the next can be taken."""

from __future__ import annotations

import inspect
import random
import re
from collections.abc import Callable
from typing import Any

import pytest

from kraftcheck import spec
from kraftcheck.query import broker_step
from kraftcheck.query.broker_consistency import event_problems, problems
from kraftcheck.query.broker_decisions import possible
from kraftcheck.query.broker_occurrence import occurs
from kraftcheck.query.broker_tables import BROKER_TABLES
from kraftcheck.query.replica_tables import TABLES
from kraftcheck.reference.brokers import (
    alter_partition,
    broker_heartbeat,
    broker_registration,
    isr_change,
    metadata_heartbeat,
)
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.events import BrokerEvent, ControllerEvent, MetadataReceived
from kraftcheck.reference.brokers.messages import AlterPartitionResponse, IsrChangeRequest
from kraftcheck.reference.brokers.protocol import (
    BrokerProtocol,
    IsrChanges,
)
from kraftcheck.systems.brokers.short_form import describe, error_name
from kraftcheck.systems.citations import in_broker_steps
from tests.query.broker_rows import PROTOCOLS, decided

ALL = [(form, name) for form, known in BROKER_TABLES.items() for name in known]
each_table = pytest.mark.parametrize(("form", "name"), ALL, ids=map("-".join, ALL))


@pytest.mark.slow
def test_decisions_of_a_table_are_of_one_kind() -> None:
    for form, name in ALL:
        table = BROKER_TABLES[form][name]
        (results,) = {
            tuple(decision.results) for decision in decided(form, name, PROTOCOLS[form][0]).values()
        }
        assert results[0] in ("answer", "does")
        assert not {*table.columns} & {*results}


@pytest.mark.slow
def test_tables_name_the_rules_that_decide_steps_of_brokers_and_no_others() -> None:
    named = {
        rule
        for form, name in ALL
        for protocol in PROTOCOLS[form]
        for decision in decided(form, name, protocol).values()
        for rule in decision.rules
    }
    assert named <= set(spec.load().rules)
    assert named == set(in_broker_steps())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "name", "functions"),
    [
        ("draft", "metadata-heartbeat-request", [metadata_heartbeat.handle_request]),
        ("draft", "isr-change-request", [isr_change.handle_request, isr_change._decide]),
        ("shipped", "broker-registration-request", [broker_registration._error]),
        ("shipped", "broker-heartbeat-request", [broker_heartbeat.handle_request]),
        (
            "shipped",
            "alter-partition-request",
            [alter_partition.handle_request, alter_partition._decide, alter_partition._error],
        ),
    ],
)
def test_every_error_that_a_handler_gives_is_an_answer_of_its_table(
    form: str, name: str, functions: list[Callable[..., Any]]
) -> None:
    source = "".join(map(inspect.getsource, functions))
    named = set(re.findall(r"BrokerErrorCode\.([A-Z_]+)", source)) - {"NONE"}
    codes = {error_name(BrokerErrorCode[each], draft=form == "draft") for each in named}
    answers = {
        decision.results["answer"].removesuffix(" (top level)")
        for decision in decided(form, name, PROTOCOLS[form][0]).values()
        if "answer" in decision.results
    }
    assert codes
    assert codes == {answer for answer in answers if answer.isupper()} - {
        "NONE",
        "ACTIVE",
        "INACTIVE",
        "STOPPING",
    }


@pytest.mark.one_in(3)
@pytest.mark.slow
@each_table
def test_a_step_leads_to_a_state_that_can_be_asked_about(form: str, name: str) -> None:
    """What the situations are and what they become parses back, and is no state that is refused."""
    table = BROKER_TABLES[form][name]
    seen = set()
    for protocol in PROTOCOLS[form]:
        cells = list(decided(form, name, protocol))
        for cell in random.Random(0).sample(cells, min(len(cells), 4000)):
            situation = table.situation(dict(zip(table.columns, cell, strict=True)))
            assert situation is not None
            state, event = possible(protocol, situation) or situation
            after = broker_step.ask(protocol, state, event).state
            if (protocol, after) not in seen:
                seen.add((protocol, after))
                if not _is_told_by_none(protocol, event):
                    assert not list(problems(protocol, after))
                    assert occurs(protocol, after)
                assert broker_step.parse_state(describe(after)) == after
            if event not in seen:
                seen.add(event)
                assert not list(event_problems(event))
                assert broker_step.parse_event(describe(event)) == event


def _is_told_by_none(protocol: BrokerProtocol, event: ControllerEvent | BrokerEvent) -> bool:
    """Whether nobody says this in this protocol: a request for ISRs that is not of it, what became of one, or
    metadata of the whole cluster without the partition.
    """
    if isinstance(event, MetadataReceived):
        return not protocol.is_draft and not event.update.partitions
    if isinstance(getattr(event, "request", None), IsrChangeRequest):
        return protocol.isr_changes is IsrChanges.ALTER_PARTITION
    response = getattr(event, "response", None)
    return isinstance(response, AlterPartitionResponse) and protocol.isr_changes is IsrChanges.ISR_CHANGE


def test_no_table_of_brokers_has_the_name_of_one_of_replicas() -> None:
    assert not {name for _, name in ALL} & set(TABLES)
