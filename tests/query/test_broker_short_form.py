"""The short form of brokers and their controller: what is printed parses back, what is none is refused."""

from __future__ import annotations

import itertools
import re
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kraftcheck.cli import main as cli
from kraftcheck.query import broker_forms, broker_step
from kraftcheck.query.broker_step import is_about_brokers, parse_event, parse_state
from kraftcheck.query.broker_tables import BROKER_TABLES
from kraftcheck.reference.brokers import messages
from kraftcheck.reference.brokers.broker import Broker
from kraftcheck.reference.brokers.controller import Controller, Store
from kraftcheck.reference.brokers.events import BrokerEvent, ControllerEvent, RequestReceived, Tick
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.support.errors import InputError
from kraftcheck.systems.brokers.short_form import describe
from kraftcheck.systems.brokers.switches import FORMS
from tests.query.broker_rows import situations
from tests.query.values import SMALL, values_of

hypothesis_settings = settings(max_examples=150, suppress_health_check=list(HealthCheck))
STATE, EVENT = Controller | Broker, ControllerEvent | BrokerEvent


def says_something(value: Any) -> bool:
    """Whether the JSON form has this value: an answer to a heartbeat is a state or an error."""
    response = getattr(value, "response", None)
    return (
        not isinstance(response, messages.MetadataHeartbeatResponse)
        or bool(response.error)
        or response.state is not None
    )


@pytest.mark.slow
@hypothesis_settings
@given(values_of(STATE))
def test_every_state_that_is_printed_parses_back(state: Controller | Broker) -> None:
    assert is_about_brokers(describe(state))
    assert parse_state(describe(state)) == state


@pytest.mark.slow
@hypothesis_settings
@given(values_of(EVENT).filter(says_something))
def test_every_event_that_is_printed_parses_back(event: ControllerEvent | BrokerEvent) -> None:
    assert parse_event(describe(event)) == event


def test_texts_that_are_no_plain_words_are_in_quotes() -> None:
    for name in ("none", "7", "active", "a b", 'say "]"', "", "é\n", "x=1"):
        request = messages.BrokerRegistrationRequest(1, name, 1, (messages.FeatureRange(name, 0, 1),))
        event = RequestReceived(1, messages.Process(1, 1), request)
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
        ("broker " + "x=[" * 50, "where the list ends"),
        ("broker " + "x=[" * 50 + "]" * 50, "one of its fields"),
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


@pytest.mark.slow
@settings(max_examples=400, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 399), values_of(EVENT, plain=SMALL).filter(says_something))
def test_any_event_in_a_sound_state_has_an_answer_or_is_refused(number: int, event: Any) -> None:
    form, state, _ = samples()[number % len(samples())]
    ask(form, state, event)


@pytest.mark.slow
@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(values_of(STATE, plain=SMALL), st.integers(0, 399), st.sampled_from(sorted(FORMS)))
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


@pytest.mark.slow
@settings(max_examples=300, suppress_health_check=list(HealthCheck))
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
