"""The text of a counterexample's states: one line for each replica, the messages sent, and the history."""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.proof.logic import Action
from kraftcheck.proof.solve import Induction
from kraftcheck.proof.structures import Fact, Structure
from kraftcheck.proof.vocabulary import Epoch, Offset, Quorum, Replica, Role, Voters

#: The facts in the line of a replica; all other facts have lines of their own.
_OF_REPLICA = ("epoch", "role", "leader", "voted", "holds", "unflushed", "fetching")
_START = "the start"


def element(sort: str, number: int, structure: Structure) -> str:
    """The name of an element: replicas and offsets from 1 on, epochs from 0, sets by their members."""
    if sort == Replica.name():
        return str(number + 1)
    if sort == Quorum.name():
        return _set(structure.sets[number])
    if sort == Offset.name():
        return str(number) if number else _START
    if sort == Role.name():
        return str(Role.constructor(number).name())
    if sort == Voters.name():
        return (
            f"the voters {_set(structure.voters[number])}" if structure.voters else f"voter set {number + 1}"
        )
    assert sort == Epoch.name()
    return f"epoch {number}"


def _set(members: tuple[int, ...]) -> str:
    return "{" + ",".join(str(member + 1) for member in members) + "}"


def lines_of(structure: Structure) -> list[str]:
    """A state, line by line."""
    replicas = sorted({fact.terms[0] for fact in structure.facts if fact.symbol.name == "role"})
    return [*(_replica_line(structure, each) for each in replicas), *_other_lines(structure)]


def _replica_line(structure: Structure, replica: int) -> str:
    own = [fact for fact in structure.facts if fact.symbol.name in _OF_REPLICA and fact.terms[0] == replica]
    by_name: dict[str, list[Fact]] = {name: [] for name in _OF_REPLICA}
    for fact in own:
        by_name[fact.symbol.name].append(fact)
    role, epoch = by_name["role"][0].value, by_name["epoch"][0].value
    assert role is not None and epoch is not None
    parts = [f"replica {replica + 1}: {element('Role', role, structure)}, epoch {epoch}"]
    for name in ("leader", "voted"):
        parts += [f"{name}: {fact.terms[1] + 1}" for fact in by_name[name]]
    log = [fact for fact in by_name["holds"] if fact.terms[1]]
    if log:
        parts.append("log: " + ", ".join(f"{fact.terms[1]}@{fact.terms[2]}" for fact in log))
    lost = [str(fact.terms[1]) for fact in by_name["unflushed"] if fact.terms[1]]
    parts += [f"not flushed: {', '.join(lost)}"] if lost else []
    parts += ["has fetched"] if by_name["fetching"] else []
    return "; ".join(parts)


def _other_lines(structure: Structure) -> Iterator[str]:
    holding = {(fact.symbol.name, fact.terms) for fact in structure.facts}
    for fact in structure.facts:
        if fact.symbol.name not in _OF_REPLICA and _says_something(fact, holding):
            yield fact_text(fact, structure)


def fact_text(fact: Fact, structure: Structure) -> str:
    """A fact as text."""
    symbol, value = fact.symbol, ""
    names = [
        element(sort.name(), term, structure) for sort, term in zip(symbol.sorts, fact.terms, strict=True)
    ]
    if symbol.result is not None and fact.value is not None:
        value = element(symbol.result.name(), fact.value, structure)
    # Next to an offset, the epoch is that of the record there.
    return symbol.says.format(*names, value=value).replace("@epoch ", "@")


def _says_something(fact: Fact, holding: set[tuple[str, tuple[int, ...]]]) -> bool:
    """Whether a fact has a meaning: the value of a function has one only where its relation holds."""
    if fact.symbol.where is None:
        return True
    size = len(fact.terms)
    return any(name == fact.symbol.where and terms[:size] == fact.terms for name, terms in holding)


def described(action: Action, structure: Structure) -> str:
    """The text of the action between the two states."""
    names = {name: element(sort, number, structure) for name, sort, number in structure.parameters}
    return action.says.format(**names).replace("@epoch ", "@")


def differences(found: Induction) -> tuple[list[str], list[str]]:
    """The lines that the action removes, and those that it adds."""
    assert found.after is not None
    before, after = lines_of(found.before), lines_of(found.after)
    return [line for line in before if line not in after], [line for line in after if line not in before]
