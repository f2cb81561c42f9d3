"""Campaign files: a matrix of scenarios, protocol variants, mutants, bounds and seeds, and its cells."""

from __future__ import annotations

import argparse
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

from kraftcheck.checking.mutation import catalogue, patch
from kraftcheck.checking.mutation.catalogue import Mutant
from kraftcheck.pipeline.campaign import applies
from kraftcheck.pipeline.campaign.cells import AS_WRITTEN, NO_MUTANT, Cell, Engine, Limits
from kraftcheck.support.arguments import byte_count
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import read_text
from kraftcheck.support.validation import read_toml
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.scenario import Scenario, find, from_data, shipped

#: What to do about a bad campaign file.
HINT = "see docs/pipeline/campaign.md"
MOST_CELLS = 1_000_000
_MOST_SEEDS = 1_000_000
_RANGE = re.compile(r"(\d{1,9})\.\.(\d{1,9})", re.ASCII)
_VERDICTS: dict[str, Any] = {"verdict": "holds"}

Text = Annotated[str, StringConstraints(min_length=1, max_length=4000)]
Words = Annotated[tuple[Text, ...], Field(strict=False)]
Number = Annotated[int, Field(ge=1, le=10**12)]
#: Gets a sentence for the user.
Note = Callable[[str], None]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Matrix(_Table):
    """A block of a campaign; its cells are all combinations of its coordinates.

    scenarios, tags: names, files and tags. protocols: a preset and switches ("kip595
    follower-pre-vote=never", "shipped alter-partition-version=2"), or "scenario", what the scenario says, and
    switches. mutants: "none", "all", or words as ``kraftcheck mutate`` takes them; wherever one of them runs
    the unchanged reference runs as well. mutants_in: with "own" each mutant runs in the scenario that it
    names, each property that it must violate judged alone, next to that scenario without it. bounds:
    "budgets.crashes=2 bounds.max-epoch=2..4", a range stands for all its numbers. seeds, walks, depth: of
    random walks ("0..99").
    """

    scenarios: Words = ()
    tags: Words = ()
    protocols: Annotated[Words, Field(min_length=1)] = (AS_WRITTEN,)
    mutants: Annotated[Words, Field(min_length=1)] = (NO_MUTANT,)
    mutants_in: Annotated[Literal["scenarios", "own"], Field(alias="mutants-in")] = "scenarios"
    bounds: Annotated[Words, Field(min_length=1)] = (AS_WRITTEN,)
    engines: Annotated[tuple[Engine, ...], Field(strict=False, min_length=1)] = ("check",)
    seeds: Text = "0"
    walks: Number = 100
    depth: Number = 100
    keep_going: Annotated[bool, Field(alias="keep-going")] = False
    coverage: bool = False

    @model_validator(mode="after")
    def _coherent(self) -> Matrix:
        own = self.mutants_in == "own"
        if own and (self.scenarios or self.tags or NO_MUTANT in self.mutants):
            raise ValueError("mutants-in 'own' needs mutants, and goes without scenarios and tags")
        if own and (self.protocols, self.bounds, self.engines) != ((AS_WRITTEN,), (AS_WRITTEN,), ("check",)):
            raise ValueError("mutants-in 'own' goes with the scenarios as they are written, and with check")
        if not own and not self.scenarios and not self.tags:
            raise ValueError("give scenarios or tags")
        return self

    @field_validator("bounds")
    @classmethod
    def _bounds(cls, texts: Words) -> Words:
        for setting in " ".join(texts).split():
            key, _, value = setting.partition("=")
            if ".." in value and not _RANGE.fullmatch(value):
                raise ValueError(f"{key}: expected a number or a range such as 0..2, not '{value[:40]}'")
        return texts

    @field_validator("seeds")
    @classmethod
    def _seeds(cls, text: str) -> str:
        _numbers(text, "seeds")
        return text


class LimitsOfCells(_Table):
    """Where a cell gives up: wall time, resident memory ("2G"), distinct states."""

    seconds: Number = 120
    memory: Text = "2G"
    states: Number | None = None

    @field_validator("memory")
    @classmethod
    def _memory(cls, text: str) -> str:
        try:
            byte_count(text)
        except argparse.ArgumentTypeError as error:
            raise ValueError(str(error)) from None
        return text

    @property
    def limits(self) -> Limits:
        return Limits(self.seconds, byte_count(self.memory), self.states)


