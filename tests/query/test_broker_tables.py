"""The decision tables of brokers are computed from the reference, and their merged rows say what it says."""

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
from kraftcheck.query.cover import cover
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
    KIP343,
    SHIPPED,
    BrokerProtocol,
    Contact,
    IsrChanges,
)
from kraftcheck.reference.frozen import replace
from kraftcheck.systems.brokers.short_form import describe, error_name
from kraftcheck.systems.citations import in_broker_steps
from tests.query.broker_rows import ASKED, PROTOCOLS, decided, only, rules

ALL = [(form, name) for form, known in BROKER_TABLES.items() for name in known]
each_table = pytest.mark.parametrize(("form", "name"), ALL, ids=map("-".join, ALL))


@each_table
def test_every_combination_is_in_a_row_and_every_row_is_right(form: str, name: str) -> None:
    table = BROKER_TABLES[form][name]
    for protocol in PROTOCOLS[form]:
        decisions = decided(form, name, protocol)
        merged = cover(tuple(map(tuple, table.columns.values())), decisions)
        assert decisions
        assert len(merged) < len(decisions)
        for cell, decision in decisions.items():
            assert {row.decision for row in merged if row.holds(cell)} == {decision}


@pytest.mark.slow
@each_table
def test_every_value_of_every_column_occurs(form: str, name: str) -> None:
    table = BROKER_TABLES[form][name]
    cells = [cell for protocol in PROTOCOLS[form] for cell in decided(form, name, protocol)]
    for index, (column, values) in enumerate(table.columns.items()):
        assert {cell[index] for cell in cells} == set(values), column


def test_decisions_of_a_table_are_of_one_kind() -> None:
    for form, name in ALL:
        table = BROKER_TABLES[form][name]
        (results,) = {
            tuple(decision.results) for decision in decided(form, name, PROTOCOLS[form][0]).values()
        }
        assert results[0] in ("answer", "does")
        assert not {*table.columns} & {*results}


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


# Some decisions by name.


def test_heartbeats_of_the_draft() -> None:
    former = {**ASKED, "broker_id": "an id", "incarnation": "smaller"}
    assert only("metadata-heartbeat-request", KIP343, **former) == {
        ("INVALID_INCARNATION_ID", "as before", "nothing", "none")
    }
    assert {"INC-3", "HEARTBEAT-9"} <= rules("metadata-heartbeat-request", KIP343, **former)
    back = {**ASKED, "broker_id": "an id", "state": "INACTIVE", "incarnation": "same", "wish": "ACTIVE"}
    assert only("metadata-heartbeat-request", KIP343, **back, partition="leaderless") == {
        ("ACTIVE", "ACTIVE", "it leads, next leader epoch", "declares it ACTIVE, sends metadata")
    }
    assert "BSTATE-7" in rules("metadata-heartbeat-request", KIP343, **back)


def test_a_heartbeat_renews_the_time_where_clocks_run() -> None:
    timed = replace(KIP343, controller_timeout=2)
    valid = {**ASKED, "broker_id": "an id", "incarnation": "same", "state": "ACTIVE", "wish": "ACTIVE"}
    assert only("metadata-heartbeat-request", timed, **valid, time_has_passed="yes") == {
        ("ACTIVE", "ACTIVE, timer back at 0", "nothing", "none")
    }


def test_what_a_process_makes_of_a_refused_heartbeat_follows_the_protocol() -> None:
    refused = {"answer": "INVALID_INCARNATION_ID", "process": "serves", "awaited": "yes", "state": "ACTIVE"}
    (fences,) = only("metadata-heartbeat-response", KIP343, **refused)
    assert fences[:2] == ("fences itself", "ACTIVE, fenced")
    assert "FENCE-6" in rules("metadata-heartbeat-response", KIP343, **refused)
    (goes_on,) = only("metadata-heartbeat-response", replace(KIP343, rejection_fences=False), **refused)
    assert goes_on[:2] == ("nothing", "as before")


def test_when_the_time_of_a_process_is_over() -> None:
    for state in ("ACTIVE", "STOPPING"):
        lost = {"process": "serves", "event": "contact-lost", "state": state}
        assert only("contact-lost", KIP343, **lost) == {("fences itself", f"{state}, fenced", "as before")}
    timed = replace(KIP343, controller_timeout=2, broker_timeout=3, contact=Contact.ANY_ANSWER)
    ends = {"process": "serves", "event": "tick", "ticks": "2", "state": "ACTIVE"}
    assert only("contact-lost", timed, **ends) == {("fences itself", "ACTIVE, fenced", "timer back at 0")}
    assert {"FENCE-1", "CONFIG-13", "FENCE-2"} <= rules("contact-lost", timed, **ends)
    assert only("contact-lost", timed, process="serves", event="contact-lost") == {
        ("nothing", "as before", "as before")
    }


def test_isr_changes_of_the_draft() -> None:
    sound = {**ASKED, "registered": "the sender's", "partition": "known", "leader": "the sender"}
    assert only("isr-change-request", KIP343, **sound, leader_epoch="same", ISR="grows") == {
        ("NONE", "as before", "ISR grows", "sends metadata")
    }
    stale = {**sound, "leader_epoch": "smaller", "ISR": "shrinks"}
    assert only("isr-change-request", KIP343, **stale) == {
        ("NOT_LEADER_FOR_PARTITION", "as before", "nothing", "none")
    }
    assert "ISR-5" in rules("isr-change-request", KIP343, **stale)
    any_epoch = replace(KIP343, compares_leader_epoch=False)
    (taken,) = only("isr-change-request", any_epoch, **stale)
    assert taken[0] == "NONE"


