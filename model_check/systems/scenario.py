"""Scenario files: the system to explore, the bounds, and the expected verdict.

A scenario is a TOML file; ``docs/scenarios.md`` describes every key. This module has the parts that all
scenarios share; each kind of system adds tables of its own, and the table of its name identifies the kind.
Files are hostile until parsed: unknown keys, values out of range or a file that is not TOML raise
:class:`InputError <kraftcheck.support.errors.InputError>` with a sentence for each mistake, which names the
file, the line and the key.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    StringConstraints,
    model_serializer,
    model_validator,
)

from kraftcheck.engine.system import Exploration
from kraftcheck.support.closest import did_you_mean
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import read_text
from kraftcheck.support.validation import parse_toml, place_of, refusal, spelled, validated
from kraftcheck.systems.properties import catalogued

MAX_FILE_BYTES = 1_000_000
#: The largest ``network.capacity``.
MOST_IN_FLIGHT = 12
#: The instruction to the user for a bad scenario file.
HINT = "see docs/scenarios.md"

T = TypeVar("T")
S = TypeVar("S", bound="Scenario")
#: A list in a file, of values of one type.
Listed = Annotated[tuple[T, ...], Field(strict=False)]
Budget = Annotated[int, Field(ge=0, le=50)]
NAME = r"[a-z0-9][a-z0-9-]{0,60}"
Name = Annotated[str, spelled(NAME, "a name: small letters, digits and '-', such as 'two-voters'")]
Text = Annotated[str, StringConstraints(min_length=1, max_length=4000)]


class Table(BaseModel):
    """A table of a scenario file: no key but those of its class, written with hyphens."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, alias_generator=lambda name: name.replace("_", "-")
    )


class Budgets(Table):
    """How often the environment may do something; 0: never. Each kind of system has its own."""


class NetworkChoice(Table):
    """The network: ``capacity`` messages in flight at most, and the condition under which one may be lost."""

    capacity: Annotated[int, Field(ge=1, le=MOST_IN_FLIGHT)] = 4
    loss: Literal["never", "when-full", "always"] = "when-full"


class Fairness(Table):
    """The actions that happen forever if they stay possible (``weak``) or are possible again and again
    (``strong``): ``deliveries`` per link and kind of message, ``timers`` per replica and timer.
    """

    deliveries: Literal["weak", "strong", "none"] = "strong"
    timers: Literal["weak", "strong", "none"] = "strong"


class Eventually(Table):
    """An *eventually* property. ``form``: that ``goal`` is eventually reached from every state on, from the
    first one, or from each that satisfies ``when`` on; or that it can be reached from every state.
    """

    property: str
    goal: str
    form: Literal["always-eventually", "eventually", "leads-to", "recoverable"] = "always-eventually"
    when: str | None = None
    fairness: Fairness = Fairness()

    @model_validator(mode="after")
    def _coherent(self) -> Eventually:
        if (self.form == "leads-to") != (self.when is not None):
            raise ValueError("when goes with the form 'leads-to', which needs it")
        return self


class Check(Table):
    """The properties to judge: ``properties`` beyond the default ones, or ``only`` these; ``without`` those
    that a finding shows to be violated; ``goals`` to be reached, transitions written as
    "Follower->Prospective"; ``eventually`` properties.
    """

    properties: Listed[str] = ()
    only: Listed[str] = ()
    without: Listed[str] = ()
    goals: Listed[str] = ()
    eventually: Listed[Eventually] = ()

    @model_validator(mode="after")
    def _coherent(self) -> Check:
        for name in self.without:
            if name in (*self.only, *self.properties):
                raise ValueError(f"without: '{name}' is asked for in only or properties; choose one")
        return self


class Reduction(Table):
    """The states that are left out because others represent them: with ``symmetry`` those that differ from
    another only by a permutation of voters that the scenario does not distinguish. ``epochs``: with
    "relative" *eventually* properties are judged up to the number of past elections.
    """

    symmetry: bool = False
    epochs: Literal["absolute", "relative"] = "absolute"


class Expected(Table):
    """The expected verdict; of a violation also the properties, and optionally the number of its steps.
    ``states`` pins the exact number of distinct states, including those that others represent. ``covers``:
    the coverage targets that some step must reach ("rule VOTE-10", see
    :mod:`kraftcheck.systems.coverage`).
    """

    verdict: Annotated[Literal["holds", "violated"], Field(examples=["holds"])]
    violates: Listed[Annotated[str, AfterValidator(catalogued)]] = ()
    steps: Annotated[int, Field(ge=0)] | None = None
    states: Annotated[int, Field(ge=1)] | None = None
    covers: Listed[Text] = ()

    @model_validator(mode="after")
    def _coherent(self) -> Expected:
        if self.verdict == "holds" and (self.violates or self.steps is not None):
            raise ValueError("violates and steps go with the verdict 'violated' only")
        if self.verdict == "violated" and (not self.violates or self.states is not None):
            raise ValueError("the verdict 'violated' needs violates, and states goes with 'holds' only")
        return self

    def unexpected(self, found: Exploration) -> tuple[str, ...]:
        """The properties that are violated although the scenario does not expect it."""
        violated = tuple(violation.property for violation in found.violations)
        allowed = self.violates
        if self.verdict == "holds":
            return violated
        return tuple(name for name in violated if allowed and name not in allowed)


