"""``kraftcheck step`` for the controller and for brokers."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from model_check import cli
from model_check.consult.broker_step import ask, is_about_brokers, parse_event, parse_state
from model_check.errors import InputError
from reference.brokers.broker import Broker
from reference.brokers.controller import Controller, Liveness, Store, StoredRegistration
from reference.brokers.events import HeartbeatDue, RequestReceived
from reference.brokers.messages import BrokerState, MetadataHeartbeatRequest, Process
from reference.brokers.protocol import KIP343

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


def test_a_heartbeat_of_a_former_life_is_refused() -> None:
    outcome = ask(KIP343, parse_state(CONTROLLER), parse_event(HEARTBEAT))
    assert "HEARTBEAT-9" in outcome.rules and outcome.state == parse_state(CONTROLLER)


def test_replicas_are_none_of_it() -> None:
    assert is_about_brokers("broker id=1 incarnation=1") and is_about_brokers("controller(active=1)")
    assert not is_about_brokers("follower epoch=1 broker") and not is_about_brokers("brokerage")


@pytest.mark.parametrize(
    ("state", "event", "says"),
    [
        ("broker id=1", "heartbeat-due", "needs the field 'incarnation'"),
        ("broker id=1 incarnation=x", "heartbeat-due", "a whole number"),
        ("broker(id=1", "heartbeat-due", "where something ends"),
        ("broker id=1 incarnation=1", "no-such-event", "the name of a class"),
        ("broker id=1 incarnation=1", "failover node=1", "no event of a broker"),
        (
            "broker id=1 incarnation=1 awaiting=[heartbeat]",
            "response-received node=1 response=metadata-heartbeat-response()",
            "EVENT.response: expected a state, or an error",
        ),
        ("broker id=1 incarnation=1", "heartbeat-due 7", "a field and its value"),
        ("broker " + "x=[" * 50, "heartbeat-due", "a value"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(state: str, event: str, says: str) -> None:
    with pytest.raises(InputError, match=says) as refused:
        ask(KIP343, parse_state(state), parse_event(event))
    assert "\n" not in str(refused.value)


def test_the_command_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["step", "broker id=1 incarnation=1 epoch=3 controller=1", "heartbeat-due"]
    assert cli.main([*words, "--protocol", "shipped", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["protocol"]["liveness"] == "kip631"
    assert found["outcome"]["effects"][0]["request"]["type"] == "BrokerHeartbeatRequest"
    assert cli.main([*words, "--protocol", "kip595"]) == 2


def test_state_and_event_come_from_files_and_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "event"
    file.write_text("heartbeat-due\n", encoding="utf-8")
    state = "broker id=1 incarnation=1 epoch=3 controller=1"
    assert cli.main(["step", state, f"@{file}", "--protocol", "shipped", "--json"]) == 0
    said = capsys.readouterr().out
    assert json.loads(said)["event"] == {"type": "HeartbeatDue"}
    monkeypatch.setattr("sys.stdin", io.StringIO(said))
    assert cli.main(["step", "-", "heartbeat-due", "--protocol", "shipped", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)["outcome"]
    assert again == {
        "state": json.loads(said)["outcome"]["state"],
        "effects": [],
        "rules": [],
    }
    assert cli.main(["step", "-", "-"]) == 2
    assert "cannot both come from standard input" in capsys.readouterr().err
    assert cli.main(["step", f"@{tmp_path / 'nothing'}", "heartbeat-due"]) == 2
    assert "cannot be read" in capsys.readouterr().err
