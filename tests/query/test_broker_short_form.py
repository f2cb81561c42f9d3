"""The short form of brokers and their controller: what is printed parses back, what is none is refused."""

from __future__ import annotations

import itertools
import re
import types
import typing
from enum import Enum
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kraftcheck.cli import main as cli
from kraftcheck.query import broker_forms, broker_step
from kraftcheck.query.broker_consistency import event_problems, problems, require_consistent
from kraftcheck.query.broker_step import is_about_brokers, parse_event, parse_state
from kraftcheck.query.broker_tables import BROKER_TABLES
from kraftcheck.reference.brokers.broker import Api, Broker
from kraftcheck.reference.brokers.controller import Controller, MetadataLog, Store
from kraftcheck.reference.brokers.events import BrokerEvent, ControllerEvent, RequestReceived, Tick
from kraftcheck.reference.brokers.messages import (
    BrokerRegistrationRequest,
    BrokerState,
    FeatureRange,
    MetadataHeartbeatResponse,
    Process,
)
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.brokers.protocol import KIP343, SHIPPED, BrokerProtocol, ContactTime
from kraftcheck.reference.frozen import field_types, replace
from kraftcheck.support.errors import InputError
from kraftcheck.systems.brokers.short_form import describe
from kraftcheck.systems.brokers.switches import FORMS
from tests.query.broker_rows import situations
from tests.query.values import values_of

hypothesis_settings = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
STATE, EVENT = Controller | Broker, ControllerEvent | BrokerEvent


def says_something(value: Any) -> bool:
    """Whether the JSON form has this value: an answer to a heartbeat is a state or an error."""
    response = getattr(value, "response", None)
    return (
        not isinstance(response, MetadataHeartbeatResponse)
        or bool(response.error)
        or response.state is not None
    )


@hypothesis_settings
@given(values_of(STATE))
def test_every_state_that_is_printed_parses_back(state: Controller | Broker) -> None:
    assert is_about_brokers(describe(state))
    assert parse_state(describe(state)) == state


@hypothesis_settings
@given(values_of(EVENT).filter(says_something))
def test_every_event_that_is_printed_parses_back(event: ControllerEvent | BrokerEvent) -> None:
    assert parse_event(describe(event)) == event


def test_texts_that_are_no_plain_words_are_in_quotes() -> None:
    for name in ("none", "7", "active", "a b", 'say "]"', "", "é\n", "x=1"):
        request = BrokerRegistrationRequest(1, name, 1, (FeatureRange(name, 0, 1),))
        event = RequestReceived(1, Process(1, 1), request)
        assert parse_event(describe(event)) == event
    text = describe(Store(partitions=(Partition("a b", 0, (1,), (1,)), Partition("none", 1, (1,), (1,)))))
    assert text == (
        'store partitions=[partition(topic="a b" index=0 replicas=[1] isr=[1]) '
        "partition(topic=none index=1 replicas=[1] isr=[1])]"
    )


def test_words_are_read_as_their_field_wants_them() -> None:
    """A topic may be called as a state or a number is, and a state may be in small or capital letters."""
    event = parse_event("leader-move-due topic=active index=0")
    assert describe(event) == "leader-move-due topic=active index=0"
    assert parse_state("broker id=1 incarnation=1 state=ACTIVE") == parse_state(
        "broker(incarnation=1 id=1 state=active)"
    )
    lost = "response-received node=1 response=isr-change-response(error={})"
    assert parse_event(lost.format("INVALID_INCARNATION_ID")) == parse_event(
        lost.format("stale-broker-epoch")
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("broker id=1 incarnation=x", "STATE.incarnation: expected a whole number, found 'x'"),
        ("broker id=1 incarnation=1 fenced=true", "STATE.fenced: expected yes or no, found 'true'"),
        ("broker id=1 incarnation=1 state=none", "STATE.state: expected one of initial, inactive, active"),
        ("broker id=1 incarnation=1 controller=x", "expected a whole number or none, found 'x'"),
        ("broker id=1 incarnation=1 partitions=isr", "expected a list in brackets, found 'isr'"),
        ("broker id=1 incarnation=1 id=2", "expected each field once, found 'id' twice"),
        ("broker id=1 incarnaton=1", "did you mean 'incarnation'?"),
        ("broker id=1", "expected a broker with the field 'incarnation'"),
        ("broker id=1 incarnation=", "STATE.incarnation: expected a whole number, found nothing"),
        ("broker id=1 incarnation=[1]", "STATE.incarnation: expected a whole number, found a list"),
        ("broker id=1 incarnation=[1", "expected '\\]' where the list ends, found the end of the text"),
        ("broker(id=1 incarnation=1", "where its fields end, found the end of the text"),
        ("broker(id=1 incarnation=1))", "expected nothing after the value, found '\\)'"),
        ("broker id=1 incarnation=1 partitions=[broker()]", "expected partition-state"),
        ('broker id=1 incarnation=1 cluster-id="a', "expected a name, a field, a list or a text in quotes"),
        ("controller active=1 durable=stor()", "did you mean 'store'?"),
        ("controller active=1", "expected a controller with the field 'durable'"),
        ("broker id=99999999999999999999999 incarnation=1", "expected a number from -92"),
        ("controller active=1 durable=" + "store(partitions=[" * 4000 + "])" * 4000, "found 'store'"),
    ],
)
def test_a_text_that_is_no_state_is_refused_in_the_words_of_the_short_form(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says) as refused:
        parse_state(text)
    assert "\n" not in str(refused.value)