class Scenario(Table):
    """A scenario file, with the tables that all kinds share."""

    #: The order in which files give the tables.
    order: ClassVar[tuple[str, ...]] = ()

    name: Annotated[Name, Field(examples=["two-voters"])]
    about: Annotated[Text, Field(examples=["Two voters elect a leader"])]
    source: Listed[str] = ()
    tags: Listed[Literal["ci", "large", "reference-explorer", "nightly", "bench", "mutants", "finding"]] = ()
    network: NetworkChoice = NetworkChoice()
    budgets: Budgets = Budgets()
    check: Check = Check()
    reduction: Reduction = Reduction()
    expect: Annotated[Expected, Field(examples=['{ verdict = "holds" }'])]
    _file: str = PrivateAttr("")
    _text: str = PrivateAttr("")
    _preset: str | None = PrivateAttr(None)

    @model_serializer(mode="wrap")
    def _in_order(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        data = handler(self)
        return {name: data[name] for name in self.order if name in data}

    @property
    def file(self) -> str:
        """The name of this scenario in errors: the file that it was read from."""
        return self._file or self.name

    def called(self: S, where: str) -> S:
        """The same scenario, called ``where`` in errors."""
        other = self.model_copy()
        other._file = where
        return other

    @property
    def asked_preset(self) -> str | None:
        """The preset that a command chose instead of the scenario's own; then no verdict is expected."""
        return self._preset

    def under(self: S, preset: str, protocol: Table) -> S:
        """The same scenario with the table ``protocol``, for which a command chose ``preset``."""
        other = self.model_copy(update={"protocol": protocol, "expect": Expected(verdict="holds")})
        other._preset = preset
        return other

    def error(self, message: str, where: str | None = None) -> InputError:
        """The error that says ``message``, which begins with the key that is wrong ("network.cut: ...").

        ``where``: the name of this scenario in the error, if it is not the file.
        """
        return refusal(message, where or self.file, HINT, self._text)

    def place(self, key: str, where: str | None = None) -> str:
        """The beginning of an error about ``key``: the file, the line and the key."""
        return f"{place_of(key, where or self.file, self._text)}: {key}"

    def __eq__(self, other: object) -> bool:
        """Two scenarios are equal if their contents are the same, independent of their files."""
        return isinstance(other, Scenario) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(self.name)


def parse(text: str, where: str = "the scenario") -> Scenario:
    """The scenario that a TOML ``text`` describes, with the keys of ``docs/scenarios.md``.

    ``where`` is its name in errors. Raises InputError, whose message has a line for each mistake.
    """
    return from_data(parse_toml(text, where, HINT), where, text)


def from_data(data: dict[str, Any], where: str, text: str = "") -> Scenario:
    """A scenario from parsed TOML or JSON; ``text``: the TOML, for the lines of mistakes.

    Raises InputError.
    """
    scenario = validated(_kind_of(data, where), data, where, HINT, text)
    scenario._file, scenario._text = where, text
    return scenario


def _kind_of(data: Mapping[str, Any], where: str) -> type[Scenario]:
    """The class of the scenarios that have the tables of ``data``."""
    from kraftcheck.systems.kinds import KINDS  # Kinds are made of modules that need this one.

    found = [kind for kind in KINDS if kind.name in data]
    if len(found) > 1:
        names = " and ".join(kind.name for kind in found)
        raise InputError(f"{where}: {names} are tables of different scenarios; leave one out; {HINT}.")
    # Data without the table of any kind lacks that of the first one.
    return (*found, *KINDS)[0].scenario


def load(path: str | Path) -> Scenario:
    """The scenario in the file ``path``. Raises InputError, whose message has a line for each mistake."""
    return parse(read_text(Path(path), "a scenario file", most=MAX_FILE_BYTES), str(path))


def shipped() -> dict[str, Scenario]:
    """The scenarios that come with the package, by name, in alphabetical order."""
    return {name: _shipped(name) for name in shipped_files()}


@cache
def shipped_files() -> Mapping[str, Traversable]:
    """The files of the shipped scenarios, by the name of the scenario; a folder for each subject."""
    folders = [each for each in (resources.files("kraftcheck") / "scenarios").iterdir() if each.is_dir()]
    files = [file for folder in folders for file in folder.iterdir() if file.name.endswith(".toml")]
    return {file.name.removesuffix(".toml"): file for file in sorted(files, key=lambda file: file.name)}


@cache
def _shipped(name: str) -> Scenario:
    file = shipped_files()[name]
    return parse(file.read_text(encoding="utf-8"), file.name)


def find(
    word: str, also: Iterable[str] = (), lists: str = "'kraftcheck check --list' lists them"
) -> Scenario:
    """The shipped scenario called ``word``, or the one in the file ``word``. Raises InputError.

    also: further names that its sentence may suggest. lists: where all names are, for a word like none.
    """
    # A shipped scenario is in the file of its name.
    if word in shipped_files():
        return _shipped(word)
    if "/" in word or word.endswith(".toml") or os.path.exists(word):
        return load(Path(word))
    hint = did_you_mean(word, [*also, *shipped_files()], most=3) or f"; {lists}."
    raise InputError(f"there is no scenario '{word[:80]}'{hint}")