def test_a_legacy_write_asks_for_nothing_but_the_version_of_the_node() -> None:
    known = {"partition": "known", "ISR": "shrinks"}
    (done,) = {each[0] for each in only("store-isr-request", KIP343, **known, partition_epoch="same")}
    assert done == "written"
    assert only("store-isr-request", KIP343, **known, partition_epoch="smaller") == {
        ("not written", "as before", "nothing", "none")
    }
    assert "COMPAT-1" in rules("store-isr-request", KIP343)


def test_a_legacy_process_that_was_let_go_completes_and_ends() -> None:
    let_go = {"process": "legacy", "wish": "INACTIVE"}
    assert only("client-request", KIP343, **let_go, event="client-request") == {
        ("refuses", "as before", "as before")
    }
    assert only("client-request", KIP343, **let_go, event="client-request-done", accepted="one") == {
        ("completes, ends", "ended", "as before")
    }
    assert rules("client-request", KIP343, **let_go, event="client-request") == {"COMPAT-5"}


def test_a_leader_is_moved_away_if_it_is_stopping() -> None:
    known = {"partition": "known", "controller": "there is one", "other_member": "can lead"}
    assert only("leader-move", KIP343, **known, leader="STOPPING") == {
        ("none", "as before", "another leads, next leader epoch", "sends metadata")
    }
    assert only("leader-move", KIP343, **known, leader="ACTIVE") == {("none", "as before", "nothing", "none")}
    assert "BSTATE-5" in rules("leader-move", KIP343, **known, leader="STOPPING")


def test_registrations_of_the_shipped_form() -> None:
    sound = {**ASKED, "cluster_id": "this", "feature": "in the range"}
    second = {**sound, "registered": "unfenced", "incarnation": "another"}
    assert {each[0] for each in only("broker-registration-request", SHIPPED, **second)} == {
        "DUPLICATE_BROKER_REGISTRATION"
    }
    assert "REG-2" in rules("broker-registration-request", SHIPPED, **second)
    again = {**sound, "registered": "fenced", "incarnation": "the registered one"}
    assert only("broker-registration-request", SHIPPED, **again) == {
        ("its broker epoch", "as before", "nothing", "none")
    }
    assert "REG-4" in rules("broker-registration-request", SHIPPED, **again)


def test_heartbeats_of_the_shipped_form() -> None:
    current = {**ASKED, "broker_epoch": "current", "has_read_its_registration": "yes"}
    unfenced = {**current, "wish": "none", "registered": "fenced", "partition": "leaderless", "session": "no"}
    assert only("broker-heartbeat-request", SHIPPED, **unfenced) == {
        (
            "caught up, not fenced",
            "unfenced, new session",
            "unfenced, it leads, next leader epoch",
            "none",
        )
    }
    assert {"HBK-2", "HBK-7"} <= rules("broker-heartbeat-request", SHIPPED, **unfenced)
    leaves = {**current, "registered": "unfenced", "wish": "to shut down"}
    ((answer, broker, written, _),) = only(
        "broker-heartbeat-request", SHIPPED, **leaves, partition="leads, another can"
    )
    assert answer == "caught up, not fenced"
    assert broker == "unfenced, in controlled shutdown, session, may shut down once all have read"
    assert written == "in controlled shutdown, another leads, next leader epoch, it leaves the ISR"
    waits = {**current, "registered": "in controlled shutdown", "partition": "outside the ISR"}
    ended = {
        read: {each[0] for each in only("broker-heartbeat-request", SHIPPED, **waits, others_have_read=read)}
        for read in ("no", "yes")
    }
    assert ended == {"no": {"caught up, not fenced"}, "yes": {"caught up, fenced, shall shut down"}}
    assert "HBK-5" in rules("broker-heartbeat-request", SHIPPED, **waits)


def test_alter_partition_in_the_order_of_its_checks() -> None:
    sound = {**ASKED, "broker_epoch": "current", "partition": "known", "leader": "the sender"}
    current = {**sound, "leader_epoch": "same", "partition_epoch": "same"}
    fenced = {**current, "ISR": "grows by a fenced one"}
    answers = {
        version: {each[0] for each in only("alter-partition-request", SHIPPED, **fenced, version=version)}
        for version in ("1", "3")
    }
    assert answers == {"1": {"OPERATION_NOT_ATTEMPTED"}, "3": {"INELIGIBLE_REPLICA"}}
    assert "AISR-4" in rules("alter-partition-request", SHIPPED, **fenced)
    (late,) = {
        each[0]
        for each in only(
            "alter-partition-request", SHIPPED, **sound, leader_epoch="same", partition_epoch="smaller"
        )
    }
    assert late == "INVALID_UPDATE_VERSION"
    over = {**current, "ISR": "ends a reassignment away from the leader", "version": "3"}
    ((answer, _, written, _),) = only("alter-partition-request", SHIPPED, **over)
    assert answer == "NEW_LEADER_ELECTED"
    assert written == "another leads, next leader epoch, ISR changes, reassignment ends"


def test_no_table_of_brokers_has_the_name_of_one_of_replicas() -> None:
    assert not {name for _, name in ALL} & set(TABLES)
