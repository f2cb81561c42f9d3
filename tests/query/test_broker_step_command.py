"""``kraftcheck step`` for the controller and for brokers."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from kraftcheck.cli import main as cli
from kraftcheck.query.broker_step import is_about_brokers, parse_event, parse_state
from kraftcheck.reference.brokers.broker import Broker
from kraftcheck.reference.brokers.controller import Controller, Liveness, Store, StoredRegistration
from kraftcheck.reference.brokers.events import HeartbeatDue, RequestReceived
from kraftcheck.reference.brokers.messages import BrokerState, MetadataHeartbeatRequest, Process
from tests.query.test_step_command import run

CONTROLLER = (
    "controller active=1 durable=store(registrations=[stored-registration(broker=1 incarnation=2)] "
    "last-transaction=2) brokers=[liveness(broker=1 incarnation=2 state=active)]"
)
HEARTBEAT = (
    "request-received node=1 source=process(broker=1 incarnation=1) "
    "request=metadata-heartbeat-request(broker=1 incarnation=1 target=active)"
)


def test_the_short_form_stands_for_values_of_the_reference() -> None:
    store = Store((StoredRegistration(1, 2),), last_transaction=2)
    assert parse_state(CONTROLLER) == Controller(1, store, brokers=(Liveness(1, 2, BrokerState.ACTIVE),))
    request = MetadataHeartbeatRequest(1, 1, BrokerState.ACTIVE)
    assert parse_event(HEARTBEAT) == RequestReceived(1, Process(1, 1), request)
    assert parse_event("heartbeat-due") == HeartbeatDue()
    assert parse_state('{"type": "Broker", "id": 1, "incarnation": 2}') == Broker(1, 2)


def test_replicas_are_none_of_it() -> None:
    assert is_about_brokers("broker id=1 incarnation=1") and is_about_brokers("controller(active=1)")
    assert not is_about_brokers("follower epoch=1 broker") and not is_about_brokers("brokerage")


def test_the_command_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["step", "broker id=1 incarnation=1 epoch=3 controller=1", "heartbeat-due"]
    found = json.loads(run(capsys, *words, "--protocol", "shipped", "--json"))
    assert found["protocol"]["liveness"] == "kip631"
    assert found["outcome"]["effects"][0]["request"]["type"] == "BrokerHeartbeatRequest"
    run(capsys, *words, "--protocol", "kip595", status=2)


def test_state_and_event_come_from_files_and_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "event"
    file.write_text("heartbeat-due\n", encoding="utf-8")
    state = "broker id=1 incarnation=1 epoch=3 controller=1"
    said = run(capsys, "step", state, f"@{file}", "--protocol", "shipped", "--json")
    assert json.loads(said)["event"] == {"type": "HeartbeatDue"}
    monkeypatch.setattr("sys.stdin", io.StringIO(said))
    again = run(capsys, "step", "-", "heartbeat-due", "--protocol", "shipped", "--json")
    assert json.loads(again)["outcome"] == {
        "state": json.loads(said)["outcome"]["state"],
        "effects": [],
        "rules": [],
    }
    assert "cannot both come from standard input" in run(capsys, "step", "-", "-", status=2)
    assert "cannot be read" in run(capsys, "step", f"@{tmp_path / 'nothing'}", "heartbeat-due", status=2)


# Which form is meant.

REGISTERED = "broker id=1 incarnation=1 epoch=3 controller=1"
PROCESS = "broker id=1 incarnation=1 controller=1"
UPDATE = "metadata-update(controller=1 controller-epoch=1 brokers=[] partitions=[] offset=4)"


@pytest.mark.parametrize(
    ("state", "event", "says"),
    [
        (CONTROLLER, HEARTBEAT, "draft, as STATE says"),
        ("controller active=1 durable=metadata-log()", "failover node=2", "shipped, as STATE says"),
        (REGISTERED, "heartbeat-due", "shipped, as STATE says"),
        (f"{PROCESS} state=active fenced=no", "heartbeat-due", "draft, as STATE says"),
        (PROCESS, "contact-lost", "draft, as EVENT says"),
        (PROCESS, "registration-due", "shipped, as EVENT says"),
        (PROCESS, f"metadata-received update={UPDATE}", "shipped, as EVENT says"),
        (PROCESS, "response-received node=1 response=broker-heartbeat-response()", "shipped, as EVENT"),
        (PROCESS, "response-received node=1 response=isr-change-response()", "draft, as EVENT says"),
        (f"{PROCESS} awaiting=[registration]", "client-request", "shipped, as STATE says"),
    ],
)
def test_the_form_follows_from_the_question_and_is_said(
    capsys: pytest.CaptureFixture[str], state: str, event: str, says: str
) -> None:
    assert f"protocol  {says}" in run(capsys, "step", state, event)


def test_what_is_printed_can_be_asked_again(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "2000")
    before = CONTROLLER.replace("last-transaction=2", "last-transaction=3")
    lines = run(capsys, "step", before, HEARTBEAT.replace("incarnation=1", "incarnation=3")).splitlines()
    printed = [line.split(maxsplit=1)[1] for line in lines if line.startswith("  state ")]
    assert parse_state(printed[0]) == parse_state(before)
    assert parse_state(printed[1]).brokers == (Liveness(1, 3, BrokerState.ACTIVE),)
    assert "HEARTBEAT-7" in run(capsys, "step", printed[1], "session-expired broker=1")


def test_a_name_that_is_no_event_is_told_the_events_of_its_side(capsys: pytest.CaptureFixture[str]) -> None:
    of_process = run(capsys, "step", PROCESS, "heart-beat-due", status=2)
    assert "shutdown-requested" in of_process and "failover" not in of_process
    of_controller = run(capsys, "step", CONTROLLER, "fail-over", status=2)
    assert "session-expired" in of_controller and "shutdown-requested" not in of_controller


def test_an_empty_state_is_told_what_step_needs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "state").write_text("\n", encoding="utf-8")
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    for state in ("-", f"@{tmp_path / 'state'}"):
        said = run(capsys, "step", state, "tick", "--protocol", "draft", status=2)
        assert "a broker's or the controller's STATE and EVENT)" in said


def test_the_draft_has_its_own_names_of_errors(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "2000")
    answered = run(capsys, "step", CONTROLLER, HEARTBEAT)
    assert "metadata-heartbeat-response(error=INVALID_INCARNATION_ID)" in answered
    told = "response-received node=1 response=metadata-heartbeat-response(error={})"
    awaiting = f"{PROCESS} state=active awaiting=[heartbeat]"
    for name in ("INVALID_INCARNATION_ID", "STALE_BROKER_EPOCH"):
        out = run(capsys, "step", awaiting, told.format(name))
        assert "error=INVALID_INCARNATION_ID" in out and "STALE_BROKER_EPOCH" not in out
    stale = told.replace("metadata-", "broker-").format("STALE_BROKER_EPOCH")
    assert "error=STALE_BROKER_EPOCH" in run(capsys, "step", f"{REGISTERED} awaiting=[heartbeat]", stale)


def test_the_name_of_an_effect_stands_apart_from_its_fields(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "2000")
    led = "partitions=[partition(topic=t index=0 replicas=[1] isr=[1] leader=1)] registrations"
    said = run(capsys, "step", CONTROLLER.replace("registrations", led), "session-expired broker=1")
    effects = said.split("Effects, in order\n")[1].splitlines()
    columns = {
        line.index(field) for line in effects for field in ("broker=1 ", "partition=") if field in line
    }
    assert "  2. partition-changed  partition=partition(topic=t" in effects[1]
    assert effects[0].startswith("  1. broker-declared    broker=1 ") and len(columns) == 1


# Decision tables.


def test_tables_of_brokers_are_listed_by_form(capsys: pytest.CaptureFixture[str]) -> None:
    told = run(capsys, "step", "--table")
    replicas, draft, shipped = told.split("Brokers and their controller, --protocol ")
    assert "vote-request" in replicas and "heartbeat" not in replicas
    assert draft.startswith("draft") and "contact-lost" in draft and "alter-partition" not in draft
    assert shipped.startswith("shipped") and "alter-partition-request" in shipped
    listed = json.loads(run(capsys, "step", "--table", "--json"))["tables"]
    assert {"vote-request", "contact-lost", "broker-heartbeat-request"} <= set(listed)


def test_a_table_is_of_the_form_that_has_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert "Protocol: draft. " in run(capsys, "step", "--table", "contact-lost")
    words = ["step", "--table", "failover", "--protocol", "shipped", "--set", "controller-timeout=2"]
    assert "Protocol: shipped controller-timeout=2. " in run(capsys, *words)
    data = json.loads(run(capsys, "step", "--table", "broker-registration-response", "--json"))
    assert data["protocol"] == "shipped"
    assert data["columns"]["awaited"] == ["yes", "no"]
    first = next(row for row in data["rows"] if row["conditions"]["answer"] == ["NONE"])
    assert first["in memory"] == "awaits no answer, takes the broker epoch"
    assert first["does"] == "nothing" and first["rules"] == ["REG-3"]


def test_the_help_names_the_forms_of_brokers(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["step", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert "of brokers: draft, shipped" in told
    assert "broker-heartbeat-request" in told


# What is refused.


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            [PROCESS, "heartbeat-due"],
            "neither STATE nor EVENT says which form is meant; pass --",
        ),
        ([PROCESS, "heartbeat-due", "--protocol", "kafka"], "'kafka': expected draft or shipped"),
        (
            [f"{REGISTERED} state=active", "tick"],
            "'state' of the draft and 'epoch' of the shipped form",
        ),
        (
            [CONTROLLER, HEARTBEAT, "--protocol", "shipped"],
            "-heartbeat-request' is of the draft form",
        ),
        (
            [CONTROLLER, "failover node=2", "--protocol", "shipped"],
            "a store is of the draft form; pass",
        ),
        ([REGISTERED, "tick", "--protocol", "draft"], "STATE.epoch: the draft form has no such"),
        (
            [REGISTERED, "response-received node=1 response=metadata-heartbeat-response(state=active)"],
            "is of the draft form, and STATE says shipped",
        ),
        (
            [CONTROLLER, "tick", "--set", "controller-timeout=0"],
            "switch 'controller-timeout' takes a number from 1 to 9",
        ),
        ([CONTROLLER, "tick", "--set", "controller-timeout"], "expected switch=value"),
        ([CONTROLLER, "tick", "--set", "controler-timeout=1"], "there is no switch 'controler-timeout'"),
        ([CONTROLLER, "tick", "--poll"], "without --poll"),
        ([CONTROLLER], "takes STATE and EVENT; EVENT is missing."),
        (["broker(id=1)"], "takes STATE and EVENT; EVENT is missing."),
        (["broker(id=1)", " "], "takes STATE and EVENT; EVENT is missing."),
        ([], "a broker's or the controller's STATE and EVENT)"),
        (
            ["--protocol", "draft"],
            "step needs REPLICA and EVENT (or a broker's or the controller's STATE and",
        ),
        (["", "tick"], "REPLICA is empty; step needs REPLICA and EVENT (or a broker's or the controller's"),
        ([PROCESS, "heart-beat-due"], "client-request-done, found 'heart-beat-due'; did you mean 'heartbeat"),
        ([REGISTERED, "failover node=1"], "no event of a broker"),
        ([PROCESS, "heartbeat-due 7"], "expected no field, found '7'"),
        (
            [PROCESS, "response-received node=1 response=metadata-heartbeat-response()"],
            "EVENT.response: expected a state, or an error",
        ),
        ([PROCESS, '{"type": "HeartBeatDue"}'], "EVENT.type: expected Tick, ResponseReceived"),
        (["follower leader=1", "shutdown", "--protocol", "draft"], "REPLICA is about replicas: pass one of"),
        (
            ["--table", "failover"],
            "both forms of brokers have it; pass --protocol draft or --protocol shipped",
        ),
        (
            ["--table", "contact-lost", "--protocol", "shipped"],
            "brokers, draft: pass --protocol draft, not",
        ),
        (
            ["--table", "contact-lost", "--protocol", "kip996"],
            "pass --protocol draft, not --protocol 'kip996'",
        ),
        (["--table", "failover", "--protocol", "kafka"], "pass --protocol draft or --protocol shipped, not"),
        (
            ["--table", "vote-request", "--protocol", "draft"],
            "is about replicas: pass one of --protocol kafka",
        ),
        (["--table", "failovr"], "did you mean 'failover'?"),
        (
            ["--table", "contact-lost", "--poll"],
            "--poll is about one question and not --table; leave one of them out.",
        ),
        (["--table", "vote-request", "--poll"], "--poll is about one question and not --table"),
        (["--table", "--poll"], "--poll is about one question and not --table"),
    ],
)
def test_a_question_or_a_table_of_no_form_or_of_the_other_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    assert says in run(capsys, "step", *arguments, status=2)
