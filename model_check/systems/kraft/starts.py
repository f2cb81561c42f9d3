"""Starts of a process one after another in one step, each but the last cut short by a crash.

Crashes repeat what the start before did: it votes as before, sends as before, finds a disk as before. What a
repetition adds is bounded here, so that the starts that differ do not multiply with each crash.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from msgspec import Struct

from kraftcheck.reference.disk import Disk
from kraftcheck.systems.kraft.labels import Elected, Label
from kraftcheck.systems.kraft.network import InFlight
from kraftcheck.systems.kraft.step import Action, CutStart


class Due(Struct, frozen=True):
    """A start to be made on ``disk``, as the ``action`` of a step that has spent ``costs`` so far.

    ``sends`` and ``labels`` are those of the step so far, ``cut`` the starts in it that crashes have cut
    short, ``violated`` the properties violated by what these crashes left on the disk.
    """

    disk: Disk
    action: Action
    costs: tuple[int, ...]
    sends: tuple[InFlight, ...]
    labels: tuple[Label, ...]
    cut: tuple[CutStart, ...] = ()
    violated: tuple[str, ...] = ()

    def key(self) -> Hashable:
        """Starts with equal keys leave the same, and so do the starts after crashes within them."""
        sends = frozenset(Counter(self.sends).items())
        return self.disk, self.costs, sends, self.labels, frozenset(self.violated)


def with_sends(before: tuple[InFlight, ...], more: Sequence[InFlight], capacity: int) -> tuple[InFlight, ...]:
    """The messages of a step together with ``more``.

    Of equal messages one more than the ``capacity`` of the network is kept: either they expire at once, or
    the step is outside the bounds, as it is with even more of them.
    """
    after = list(before)
    for message in more:
        if after.count(message) <= capacity:
            after.append(message)
    return tuple(after)


def with_labels(before: tuple[Label, ...], more: Sequence[Label]) -> tuple[Label, ...]:
    """The labels of a step together with ``more``, without those that the history has taken in before.

    What is committed, voted for or kept in a snapshot leaves the history as it is when it is reported again,
    and violates no more than before. Only a leader elected in between makes a difference (a vote after
    leading); a second election in one epoch is a violation, the third is no news.
    """
    after = list(before)
    for label in more:
        if isinstance(label, Elected):
            known = after.count(label) > 1
        else:
            elected = max((n for n, each in enumerate(after) if isinstance(each, Elected)), default=-1)
            known = label in after[elected + 1 :]
        if not known:
            after.append(label)
    return tuple(after)
