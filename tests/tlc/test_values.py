"""Values of TLA+: what is written can be read again, and nothing else is."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kraftcheck.tlc.parse import MAX_DEPTH, ParseError, StateReader, parse_value
from kraftcheck.tlc.states import unlike
from kraftcheck.tlc.values import Function, Model, Value, function, record, set_of, text

#: A machine that others use as well is no failure.
RELAXED = settings(suppress_health_check=[HealthCheck.too_slow])

SIMPLE: st.SearchStrategy[Value] = st.one_of(
    st.booleans(),
    st.integers(-(10**9), 10**9),
    st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=6),
    st.sampled_from([Model("None"), Model("m_1")]),
)


def _functions(values: st.SearchStrategy[Value]) -> st.SearchStrategy[Value]:
    pairs = st.lists(st.tuples(values, values), max_size=3, unique_by=lambda pair: text(pair[0]))
    return pairs.map(function)


VALUES = st.recursive(
    SIMPLE,
    lambda inside: st.one_of(
        st.lists(inside, max_size=3).map(tuple), st.lists(inside, max_size=3).map(set_of), _functions(inside)
    ),
    max_leaves=12,
)


@RELAXED
@given(VALUES)
def test_what_is_written_is_read_again(value: Value) -> None:
    assert text(parse_value(text(value))) == text(value)


@pytest.mark.slow
@RELAXED
@given(VALUES, VALUES)
def test_where_two_values_differ_is_empty_exactly_for_equal_ones(one: Value, other: Value) -> None:
    assert (not list(unlike({"v": one}, {"v": other}))) == (text(one) == text(other))


@RELAXED
@given(st.text(alphabet='<>[](){}|-:@,.=" \n\\/_aTRUE01', max_size=40))
def test_any_text_is_a_value_or_a_parse_error(source: str) -> None:
    try:
        value = parse_value(source)
    except ParseError as error:
        assert "\n" not in str(error)
    else:
        assert text(parse_value(text(value))) == text(value)


@RELAXED
@given(st.text(max_size=80))
def test_any_dump_is_states_or_a_parse_error(source: str) -> None:
    with contextlib.suppress(ParseError):
        list(StateReader().dump(source.splitlines(keepends=True)))


@pytest.mark.slow
@RELAXED
@given(VALUES, st.data())
def test_a_value_that_was_cut_off_is_refused(value: Value, data: st.DataObject) -> None:
    whole = text(value)
    if whole[-1] not in '>]})"':
        return
    with pytest.raises(ParseError):
        parse_value(whole[: data.draw(st.integers(0, len(whole) - 1))])


def test_forms_that_tlc_prints() -> None:
    assert parse_value("<< >>") == parse_value("<<>>") == ()
    assert parse_value("1..3") == set_of([1, 2, 3]) == parse_value("{3, 1, 2, 2}")
    assert parse_value("(1 :> TRUE @@ 2 :> None)") == (True, Model("None"))
    assert parse_value("(0 :> 5)") == Function(((0, 5),))
    assert parse_value('[b |-> 1,\n  a |-> "x"]') == record(a="x", b=1)
    assert parse_value("([n |-> 1] :> 2 @@ [n |-> 0] :> 1)") == function([(record(n=0), 1), (record(n=1), 2)])
    assert parse_value(r'"a \"b\" \\"') == r'a "b" ' + "\\"


def test_true_is_not_one() -> None:
    assert text(set_of([True, 1])) == "{1, TRUE}"
    assert text(function([(True, 0), (1, 0)])) == "(1 :> 0 @@ TRUE :> 0)"


@pytest.mark.parametrize(
    "source",
    [
        "",
        "<<1",
        "<<1,>>",
        "1 2",
        "[a |-> 1, a |-> 2]",
        "(1 :> 2 @@ 1 :> 3)",
        "9" * 5000,
        "0..999999999",
        "{" * 100_000,
        "<<" * (MAX_DEPTH + 2) + ">>" * (MAX_DEPTH + 2),
        '"open',
        "\x00",
        "[1 |-> 2]",
        "é",
    ],
    ids=lambda source: repr(source[:12]),
)
def test_what_is_no_value_is_refused(source: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_value(source)
    assert len(str(caught.value)) < 150


def test_a_dump_is_read_with_its_long_values() -> None:
    dump = "State 1:\n/\\ a = << 1,\n   [ b |-> 2,\n     c |-> {} ] >>\n/\\ d = None\n\nState 2:\nd = {}\n\n"
    first, second = StateReader().dump(dump.splitlines(keepends=True))
    assert first == {"a": (1, record(b=2, c=set_of([]))), "d": Model("None")}
    assert second == {"d": set_of([])}


@pytest.mark.parametrize(
    ("dump", "said"),
    [
        ("hello\n", "expected 'State 1:'"),
        ("State 1:\n/\\ a = 1\n/\\ a = 2\n", "twice"),
        ("State 1:\n/\\ a = <<1\n", "state 1: variable a"),
        ("State 1:\n/\\ a 1\n", "expected a variable"),
        ("State 1:\n", "expected a variable"),
    ],
)
def test_a_damaged_dump_is_refused(dump: str, said: str) -> None:
    with pytest.raises(ParseError, match=said):
        list(StateReader().dump(dump.splitlines(keepends=True)))


def test_where_two_states_differ_is_named() -> None:
    one = {"r": (record(role=record(name="Leader"), log=()),), "s": 1}
    other = {"r": (record(role=record(name="Follower"), log=()),), "s": 1}
    assert list(unlike(one, other)) == [("r[1].role.name", '"Leader"', '"Follower"')]