class Campaign(_Table):
    """A campaign file."""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,60}$")] = "campaign"
    about: Text = "A campaign."
    matrix: Annotated[tuple[Matrix, ...], Field(strict=False, min_length=1)]
    limits: LimitsOfCells = LimitsOfCells()


def find_campaign(word: str) -> Campaign:
    """The campaign that is shipped as ``word``, or that is in the file ``word``. Raises InputError."""
    folder = resources.files("kraftcheck.pipeline.campaign") / "campaigns"
    known = {entry.name.removesuffix(".toml"): entry for entry in folder.iterdir()}
    if word in known:
        text = known[word].read_text(encoding="utf-8")
    elif "/" in word or word.endswith(".toml") or os.path.exists(word):
        text = read_text(Path(word), "a campaign file", most=10**6)
    else:
        raise InputError(f"there is no campaign '{word[:60]}'; give a file, or one of {', '.join(known)}.")
    return read_toml(Campaign, text, word, HINT)


def expand(campaign: Campaign, note: Note = lambda sentence: None) -> list[Cell]:
    """The cells of ``campaign``, each once, in the order of the file. ``note`` gets a sentence on the
    pairs of coordinates do not apply to each other, if there are some. Raises InputError.
    """
    found: dict[Cell, None] = {}
    known: dict[str, Scenario] = {}
    limits, left_out = campaign.limits.limits, Counter[str]()
    for number, matrix in enumerate(campaign.matrix):
        apart, empty = Counter[str](), True
        own = matrix.mutants_in == "own"
        for cell in _of_own(matrix, limits, known) if own else _product(matrix, limits, apart, known):
            found[cell], empty = None, False
            if len(found) > MOST_CELLS:
                raise InputError(f"{campaign.name}: more than {MOST_CELLS:,} cells; divide the campaign.")
        if empty:
            raise InputError(f"{campaign.name}, matrix.{number}: no cell; {applies.sentence(apart)}.")
        left_out += apart
    if (said := applies.sentence(left_out)) is not None:
        note(f"{campaign.name}: {said}.")
    return list(found)


def _of_own(matrix: Matrix, limits: Limits, known: dict[str, Scenario]) -> Iterator[Cell]:
    controls, scenarios = set(), shipped()
    for mutant in _mutants(matrix.mutants):
        assert mutant is not None
        scenario = scenarios[mutant.scenario]
        _require_one_of_a_name(scenario, known)
        content = scenario.model_dump_json(by_alias=True)
        if mutant.scenario not in controls:
            controls.add(mutant.scenario)
            yield Cell(scenario.name, content, coverage=matrix.coverage, limits=limits)
        for judged in mutant.expect or (None,):
            yield Cell(
                scenario.name,
                content,
                mutant=mutant.id,
                mutant_content=mutant.model_dump_json(),
                judged=judged,
                mutant_alone=True,
                limits=limits,
            )


def _product(
    matrix: Matrix, limits: Limits, left_out: Counter[str], known: dict[str, Scenario]
) -> Iterator[Cell]:
    mutants = list(_mutants(matrix.mutants))
    bounds = [each for text in matrix.bounds for each in _ranges(text)]
    scenarios = chosen_scenarios(matrix, known)
    for text in matrix.protocols:
        applies.require_variant(text, scenarios[0])
    for text in bounds:
        applies.require_bounds(text, scenarios[0])
    for scenario in scenarios:
        of_mutants = [each for each in mutants if each is None or applies.mutant_applies(each, scenario)]
        of_protocols = [each for each in matrix.protocols if applies.variant_applies(each, scenario)]
        of_bounds = [each for each in bounds if applies.bounds_apply(each, scenario)]
        left_out[applies.MUTANT] += len(mutants) - len(of_mutants)
        left_out[applies.VARIANT] += len(matrix.protocols) - len(of_protocols)
        left_out[applies.BOUNDS] += len(bounds) - len(of_bounds)
        if of_mutants and None not in of_mutants:
            of_mutants.insert(0, None)
        for protocol, bound in product(of_protocols, of_bounds):
            yield from _of_content(scenario, protocol, bound, of_mutants, matrix, limits)


