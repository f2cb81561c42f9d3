"""Where candidates come from, one task of the cluster each, and the rows that a task gives.

Of candidates that cover the same pairs only the smallest can be chosen (see :mod:`.cover`); a task keeps as
many of them as are wanted of each pair, or all.
"""

from __future__ import annotations

import hashlib
import heapq
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from model_check import scenario as scenarios
from model_check.codec import Json
from model_check.engine.explorer import explore
from model_check.engine.system import Limits
from model_check.kraft.build import build
from model_check.kraft.prelude import BrokenPrelude
from model_check.kraft.scenario import KRaftScenario, of_replicas
from model_check.kraft.symmetry import symmetric
from model_check.kraft.system import KRaftSystem
from model_check.pipeline.datasets import Column, Dataset
from model_check.pipeline.vectors import functions, message_cases, messages, sequences, situations
from model_check.pipeline.vectors import vector as vectors
from model_check.pipeline.vectors.asked import Asked, asking
from model_check.pipeline.vectors.outcomes import SEPARATOR, features
from reference.protocol import PRESETS, Protocol
from reference.replica import Replica

SCENARIO, TABLES, MALFORMED = "scenario", "tables", "malformed"
FUNCTIONS, SCRIPTS, MESSAGES = "functions", "scripts", "messages"

CANDIDATES = Dataset(
    "vector-candidates",
    1,
    "what vectors are chosen from",
    (
        Column("kind", "string", "step, sequence, function or message"),
        Column("source", "string", "a scenario, or tables, malformed, scripts, functions, messages"),
        Column("tier", "int", "0: the protocol is production's; 1: another variant"),
        Column("features", "array<string>", "the pairs of a rule and an outcome that it covers, sorted"),
        Column("size", "bigint", "characters of the reference's text of the question"),
        Column("tie", "string", "SHA-256 of that text and the protocol: decides between equal sizes"),
        Column("file", "string", "the file of a set that it belongs in"),
        Column("hash", "string", "SHA-256 of the vector's canonical JSON"),
        Column("vector", "string", "the vector as canonical JSON, with its hash"),
    ),
)


@dataclass(frozen=True, slots=True)
class Task:
    """What one task looks at: ``name`` is a scenario's, or a protocol's."""

    kind: str
    name: str
    scenario: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A row before its JSON is made."""

    kind: str
    tier: int
    features: tuple[str, ...]
    size: int
    tie: str
    make: Callable[[], vectors.Vector]

    @property
    def order(self) -> tuple[int, str]:
        return self.size, self.tie


def tasks(chosen: list[KRaftScenario], *, beyond: bool) -> list[Task]:
    """The tasks for these scenarios; ``beyond``: and for what no scenario comes to."""
    found = [Task(SCENARIO, each.name, each.model_dump(mode="json", by_alias=True)) for each in chosen]
    if beyond:
        found += [Task(TABLES, name) for name in situations.protocols()]
        found += [Task(MALFORMED, name) for name in PRESETS]
        found += [Task(kind, "") for kind in (FUNCTIONS, SCRIPTS, MESSAGES)]
    return found


def rows(task: Task, max_states: int, keep: int | None) -> Iterator[dict[str, Any]]:
    """The rows of ``task``, in the columns of :data:`CANDIDATES`. Raises InputError for a bad scenario."""
    source = f"{task.kind} {task.name}".strip()
    for each in _smallest(_candidates(task, max_states), keep):
        vector = each.make()
        hashed = vectors.digest(vectors.content(vector))
        vector["hash"] = hashed
        yield {
            "kind": each.kind,
            "source": source,
            "tier": each.tier,
            "features": list(each.features),
            "size": each.size,
            "tie": each.tie,
            "file": file_of(vector),
            "hash": hashed,
            "vector": vectors.canonical(vector),
        }


def file_of(vector: vectors.Vector) -> str:
    """The file of a vector: by what happens in a step, the others by their kind."""
    if vector["kind"] != vectors.STEP:
        return f"{vector['kind']}s.json"
    event = vector["event"]
    if not isinstance(event, dict):
        return f"steps/{event}.json"
    message = event.get("request") or event.get("response")
    name = str(message["type"] if isinstance(message, dict) else event["type"])
    return f"steps/{re.sub(r'(?<=[a-z])(?=[A-Z])', '-', name.replace('KRaft', 'Kraft')).lower()}.json"


def _smallest(candidates: Iterator[Candidate], keep: int | None) -> Iterator[Candidate]:
    if keep is None:
        yield from candidates
        return
    groups: dict[tuple[str, int, tuple[str, ...]], dict[tuple[int, str], Candidate]] = {}
    for each in candidates:
        group = groups.setdefault((each.kind, each.tier, each.features), {})
        group[each.order] = each
        if len(group) > 2 * keep:
            kept = heapq.nsmallest(keep, group)
            groups[each.kind, each.tier, each.features] = {order: group[order] for order in kept}
    for group in groups.values():
        yield from (group[order] for order in heapq.nsmallest(keep, group))


def _candidates(task: Task, max_states: int) -> Iterator[Candidate]:
    if task.kind == SCENARIO:
        assert task.scenario is not None
        scenario = scenarios.from_data(task.scenario, task.name)
        yield from _of_scenario(of_replicas(scenario, "a set of vectors"), max_states)
    elif task.kind == FUNCTIONS:
        yield from map(_function, functions.cases())
    elif task.kind == MESSAGES:
        yield from (_message(*case) for case in message_cases.cases())
    elif task.kind == SCRIPTS:
        yield from (_sequence(*found) for found in sequences.found_in(sequences.scripted()))
    else:
        protocol = situations.protocols()[task.name]
        generated = situations.of_tables if task.kind == TABLES else situations.malformed
        yield from map(_step, generated(protocol))


def _of_scenario(scenario: KRaftScenario, max_states: int) -> Iterator[Candidate]:
    with asking() as found:
        try:
            system = build(scenario)
        except BrokenPrelude as broken:
            system, violations = cast(KRaftSystem, broken.system), broken.violations
        else:
            if scenario.reduction.symmetry:
                symmetric(system, scenario)
            violations = explore(system, threads=1, limits=Limits(max_states=max_states)).violations
    yield from map(_step, found)
    driven = [*sequences.covering(scenario)]
    if scenario.replicas.led_by is None:
        driven += sequences.counterexamples(system, scenario, violations)
    yield from (_sequence(*each) for each in sequences.found_in(driven))


def _step(asked: Asked) -> Candidate:
    event = asked.disk if asked.event is None else asked.event
    return _candidate(
        vectors.STEP,
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
        vectors.SEQUENCE,
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
        vectors.FUNCTION, 0, pairs, len(text), _tie(text), lambda: vectors.of_function(name, arguments)
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
        vectors.MESSAGE,
        0,
        tuple(sorted(pairs)),
        len(text),
        _tie(text),
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
    kind: str, protocol: Protocol, pairs: tuple[str, ...], text: str, make: Callable[[], vectors.Vector]
) -> Candidate:
    tier = 0 if vectors.is_production(protocol) else 1
    return Candidate(kind, tier, pairs, len(text), _tie(f"{_text(protocol)} {text}"), make)


@cache
def _text(protocol: Protocol) -> str:
    return repr(protocol)


def _tie(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
