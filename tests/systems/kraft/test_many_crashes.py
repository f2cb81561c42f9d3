"""Crashes within starts: as many as the budget allows, and no more outcomes than there are different ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.engine.steps import initial_states, steps
from kraftcheck.engine.system import GlobalState
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import Fatal
from kraftcheck.systems.kraft import checks
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.history import History, record
from kraftcheck.systems.kraft.host import Host, identity_on
from kraftcheck.systems.kraft.labels import Label
from kraftcheck.systems.kraft.network import InFlight
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.step import Action
from kraftcheck.systems.kraft.system import KRaftSystem
from tests.systems.kraft.small import changed

#: With votes, elections and commits in starts, unflushed tails, snapshots, and requests in any order.
NAMES = ("three-voters-crash", "single-voter", "grow-and-power-loss", "snapshot-beside-log")


@cache
def _with_crashes(name: str, crashes: int) -> KRaftSystem:
    scenario = changed(name)
    budgets = scenario.budgets.model_dump(by_alias=True, exclude_none=True)
    return build(changed(name, budgets={**budgets, "crashes": crashes}))


def _walked(system: KRaftSystem, picks: Sequence[int]) -> GlobalState:
    (state,) = initial_states(system)
    for pick in picks:
        found = [step.target for step in steps(system, state) if step.cut is None]
        state = found[pick % len(found)] if found else state
    return state


#: What a start leaves: the node, the messages, the labels, the violations and the number of crashes.
Left = tuple[Node, tuple[InFlight, ...], tuple[Label, ...], tuple[str, ...], int]


def _each_after_each(host: Host, disk: Disk, sends: Any, labels: Any, crashes: int) -> Iterator[Left]:
    """The starts on ``disk`` by their definition: a crash in a start, and one in the start after it."""
    process = identity_on(host.identity, disk)
    course = host._course(process, disk)
    violated, _ = host._verdict(process, disk, course)
    sent = (*host._unanswerable(sends), *course.left.sends)
    yield course.after, sent, (*labels, *course.left.labels), violated, 0
    may_crash = crashes and host._crash_cost() is not None
    if may_crash and not isinstance(course.execution.ended, Fatal):
        for crash in course.crash_points:
            torn = checks.cut_short(disk, crash.execution.effects, crash.left.disk)
            left = (*host._unanswerable(sends), *crash.left.sends), (*labels, *crash.left.labels)
            for loses in host._losses(crash.left.disk):
                found = host._found(crash.left.disk, loses)
                for node, sent, known, broken, more in _each_after_each(host, found, *left, crashes - 1):
                    yield node, sent, known, (*torn, *broken), more + 1


def _judged(system: KRaftSystem, history: History, starts: Iterable[Left]) -> set[Any]:
    """What the engine makes of starts within the bounds: surplus messages are as good as one too many, and
    labels are recorded.
    """
    found = set()
    for node, sends, labels, violations, crashes in starts:
        after, broken = history, {*violations}
        for label in labels:
            recorded = record(after, label)
            after, broken = recorded.history, broken | {*recorded.violations}
        copies = Counter({each: min(n, system.network.capacity + 1) for each, n in Counter(sends).items()})
        if system.within(0, node):
            found.add((node, frozenset(copies.items()), after, frozenset(broken), crashes))
    return found


def _starts(host: Host, disk: Disk) -> list[Left]:
    found = host._found(disk)
    made = host._booted(identity_on(host.identity, found), found, Action("start", host.identity.id))
    outcomes = [start.outcome for start in made]
    return [
        (
            cast(Node, each.local),
            cast(Any, each.sends),
            cast(Any, each.labels),
            each.violations,
            len(each.costs),
        )
        for each in outcomes
    ]


@pytest.mark.slow
@given(st.sampled_from(NAMES), st.lists(st.integers(0, 99), max_size=8), st.integers(1, 3))
def test_starts_leave_what_each_crash_after_each_crash_leaves(
    name: str, picks: list[int], crashes: int
) -> None:
    system = _with_crashes(name, crashes)
    state = _walked(system, picks)
    history = cast(History, state.history)
    for host, local in zip(system.hosts, cast(tuple[Node, ...], state.locals), strict=True):
        expected = _each_after_each(host, host._found(local.disk), (), (), crashes)
        assert _judged(system, history, _starts(host, local.disk)) == _judged(system, history, expected)


@pytest.mark.parametrize(
    ("name", "picks"),
    [
        ("three-voters-crash", (0, 0, 2)),
        pytest.param("single-voter", (), marks=pytest.mark.slow),
        pytest.param("grow-and-power-loss", (), marks=pytest.mark.slow),
    ],
)
def test_one_crash_more_leaves_no_more_than_the_one_before(name: str, picks: tuple[int, ...]) -> None:
    """With more crashes than messages fit into the network, only the number of crashes is another."""
    system = _with_crashes(name, 20)
    state = _walked(system, picks)
    after = Counter[int]()
    for host, local in zip(system.hosts, cast(tuple[Node, ...], state.locals), strict=True):
        after += Counter(crashes for *_, crashes in _starts(host, local.disk))
    assert {*after} == {*range(21)}
    assert len({after[crashes] for crashes in range(15, 21)}) == 1
    assert max(after.values()) <= 121
