"""Candidates among steps, sequences, functions and messages of replicas."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, cast

from kraftcheck.checking.coverage.not_exercised import reason_of_silence
from kraftcheck.engine.explorer import explore
from kraftcheck.engine.system import Limits
from kraftcheck.reference.protocol import PRESETS, Protocol
from kraftcheck.reference.replica import Replica
from kraftcheck.support.codec import Json
from kraftcheck.systems.citations import in_steps
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.initial_prefix import BrokenInitialPrefix
from kraftcheck.systems.kraft.scenario import of_replicas
from kraftcheck.systems.kraft.symmetry import symmetric
from kraftcheck.systems.kraft.system import KRaftSystem
from kraftcheck.systems.scenario import Scenario
from kraftcheck.vectors import form, functions, message_cases, messages, sequences, situations
from kraftcheck.vectors import vector as vectors
from kraftcheck.vectors.asked import Asked, Asking
from kraftcheck.vectors.candidate import Candidate, Candidates, tie
from kraftcheck.vectors.outcomes import SEPARATOR, features

#: Kinds of tasks that are no scenarios.
TABLES, MALFORMED = "tables", "malformed"
FUNCTIONS, SCRIPTS, MESSAGES = "functions", "scripts", "messages"


class Replicas:
    """See :class:`kraftcheck.vectors.candidate.Candidates`."""

    names = (form.REPLICA,)
    difference = staticmethod(vectors.difference)
    why_silent = staticmethod(reason_of_silence)

    def beyond(self) -> Iterator[tuple[str, str]]:
        yield from ((TABLES, name) for name in situations.protocols())
        yield from ((MALFORMED, name) for name in PRESETS)
        yield from ((kind, "") for kind in (FUNCTIONS, SCRIPTS, MESSAGES))

    def of_scenario(self, scenario: Scenario, max_states: int) -> Iterator[Candidate]:
        return _of_scenario(scenario, max_states)

    def of_task(self, kind: str, name: str) -> Iterator[Candidate]:
        if kind == FUNCTIONS:
            yield from map(_function, functions.cases())
        elif kind == MESSAGES:
            yield from (_message(*case) for case in message_cases.cases())
        elif kind == SCRIPTS:
            yield from (_sequence(*found) for found in sequences.found_in(sequences.scripted()))
        else:
            protocol = situations.protocols()[name]
            generated = situations.of_tables if kind == TABLES else situations.malformed
            yield from map(_step, generated(protocol))

    def in_steps(self) -> Mapping[str, tuple[str, ...]]:
        return in_steps()


def _of_scenario(chosen: Scenario, max_states: int) -> Iterator[Candidate]:
    scenario = of_replicas(chosen, "a set of vectors of replicas")
    found = Asking()
    try:
        system = build(scenario, listener=found)
    except BrokenInitialPrefix as broken:
        system, violations = cast(KRaftSystem, broken.system), broken.violations
    else:
        if scenario.reduction.symmetry:
            symmetric(system, scenario)
        violations = explore(system, threads=1, limits=Limits(max_states=max_states)).violations
    yield from map(_step, found)
    driven = [*sequences.covering(scenario)]
    if scenario.replicas.initial_leader is None:
        driven += sequences.counterexamples(system, scenario, violations)
    yield from (_sequence(*each) for each in sequences.found_in(driven))


def _step(asked: Asked) -> Candidate:
    event = asked.disk if asked.event is None else asked.event
    return _candidate(
        form.STEP,
        asked.protocol,
        features(asked.replica, asked.outcome),
        f"{asked.replica!r} {event!r}",
        lambda: vectors.of_step(asked),
    )


def _sequence(protocol: Protocol, found: tuple[Replica, tuple[Asked | None, ...]]) -> Candidate:
    identity, steps = found
    taken = [each for each in steps if each is not None]
    pairs = {pair for each in taken for pair in features(each.replica, each.outcome)}
    happened = [None if each is None else each.disk if each.event is None else each.event for each in steps]
    return _candidate(
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
    return Candidate(
        form.FUNCTION, 0, pairs, len(text), tie(text), lambda: vectors.of_function(name, arguments)
    )


def _message(api: str, direction: str, version: int, body: Json) -> Candidate:
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
    return Candidate(
        form.MESSAGE,
        0,
        tuple(sorted(pairs)),
        len(text),
        tie(text),
        lambda: vectors.of_message(api, direction, version, body),
    )


def _shown(api: str, direction: str, version: int, body: Json) -> Iterator[str]:
    """What it shows that a decoder reads a message."""
    assert isinstance(body, dict)
    if messages.known(api, direction, version, body) != body:
        yield "with fields of a later version"
        return
    yield f"version {version}"
    if any(each.tagged and each.key in body for each in messages.places(api, direction, version)):
        yield "with tagged fields"


def _candidate(
    kind: str, protocol: Protocol, pairs: tuple[str, ...], text: str, make: Callable[[], form.Vector]
) -> Candidate:
    tier = 0 if vectors.is_production(protocol) else 1
    return Candidate(kind, tier, pairs, len(text), tie(f"{_text(protocol)} {text}"), make)


@cache
def _text(protocol: Protocol) -> str:
    return repr(protocol)


#: The vectors of replicas.
REPLICAS: Candidates = Replicas()