# What no running cluster is like.

STORE = "controller active=1 durable=store({})"
PARTITION = STORE.format("partitions=[partition(topic=t index=0 {})]")
PROCESS = "broker id=1 incarnation=1 {}"
STORED = "stored-registration(broker=1 incarnation=1)"
TOLD = "partition-state(topic=t index=0 leader=1 leader-epoch=0 partition-epoch=0 isr=[1 2])"


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ("broker id=-1 incarnation=1", "STATE.id: expected a number from 0 on, found -1"),
        (PROCESS.format("epoch=-2"), "STATE.epoch: expected a number from -1 on, found -2"),
        (PROCESS.format("ticks=-1"), "STATE.ticks: expected a number from 0 on"),
        (
            PROCESS.format("state=active fenced=no ticks=1"),
            "STATE.ticks: expected 0, as clocks do not run without",
        ),
        (PROCESS.format("request-ticks=1"), "STATE.request_ticks: expected 0"),
        (PROCESS.format("awaiting=[isr isr]"), "STATE.awaiting: expected each once"),
        (PROCESS.format("awaiting=[isr heartbeat]"), "as in \\[heartbeat isr\\]"),
        (PROCESS.format("ended=yes controller=1"), "STATE.ended: expected id and incarnation alone"),
        (
            PROCESS.format("life=running"),
            "STATE.life: the draft form has no .*pass --protocol shipped",
        ),
        (PROCESS.format(f"partitions=[{TOLD} {TOLD}]"), "STATE.partitions: expected one for each topic and"),
        (PROCESS.format("visible=[visible-broker(broker=2) visible-broker(broker=1)]"), "ascending order"),
        (
            PROCESS.format("pending=[pending-isr(topic=t index=0 leader-epoch=0 partition-epoch=0 isr=[1])]"),
            "STATE.pending\\[0\\].topic: expected one of the partitions, found t-0",
        ),
        (
            PROCESS.format(
                f"partitions=[{TOLD}] pending=[pending-isr(topic=t index=0 leader-epoch=0 "
                "partition-epoch=0 isr=[1] lives=[3])]"
            ),
            "STATE.pending\\[0\\].lives: expected 0",
        ),
        (
            PROCESS.format(
                f"partitions=[{TOLD}] pending=[pending-isr(topic=t index=0 leader-epoch=0 "
                "partition-epoch=0 isr=[2 1])]"
            ),
            "STATE.pending\\[0\\].isr: expected ascending order, found \\[2 1\\]",
        ),
        (PROCESS.format("awaiting=[isr]"), "STATE.awaiting: expected a pending change that is not refused"),
        (PROCESS.format("awaiting=[registration]"), "awaiting: the draft form has no registration to await"),
        (PROCESS.format("legacy=yes"), "STATE.fenced: expected no of a legacy process, found yes"),
        (PROCESS.format("legacy=yes fenced=no superseded=yes"), "STATE.superseded: expected no of a legacy"),
        ("controller active=-1 durable=store()", "STATE.active: expected a number from 0 on"),
        ("controller active=1 durable=metadata-log()", "a metadata log is of the shipped form; pass"),
        (
            "controller active=none durable=store() brokers=[liveness(broker=1)]",
            "STATE.active: expected a node",
        ),
        ("controller active=1 durable=store() sessions=[session(broker=1)]", "STATE.sessions: expected none"),
        (STORE.format(f"registrations=[{STORED} {STORED}]"), "expected one for each broker, found 1 twice"),
        (
            STORE.format("registrations=[stored-registration(broker=1 incarnation=1 version=6)]"),
            "STATE.durable.registrations\\[0\\].version: expected 4 or 5, found 6",
        ),
        (
            STORE.format(f"registrations=[{STORED}]"),
            "incarnation: expected at most the store's last-transaction, 0",
        ),
        (PARTITION.format("replicas=[] isr=[]"), "replicas: expected at least one"),
        (PARTITION.format("replicas=[1 1] isr=[1]"), "replicas: expected at least one, each once"),
        (PARTITION.format("replicas=[1 2] isr=[1 3]"), "isr: expected replicas, \\[1 2\\], found \\[3\\]"),
        (PARTITION.format("replicas=[1 2] isr=[2 1]"), "isr: expected distinct ids in ascending order"),
        (PARTITION.format("replicas=[1 2] isr=[1] leader=3"), "leader: expected one of the replicas"),
        (
            PARTITION.format("replicas=[1 2] isr=[1] leader=2"),
            "leader: expected a member of the ISR, \\[1\\]",
        ),
        (PARTITION.format("replicas=[1 2] isr=[1] adding=[3]"), "adding: expected replicas"),
        (
            "controller active=1 durable=store() brokers=[liveness(broker=1 state=initial)]",
            "STATE.brokers\\[0\\].state: expected inactive, active or stopping",
        ),
        (
            "controller active=1 durable=store() brokers=[liveness(broker=1 state=active ticks=2)]",
            "STATE.brokers\\[0\\].ticks: expected 0, .*--set controller-timeout",
        ),
    ],
)
def test_a_state_that_no_draft_cluster_is_in_is_refused(state: str, says: str) -> None:
    with pytest.raises(InputError, match=says) as refused:
        require_consistent(KIP343, parse_state(state), parse_event("tick"))
    assert str(refused.value).count(".") >= 1 and "\n" not in str(refused.value)


