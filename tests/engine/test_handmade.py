"""Small systems with known answers: counts, verdicts, paths, limits, simulation."""

from __future__ import annotations

import pytest

from kraftcheck.engine.explorer import explore
from kraftcheck.engine.reference_explorer import explore_naively
from kraftcheck.engine.steps import ReplayError, replay
from kraftcheck.engine.system import GlobalState, Interrupted, Limits, Outcome, PathStep, System, Verdict
from kraftcheck.engine.tables import Tables
from kraftcheck.engine.watch import Progress
from tests.engine.handmade import BadMutex, Counter, LossyPing, Plain, Ring, TurnsBack
from tests.engine.replayed import confirms, naive_graph
from tests.engine.synthetic import Synthetic


def test_counter() -> None:
    result = explore(Counter(5))
    assert result.verdict is Verdict.HOLDS
    assert (result.distinct, result.generated, result.depth) == (6, 5, 5)
    assert result.levels == (1,) * 6
    assert result.constrained == {"capacity": 0, "within": 1}
    assert result.reached_goals == ("three",)
    assert result.calls == 6


def test_a_goal_never_reached_is_a_violation() -> None:
    result = explore(Counter(2))
    assert result.verdict is Verdict.VIOLATED
    assert result.missing_goals == ("three",)
    assert not result.violations


def test_ring() -> None:
    # Two rounds that change something, and the third returns to where it began.
    result = explore(Ring(4))
    assert (result.distinct, result.generated, result.deadlocks) == (12, 12, 0)
    states, edges = naive_graph(Ring(4))
    assert (len(states), len(edges)) == (12, 12)
    assert {action for *_, action in edges} == {"pass"}


def test_lossy_ping() -> None:
    # On paper: 24 states before an answer (1, 3, 5, 6 and 9 by budgets left) and 13 after one (1, 3, 3, 6).
    result = explore(LossyPing(), partial_order=False)
    expected, _ = explore_naively(LossyPing())
    assert result.verdict is expected.verdict is Verdict.HOLDS
    assert (result.distinct, result.generated) == (expected.distinct, expected.generated) == (37, 91)
    assert result.deadlocks == expected.deadlocks


@pytest.mark.parametrize("late", [0, 1])
def test_the_order_matters_where_a_clock_is_turned_back(late: int) -> None:
    # None, either, both in two orders.
    result = explore(TurnsBack(late))
    assert (result.distinct, result.skipped) == (5, 0)
    assert explore_naively(TurnsBack(late))[0].distinct == 5


@pytest.mark.parametrize("threads", [1, 2])
def test_bad_mutex(threads: int) -> None:
    system = BadMutex()
    result = explore(system, threads=threads)
    (violation,) = result.violations
    assert (result.verdict, violation.property, violation.depth) == (Verdict.VIOLATED, "not-both", 6)
    trace = replay(system, violation.path)
    assert trace[-1][2].locals == ("critical", "critical")
    assert [str(outcome.action) for _, outcome, _ in trace if outcome][-1] == "enter"
    assert confirms(system, violation)


def test_replay_refuses_what_the_system_does_not_offer() -> None:
    with pytest.raises(ReplayError, match="step 0"):
        replay(BadMutex(), [PathStep("act", 0, None, 1)])


@pytest.mark.parametrize(
    "limits",
    [
        Limits(max_states=1000),
        Limits(max_depth=3),
        Limits(max_seconds=0.0),
        Limits(max_memory=1),
    ],
)
def test_limits(limits: Limits) -> None:
    result = explore(Synthetic(epochs=1, capacity=3), limits=limits)
    assert result.verdict is Verdict.UNDETERMINED
    assert result.limit in ("max_states", "max_depth", "max_seconds", "max_memory")
    assert getattr(limits, result.limit) is not None


def test_an_interrupt_ends_cleanly() -> None:
    def interrupt(_: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kraftcheck.engine.explorer.PROGRESS_SECONDS", 0.0)
        with pytest.raises(Interrupted) as raised:
            explore(Ring(4), progress=interrupt)
    result = raised.value.found
    assert (result.verdict, result.limit) == (Verdict.UNDETERMINED, "interrupted")


@pytest.mark.slow
def test_synthetic_does_not_depend_on_threads() -> None:
    one, two = (explore(Synthetic(epochs=1, capacity=3), threads=threads) for threads in (1, 2))
    assert one.levels == two.levels
    assert (one.generated, one.constrained, one.calls) == (two.generated, two.constrained, two.calls)
    assert one.verdict is Verdict.HOLDS
    # At most 24 bytes a state, once there are enough states to fill the smallest set.
    assert two.visited_bytes / two.distinct < 24


def _fingerprint(tables: Tables, state: GlobalState) -> int:
    row = tables.encode(state)
    return int(tables.fingerprints(row[None, :])[0, 0])


def test_fingerprints_do_not_depend_on_the_order_of_interning() -> None:
    class Two(Plain):
        components = 2
        network = Plain.network.__class__(3)

    messages = ((0, "a"), (1, "b"), (1, "b"))
    states = [GlobalState((i, 1 - i), messages[: i + 2], i, ()) for i in (0, 1)]
    there, back = Tables(Two()), Tables(Two())
    forward = [_fingerprint(there, state) for state in states]
    backward = [_fingerprint(back, state) for state in reversed(states)]
    assert forward == backward[::-1]
    assert len(set(forward)) == 2
    # Twice the same message is neither once nor never.
    counts = [_fingerprint(there, GlobalState((0, 0), ((1, "b"),) * count, 0, ())) for count in range(4)]
    assert len(set(counts)) == 4


def test_contradictions_are_refused() -> None:
    class Late(Counter):
        def initial_states(self) -> list[GlobalState]:
            return [GlobalState((9,), (), 0, ())]

    class Unknown(Counter):
        def actions(self, component: int, local: object) -> list[Outcome]:
            return [Outcome("break", local, violations=("nobody knows",))]

    systems: list[tuple[System, str]] = [(Late(), "outside"), (Unknown(), "not among")]
    for system, message in systems:
        with pytest.raises(ValueError, match=message):
            explore(system)
        with pytest.raises(ValueError, match=message):
            explore_naively(system)


class _SaysLittle:
    """A value whose text leaves out what tells it from others."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SaysLittle) and other.number == self.number

    def __hash__(self) -> int:
        return hash(self.number)

    def __repr__(self) -> str:
        return "a value"


def test_values_with_one_text_are_not_taken_for_one() -> None:
    tables = Tables(Plain())
    first = tables.intern_local(0, _SaysLittle(1))
    assert tables.intern_local(0, _SaysLittle(1)) == first
    with pytest.raises(ValueError, match="have the same text: a value"):
        tables.intern_local(0, _SaysLittle(2))
