"""Vectors that may be chosen, before their JSON is made, and where they come from for each kind of system."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, cast

from kraftcheck.checking.coverage.not_exercised import reason_of_silence
from kraftcheck.checking.coverage.outcomes import SEPARATOR, features
from kraftcheck.engine.explorer import explore
from kraftcheck.engine.system import Limits
from kraftcheck.reference.protocol import DOCUMENTS, KAFKA
from kraftcheck.reference.replica import Replica
from kraftcheck.support.codec import Json
from kraftcheck.systems import citations
from kraftcheck.systems.brokers.build import build as build_brokers
from kraftcheck.systems.brokers.scenario import BrokerScenario
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.initial_prefix import BrokenInitialPrefix
from kraftcheck.systems.kraft.scenario import of_replicas
from kraftcheck.systems.kraft.symmetry import symmetric
from kraftcheck.systems.kraft.system import KRaftSystem
from kraftcheck.systems.scenario import Scenario
from kraftcheck.vectors import (
    broker_situations,
    form,
    functions,
    message_cases,
    messages,
    sequences,
    situations,
)
from kraftcheck.vectors import vector as vectors
from kraftcheck.vectors.asked import Asked, Asking


@dataclass(frozen=True, slots=True)
class Candidate:
    """A vector that may be chosen.

    tier: of what is to be covered, those of a lower one come first. features: the pairs of a rule and an
    outcome that it covers, sorted. size: characters of the question; tie: decides between equal sizes.
    """

    kind: str
    tier: int
    features: tuple[str, ...]
    size: int
    tie: str
    make: Callable[[], form.Vector]

    @property
    def order(self) -> tuple[int, str]:
        return self.size, self.tie


#: A source of candidates that is no scenario.
Source = Callable[[], Iterator[Candidate]]


@dataclass(frozen=True, slots=True)
class Candidates:
    """The vectors of a kind of system (:attr:`kraftcheck.systems.kind.Kind.vectors`).

    ``of_scenario``: the candidates among the steps that exploring a scenario takes, up to so many states;
    ``beyond``: the sources of steps that no scenario takes, by kind and name; ``in_steps``: the rules that
    can decide a step, and where they do; ``why_silent``: why a rule never decides a step, if that is known.
    """

    of_scenario: Callable[[Scenario, int], Iterator[Candidate]]
    beyond: Callable[[], Mapping[tuple[str, str], Source]]
    in_steps: Callable[[], Mapping[str, tuple[str, ...]]]
    why_silent: Callable[[str], str | None] = lambda rule: None


# Where candidates come from.


def _of_brokers(scenario: Scenario, max_states: int) -> Iterator[Candidate]:
    found = Asking()
    assert isinstance(scenario, BrokerScenario)
    explore(build_brokers(scenario, listener=found), threads=1, limits=Limits(max_states=max_states))
    yield from map(of_step, found)


def _of_replicas(chosen: Scenario, max_states: int) -> Iterator[Candidate]:
    scenario = of_replicas(chosen, "a set of vectors of replicas")
    found = Asking()
    try:
        system = build(scenario, listener=found)
    except BrokenInitialPrefix as broken:
        system, violations = cast(KRaftSystem, broken.system), broken.violations
    else:
        if scenario.reduction.symmetry:
            system, _ = symmetric(system, scenario)
        violations = explore(system, threads=1, limits=Limits(max_states=max_states)).violations
    yield from map(of_step, found)
    driven = [*sequences.covering(scenario)]
    if scenario.replicas.initial_leader is None:
        driven += sequences.counterexamples(system, scenario, violations)
    yield from (_sequence(*each) for each in sequences.found_in(driven))


def _steps(ask: Callable[[Any], Iterator[Asked]], protocol: Any) -> Iterator[Candidate]:
    return map(of_step, ask(protocol))


def _beyond_brokers() -> Mapping[tuple[str, str], Source]:
    """All events of each variant, malformed input included."""
    protocols = broker_situations.protocols()
    return {
        ("situations", name): partial(_steps, broker_situations.asked, each)
        for name, each in protocols.items()
    }


def _beyond_replicas() -> Mapping[tuple[str, str], Source]:
    protocols = situations.protocols()
    of_tables = {
        ("tables", name): partial(_steps, situations.of_tables, each) for name, each in protocols.items()
    }
    malformed = {
        ("malformed", name): partial(_steps, situations.malformed, each)
        for name, each in {"kafka": KAFKA, **DOCUMENTS}.items()
    }
    return {
        **of_tables,
        **malformed,
        ("functions", ""): lambda: map(_function, functions.cases()),
        ("scripts", ""): lambda: (_sequence(*each) for each in sequences.found_in(sequences.scripted())),
        ("messages", ""): lambda: (message(*case) for case in message_cases.cases()),
    }


REPLICAS = Candidates(_of_replicas, _beyond_replicas, citations.in_steps, reason_of_silence)
BROKERS = Candidates(_of_brokers, _beyond_brokers, citations.in_broker_steps)


# Candidates of each kind.


def of_step(asked: Asked) -> Candidate:
    """The candidate of one step."""
    text = f"{asked.state!r} {asked.happened!r}"
    pairs = features(asked.state, asked.outcome)
    return _of_protocol(form.STEP, asked.protocol, pairs, text, lambda: vectors.of_step(asked))


def _sequence(protocol: Any, found: tuple[Replica, tuple[Asked | None, ...]]) -> Candidate:
    identity, steps = found
    taken = [each for each in steps if each is not None]
    pairs = {pair for each in taken for pair in features(each.state, each.outcome)}
    happened = [None if each is None else each.happened for each in steps]
    return _of_protocol(
        form.SEQUENCE,
        protocol,
        tuple(sorted(pairs)),
        f"{identity!r} {happened!r}",
        lambda: vectors.of_sequence(identity, steps, protocol),
    )


def _function(case: tuple[str, dict[str, Any]]) -> Candidate:
    name, arguments = case
    result, rules = functions.call(name, arguments, name)
    word = functions.outcome_of(name, arguments, result)
    pairs = tuple(sorted(f"{rule}{SEPARATOR}{word}" for rule in rules))
    text = f"{name} {arguments}"
    return _of_question(form.FUNCTION, form.Function(name, arguments), pairs, text)


def message(api: str, direction: str, version: int, body: Json) -> Candidate:
    """The candidate of a message as it arrives."""
    result, rules = messages.result_of(api, direction, version, body, api)
    name, text = f"{api} {direction}", f"{api} {direction} {version} {body!r}"
    refused = messages.refusal(api, direction, version, body)
    if refused is not None:
        word = f"refused, {refused.reason}"
        pairs = [f"{name}{SEPARATOR}{word}", f"{direction}{SEPARATOR}{word} {refused.kind}"]
    elif "answer" in result:
        about = "several partitions" if messages.has_partitions(body) else "no partition"
        pairs = [f"{rule}{SEPARATOR}{name} about {about}" for rule in rules]
    else:
        pairs = [f"{name}{SEPARATOR}{word}" for word in _shown(api, direction, version, body)]
    asked = form.Message(api, direction, version, body)
    return _of_question(form.MESSAGE, asked, tuple(sorted(pairs)), text)


def _of_question(kind: str, asked: form.Question, pairs: tuple[str, ...], text: str) -> Candidate:
    return Candidate(kind, 0, pairs, len(text), form.digest(text), lambda: vectors.of_question(kind, asked))


def _shown(api: str, direction: str, version: int, body: Json) -> Iterator[str]:
    """What it shows that a decoder reads a message."""
    assert isinstance(body, dict)
    if messages.known(api, direction, version, body) != body:
        yield "with fields of a later version"
        return
    yield f"version {version}"
    if any(each.tagged and each.key in body for each in messages.places(api, direction, version)):
        yield "with tagged fields"


def _of_protocol(
    kind: str, protocol: Any, pairs: tuple[str, ...], text: str, make: Callable[[], form.Vector]
) -> Candidate:
    hashed = form.digest(f"{_text(protocol)} {text}")
    return Candidate(kind, vectors.tier_of(protocol), pairs, len(text), hashed, make)


@cache
def _text(protocol: Any) -> str:
    return repr(protocol)
