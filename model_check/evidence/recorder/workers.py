"""What records a campaign: this process, several processes of this machine, or the tasks of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, as_completed
from functools import cache
from multiprocessing.util import Finalize
from typing import NamedTuple
from typing import Protocol as Interface

from kraftcheck.evidence.adapters.started import Adapters
from kraftcheck.evidence.kafka.option import Implementation
from kraftcheck.evidence.recorder.adapter_host import require_whole
from kraftcheck.evidence.recorder.campaign import Made, Plan, make
from kraftcheck.evidence.recorder.running import Compared, Recorder, compared
from kraftcheck.evidence.recorder.schedule import Schedule
from kraftcheck.evidence.recorder.shrinking import shrink
from kraftcheck.reference.protocol import Protocol
from kraftcheck.support.parallel import processes

#: Take a recording and its name, and a result and the minimal schedule for it.
Keep = Callable[[str, Made], None]
KeepMinimal = Callable[[Compared, Schedule], None]


class Order(NamedTuple):
    """The content of a campaign for its workers. seconds: the time for a minimal schedule."""

    plan: Plan
    protocol: Protocol
    seconds: int

    def record(self, recorder: Recorder, name: str) -> Made:
        """The recording ``name``, compared where the plan says so. Raises AdapterError."""
        return make(recorder, name, self.plan.schedule(name), self.protocol if self.plan.compares else None)

    def minimal(self, recorder: Recorder, found: Compared) -> Schedule:
        """A smaller schedule with a difference of the kind of ``found``. Raises AdapterError."""

        def again(tried: Schedule) -> Compared:
            return compared("tried", recorder.record(tried), self.protocol)

        return shrink(self.plan.schedule(found.run), found, again, seconds=self.seconds)[0]


class Workers(Interface):
    """Where recordings are made."""

    def record(self, names: Sequence[str], keep: Keep) -> None:
        """Make these recordings of the plan; ``keep`` gets each as it comes. Raises InputError."""

    def shrink(self, found: Sequence[Compared], keep: KeepMinimal) -> None:
        """Find minimal schedules; ``keep`` gets each as it comes. Raises InputError."""


@cache
def recorder_of(implementation: Implementation) -> Recorder:
    """The recorder of this process, which is one of several; its adapters end with it. Raises InputError."""
    adapters = Adapters(implementation.command(), implementation.timeout, require_whole)
    Finalize(None, adapters.end, exitpriority=1)
    return Recorder(adapters)


class Local:
    """Workers of this machine: ``recorder`` in this process; where ``jobs`` is more than one, so many
    processes with adapters of their own.
    """

    def __init__(self, order: Order, recorder: Recorder, implementation: Implementation, jobs: int) -> None:
        self._order, self._recorder = order, recorder
        self._implementation, self._jobs = implementation, jobs

    def record(self, names: Sequence[str], keep: Keep) -> None:
        """As :class:`Workers` says."""
        if len(names) > 1 and self._jobs > 1:
            self._side_by_side(names, keep)
        else:
            for name in names:
                keep(name, self._order.record(self._recorder, name))

    def _side_by_side(self, names: Sequence[str], keep: Keep) -> None:
        with processes(min(self._jobs, len(names))) as pool:
            waiting: Sequence[Future[tuple[str, Made]]] = [
                pool.submit(_record, self._implementation, self._order, name) for name in names
            ]
            for future in as_completed(waiting):
                keep(*future.result())

    def shrink(self, found: Sequence[Compared], keep: KeepMinimal) -> None:
        """As :class:`Workers` says."""
        for each in found:
            keep(each, self._order.minimal(self._recorder, each))


def _record(implementation: Implementation, order: Order, name: str) -> tuple[str, Made]:
    return name, order.record(recorder_of(implementation), name)