def _of_content(
    scenario: Scenario,
    protocol: str,
    bound: str,
    mutants: Sequence[Mutant | None],
    matrix: Matrix,
    limits: Limits,
) -> Iterator[Cell]:
    """The cells of a scenario under one variant and within the same bounds."""
    content = _content(scenario, protocol, bound)
    as_written = protocol == bound == AS_WRITTEN
    for mutant, engine in product(mutants, matrix.engines):
        cell = Cell(
            scenario.name,
            content,
            protocol,
            bound,
            mutant=NO_MUTANT if mutant is None else mutant.id,
            mutant_content=None if mutant is None else mutant.model_dump_json(),
            keep_going=matrix.keep_going,
            coverage=matrix.coverage and mutant is None,
            expects=as_written and mutant is None,
            limits=limits,
        )
        yield from [cell] if engine == "check" else _walks(cell, matrix)


def _walks(cell: Cell, matrix: Matrix) -> Iterator[Cell]:
    for seed in _numbers(matrix.seeds, "seeds"):
        yield replace(cell, engine="simulate", seed=seed, walks=matrix.walks, depth=matrix.depth)


def chosen_scenarios(matrix: Matrix, known: dict[str, Scenario]) -> list[Scenario]:
    """The scenarios of a block, each once. Raises InputError where two of one name differ."""
    chosen = []
    for tag in reversed(matrix.tags):
        tagged = [scenario for scenario in shipped().values() if tag in scenario.tags]
        if not tagged:
            raise InputError(f"no shipped scenario has the tag '{tag}'; {HINT}.")
        chosen += tagged
    chosen += map(find, matrix.scenarios)
    for scenario in chosen:
        _require_one_of_a_name(scenario, known)
    return list(dict.fromkeys(chosen))


def _require_one_of_a_name(scenario: Scenario, known: dict[str, Scenario]) -> None:
    """Note ``scenario`` in ``known``. Raises InputError where another one there is called the same.

    The report names scenarios only.
    """
    other = known.setdefault(scenario.name, scenario)
    if other != scenario:
        raise InputError(
            f"two scenarios are called '{scenario.name}', and differ: {other.file} and {scenario.file}; "
            "rename one."
        )


def _mutants(words: Sequence[str]) -> Iterator[Mutant | None]:
    if NO_MUTANT in words:
        yield None
    names = [word for word in words if word != NO_MUTANT]
    if names:
        for mutant in catalogue.choose([] if "all" in names else names, catalogue.shipped()):
            patch.mutated_sources(mutant)
            yield mutant


# Coordinates.


def _numbers(text: str, what: str) -> range:
    """What "3" or "0..99" stands for. Raises ValueError."""
    match = _RANGE.fullmatch(f"{text}..{text}" if text.isascii() and text.isdigit() else text)
    if match is None:
        raise ValueError(f"{what}: expected a number or a range such as 0..99, not '{text[:40]}'")
    found = range(int(match[1]), int(match[2]) + 1)
    if not 1 <= len(found) <= _MOST_SEEDS:
        raise ValueError(f"{what}: expected 1 to {_MOST_SEEDS:,} numbers, not '{text[:40]}'")
    return found


def _ranges(text: str) -> list[str]:
    """``text`` for each combination of the numbers in its ranges."""
    choices = []
    for setting in text.split():
        key, equals, value = setting.partition("=")
        values = [value]
        if _RANGE.fullmatch(value):
            try:
                values = [str(number) for number in _numbers(value, key)]
            except ValueError as error:
                raise InputError(f"bounds: {error}; {HINT}.") from None
        choices.append([f"{key}{equals}{each}" for each in values])
    return [" ".join(each) for each in product(*choices)]


def _content(scenario: Scenario, protocol: str, bounds: str) -> str:
    """``scenario`` as JSON under a variant and bounds; without what is expected of it as it is written."""
    if protocol == bounds == AS_WRITTEN:
        return scenario.model_dump_json(by_alias=True)
    data = scenario.model_dump(mode="json", by_alias=True) | {"expect": _VERDICTS}
    if protocol != AS_WRITTEN:
        preset, switches = applies.read_variant(protocol)
        where = f"protocols '{protocol}' for {scenario.name}"
        data["protocol"] = kind_of(scenario).variants.chosen(scenario, preset, switches, where)
    if bounds != AS_WRITTEN:
        for table, key, value in map(applies.read_bound, bounds.split()):
            data[table] = {**data[table], key: value}
    where = ", ".join([scenario.name, *(each for each in (protocol, bounds) if each != AS_WRITTEN)])
    return from_data(data, where).model_dump_json(by_alias=True)
