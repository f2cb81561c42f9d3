"""``step`` refuses states and events of brokers that no running cluster comes to, and says why."""

from __future__ import annotations

import pytest

from kraftcheck.cli import main as cli
from kraftcheck.query.broker_consistency import event_problems, problems
from kraftcheck.query.broker_step import answer, parse_event, parse_state
from kraftcheck.reference.brokers.broker import Broker
from kraftcheck.reference.brokers.controller import Controller
from kraftcheck.reference.brokers.protocol import KIP343
from kraftcheck.support.errors import InputError
from kraftcheck.systems.brokers.short_form import describe
from kraftcheck.systems.brokers.switches import SWITCHES
from tests.query.transcripts import cases, name_of


@pytest.mark.parametrize("case", cases("states.txt"), ids=name_of)
def test_a_state_or_an_event_that_no_cluster_comes_to_is_refused(case: list[str]) -> None:
    head, text, *expected = case
    if head == "event":
        assert list(event_problems(parse_event(text))) == expected
    else:
        form, *settings = head.split()
        assert list(problems(SWITCHES.read(form, settings), parse_state(text))) == expected


STORE = (
    "controller active=1 durable=store(registrations=[stored-registration(broker=1 incarnation={}) "
    "stored-registration(broker=2 incarnation=2)] last-transaction=2) brokers=[{}]"
)


def test_a_heartbeat_of_an_incarnation_that_was_not_written_is_refused() -> None:
    """What a request says is not judged, but what the controller would then remember is."""
    state = parse_state(STORE.format(1, ""))
    heartbeat = (
        "request-received node=1 source=process(broker=1 incarnation={0}) "
        "request=metadata-heartbeat-request(broker=1 incarnation={0} target=active)"
    )
    with pytest.raises(InputError, match=r"leads to .*\.brokers\[0\]\.incarnation: expected at most"):
        answer(KIP343, state, parse_event(heartbeat.format(3)))
    with pytest.raises(InputError, match=r"expected one of its own, found 2, that of broker 2"):
        answer(KIP343, state, parse_event(heartbeat.format(2)))
    assert list(problems(KIP343, answer(KIP343, state, parse_event(heartbeat.format(1))).state)) == []


PROCESS = "broker id=1 incarnation=1 controller=1"
STORED = "controller active=1 durable=store({})"
TOLD = "partition-state(topic=t index=0 leader=1 leader-epoch=0 partition-epoch=0 isr=[1 2])"
WRITE = (
    "store-isr-received source=process(broker=1 incarnation=1) request=store-isr-request("
    "broker=1 topic=t index=0 leader-epoch=0 partition-epoch=0 isr=[{}])"
)
LEGACY = "registrations=[stored-registration(broker=1 incarnation=1 version=4)] last-transaction=1 "
LED = "partitions=[partition(topic=t index=0 replicas=[1 2] isr=[1 2] leader=1)]"


def test_an_event_that_leads_to_no_state_of_a_cluster_is_refused() -> None:
    """Whether members are replicas shows in the state alone, and not where nothing is written."""
    state = parse_state(STORED.format(LEGACY + LED))
    alone = answer(KIP343, state, parse_event(WRITE.format("1")))
    assert isinstance(alone.state, Controller) and alone.state.durable.partitions[0].isr == (1,)
    stranger = parse_event(WRITE.format("1 3"))
    with pytest.raises(InputError) as refused:
        answer(KIP343, state, stranger)
    assert str(refused.value) == (
        "EVENT: leads to a state that no running cluster is in; "
        ".durable.partitions[0].isr: expected replicas, [1 2], found [3]."
    )
    late = parse_state(STORED.format(LEGACY + LED.replace("leader=1", "leader=1 partition-epoch=1")))
    assert answer(KIP343, late, stranger).state == late


def test_a_change_that_names_a_member_twice_can_be_asked_about_next() -> None:
    leader = parse_state(f"{PROCESS} state=active fenced=no partitions=[{TOLD}]")
    proposed = parse_event("isr-proposed proposals=[proposed-isr(topic=t index=0 isr=[1 1])]")
    asked = answer(KIP343, leader, proposed).state
    assert isinstance(asked, Broker) and asked.pending[0].isr == (1, 1)
    refusal = parse_event("response-received node=1 response=isr-change-response(results=[INVALID_REQUEST])")
    refused = answer(KIP343, parse_state(describe(asked)), refusal).state
    assert refused == leader


def test_the_command_says_in_one_sentence_what_it_refuses(capsys: pytest.CaptureFixture[str]) -> None:
    """A process of the draft that has had no answer serves nothing (FENCE-9)."""
    assert cli.main(["step", "--protocol", "draft", f"{PROCESS} fenced=no", "client-request"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == (
        "kraftcheck: STATE.fenced: expected yes of a process whose state is initial, found no.\n"
    )
