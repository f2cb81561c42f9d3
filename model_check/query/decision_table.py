"""Decision tables as data: conditions, the situation of each combination of them, decisions, merged rows.

A table has columns of conditions. Each combination of their values stands for a situation: a state of a node
and what happens to it, both in the short form. The reference is asked what it does there, and rows with equal
decisions are merged (:mod:`kraftcheck.query.cover`). The tables know no rule of the protocol.

State and event are templates: ``{role}`` stands for the words of the value of the column ``role``, which may
contain templates themselves. The tables are in the folder ``situations``.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, Generic, TypeAlias, TypeVar

from kraftcheck.query.cover import Cell, Row, cover

S = TypeVar("S")

#: A combination of conditions: the value of each column.
Given: TypeAlias = Mapping[str, str]
#: What a value stands for: the words of its column, or words by the name of what they replace.
Words: TypeAlias = "str | Mapping[str, str]"
#: Combinations that have one of these values in each of these columns.
Condition: TypeAlias = "Mapping[str, str | Collection[str]]"


class Other(frozenset[str]):
    """All values of a column but these."""

    def __new__(cls, *values: str) -> Other:
        return super().__new__(cls, values)


def holds(condition: Condition, given: Given) -> bool:
    """Whether a combination is one of those that ``condition`` describes."""
    for column, wanted in condition.items():
        value = given.get(column)
        if value is None:
            return False
        if isinstance(wanted, str):
            if value != wanted:
                return False
        elif (value in wanted) is isinstance(wanted, Other):
            return False
    return True


@dataclass(frozen=True, slots=True)
class Decision:
    """What is decided: ``columns``, the results with what each says; all decisions of a table have the same
    ones. ``sentence``: the results in one line; ``rules``: those that decided, in order.
    """

    columns: tuple[tuple[str, str], ...]
    sentence: str
    rules: tuple[str, ...]

    @property
    def results(self) -> Mapping[str, str]:
        """What each column of results says."""
        return dict(self.columns)


@dataclass(frozen=True)
class DecisionTable(Generic[S]):
    """A decision table.

    ``assumes``: what is the case in all rows. ``columns``: the values of each with what they stand for.
    ``state``, ``event``: the templates of a situation. ``words``: what else occurs in them; a column of the
    same name goes before it. ``where``: words that replace those of columns in some combinations, the later
    ones first. ``never``: combinations that cannot occur; a condition holds only of columns that the table
    has, or of those that are ``assumed`` to have a value. ``read``: the situation of a state and an event in
    the short form; ``ask``: the decision on a situation under a protocol, ``None`` if it cannot occur there;
    ``finish``: puts in what the short form has no words for.
    """

    name: str
    about: str
    assumes: str
    columns: Mapping[str, Mapping[str, Words]]
    state: str
    event: str
    read: Callable[[str, str], S]
    ask: Callable[[Any, S], Decision | None]
    words: Mapping[str, str] = field(default_factory=dict)
    where: Sequence[tuple[Condition, Mapping[str, str]]] = ()
    never: Sequence[Condition] = ()
    assumed: Given = field(default_factory=dict)
    finish: Callable[[S, Given], S] | None = None

    def situation(self, given: Given) -> S | None:
        """The situation of a combination of conditions; ``None`` if it cannot occur."""
        case = {**self.assumed, **given}
        for condition in self.never:
            if holds(condition, case):
                return None
        words = dict(self.words)
        for column, value in given.items():
            meaning = self.columns[column][value]
            words |= {column: meaning} if isinstance(meaning, str) else meaning
        for condition, instead in self.where:
            if holds(condition, case):
                words |= instead
        found = self.read(_filled(self.state, words), _filled(self.event, words))
        return found if self.finish is None else self.finish(found, given)


def _filled(template: str, words: Mapping[str, str]) -> str:
    while "{" in template:
        template = template.format_map(words)
    return " ".join(template.split())


def decide(table: DecisionTable[Any], protocol: Any) -> Mapping[Cell, Decision]:
    """The decision on every combination of conditions that can occur under ``protocol``."""
    decisions: dict[Cell, Decision] = {}
    for cell in itertools.product(*table.columns.values()):
        situation = table.situation(dict(zip(table.columns, cell, strict=True)))
        decision = None if situation is None else table.ask(protocol, situation)
        if decision is not None:
            decisions[cell] = decision
    return decisions


def rows(table: DecisionTable[Any], protocol: Any) -> tuple[Row[Decision], ...]:
    """The merged rows of a table, in the order of its columns' values."""
    return cover(tuple(map(tuple, table.columns.values())), decide(table, protocol))


# Tables in files.


def load(
    files: Sequence[str],
    read: Callable[[str, str], S],
    ask: Callable[[Any, S], Decision | None],
    finishing: Mapping[str, Callable[[S, Given], S]],
) -> Mapping[str, DecisionTable[S]]:
    """The tables in files of the folder ``situations``, by name.

    A file has tables, and ``columns``, ``words`` and ``conditions`` by name, which tables of all of ``files``
    refer to: ``"@roles"``. A list of values stands for a column whose values are the words that they stand
    for. ``read``, ``ask``: see :class:`DecisionTable`; ``finishing``: the functions that tables name under
    ``finish``.
    """
    folder = resources.files("kraftcheck.query") / "situations"
    data = [tomllib.loads((folder / file).read_text(encoding="utf-8")) for file in files]
    named = {
        sort: {name: each for part in data for name, each in part.get(sort, {}).items()}
        for sort in ("columns", "words", "conditions")
    }
    found = (
        DecisionTable(read=read, ask=ask, **_fields(each, named, finishing))
        for part in data
        for each in part.get("table", ())
    )
    return {table.name: table for table in found}


def _fields(
    given: Mapping[str, Any], named: Mapping[str, Mapping[str, Any]], finishing: Mapping[str, Any]
) -> dict[str, Any]:
    """The fields of a table as its file has them, with what they refer to."""
    columns = {name: _named(column, named["columns"]) for name, column in given["columns"]}
    words: dict[str, str] = {}
    for each in given.get("words", ()):
        words |= _named(each, named["words"])
    never = [_named(each, named["conditions"]) for each in given.get("never", ())]
    flat = [each for group in never for each in (group if isinstance(group, list) else [group])]
    return {
        **given,
        "columns": {
            name: dict(zip(column, column, strict=True)) if isinstance(column, list) else column
            for name, column in columns.items()
        },
        "words": words,
        "where": [(_condition(each["when"]), each["words"]) for each in given.get("where", ())],
        "never": [_condition(each) for each in flat],
        "finish": finishing[given["finish"]] if "finish" in given else None,
    }


def _named(given: Any, named: Mapping[str, Any]) -> Any:
    return named[given.removeprefix("@")] if isinstance(given, str) else given


def _condition(given: Mapping[str, Any]) -> Condition:
    return {
        column: Other(*wanted["other-than"]) if isinstance(wanted, dict) else wanted
        for column, wanted in given.items()
    }
