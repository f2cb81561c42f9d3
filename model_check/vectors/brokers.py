"""Candidates among steps of brokers and their controller."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from kraftcheck.engine.explorer import explore
from kraftcheck.engine.system import Limits
from kraftcheck.reference.brokers.protocol import BrokerProtocol
from kraftcheck.systems.brokers.build import build
from kraftcheck.systems.brokers.scenario import BrokerScenario
from kraftcheck.systems.citations import in_broker_steps
from kraftcheck.systems.scenario import Scenario
from kraftcheck.vectors import broker_situations, broker_vector, form
from kraftcheck.vectors.broker_situations import AskedBroker
from kraftcheck.vectors.candidate import Candidate, Candidates, tie
from kraftcheck.vectors.outcomes import features

#: The kind of tasks that are no scenarios: all events, malformed input included, by variant.
SITUATIONS = "situations"


class Brokers:
    """See :class:`kraftcheck.vectors.candidate.Candidates`."""

    names = tuple(broker_vector.TYPES)
    difference = staticmethod(broker_vector.difference)

    def of_scenario(self, scenario: Scenario, max_states: int) -> Iterator[Candidate]:
        found: dict[tuple[Any, ...], AskedBroker] = {}

        def listen(*told: Any) -> None:
            found.setdefault(told[:3], AskedBroker(*told))

        assert isinstance(scenario, BrokerScenario)
        explore(build(scenario, listener=listen), threads=1, limits=Limits(max_states=max_states))
        yield from map(_step, found.values())

    def beyond(self) -> Iterator[tuple[str, str]]:
        yield from ((SITUATIONS, name) for name in broker_situations.protocols())

    def of_task(self, kind: str, name: str) -> Iterator[Candidate]:
        yield from map(_step, broker_situations.asked(broker_situations.protocols()[name]))

    def in_steps(self) -> Mapping[str, tuple[str, ...]]:
        return in_broker_steps()

    def why_silent(self, rule: str) -> str | None:
        return None


def _step(asked: AskedBroker) -> Candidate:
    text = f"{asked.state!r} {asked.event!r}"
    return Candidate(
        form.STEP,
        broker_vector.tier_of(asked.protocol),
        features(asked.state, asked.outcome),
        len(text),
        tie(f"{_text(asked.protocol)} {text}"),
        lambda: broker_vector.of_step(asked),
    )


@cache
def _text(protocol: BrokerProtocol) -> str:
    return repr(protocol)


#: The vectors of brokers and their controller.
BROKERS: Candidates = Brokers()
