"""Replicas of a quorum as a kind of system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast, get_args

from kraftcheck.engine.steps import replay
from kraftcheck.engine.system import GlobalState, Outcome, PathStep
from kraftcheck.reference.effects import Effect, Reply, Send
from kraftcheck.systems.guards import guards_of_replicas
from kraftcheck.systems.kind import Kind, Liveness, Part, Place, Run, Words
from kraftcheck.systems.kraft import coverage, initial_prefix, remarks, words
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.environment import ADMIN_NAMES
from kraftcheck.systems.kraft.files import FILES
from kraftcheck.systems.kraft.hindrances import hindrances
from kraftcheck.systems.kraft.history import History
from kraftcheck.systems.kraft.host import Host
from kraftcheck.systems.kraft.network import NOBODY_WAITS, InFlight
from kraftcheck.systems.kraft.node import Execution, Node
from kraftcheck.systems.kraft.relative import relative_epochs
from kraftcheck.systems.kraft.scenario import LARGEST_EPOCH, KRaftScenario
from kraftcheck.systems.kraft.step import Step
from kraftcheck.systems.kraft.switches import SWITCHES
from kraftcheck.systems.kraft.symmetry import symmetric
from kraftcheck.systems.kraft.system import KRaftSystem
from kraftcheck.systems.kraft.text.effects import describe_effect
from kraftcheck.systems.scenario import from_data

if TYPE_CHECKING:
    from kraftcheck.engine.representatives import Represent


class KRaftLiveness(Liveness):
    """See :class:`kraftcheck.systems.kind.Liveness`."""

    def representative(self, system: KRaftSystem, scenario: KRaftScenario) -> Represent | None:
        if scenario.reduction.epochs == "absolute":
            return None
        from kraftcheck.systems.kraft import liveness  # It loads the engine.

        return liveness.Watched(relative_epochs(system), system)

    def closes(
        self, system: KRaftSystem, scenario: KRaftScenario, begin: GlobalState, end: GlobalState
    ) -> bool:
        if begin == end or scenario.reduction.epochs == "absolute":
            return begin == end
        represent = relative_epochs(system)
        return represent(begin) == represent(end)

    def with_room(
        self, system: KRaftSystem, scenario: KRaftScenario, path: Sequence[PathStep], initial: int
    ) -> tuple[KRaftSystem, KRaftScenario]:
        """With the bound on epochs that ``path`` needs."""
        states = [state for _, _, state in replay(system.bounded(), path, initial)]
        largest = _largest_epoch(states, 0)
        if largest <= scenario.bounds.max_epoch:
            return system, scenario
        roomy = _with_room(scenario, largest)
        return build(roomy), roomy

    def rooms(self, scenario: KRaftScenario, steps: int) -> Iterator[KRaftScenario]:
        yield scenario
        if scenario.reduction.epochs != "absolute":
            own = scenario.bounds.max_epoch
            for largest in range(own + 1, min(own + steps, LARGEST_EPOCH) + 1):
                yield _with_room(scenario, largest)


class Replicas(Kind):
    """See :class:`kraftcheck.systems.kind.Kind`."""

    name = "replicas"
    scenario = KRaftScenario
    values = (KRaftScenario, KRaftSystem, Node, InFlight, History, *get_args(Effect))
    # Messages that get lost are faults without a budget.
    faults = frozenset({"crashes", "timeouts", "duplicates", "wipes", "restores", "moves"})
    waits = frozenset({"timer", "back-off over", "fetch wait over", "request timed out", "clock"})
    projection = ("role", "epoch")
    asking = (Host.execute, Host.boot)
    fields = (
        "role", "process", "epoch", "leader", "voted", "log", "end-offset", "high-watermark", "flushed",
        "log-start", "snapshots", "voters", "electorate", "granted", "rejected", "has-fetched",
        "leader-has-updated", "loads",
        "epoch-start", "granting-voters", "progress", "pending", "contacts", "resign-requested", "observers",
        "voter-change", "reported-entries", "alterations", "unacknowledged", "preferred-successors",
        "awaiting", "backing-off", "parked", "shutting-down", "clock", "timers",
    )  # fmt: skip
    words = Words(
        legend=words.LEGEND,
        growing=frozenset({"leaders", "votes"}),
        following=words.FOLLOWING,
        telling=("role", "process", "epoch", "high watermark", "voters"),
        fields=words.node_fields,
        history_fields=words.history_fields,
        label=words.label,
        start_lines=words.start_lines,
        short_events=words.short_events,
        describe_effect=describe_effect,
        summary=remarks.summary,
        remarks=remarks.remarks,
        notation=words.NOTATION,
        requested=frozenset((*ADMIN_NAMES.values(), "describe quorum")),
        minor=words.MINOR,
    )
    files = FILES
    liveness = KRaftLiveness(Part("systems.kraft.liveness"))
    variants = SWITCHES
    vectors = Part("vectors.candidates:REPLICAS")
    tlc = Part("tlc.replicas:REPLICAS")

    build = staticmethod(build)
    guards = staticmethod(guards_of_replicas)
    covered = staticmethod(coverage.covered)
    hindrances = staticmethod(hindrances)

    def up_to_renaming(
        self, system: KRaftSystem, scenario: KRaftScenario
    ) -> tuple[KRaftSystem, tuple[int, ...]]:
        return symmetric(system, scenario) if scenario.reduction.symmetry else (system, ())

    def runs(self, step: Step, local: Node) -> tuple[Run, ...]:
        found = []
        if step.execution is not None:
            found.append(_run(local.replica is None, step.execution, step.completed, local))
        found += [_run(True, cut.execution, cut.completed, local) for cut in step.cut]
        if step.restarted is not None:
            found.append(_run(True, step.restarted, len(step.restarted.effects), local))
        return tuple(found)

    def undelivered(self, system: KRaftSystem, place: Place, runs: Sequence[Run]) -> tuple[InFlight, ...]:
        replica = cast(int, place)
        effects = [effect for run in runs for effect in run.effects[: run.completed]]
        found = (_addressed(replica, effect) for effect in effects)
        cut = system.wiring.cut
        return tuple(message for message in found if message and (replica, message.destination) in cut)

    def explain(
        self,
        system: KRaftSystem,
        violated: str,
        before: GlobalState,
        after: GlobalState,
        outcome: Outcome | None,
        run: Run | None,
    ) -> tuple[str, ...]:
        from kraftcheck.systems.kraft.explain import explain  # It asks for the kinds.

        return explain(system, violated, before, after, outcome, run)

    def to_cover(self, systems: Sequence[KRaftSystem]) -> Mapping[str, Sequence[str]]:
        return coverage.to_cover(frozenset(each for system in systems for each in system.protocols))

    def bounds(self, scenario: KRaftScenario) -> list[tuple[str, str]]:
        timers = scenario.environment.timers and not scenario.environment.timers_at
        return [("bounds", "max_epoch"), *([("environment", "timers")] if timers else [])]

    def used(self, scenario: KRaftScenario, states: Sequence[GlobalState]) -> KRaftScenario:
        bounds = scenario.bounds.model_copy(update={"max_epoch": _largest_epoch(states, 1)})
        return scenario.model_copy(update={"bounds": bounds})

    def initial_prefix(self, scenario: KRaftScenario) -> KRaftScenario | None:
        return None if scenario.replicas.initial_leader is None else initial_prefix.scenario_of(scenario)


def _run(start: bool, execution: Execution, completed: int, node: Node) -> Run:
    short = words.short_events(execution.events, node)
    return Run(start, execution.events, short, execution.rules, execution.effects, completed)


def _addressed(replica: int, effect: Effect) -> InFlight | None:
    if isinstance(effect, Send):
        return InFlight(replica, effect.to, effect.request)
    if isinstance(effect, Reply) and effect.correlation != NOBODY_WAITS:
        return InFlight(replica, effect.to, effect.response)
    return None


def _with_room(scenario: KRaftScenario, largest: int) -> KRaftScenario:
    """``scenario`` with this bound on epochs."""
    data = scenario.model_dump(by_alias=True)
    return cast(KRaftScenario, from_data({**data, "bounds": {"max-epoch": largest}}, scenario.file))


def _largest_epoch(states: Sequence[GlobalState], least: int) -> int:
    replicas = [cast(Node, local).replica for state in states for local in state.locals]
    return max((replica.epoch for replica in replicas if replica is not None), default=least)


#: Replicas of a quorum.
REPLICAS: Kind = Replicas()
