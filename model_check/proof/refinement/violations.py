"""The text of a step outside the proof, and of a state in which a conjunct fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

import numpy as np

from kraftcheck.engine.system import PathStep
from kraftcheck.proof import report
from kraftcheck.proof.refinement.abstraction import SYMBOLS, NotAbstract, ProofReplica, abstraction_of
from kraftcheck.proof.refinement.actions import Taken
from kraftcheck.proof.refinement.conjuncts import Broken
from kraftcheck.proof.refinement.expected import DIFFERENCES
from kraftcheck.proof.refinement.formulas import subsets
from kraftcheck.proof.refinement.run import Work
from kraftcheck.proof.refinement.transitions import WORD, Bits, Lack
from kraftcheck.proof.structures import Fact, Structure
from kraftcheck.proof.vocabulary import Role
from kraftcheck.systems.kraft.node import Node
from kraftcheck.traces.build import walk
from kraftcheck.traces.paths import path_text


def lines_of_lack(work: Work, lack: Lack) -> Iterator[tuple[str, list[str]]]:
    """A transition that the proof does not have: headings, each with its lines."""
    explored = work.explored
    source, number = int(explored.sources[lack.edge]), int(explored.steps[lack.edge])
    sequence = work.judged.sequences[number]
    yield "step", [str(explored.tables.actions[number]), " ".join(_rules(work, source, number))]
    yield "again", [again(work, source, explored.tables.path_step(int(explored.edge_codes[lack.edge])))]
    yield "what fails", [*map(_reason, lack.reasons), *_missing(work, lack)]
    yield "in the proof", [described(work, each) for each in sequence.taken] or ["nothing"]
    yield "before", lines_of_state(work, source)


def lines_of_broken(work: Work, broken: Broken) -> Iterator[tuple[str, list[str]]]:
    """A state in which a conjunct does not hold: headings, each with its lines."""
    yield "does not hold", [broken.conjunct.says]
    yield "again", [again(work, broken.state)]
    yield "there", lines_of_state(work, broken.state)


def again(work: Work, state: int, *more: PathStep) -> str:
    """The command that shows the shortest path to ``state``, and the steps after it."""
    found = walk(work.system, [*work.explored.path_to(state), *more])
    path = path_text(taken.option for taken in found.taken)
    return f"kraftcheck trace show {work.scenario.name} --path {path}"


def _reason(reason: str) -> str:
    listed = DIFFERENCES.get(reason)
    return reason if listed is None else f"{reason}: {listed.says}"


def _missing(work: Work, lack: Lack) -> Iterator[str]:
    taken = work.judged.sequences[int(work.explored.steps[lack.edge])].taken
    for needed in lack.missing:
        action = f"{taken[needed.place].action}: " if needed.place < len(taken) else ""
        word = "is missing" if needed.need.holds else "there is"
        yield f"{action}{needed.need.guard}; {word}: {_fact_text(work, needed.need.fact)}"


def _rules(work: Work, state: int, number: int) -> tuple[str, ...]:
    component, message, choice = work.explored.tables.owners[number]
    node = cast(Node, work.explored.tables.locals[int(work.explored.locals_[state, component])][1])
    event = None if message < 0 else work.explored.tables.messages[message]
    path = PathStep("act" if event is None else "deliver", component, event, choice)
    step = work.translator.steps_of(path, node)[choice]
    return () if step.execution is None else step.execution.rules


def described(work: Work, taken: Taken) -> str:
    """An action with its parameters."""
    action = work.translator.actions.by_name[taken.action]
    sets = subsets(work.system.components)
    parameters = tuple(
        (name, sort.name(), _number(sort.name(), value, sets))
        for (name, sort), value in zip(action.parameters, taken.parameters, strict=True)
    )
    return report.described(action, _structure(work, (), parameters))


def _number(sort: str, value: Any, sets: tuple[frozenset[int], ...]) -> int:
    if sort == Role.name():
        return [Role.constructor(each).name() for each in range(Role.num_constructors())].index(value)
    return sets.index(value) if isinstance(value, frozenset) and value else int(value or 0)


def _structure(
    work: Work, facts: tuple[Fact, ...], parameters: tuple[tuple[str, str, int], ...] = ()
) -> Structure:
    sets = tuple(tuple(sorted(each)) for each in subsets(work.system.components))
    return Structure(facts, parameters, sets, sets)


def lines_of_state(work: Work, state: int) -> list[str]:
    """A state with its past by a shortest path, line by line."""
    facts: list[Fact] = []
    for component, number in enumerate(work.explored.locals_[state].tolist()):
        node = cast(Node, work.explored.tables.locals[number][1])
        try:
            replica = abstraction_of(node, work.translator.component_of)
        except NotAbstract as why:
            return [f"replica {component + 1}: {why}"]
        facts += _facts_of(work, component, replica)
    facts += [_fact(work, each) for each in _past(work, work.pasts[state])]
    return report.lines_of(_structure(work, tuple(facts)))


def _facts_of(work: Work, component: int, replica: ProofReplica) -> Iterator[Fact]:
    symbols = {symbol.name: symbol for symbol in work.translator.actions.system.symbols}
    for name in SYMBOLS:
        value, symbol = getattr(replica, name), symbols[name]
        if isinstance(value, frozenset):
            for each in sorted(value):
                yield Fact(symbol, (component, *(each if isinstance(each, tuple) else (each,))))
        elif isinstance(value, bool):
            if value:
                yield Fact(symbol, (component,))
        else:
            assert symbol.result is not None
            yield Fact(symbol, (component,), _number(symbol.result.name(), value, ()))


def _past(work: Work, row: Bits) -> Iterator[tuple[Any, ...]]:
    known = {symbol.name for symbol in work.translator.actions.system.symbols}
    numbers: Mapping[tuple[Any, ...], int] = work.judged.facts.numbers
    for fact in sorted((each for each in numbers if each[0] in known), key=repr):
        if row[numbers[fact] // WORD] >> np.uint64(numbers[fact] % WORD) & np.uint64(1):
            yield fact


def _fact(work: Work, fact: tuple[Any, ...]) -> Fact:
    symbol = next(each for each in work.translator.actions.system.symbols if each.name == fact[0])
    if symbol.result is None:
        return Fact(symbol, fact[1:])
    sets = subsets(work.system.components)
    return Fact(symbol, fact[1:-1], _number(symbol.result.name(), fact[-1], sets))


def _fact_text(work: Work, fact: tuple[Any, ...]) -> str:
    found = _fact(work, fact)
    return report.fact_text(found, _structure(work, (found,)))
