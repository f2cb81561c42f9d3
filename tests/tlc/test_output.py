"""Reports of TLC, from recorded and from damaged texts."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kraftcheck.tlc.output import Listener, Said

#: A machine that others use as well is no failure.
RELAXED = settings(suppress_health_check=[HealthCheck.too_slow])


def message(code: int, text: str, severity: int = 0) -> str:
    """A message as TLC prints it with ``-tool``."""
    return f"@!@!@STARTMSG {code}:{severity} @!@!@\n{text}\n@!@!@ENDMSG {code} @!@!@\n"


def said(*messages: str) -> Said:
    listener = Listener()
    for line in "".join(messages).splitlines(keepends=True):
        listener.line(line)
    return listener.said


SEARCHED = (
    message(2262, "TLC2 Version 2.15 of Day Month 20?? (rev: d5b5a7f)"),
    message(2190, "Finished computing initial states: 1 distinct state generated at 2026-01-01 21:05:41."),
    message(
        2200,
        "Progress(12) at 2026-01-01 21:05:44: 1,070 states generated (1,070 s/min), "
        "447 distinct states found (447 ds/min), 52 states left on queue.",
    ),
)
COMPLETE = (
    message(2193, "Model checking completed. No error has been found."),
    message(2199, "1289 states generated, 495 distinct states found, 0 states left on queue."),
    message(2194, "The depth of the complete state graph search is 15."),
    message(2186, "Finished in 6120ms at (2026-01-01 21:05:44)"),
)


def test_a_search_under_way() -> None:
    found = said(*SEARCHED)
    assert (found.generated, found.distinct, found.left, found.level) == (1070, 447, 52, 12)
    assert found.progress == "level 12, 447 distinct states of 1,070 generated, 52 left"
    assert not found.success and found.seconds is None


def test_a_complete_search() -> None:
    found = said(*SEARCHED, *COMPLETE)
    assert (found.generated, found.distinct, found.left, found.depth) == (1289, 495, 0, 15)
    assert found.success and found.violated is None and found.seconds == 6.12


def test_a_violation_and_the_states_that_lead_to_it() -> None:
    found = said(
        *SEARCHED,
        message(2110, "Invariant SingleLeaderPerEpoch is violated.", 1),
        message(2121, "The behavior up to this point is:", 1),
        message(2217, "1: <Initial predicate>\n/\\ a = 1\n", 4),
        message(2217, "2: <Next line 3, col 1 to line 4, col 2 of module Toy>\n/\\ a = 2\n", 4),
    )
    assert (found.violated, found.behaviour, found.errors) == ("SingleLeaderPerEpoch", 2, [])


def test_a_violation_in_the_initial_state() -> None:
    found = said(message(2107, "Invariant Small is violated by the initial state:\n/\\ a = 1", 1))
    assert (found.violated, found.behaviour) == ("Small", 1)


def test_an_error_is_kept() -> None:
    found = said(message(1000, "TLC threw an unexpected exception.\nThis was probably caused by ...", 1))
    assert found.errors and not found.success


_LINES = [*"".join((*SEARCHED, *COMPLETE)).splitlines(keepends=True), "x\n", "\n"]


@RELAXED
@given(st.lists(st.sampled_from(_LINES), max_size=20))
def test_lines_in_any_order_raise_nothing(lines: list[str]) -> None:
    listener = Listener()
    for line in lines:
        listener.line(line)


@RELAXED
@given(st.integers(0, 4000), st.integers(0, 9), st.text(max_size=60))
def test_any_message_raises_nothing(code: int, severity: int, text: str) -> None:
    said(message(code, text, severity))
