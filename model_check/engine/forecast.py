"""How many states a breadth-first search will find, by the sizes of its levels so far."""

from __future__ import annotations

from collections.abc import Sequence

#: Growth is taken over so many levels: in some systems kinds of steps alternate.
_WINDOW = 3
#: No search has so many levels, or so many states in one of them.
_MOST_LEVELS, _MOST_STATES = 1_000, 1e15


def later_states(levels: Sequence[int]) -> int | None:
    """A guess at the number of states in the levels that follow ``levels``, which are complete and not empty.

    The growth from level to level falls by about the same factor each time, so that the sizes are those of a
    bell curve. ``None``: there are too few levels, or growth hardly falls yet.
    """
    if len(levels) <= 2 * _WINDOW:
        return None
    first, middle, last = levels[-1 - 2 * _WINDOW], levels[-1 - _WINDOW], levels[-1]
    before, now = (middle / first) ** (1 / _WINDOW), (last / middle) ** (1 / _WINDOW)
    fall = min(1.0, (now / before) ** (1 / _WINDOW))
    # Half a window has passed since, and the next step is half a step from here.
    growth = now * fall ** ((_WINDOW + 1) / 2)
    if fall == 1 and growth >= 1:
        return None
    size, found = float(last), 0.0
    for _ in range(_MOST_LEVELS):
        size *= growth
        found += size
        growth *= fall
        if not 1 <= size <= _MOST_STATES:
            break
    return None if size > _MOST_STATES else round(found)
