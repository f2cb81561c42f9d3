"""Which situations the decision tables of brokers are about, by protocol, and what is decided in some."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from kraftcheck.cli import main as cli
from kraftcheck.query.broker_consistency import leads_at_times
from kraftcheck.query.broker_tables import BROKER_TABLES
from kraftcheck.reference.brokers import views
from kraftcheck.reference.brokers.controller import Controller
from kraftcheck.reference.brokers.messages import BrokerState
from kraftcheck.reference.brokers.protocol import KIP343, SHIPPED, BrokerProtocol, ContactTime
from kraftcheck.reference.frozen import replace
from tests.query.broker_rows import (
    ASKED,
    DRAFT_BY_EPOCH,
    SHIPPED_BY_LIFE,
    decided,
    occurring,
    only,
    rules,
    situations,
)

PAGE = Path(__file__).parents[2] / "docs" / "brokers.md"


@pytest.mark.slow
@pytest.mark.parametrize(
    "protocol",
    [KIP343, DRAFT_BY_EPOCH, SHIPPED, SHIPPED_BY_LIFE],
    ids=["draft", "draft-alterpartition", "shipped", "shipped-isrchange"],
)
def test_every_value_occurs_whatever_asks_for_isrs(protocol: BrokerProtocol) -> None:
    """Where clocks run, no value of a column is left to what ``*`` stands for: but with AlterPartition who
    leads has none in its ISR that cannot (AISR-4).
    """
    form = "draft" if protocol.is_draft else "shipped"
    timed = replace(protocol, controller_timeout=9)
    if protocol.is_draft:
        timed = replace(timed, broker_timeout=9, contact_time=ContactTime.REQUEST)
    missing = {
        (name, *pair)
        for name, table in BROKER_TABLES[form].items()
        for pair in {(column, value) for column, values in table.columns.items() for value in values}
        - occurring(name, timed)
    }
    if protocol == SHIPPED:
        beside = ("broker-heartbeat-request", "session-expired", "failover", "broker-registration-request")
        assert missing == {(name, "partition", "leads, others cannot") for name in beside}
    else:
        assert missing == set()


def test_a_pending_change_is_fitted_to_the_requests_for_isrs() -> None:
    asked = {"process": "usual", "controller": "known", "change_under_way": "no"}
    for protocol, name in ((DRAFT_BY_EPOCH, "AlterPartition"), (SHIPPED_BY_LIFE, "IsrChange")):
        for pending, words in (
            ("none", "awaits an answer, ISR change pending"),
            ("of the partition", "awaits an answer"),
        ):
            given = {**asked, "pending": pending, "wish": "of the partition it leads"}
            assert only("isr-wished", protocol, **given) == {(f"sends {name}", "as before", words)}
    told = {"controller_epoch": "same", "controller": "known", "ISR_change": "pending"}
    other = {**told, "of_the_partition": "newer, with another ISR"}
    assert only("metadata-received", DRAFT_BY_EPOCH, **other) == {
        ("nothing", "as before", "ISR change settled, takes the partition")
    }
    assert only("metadata-received", SHIPPED_BY_LIFE, **other, offset="larger") == {
        ("nothing", "as before", "takes the partition, has read further")
    }
    answered = {"answer": "INELIGIBLE_REPLICA", "change": "asked for", "awaited": "yes"}
    for name, protocol in (
        ("alter-partition-response", SHIPPED_BY_LIFE),
        ("isr-change-response", DRAFT_BY_EPOCH),
    ):
        kind = "INELIGIBLE_REPLICA" if name == "alter-partition-response" else "INVALID_REQUEST"
        assert only(name, protocol, **{**answered, "answer": kind}) == {
            ("nothing", "as before", "awaits no answer, ISR change settled")
        }


def test_before_version_3_a_restarted_member_is_taken() -> None:
    sound = {**ASKED, "broker_epoch": "current", "partition": "known", "leader": "the sender"}
    current = {**sound, "leader_epoch": "same", "partition_epoch": "same"}
    restarted = {**current, "ISR": "grows by one that restarted"}
    for version in ("0", "1", "2"):
        assert only("alter-partition-request", SHIPPED, **restarted, version=version) == {
            ("NONE", "as before", "ISR grows", "none")
        }
    assert only("alter-partition-request", SHIPPED, **restarted, version="3") == {
        ("INELIGIBLE_REPLICA", "as before", "nothing", "none")
    }


def test_who_was_fenced_in_a_controlled_shutdown_stays_in_it_and_leads_again() -> None:
    back = {**ASKED, "broker_epoch": "current", "has_read_its_registration": "yes", "session": "no"}
    wishes = {"wish": "none", "partition": "leaderless"}
    left = {**back, **wishes, "registered": "fenced and in controlled shutdown"}
    assert only("broker-heartbeat-request", SHIPPED, **left) == {
        (
            "caught up, not fenced",
            "unfenced, in controlled shutdown, new session",
            "unfenced, it leads, next leader epoch",
            "none",
        )
    }
    assert "HBK-7" in rules("broker-heartbeat-request", SHIPPED, **left)


def test_a_late_heartbeat_of_a_process_that_starts_fences() -> None:
    late = {**ASKED, "broker_epoch": "current", "has_read_its_registration": "no", "registered": "unfenced"}
    assert only("broker-heartbeat-request", SHIPPED, **late, partition="follows") == {
        ("not caught up, fenced", "fenced, session", "fenced, it leaves the ISR", "none")
    }
    named = occurring("broker-heartbeat-request", SHIPPED, **late)
    assert {value for column, value in named if column == "wish"} == {"to be fenced"}


LEADING = ("leads, another can", "leads, others cannot", "leads, alone in the ISR")


def test_a_leader_that_goes_leaves_an_isr_that_has_others_and_no_other() -> None:
    leads = "next leader epoch"
    gone = {
        "leads, another can": f"another leads, {leads}, it leaves the ISR",
        "leads, others cannot": f"no leader, {leads}, it leaves the ISR",
        "leads, alone in the ISR": f"no leader, {leads}",
    }
    wish = {**ASKED, "broker_id": "an id", "incarnation": "same", "state": "ACTIVE", "wish": "INACTIVE"}
    read = {**ASKED, "broker_epoch": "current", "has_read_its_registration": "yes", "registered": "unfenced"}
    shuts_down = {**read, "wish": "to shut down"}
    starts = {**read, "wish": "to be fenced"}
    for partition, written in gone.items():
        asked: list[tuple[str, BrokerProtocol, dict[str, str], str]] = [
            ("metadata-heartbeat-request", KIP343, wish, written),
            ("metadata-heartbeat-request", DRAFT_BY_EPOCH, wish, written),
            ("broker-heartbeat-request", SHIPPED_BY_LIFE, shuts_down, f"in controlled shutdown, {written}"),
            ("broker-heartbeat-request", SHIPPED_BY_LIFE, starts, f"fenced, {written}"),
        ]
        for name, protocol, given, expected in asked:
            found = {each[2] for each in only(name, protocol, **given, partition=partition)}
            assert found == {expected}, (name, given)


def test_a_heartbeat_of_every_process_is_answered_and_of_no_other() -> None:
    """Which wishes come with which registration, offset and epoch does not depend on the controller."""
    columns = ("wish", "has read its registration")
    table = BROKER_TABLES["shipped"]["broker-heartbeat-request"]
    at = [list(table.columns).index(column) for column in columns]
    for registered in BROKER_TABLES["shipped"]["broker-heartbeat-request"].columns["registered"]:
        for epoch in ("current", "stale"):
            found = {
                tuple(cell[index] for index in at)
                for cell in decided("shipped", table.name, SHIPPED)
                if {registered, epoch} <= set(cell)
            }
            sent = {
                ("to be fenced", "no"),
                *((wish, "yes") for wish in ("to be fenced", "none", "to shut down")),
            }
            unknown = registered == "unregistered" and epoch == "current"
            assert found == (set() if unknown else sent), (registered, epoch)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", [KIP343, DRAFT_BY_EPOCH, SHIPPED, SHIPPED_BY_LIFE])
def test_who_leads_can_and_nobody_leads_where_no_member_can(protocol: BrokerProtocol) -> None:
    """While nobody is the controller of the draft nothing tells who is active."""
    form = "draft" if protocol.is_draft else "shipped"
    led: Counter[bool] = Counter()
    for name in BROKER_TABLES[form]:
        for state, _ in situations(form, name, protocol):
            if not isinstance(state, Controller) or (protocol.is_draft and state.active is None):
                continue
            for each in state.durable.partitions:
                led[each.leader is not None] += 1
                if each.leader is None:
                    assert not any(views.can_lead(state, member) for member in each.isr), (name, state)
                elif protocol.is_draft:
                    assert views.state_of(state, each.leader) is not BrokerState.INACTIVE, (name, state)
                else:
                    assert leads_at_times(state, each.leader), (name, state)
    assert min(led[True], led[False]) > 20


@pytest.mark.parametrize("protocol", [KIP343, replace(KIP343, rebuilds_incarnations=False)])
def test_a_heartbeat_is_of_an_incarnation_that_was_written(protocol: BrokerProtocol) -> None:
    for state, event in situations("draft", "metadata-heartbeat-request", protocol):
        incarnation, store = event.request.incarnation, state.durable
        assert incarnation <= store.last_transaction
        own = [each for each in store.registrations if each.broker == 1]
        if any(each.version == 4 for each in own):
            assert own[0].incarnation > incarnation
        else:
            assert all(each.incarnation >= incarnation for each in own)


def test_no_controller_answers_that_a_broker_is_initial() -> None:
    answers = BROKER_TABLES["draft"]["metadata-heartbeat-response"].columns["answer"]
    assert {"INACTIVE", "ACTIVE", "STOPPING"} < set(answers) and "INITIAL" not in answers


def test_an_unregistered_leader_asks_for_an_isr_while_it_is_active() -> None:
    """Of whom a controller holds to be active it has heard, unless it took no incarnation ids over."""
    lost = {"registered": "none", "leader": "the sender"}
    heard = {
        value for column, value in occurring("isr-change-request", KIP343, **lost) if column == "remembered"
    }
    assert heard == {"the sender's", "another"}
    assert {each[0] for each in only("isr-change-request", KIP343, **ASKED, **lost)} == {
        "INVALID_INCARNATION_ID (top level)"
    }


def test_the_state_of_a_process_of_the_draft() -> None:
    answered = {"process": "serves", "state": "STOPPING", "awaited": "yes", "time_has_passed": "no"}
    after = {
        answer: {each[1] for each in only("metadata-heartbeat-response", KIP343, **answered, answer=answer)}
        for answer in ("ACTIVE", "STOPPING", "NOT_CONTROLLER")
    }
    assert after == {"ACTIVE": {"ACTIVE, serves"}, "STOPPING": {"as before"}, "NOT_CONTROLLER": {"as before"}}
    for name in ("metadata-heartbeat-response", "contact-lost", "client-request"):
        serving = {"process": "serves"}
        if name == "client-request":
            serving = {"process": "usual", "fenced": "no"}
        named = {value for column, value in occurring(name, KIP343, **serving) if column == "state"}
        assert named == {"ACTIVE", "STOPPING"}


def test_a_request_given_up_settles_what_metadata_said_meanwhile() -> None:
    given_up = {"request": "isr", "under_way": "yes", "pending": "a change"}
    for protocol in (KIP343, SHIPPED_BY_LIFE):
        known = {**given_up, "process": "usual"} if protocol.is_draft else given_up
        settled = {**known, "metadata_says": "newer, with the ISR asked for"}
        assert only("request-timed-out", protocol, **settled) == {
            ("will drop the answer", "as before", "awaits no answer, ISR change settled")
        }
        assert "ISR-10" in rules("request-timed-out", protocol, **settled)
        open_yet = {**known, "metadata_says": "newer, with another ISR"}
        assert only("request-timed-out", protocol, **open_yet) == {
            ("will drop the answer", "as before", "awaits no answer")
        }
    assert ("metadata says", "newer, with the ISR asked for") not in occurring(
        "request-timed-out", SHIPPED, **given_up
    )


def test_what_a_new_controller_reads_and_forgets() -> None:
    taken = {"event": "another node takes over", "partition": "follows"}
    heard = {
        heard: {
            each[1]
            for each in only(
                "failover", KIP343, **taken, state="ACTIVE", registered="yes", incarnation_heard_of=heard
            )
        }
        for heard in ("the registered one", "an earlier one", "none")
    }
    assert heard == {
        "the registered one": {"as before"},
        "an earlier one": {"ACTIVE, this incarnation remembered"},
        "none": set(),
    }
    assert "INC-5" in rules("failover", KIP343, **taken, incarnation_heard_of="an earlier one")
    passed = {**taken, "time_has_passed": "yes", "controller": "there is one"}
    timed = replace(KIP343, controller_timeout=3)
    known = {"state": "ACTIVE", "incarnation_heard_of": "the registered one"}
    assert {each[1] for each in only("failover", timed, **passed, **known)} == {"ACTIVE, timer back at 0"}
    sessions = replace(SHIPPED, controller_timeout=3)
    assert {each[1] for each in only("failover", sessions, **passed, registered="unfenced")} == {
        "unfenced, session, timer back at 0"
    }


def test_the_session_of_a_fenced_broker_expires() -> None:
    over = {"event": "session-expired", "registered": "fenced", "controller": "there is one"}
    assert {each[1] for each in only("session-expired", SHIPPED, **over, session="yes")} == {
        "fenced, session ended"
    }
    assert {each[1] for each in only("session-expired", SHIPPED, **over, session="no")} == {"as before"}


def test_metadata_says_who_is_the_controller() -> None:
    told = {"controller_epoch": "same", "of_the_partition": "what is known", "ISR_change": "none"}
    for protocol in (KIP343, SHIPPED):
        given = told if protocol.is_draft else {**told, "offset": "same"}
        memory = {
            known: {each[2] for each in only("metadata-received", protocol, **given, controller=known)}
            for known in ("known", "unknown")
        }
        assert memory == {"known": {"as before"}, "unknown": {"knows the controller"}}


def test_who_has_lost_its_registration_is_active_again() -> None:
    """Nothing but a later incarnation ends a process of the draft; a new controller forgets it."""
    back = {**ASKED, "registered": "no", "incarnation": "same", "wish": "ACTIVE", "broker_id": "an id"}
    back["state"] = "INACTIVE"
    assert {each[:2] for each in only("metadata-heartbeat-request", KIP343, **back, partition="follows")} == {
        ("ACTIVE", "ACTIVE")
    }
    taken = {"event": "another node takes over", "controller": "there is one", "state": "ACTIVE"}
    lost = {**taken, "registered": "no", "partition": "leads, another can"}
    assert only("failover", KIP343, **lost) == {
        (
            "none",
            "INACTIVE, incarnation forgotten",
            "another leads, next leader epoch, it leaves the ISR",
            "sends metadata",
        )
    }


NEVER: list[tuple[BrokerProtocol, str, dict[str, str]]] = [
    *(
        (SHIPPED, name, {"registered": registered, "partition": partition})
        for name in ("broker-heartbeat-request", "session-expired", "failover", "broker-registration-request")
        for registered in ("unregistered", "fenced", "fenced and in controlled shutdown")
        for partition in ("leads, another can", "leads, alone in the ISR", "follows")
    ),
    *(
        (SHIPPED, name, {"registered": "in controlled shutdown", "partition": "follows"})
        for name in ("broker-heartbeat-request", "session-expired", "failover", "broker-registration-request")
    ),
    (KIP343, "isr-change-response", {"awaited": "yes", "change": "none pending"}),
    (KIP343, "isr-change-response", {"awaited": "yes", "change": "waits for metadata"}),
    (KIP343, "failover", {"state": "ACTIVE", "registered": "no", "incarnation_heard_of": "none"}),
    (KIP343, "session-expired", {"state": "legacy", "registered": "no"}),
    (KIP343, "metadata-heartbeat-request", {"state": "STOPPING", "incarnation": "none known"}),
    (KIP343, "metadata-heartbeat-request", {"state": "ACTIVE", "incarnation": "none known"}),
    *(
        (KIP343, "metadata-heartbeat-request", {"state": "INACTIVE", "partition": partition})
        for partition in ("leads, another can", "leads, others cannot", "leads, alone in the ISR")
    ),
    (
        KIP343,
        "leader-move",
        {"leader": "nobody", "other_member": "can lead", "controller": "there is one"},
    ),
    *(
        (SHIPPED, "broker-heartbeat-request", {"wish": wish, "has_read_its_registration": "no"})
        for wish in ("none", "to shut down")
    ),
    (SHIPPED, "broker-heartbeat-response", {"fenced": "no", "shall_shut_down": "yes"}),
    *(
        (SHIPPED, name, {"life": life, column: accepted})
        for name, column, some in (
            ("shutdown-wished", "client_requests", ("some",)),
            ("broker-heartbeat-response", "client_requests", ("some",)),
            ("client-request", "accepted", ("one", "several")),
        )
        for life in ("starting", "recovery")
        for accepted in some
    ),
    (SHIPPED, "shutdown-wished", {"life": "shutting-down", "client_requests": "none"}),
    (SHIPPED, "heartbeat-due", {"life": "shutting-down", "registered": "no"}),
]


@pytest.mark.parametrize(("protocol", "name", "wanted"), NEVER)
def test_what_no_cluster_comes_to_is_in_no_row(
    protocol: BrokerProtocol, name: str, wanted: dict[str, str]
) -> None:
    assert not occurring(name, protocol, **wanted)
    for column, value in wanted.items():
        assert occurring(name, protocol, **{column: value})


def test_what_occurs_in_some_protocols_only() -> None:
    unsaid = {"state": "ACTIVE", "incarnation": "none known"}
    forgetful = replace(KIP343, rebuilds_incarnations=False)
    assert occurring("metadata-heartbeat-request", forgetful, **unsaid)
    # IsrChange takes fenced members, as it looks at none of them.
    for fenced in ({"registered": "fenced", "partition": "follows"}, {"partition": "leads, others cannot"}):
        assert occurring("broker-heartbeat-request", SHIPPED_BY_LIFE, **fenced)
        assert not occurring("broker-heartbeat-request", SHIPPED, **fenced)
    outside = {"registered": "fenced", "partition": "outside the ISR"}
    assert occurring("broker-heartbeat-request", SHIPPED, **outside)


def test_the_page_shows_rows_that_are_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = "step --table alter-partition-request"
    shown = PAGE.read_text().split(f"$ kraftcheck {command}\n\N{HORIZONTAL ELLIPSIS}\n")[1].split("```")[0]
    monkeypatch.setenv("COLUMNS", "110")
    assert cli.main(command.split()) == 0
    assert len(shown) > 100
    assert shown in capsys.readouterr().out
