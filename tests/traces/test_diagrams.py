"""Traces for other tools: Mermaid and ITF."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.reference.frozen import replace
from kraftcheck.traces import Trace, itf, mermaid
from tests.traces.trace_samples import UNSTABLE, counterexample

#: What the diagrams here consist of, of Mermaid's grammar.
LINE = re.compile(r"  (%% .*|participant P\d+ as .+|P\d+(->>|-x)P\d+: .+|note over P\d+(,P\d+)?: .+)")


def lines_of(text: str) -> list[str]:
    head, *lines = text.splitlines()
    assert head == "sequenceDiagram"
    assert [line for line in lines if not LINE.fullmatch(line)] == []
    return lines


def test_each_step_is_in_the_diagram() -> None:
    trace = counterexample(UNSTABLE)
    lines = lines_of(mermaid.render(trace))
    numbers = [int(found[1]) for line in lines if (found := re.search(r": (\d+)\. ", line))]
    assert numbers == [step.number for step in trace.steps]
    assert sum("->>" in line for line in lines) == sum(step.kind == "deliver" for step in trace.steps)
    assert "violates ReturningReplicaDeposesNobody" in lines[-2]


def test_a_long_trace_is_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = counterexample(UNSTABLE)
    monkeypatch.setattr(mermaid, "MOST_STEPS", 2)
    text = mermaid.render(trace)
    lines_of(text)
    left_out = [int(number) for number in re.findall(r"steps left out: (\d+)", text)]
    shown = re.findall(r": (\d+)\. ", text)
    assert len(shown) <= 2 and int(shown[-1]) == len(trace.steps)
    assert sum(left_out) + len(shown) == len(trace.steps)


@settings(max_examples=30)
@given(
    st.text(min_size=1, max_size=30)
    | st.sampled_from(["end", "a;b", "%%{init: {}}%%", "<b>", "#35;", "x\nend"])
)
def test_texts_are_no_syntax(text: str) -> None:
    trace = counterexample(UNSTABLE)
    assert trace.finding is not None
    lines = lines_of(mermaid.render(replace(trace, finding=replace(trace.finding, reasons=(text,)))))
    assert not set(lines[-1].partition(": ")[2]) & set('<>"`{}[]\\%\n')


def _roles_of(trace: Trace, place: int) -> list[str]:
    """The roles of a replica, a Follower at first, after each step."""
    roles = ["Follower"]
    for step in trace.steps:
        changed = [each.after for each in step.changes if (each.replica, each.field) == (place, "role")]
        roles.append((changed or roles)[-1])
    return roles[1:]


def test_itf() -> None:
    trace = counterexample(UNSTABLE)
    data = json.loads(itf.dumps(trace))
    assert [state["#meta"]["index"] for state in data["states"]] == list(range(len(trace.steps) + 1))
    assert all(set(state) == {"#meta", *data["vars"]} for state in data["states"])
    roles = [dict(dict(state["replicas"]["#map"])["3"]["#map"])["role"] for state in data["states"]]
    assert roles == ["Follower", *_roles_of(trace, 3)]
    assert "loop" not in data and json.loads(itf.dumps(replace(trace, loop=1)))["loop"] == 1
