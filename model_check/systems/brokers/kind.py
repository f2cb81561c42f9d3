"""Brokers and their controller as a kind of system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

from kraftcheck.reference.brokers.configuration import problems
from kraftcheck.reference.brokers.effects import BrokerEffect, ControllerEffect
from kraftcheck.reference.brokers.events import BrokerEvent, ControllerEvent
from kraftcheck.reference.config import Problem
from kraftcheck.systems.brokers import coverage, explain, words
from kraftcheck.systems.brokers.build import build
from kraftcheck.systems.brokers.hindrances import hindrances
from kraftcheck.systems.brokers.history import History
from kraftcheck.systems.brokers.network import InFlight
from kraftcheck.systems.brokers.places import Control, Machine, Time
from kraftcheck.systems.brokers.scenario import MOST_TICKS, BrokerScenario, Check
from kraftcheck.systems.brokers.step import Step
from kraftcheck.systems.brokers.switches import SWITCHES
from kraftcheck.systems.brokers.system import BrokerSystem
from kraftcheck.systems.brokers.wiring import Wiring
from kraftcheck.systems.guards import guards_of_brokers
from kraftcheck.systems.kind import Files, Kind, Liveness, Part, Run, Words
from kraftcheck.systems.reading import TEXT, of_type, row


class Brokers(Kind):
    """See :class:`kraftcheck.systems.kind.Kind`."""

    name = "brokers"
    scenario = BrokerScenario
    values = (
        BrokerScenario, BrokerSystem, Control, Machine, Time, InFlight, History,
        *get_args(ControllerEffect), *get_args(BrokerEffect),
    )  # fmt: skip
    faults = frozenset({"request_timeouts", "failovers", "crashes", "cuts", "duplicates"})
    waits = frozenset({"tick", "timeout", "heartbeat", "contact lost", "register", "request timed out"})
    fields = words.FIELDS
    projection = ("role", "fenced", "link", "brokers", "registrations", "partition")
    asking = (Wiring.ask,)
    words = Words(
        legend=words.LEGEND,
        growing=frozenset(),
        following=frozenset({"awaiting"}),
        telling=("role", "process", "epoch", "fenced", "link", "committed"),
        fields=words.fields,
        history_fields=words.history_fields,
        label=words.label,
        start_lines=words.start_lines,
        short_events=lambda events, local: tuple(map(words.short_event, events)),
        describe_effect=words.describe_effect,
        summary=lambda local: words.start_lines(local)[0],
        remarks=lambda before, after, message, runs: iter(()),
    )
    files = Files(
        events=of_type(tuple[ControllerEvent | BrokerEvent, ...]),
        effects=of_type(tuple[ControllerEffect | BrokerEffect, ...]),
        local=row(id=TEXT, local=of_type(Control | Machine | Time)),
        message=of_type(InFlight),
    )
    liveness = Liveness(Part("systems.brokers.liveness"))
    variants = SWITCHES
    vectors = Part("vectors.candidates:BROKERS")
    tlc = Part("tlc.brokers:BROKERS")

    build = staticmethod(build)
    explain = staticmethod(explain.explain)
    guards = staticmethod(guards_of_brokers)
    covered = staticmethod(coverage.covered)
    hindrances = staticmethod(hindrances)

    def runs(self, step: Step, local: Control | Machine | Time) -> tuple[Run, ...]:
        done = step.execution
        if done is None or not (done.events or step.starts):
            return ()
        short = self.words.short_events(done.events, local)
        return (Run(step.starts, done.events, short, done.rules, done.effects, len(done.effects)),)

    def to_cover(self, systems: Sequence[BrokerSystem]) -> Mapping[str, Sequence[str]]:
        return coverage.to_cover({system.wiring.protocol for system in systems})

    def misconfigured(self, system: BrokerSystem) -> tuple[Problem, ...]:
        return problems(system.wiring.protocol)

    def promises(self, scenario: BrokerScenario) -> Iterator[tuple[str, int, BrokerScenario]]:
        if scenario.check.serves_at_most is None:
            return
        for ticks in range(MOST_TICKS + 1):
            strict = Check.model_validate({"serves-at-most": ticks, "only": ("InactiveBrokerServesBriefly",)})
            yield "check.serves-at-most", ticks, scenario.model_copy(update={"check": strict})


#: Brokers and their controller.
BROKERS: Kind = Brokers()
