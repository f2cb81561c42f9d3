"""The JSON of the protocol: what goes out comes back, and no answer breaks the driver."""

import io
import itertools
import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.evidence.adapters import files, wire
from kraftcheck.evidence.adapters.answers import AdapterError, Capabilities, read_answer, read_hello
from kraftcheck.evidence.adapters.asked import Asking, times_of
from kraftcheck.evidence.adapters.compare import compare
from kraftcheck.evidence.adapters.generate import generate
from kraftcheck.evidence.adapters.probes import probes
from kraftcheck.evidence.adapters.scripts import scripts
from kraftcheck.evidence.adapters.serving import ReferenceAdapter, serve
from kraftcheck.evidence.adapters.stimuli import Crash, DriveSequence, Start, WaitExpired
from kraftcheck.evidence.recordings.fields import Fields
from kraftcheck.evidence.recordings.state import encode_state
from kraftcheck.reference.events import RequestReceived
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.protocol import KAFKA
from kraftcheck.support.errors import InputError
from kraftcheck.systems import scenario

EVERYTHING = Capabilities(
    "all", frozenset(wire.EVENTS), frozenset(wire.EFFECTS), frozenset(wire.STATE), ordered=True
)


@cache
def sequences() -> list[DriveSequence]:
    """Sequences of each origin."""
    generated = generate([scenario.shipped()["mutants-observer"]], "kafka", {}, 0).sequences
    return [*generated, *itertools.islice(probes(KAFKA), 0, 300, 7), *scripts(KAFKA)]


#: The effects and the state expected in a step.
Step = tuple[list[dict[str, Any]], dict[str, Any]]


def _steps(sequence: DriveSequence) -> Iterator[Step]:
    """The effects and the state expected of an adapter in each step."""
    for question in Asking(sequence).questions():
        if question.outcome is not None:
            before = question.before or question.outcome.replica
            effects = question.outcome.effects
            expected = [wire.encode_effect(e, before, times_of(sequence.protocol)) for e in effects]
            yield expected, encode_state(question.outcome.replica, stopped=False)


@pytest.fixture(scope="module")
def steps() -> list[Step]:
    return [step for sequence in sequences() for step in _steps(sequence)]


numbers = st.integers(-(2**70), 2**70)
keys = st.sampled_from(
    [
        "id",
        "effects",
        "effect",
        "state",
        "data",
        "topics",
        "partitions",
        "to",
        "api",
        "ms",
        "timer",
        "batches",
        "error",
    ]
)
values = st.one_of(
    st.sampled_from([*wire.EFFECTS, *wire.STATE, "Vote", "Fetch"]), st.text(max_size=5), numbers
)
leaves = st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | values
objects = st.dictionaries(keys, leaves | st.lists(leaves, max_size=3), max_size=4)
json_values: st.SearchStrategy[Any] = (
    leaves | objects | st.lists(leaves | objects, max_size=3) | st.dictionaries(keys, objects, max_size=3)
)
fields = ("to", "data", "api", "ms", "timer", "batches", "quorumState", "offset")
effects = st.lists(
    st.fixed_dictionaries(
        {"effect": st.sampled_from(wire.EFFECTS)}, optional=dict.fromkeys(fields, json_values)
    ),
    max_size=4,
)


@pytest.mark.slow
def test_every_question_reads_back() -> None:
    for sequence, question in [(s, q) for s in sequences() for q in Asking(s).questions()]:
        data = wire.encode_question(question, sequence.protocol)
        fields = Fields.of(json.loads(json.dumps(data)), "question")
        if isinstance(question.event, Start):
            identity, disk, protocol, times = wire.decode_start(fields)
            assert (identity.key, identity.bootstrap_voters) == (
                sequence.identity.key,
                sequence.identity.bootstrap_voters,
            )
            assert (disk.quorum_state, disk.log) == (question.disk.quorum_state, question.disk.log)
            assert (protocol, times) == (sequence.protocol, times_of(sequence.protocol))
        elif not isinstance(question.event, Crash):
            assert wire.decode_event(fields) == question.event


@pytest.mark.slow
def test_a_sequence_file_reads_back() -> None:
    for sequence in sequences()[::5]:
        again = files.decode(json.loads(files.dumps(sequence)), "file")
        assert again == replace(sequence, origin=None)


@pytest.mark.slow
@given(data=json_values)
def test_a_sequence_file_of_any_json_is_read_or_refused(data: Any) -> None:
    with pytest.raises(InputError):
        files.decode({"version": 1, "name": "x", "stimuli": [data], "protocol": {}, "identity": data}, "file")


@given(text=st.text(max_size=60) | json_values.map(json.dumps))
def test_any_line_is_an_answer_or_an_adapter_error(text: str) -> None:
    for read in (read_hello, lambda line: read_answer(line, 3)):
        try:
            read(text)
        except AdapterError as error:
            assert "\n" not in str(error)


@pytest.mark.slow
@given(
    found=effects,
    state=st.dictionaries(st.sampled_from(wire.STATE), json_values, max_size=6),
    number=st.integers(0, 100_000),
)
def test_any_answer_can_be_compared(
    found: list[dict[str, Any]], state: dict[str, Any], number: int, steps: list[Step]
) -> None:
    expected, shown = steps[number % len(steps)]
    try:
        read = read_answer(json.dumps({"id": 1, "effects": found, "state": state}), 1)
    except AdapterError:
        return  # a type or number that no field can have
    differences = list(compare(EVERYTHING, expected, shown, read.effects, read.state))
    if not expected and any(effect["effect"] != "timer" for effect in found):
        assert differences
    if state.get("epoch") != shown["epoch"]:
        assert differences


