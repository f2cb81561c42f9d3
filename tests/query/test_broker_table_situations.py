"""Which situations the decision tables of brokers are about, by protocol, and what is decided in some."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftcheck.cli import main as cli
from kraftcheck.query.broker_tables import BROKER_TABLES
from kraftcheck.reference.brokers.protocol import KIP343, SHIPPED, BrokerProtocol, ContactTime
from kraftcheck.reference.frozen import replace
from tests.query.broker_rows import (
    ASKED,
    DRAFT_BY_EPOCH,
    SHIPPED_BY_LIFE,
    decided,
    occurring,
    situations,
)

PAGE = Path(__file__).parents[2] / "docs" / "brokers.md"


@pytest.mark.one_in(2)
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


@pytest.mark.slow
def test_a_heartbeat_of_every_process_is_answered_and_of_no_other() -> None:
    """Which requests come with which registration, offset and epoch does not depend on the controller."""
    columns = ("request", "has read its registration")
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
                *((request, "yes") for request in ("to be fenced", "none", "to shut down")),
            }
            unknown = registered == "unregistered" and epoch == "current"
            assert found == (set() if unknown else sent), (registered, epoch)


@pytest.mark.slow
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


STARTING = {**ASKED, "broker_epoch": "current", "has_read_its_registration": "no", "registered": "unfenced"}


@pytest.mark.parametrize(
    ("protocol", "name", "wanted", "column", "values"),
    [
        (SHIPPED, "broker-heartbeat-request", STARTING, "request", {"to be fenced"}),
        # The controller has heard of each broker that it holds to be active.
        (
            KIP343,
            "isr-change-request",
            {"registered": "none", "leader": "the sender"},
            "remembered",
            {"the sender's", "another"},
        ),
        pytest.param(
            *(KIP343, "metadata-heartbeat-response", {"process": "serves"}, "state", {"ACTIVE", "STOPPING"}),
            marks=pytest.mark.slow,
        ),
        (KIP343, "contact-lost", {"process": "serves"}, "state", {"ACTIVE", "STOPPING"}),
        (KIP343, "client-request", {"process": "usual", "fenced": "no"}, "state", {"ACTIVE", "STOPPING"}),
    ],
)
def test_values_that_occur_together(
    protocol: BrokerProtocol, name: str, wanted: dict[str, str], column: str, values: set[str]
) -> None:
    assert {value for each, value in occurring(name, protocol, **wanted) if each == column} == values


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_page_shows_rows_that_are_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = "step --table alter-partition-request"
    shown = PAGE.read_text().split(f"$ kraftcheck {command}\n\N{HORIZONTAL ELLIPSIS}\n")[1].split("```")[0]
    monkeypatch.setenv("COLUMNS", "110")
    assert cli.main(command.split()) == 0
    assert len(shown) > 100
    assert shown in capsys.readouterr().out
