"""A behaviour taken by a quorum of real replicas: confirmed, or the first step that is not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kraftcheck.evidence.adapters.asked import Question
from kraftcheck.evidence.adapters.compare import Difference
from kraftcheck.evidence.adapters.wire import CONFIGURED
from kraftcheck.evidence.quorum.beginning import Sessions, begin
from kraftcheck.evidence.quorum.member import Differs, NotTaken
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.scenario import KRaftScenario, ProtocolChoice
from kraftcheck.systems.kraft.system import KRaftSystem
from kraftcheck.traces import Trace, TraceError
from kraftcheck.traces.build import walk_again
from kraftcheck.traces.walk import Taken

#: Says why states are compared but for one field.
UNAWARE = (
    "high watermarks are not compared with the behaviour: it begins with a leader that does not know yet "
    "what the fetches of its voters commit, and no leader is ever in that state"
)


@dataclass(frozen=True, slots=True)
class Stopped:
    """Why a behaviour was not taken to its end: in step ``step`` (0: on the way to its initial state).

    replica, question, differences: the event in which an adapter differs, and where; ``reason``: without
    these, why the step could not be taken.
    """

    step: int
    reason: str = ""
    replica: int | None = None
    question: Question | None = None
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True)
class Reproduction:
    """The result of a behaviour of ``steps`` steps. ``note``: what was not compared, and why; ``unshown``:
    the effects and fields that a verdict rests on, and that an adapter does not show.
    """

    steps: int
    stopped: Stopped | None = None
    note: str = ""
    unshown: tuple[str, ...] = ()

    @property
    def taken(self) -> int:
        """The number of steps that the real replicas took as they should."""
        return self.steps if self.stopped is None else max(0, self.stopped.step - 1)

    @property
    def verdict(self) -> str:
        """``confirmed``, ``differs`` or ``undetermined``."""
        if self.stopped is None:
            return "undetermined" if self.unshown else "confirmed"
        return "differs" if self.stopped.differences else "undetermined"


def reproduce(trace: Trace, sessions: Sessions, tell: Callable[[int], None] | None = None) -> Reproduction:
    """Let the adapters of ``sessions`` take ``trace``, which must be one of replicas.

    ``tell`` is called with the number of each step before it is taken. Raises InputError where the present
    reference does not take the trace, AdapterError where an adapter breaks the protocol.
    """
    system, scenario, taken = behaviour(trace)
    return play(system, scenario, taken, sessions, tell)


def play(
    system: KRaftSystem,
    scenario: KRaftScenario,
    taken: Sequence[Taken],
    sessions: Sessions,
    tell: Callable[[int], None] | None = None,
) -> Reproduction:
    """Let the adapters take the steps of a behaviour of ``scenario``, whose system is ``system``.

    Raises AdapterError where an adapter breaks the protocol.
    """
    number, note, stopped, unshown = 0, "", None, tuple[str, ...]()
    try:
        quorum = begin(system, scenario, sessions)
        note = UNAWARE if quorum.overlooked else ""
        for number, each in enumerate(taken, 1):
            if tell is not None:
                tell(number)
            quorum.step(system, each)
        unshown = quorum.unshown
        if unshown:
            note = f"the adapter does not show what the verdict rests on: {', '.join(unshown)}"
    except Differs as found:
        stopped = Stopped(number, "", found.replica, found.question, found.differences)
    except NotTaken as found:
        stopped = Stopped(number, str(found))
    return Reproduction(len(taken), stopped, note, unshown)


def behaviour(trace: Trace) -> tuple[KRaftSystem, KRaftScenario, Sequence[Taken]]:
    """The steps of ``trace``, with the scenario that they are taken in.

    A scenario may change switches of the protocol only to go past another finding. Where the same steps
    violate the property without these switches too, they are taken without: that is how a release behaves.
    Steps alone do not show that of an *eventually* property. Raises InputError.
    """
    scenario = trace.scenario
    assert isinstance(scenario, KRaftScenario)
    for chosen in (scenario if trace.is_of_behaviours else _as_released(scenario), scenario):
        try:
            system = build(chosen)
            walk = walk_again(system, trace)
        except (InputError, TraceError) as error:
            if chosen is scenario:
                raise InputError(
                    f"{scenario.name}: the present reference does not take this behaviour "
                    f"({str(error).rstrip('.')})."
                ) from None
            continue
        if chosen is scenario or trace.property is None or trace.property in walk.violated:
            return system, chosen, walk.taken
    raise AssertionError("the trace is one of its own scenario, or there is an error")


def _as_released(scenario: KRaftScenario) -> KRaftScenario:
    """``scenario`` without switches that are no configuration to an implementation."""
    choice = scenario.protocol
    configured = {name.replace("_", "-") for name in CONFIGURED}
    kept = {name: value for name, value in choice.set.items() if name in configured}
    if choice.at or kept == dict(choice.set):
        return scenario
    plain = ProtocolChoice.model_validate({"preset": choice.preset, "set": kept})
    return scenario.model_copy(update={"protocol": plain})
