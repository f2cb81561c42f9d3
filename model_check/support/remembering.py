"""Functions whose answers are kept, in a way that a recording of the executed code can follow.

A recording notes the code that runs; an answer that was kept before runs none. So while something is noted,
each answer is kept with what its call noted, which is noted again whenever the answer is given again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial, wraps
from typing import Any, Generic, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Notes(Protocol):
    """What notes the code that runs."""

    def begin(self) -> Any:
        """A call begins; what was noted before it is put aside."""
        ...

    def end(self, before: Any) -> int:
        """The call has ended: what it noted, by number, in addition to what was put aside."""
        ...

    def again(self, number: int) -> None:
        """Note once more what an earlier call noted."""
        ...


class _Noting:
    notes: Notes | None = None


def note_to(notes: Notes | None) -> Notes | None:
    """From now on ``notes`` notes the code that runs (``None``: nothing does); what noted it before."""
    before, _Noting.notes = _Noting.notes, notes
    return before


class Remembered(Generic[R]):
    """Answers by what they follow from; at most ``most``, then they begin anew."""

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._known: dict[Hashable, tuple[R, int]] = {}
        self._noted_by: Notes | None = None

    def of(self, key: Hashable, make: Callable[[], R]) -> R:
        """The answer to ``key``, which ``make`` gives where none is kept."""
        notes = _Noting.notes
        if notes is not self._noted_by:
            self._known.clear()
            self._noted_by = notes
        known = self._known.get(key)
        if known is not None:
            if notes is not None:
                notes.again(known[1])
            return known[0]
        if notes is None:
            answer, number = make(), 0
        else:
            before = notes.begin()
            try:
                answer = make()
            finally:
                number = notes.end(before)
        if self._most is not None and len(self._known) >= self._most:
            self._known.clear()
        self._known[key] = answer, number
        return answer


def remembered(most: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorates a function whose answers follow from its positional arguments; ``most`` of them are kept."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        answers = Remembered[R](most)

        @wraps(function)
        def answer(*arguments: P.args, **none: P.kwargs) -> R:
            return answers.of(arguments, partial(function, *arguments, **none))

        return answer

    return decorate