LOG = "controller active=1 durable=metadata-log({})"
UNFENCED = "broker-registration(broker=1 incarnation=1 epoch=3 fenced=no)"


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (
            PROCESS.format("life=running"),
            "STATE.life: expected starting or shutting-down of a process without",
        ),
        (PROCESS.format("life=recovery"), "found recovery"),
        (
            LOG.format("registrations=[broker-registration(broker=1 incarnation=1 epoch=4)] end-offset=4"),
            "registrations\\[0\\].epoch: expected an offset below the log's end-offset, 4, found 4",
        ),
        (
            LOG.format(f"registrations=[{UNFENCED}] end-offset=4"),
            "STATE.sessions: expected one of broker 1, as its registration is not fenced",
        ),
        (
            LOG.format(
                "partitions=[partition(topic=t index=0 replicas=[1 2] isr=[1] leader=2)] end-offset=1"
            ),
            "leader: expected a member of the ISR, \\[1\\], or none, found 2",
        ),
    ],
)
def test_a_state_that_no_shipped_cluster_is_in_is_refused(state: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        require_consistent(SHIPPED, parse_state(state), parse_event("tick"))


@pytest.mark.parametrize(
    ("protocol", "state"),
    [
        (SHIPPED, PROCESS.format("life=shutting-down")),
        (SHIPPED, PROCESS.format("awaiting=[registration]")),
        (
            SHIPPED,
            LOG.format("registrations=[broker-registration(broker=1 incarnation=1 epoch=3)] end-offset=4"),
        ),
        (SHIPPED, f"{LOG.format(f'registrations=[{UNFENCED}] end-offset=4')} sessions=[session(broker=1)]"),
        (SHIPPED, LOG.format(f"registrations=[{UNFENCED}] end-offset=4").replace("active=1", "active=none")),
        (KIP343, PROCESS.format("legacy=yes fenced=no")),
        (
            KIP343,
            STORE.format(
                "registrations=[stored-registration(broker=1 incarnation=1 version=4)] "
                "partitions=[partition(topic=t index=0 replicas=[1 2] isr=[2] leader=1)] last-transaction=1"
            ),
        ),
    ],
)
def test_a_state_beside_them_is_not_refused(protocol: BrokerProtocol, state: str) -> None:
    assert list(problems(protocol, parse_state(state))) == []


def test_more_that_no_cluster_is_like() -> None:
    found = list(problems(SHIPPED, parse_state("broker id=1 incarnation=1 wish=stopping")))
    assert found == [".wish: the shipped form has no such field; leave it out, or pass --protocol draft"]
    (orphan,) = problems(
        SHIPPED, parse_state("controller active=1 durable=metadata-log() sessions=[session(broker=3)]")
    )
    assert orphan == ".sessions[0].broker: expected a registered broker, found 3"
    late = replace(KIP343, controller_timeout=2, broker_timeout=3)
    active = Broker(1, 1, state=BrokerState.ACTIVE, fenced=False)
    assert list(problems(late, replace(active, ticks=2))) == []
    assert list(problems(late, replace(active, ticks=3))) == [
        ".ticks: expected less than the time-out of 3, found 3"
    ]
    by_request = replace(late, contact_time=ContactTime.REQUEST)
    asks = Broker(1, 1, awaiting=(Api.HEARTBEAT,))
    assert list(problems(by_request, replace(asks, request_ticks=3))) == []
    assert len(list(problems(by_request, replace(asks, request_ticks=4)))) == 1
    assert list(problems(SHIPPED, Controller(None, MetadataLog()))) == []


WRITE = (
    "store-isr-received source=process(broker=1 incarnation=1) request=store-isr-request("
    "broker=1 topic=t index=0 leader-epoch=0 partition-epoch=0 isr=[{}])"
)


@pytest.mark.parametrize(
    ("event", "says"),
    [
        ("failover node=-1", ".node: expected a number from 0 on, found -1"),
        ("request-received node=-1 source=process(broker=-2 incarnation=1) request={}", ".node: expected"),
        ("registration-written broker=1 version=3", ".version: expected 4 or 5, found 3"),
        ("metadata-received update=metadata-update(controller=-1 {})", ".update.controller: expected"),
        (
            "isr-wished wishes=[isr-wish(topic=t index=0 isr=[1]) isr-wish(topic=t index=0 isr=[1 2])]",
            ".wishes: expected one wish for each partition, found t-0 twice",
        ),
        (WRITE.format("2 1"), ".request.isr: expected distinct ids in ascending order, found [2 1]"),
        (WRITE.format("1 1"), ".request.isr: expected distinct ids"),
    ],
)
def test_an_event_that_cannot_happen_is_refused(event: str, says: str) -> None:
    request = "metadata-heartbeat-request(broker=-5 incarnation=-5 target=active)"
    rest = "controller-epoch=0 brokers=[] partitions=[]"
    text = event.replace("request={}", f"request={request}").replace("{}", rest)
    first, *_ = event_problems(parse_event(text))
    assert first.startswith(says)


def test_what_a_request_says_is_not_judged() -> None:
    """What is done about a wrong one is part of the protocol."""
    request = "metadata-heartbeat-request(broker=-5 incarnation=-5 target=active)"
    event = parse_event(f"request-received node=1 source=process(broker=1 incarnation=1) request={request}")
    assert list(event_problems(event)) == []


LEGACY = "registrations=[stored-registration(broker=1 incarnation=1 version=4)] last-transaction=1 "
LED = "partitions=[partition(topic=t index=0 replicas=[1 2] isr=[1 2] leader=1)]"


def test_an_event_that_leads_to_no_state_of_a_cluster_is_refused() -> None:
    """Whether members are replicas shows in the state alone, and not where nothing is written."""
    state = parse_state(STORE.format(LEGACY + LED))
    alone = broker_step.answer(KIP343, state, parse_event(WRITE.format("1")))
    assert isinstance(alone.state, Controller) and alone.state.durable.partitions[0].isr == (1,)
    stranger = parse_event(WRITE.format("1 3"))
    with pytest.raises(InputError) as refused:
        broker_step.answer(KIP343, state, stranger)
    assert str(refused.value) == (
        "EVENT: leads to a state that no running cluster is in; "
        ".durable.partitions[0].isr: expected replicas, [1 2], found [3]."
    )
    late = parse_state(STORE.format(LEGACY + LED.replace("leader=1", "leader=1 partition-epoch=1")))
    assert broker_step.answer(KIP343, late, stranger).state == late


def test_a_change_that_names_a_member_twice_can_be_asked_about_next() -> None:
    leader = parse_state(PROCESS.format(f"controller=1 state=active fenced=no partitions=[{TOLD}]"))
    wish = parse_event("isr-wished wishes=[isr-wish(topic=t index=0 isr=[1 1])]")
    asked = broker_step.answer(KIP343, leader, wish).state
    assert isinstance(asked, Broker) and asked.pending[0].isr == (1, 1)
    refusal = parse_event("response-received node=1 response=isr-change-response(results=[INVALID_REQUEST])")
    refused = broker_step.answer(KIP343, parse_state(describe(asked)), refusal).state
    assert refused == leader


def test_error_codes_have_the_names_of_their_form() -> None:
    event = parse_event(
        "response-received node=1 response=isr-change-response(error=STALE_BROKER_EPOCH "
        "results=[NOT_LEADER_OR_FOLLOWER])"
    )
    text = describe(event, draft=True)
    assert text == (
        "response-received node=1 response=isr-change-response(error=INVALID_INCARNATION_ID "
        "results=[NOT_LEADER_FOR_PARTITION])"
    )
    assert parse_event(text) == event
    assert "STALE_BROKER_EPOCH" in describe(event)


# Fuzzing.


@cache
def samples() -> tuple[tuple[str, Controller | Broker, Any], ...]:
    """Of every table some situations, with their form."""
    found = []
    for form, tables in BROKER_TABLES.items():
        for name in tables:
            found += [
                (form, *each) for each in itertools.islice(situations(form, name, FORMS[form]), 0, 200, 37)
            ]
    return tuple(found)


def small_values(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a declared type whose numbers are such as are found in a small cluster."""
    if isinstance(kind, types.UnionType):
        return st.one_of(*map(small_values, typing.get_args(kind)))
    if typing.get_origin(kind) is tuple:
        return st.lists(st.deferred(lambda: small_values(typing.get_args(kind)[0])), max_size=2).map(tuple)
    if kind is types.NoneType:
        return st.none()
    if kind in (bool, int, str):
        return {bool: st.booleans(), int: st.integers(-1, 7), str: st.sampled_from(["t", "cluster"])}[kind]
    if issubclass(kind, Enum):
        return st.sampled_from(list(kind))
    return st.builds(kind, **{name: small_values(hint) for name, hint in field_types(kind).items()})


def ask(form: str, state: Controller | Broker, event: Any) -> None:
    """Ask as the command does; InputError is an answer. The state afterwards can be asked about next."""
    try:
        chosen, _ = broker_forms.of_question(form, state, event)
        outcome = broker_step.answer(FORMS[chosen], state, event)
    except InputError as error:
        assert "\n" not in str(error)
    else:
        after = parse_state(describe(outcome.state, draft=FORMS[chosen].is_draft))
        broker_step.answer(FORMS[chosen], after, Tick())


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 399), small_values(EVENT).filter(says_something))
def test_any_event_in_a_sound_state_has_an_answer_or_is_refused(number: int, event: Any) -> None:
    form, state, _ = samples()[number % len(samples())]
    ask(form, state, event)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(small_values(STATE), st.integers(0, 399), st.sampled_from(sorted(FORMS)))
def test_any_state_has_an_answer_or_is_refused(state: Any, number: int, form: str) -> None:
    ask(form, state, samples()[number % len(samples())][2])


@st.composite
def damaged(draw: st.DrawFn, which: int) -> str:
    """The text of a state or an event in which some tokens are missing, repeated or something else."""
    text = describe(samples()[draw(st.integers(0, len(samples()) - 1))][which])
    tokens = re.findall(r"[^\s\[\]()=]+=?|[\[\]()]|\s", text)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(tokens) - 1))
        other = st.sampled_from(["", "(", ")", "[", "]", "=", "none", "-1", '"', "9" * 25, tokens[at] * 2])
        tokens[at] = draw(other | st.text(max_size=3))
    return "".join(tokens)


def text_of(which: int) -> st.SearchStrategy[str]:
    whole = st.integers(0, 399).map(lambda number: describe(samples()[number % len(samples())][which]))
    return damaged(which) | st.text(max_size=20) | whole


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(text_of(1), text_of(2), st.sampled_from([[], ["--protocol", "draft"], ["--protocol", "shipped"]]))
def test_any_text_gives_an_answer_or_one_sentence(
    capsys: pytest.CaptureFixture[str], state: str, event: str, protocol: list[str]
) -> None:
    if {state[:1], event[:1]} & {"-", "@"}:
        return
    status = cli.main(["step", state, event, *protocol])
    captured = capsys.readouterr()
    assert (status, captured.err == "") in ((0, True), (2, False))
    assert status == 0 or captured.err.count("\n") == 1
