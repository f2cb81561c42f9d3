"""The shipped mutants, in the files ``FILES``, validated when they are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from kraftcheck.spec import load
from kraftcheck.support.closest import did_you_mean
from kraftcheck.support.errors import InputError
from kraftcheck.support.validation import read_toml

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,60}$")]
Text = Annotated[str, StringConstraints(min_length=1, max_length=4000)]

#: The files of the package: mutants of replicas, and those of brokers and their controller.
FILES = ("mutants.toml", "mutants_brokers.toml")


class Table(BaseModel):
    """A table of a file of the package."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Edit(Table):
    """One change of the source of ``module``: ``find``, which occurs exactly once there, becomes ``replace``.

    ``function`` narrows the search to the function of that name.
    """

    module: Annotated[str, StringConstraints(pattern=r"^kraftcheck\.reference(\.[a-z_]+){1,2}$")]
    function: str | None = None
    find: Text
    replace: str


class Mutant(Table):
    """A mutant.

    rules: the rules of the catalogue whose guard it removes. scenario: the one that kills it. expect: the
    properties that fail there, each judged alone, so that the counterexample shows the consequence and not
    only its first symptom. equivalent: the reason why nothing can fail; then nothing may. bug: the historical
    bug of Kafka (``historical_bugs.toml``) that it brings back.
    """

    id: Name
    rules: Annotated[tuple[str, ...], Field(min_length=1, strict=False)]
    about: Text
    scenario: Name
    expect: Annotated[tuple[str, ...], Field(strict=False)] = ()
    equivalent: Text | None = None
    bug: Annotated[str, StringConstraints(pattern=r"^KAFKA-[0-9]{3,6}$")] | None = None
    edit: Annotated[tuple[Edit, ...], Field(min_length=1, strict=False)]

    @model_validator(mode="after")
    def _killed_or_equivalent(self) -> Mutant:
        if bool(self.expect) == bool(self.equivalent):
            raise ValueError("give either the properties that fail ('expect') or the reason 'equivalent'")
        return self


class _File(Table):
    mutant: Annotated[tuple[Mutant, ...], Field(strict=False)]


@cache
def shipped(path: Path | None = None) -> Mapping[str, Mutant]:
    """The mutants of the package, or of the file ``path``, by id in the files' order. Raises InputError."""
    package = resources.files("kraftcheck.checking.mutation")
    sources = [(name, package / name) for name in FILES] if path is None else [(str(path), path)]
    found: dict[str, Mutant] = {}
    for where, source in sources:
        for mutant in _read(where, source):
            if mutant.id in found:
                raise InputError(f"{where}: two mutants have the id '{mutant.id}'; rename one.")
            found[mutant.id] = mutant
    return found


@cache
def by_rule() -> Mapping[str, tuple[str, ...]]:
    """Rule id → the shipped mutants that break it. Raises InputError if their catalogue is damaged."""
    found: dict[str, list[str]] = {}
    for mutant in shipped().values():
        for rule_id in mutant.rules:
            found.setdefault(rule_id, []).append(mutant.id)
    return {rule_id: tuple(mutants) for rule_id, mutants in found.items()}


def _read(where: str, source: Traversable) -> tuple[Mutant, ...]:
    try:
        text = source.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{where}: cannot be read ({error}); restore the file.") from None
    return read_toml(_File, text, where, "correct it").mutant


def choose(words: Iterable[str], known: Mapping[str, Mutant]) -> list[Mutant]:
    """The mutants that ``words`` name, by id, rule or bug, in the catalogue's order. Raises InputError."""
    wanted: set[str] = set()
    for word in words:
        found = {mutant.id for mutant in known.values() if _is_meant(mutant, word)}
        if not found and word in (rules := load().rules):
            why = rules[word].unmutated
            reason = f" ({why.strip()})" if why else ""
            raise InputError(f"rule {word} has no mutant{reason}; name another rule, or a mutant.")
        if not found:
            hint = did_you_mean(word, known, most=3) or "; 'kraftcheck mutate --list' lists them."
            raise InputError(f"there is no mutant, and no rule with a mutant, called {word[:60]!r}{hint}")
        wanted |= found
    return [mutant for mutant in known.values() if not wanted or mutant.id in wanted]


def _is_meant(mutant: Mutant, word: str) -> bool:
    if word == "bugs":
        return mutant.bug is not None
    return word == mutant.id or word.upper() in (*mutant.rules, mutant.bug)