@pytest.mark.slow
def test_what_the_reference_shows_has_no_difference_and_every_change_of_it_has(steps: list[Step]) -> None:
    """Each scalar of an answer that is changed is a difference, except where the protocol says otherwise."""
    for effects, state in steps[:60]:
        shown = json.loads(json.dumps(effects))
        for effect in shown:
            if isinstance(effect.get("ms"), list):
                effect["ms"] = effect["ms"][0]
        assert not list(compare(EVERYTHING, effects, state, shown, json.loads(json.dumps(state))))
        for name in state:
            changed = {**state, name: "something else"}
            found = list(compare(EVERYTHING, effects, state, shown, changed))
            assert [each.field for each in found] == [f"state.{name}"]
        for index in range(len(shown)):
            if shown[index]["effect"] != "timer" or shown[index]["ms"] != "remaining":
                fewer = shown[:index] + shown[index + 1 :]
                same = [each for each in shown if each == shown[index]]
                if len(same) == 1 or shown[index]["effect"] != "timer":
                    assert list(compare(EVERYTHING, effects, state, fewer, state)), shown[index]


def test_a_field_at_its_default_may_be_absent_and_an_unknown_one_is_passed_over() -> None:
    data = {"errorCode": 0, "topics": [{"partitions": [{"leaderId": -1, "errorCode": 0}]}]}
    expected = [{"effect": "response", "to": 2, "requestId": 1, "api": "Vote", "data": data}]
    lean = {"topics": [{"partitions": [{"leaderId": -1, "speed": 9}]}]}
    found = [{"effect": "response", "to": 2, "requestId": 1, "api": "Vote", "data": lean}]
    unknown: set[str] = set()
    assert not list(compare(EVERYTHING, expected, {}, found, {}, unknown))
    assert unknown == {"speed"}


def test_an_error_about_an_unknown_partition_may_name_it() -> None:
    def answer(topic: str, error: int) -> dict[str, Any]:
        partitions = [{"partitionIndex": 0, "errorCode": error}]
        data = {"errorCode": 0, "topics": [{"topicName": topic, "partitions": partitions}]}
        return {"effect": "response", "to": 2, "requestId": 1, "api": "DescribeQuorum", "data": data}

    assert not list(compare(EVERYTHING, [answer("x", 3)], {}, [answer("another", 3)], {}))
    assert list(compare(EVERYTHING, [answer("x", 6)], {}, [answer("another", 6)], {}))
    assert list(compare(EVERYTHING, [answer("x", 3)], {}, [answer("another", 6)], {}))


def test_how_often_requests_are_forgotten_does_not_count() -> None:
    one, all_of_them = ({"effect": "forgetRequests", "node": node} for node in (2, None))
    assert not list(compare(EVERYTHING, [one, all_of_them, one], {}, [all_of_them], {}))
    assert list(compare(EVERYTHING, [one], {}, [all_of_them], {}))
    assert list(compare(EVERYTHING, [one], {}, [], {}))


def test_order_counts_except_among_messages() -> None:
    persist = {"effect": "persist", "quorumState": {"leaderEpoch": 1}}
    one: dict[str, Any] = {"effect": "request", "to": 2, "api": "Vote", "data": {}}
    two = {**one, "to": 3}
    assert not list(compare(EVERYTHING, [persist, one, two], {}, [persist, two, one], {}))
    assert list(compare(EVERYTHING, [persist, one, two], {}, [one, persist, two], {}))
    assert not list(
        compare(EVERYTHING._replace(ordered=False), [persist, one, two], {}, [one, two, persist], {})
    )


def test_the_adapter_of_the_reference_answers_nonsense_with_an_error() -> None:
    questions = [
        '{"id": 1, "type": "poll", "now": 1, "expired": []}',
        '{"id": 2, "type": "exit"}',
        "never read",
    ]
    answers = io.StringIO()
    serve(ReferenceAdapter(), io.StringIO("\n".join(questions)), answers)
    (answer,) = map(json.loads, answers.getvalue().splitlines())
    assert answer["id"] == 1 and "start" in answer["error"]


@pytest.mark.slow
def test_time_never_goes_back_and_a_timer_is_not_early() -> None:
    for sequence in sequences():
        now = 0
        for question in Asking(sequence).questions():
            assert question.now > now
            now = question.now


@pytest.mark.slow
def test_stimuli_that_nothing_happens_to_are_passed_over() -> None:
    sequence = sequences()[0]
    stimuli = (WaitExpired(5), *sequence.stimuli[:1], WaitExpired(5), Crash(), Crash())
    kinds = [wire.kind_of(q.event) for q in Asking(DriveSequence(
        "x", sequence.protocol, sequence.identity, sequence.disk, stimuli
    )).questions()]  # fmt: skip
    assert kinds == ["start", "crash"]


@pytest.mark.slow
def test_a_crash_takes_back_what_did_not_happen() -> None:
    """A vote whose step was cut short before the write is not on the disk of the next process."""
    probe = next(s for s in sequences() if s.name.startswith("probe vote-request"))
    request = next(e for e in probe.stimuli if isinstance(e, RequestReceived))
    base = probe.stimuli[: probe.stimuli.index(request)]
    for undone in (0, 99):
        sequence = DriveSequence(
            "x", probe.protocol, probe.identity, probe.disk, (*base, request, Crash(undone), Start())
        )
        *_, crashed, started = Asking(sequence).questions()
        assert started.outcome is not None and crashed.before is not None
        if undone == 0:
            assert started.disk.quorum_state == crashed.before.quorum_state
        else:
            assert started.disk.log == probe.disk.log
