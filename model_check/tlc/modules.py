"""The modules of ``tla/``, and the configuration of a scenario or of a mutant."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from kraftcheck.support import places
from kraftcheck.support.closest import did_you_mean
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import read_text
from kraftcheck.support.validation import read_toml
from kraftcheck.systems.scenario import Name

MAX_FILE_BYTES = 1_000_000
DEFAULT_MODULE = "KRaft"
#: The prefix of root modules of brokers, the module with their mutants, and that of all others.
BROKERS_MODULE = "Brokers"
BROKERS_MUTANTS_MODULE = "BrokersMutants"
MUTANTS_MODULE = "KRaftMutants"

#: The first line of a configuration names the module that TLC is to read, if it is not KRaft.tla.
_FIRST_LINE = re.compile(r"\\\*.*?\b([A-Za-z][A-Za-z0-9_]{0,60})\.tla\b", re.ASCII)
_SECTION = re.compile(
    r"^(INVARIANTS?|CONSTANTS?|INIT|NEXT|SPECIFICATION|PROPERTY|PROPERTIES)\b(.*)$", re.ASCII
)
#: The constants of voter changes in a scenario without such changes.
_WITHOUT_CHANGES = {
    "Steps": "<- NoSteps",
    "InOrder": "= TRUE",
    "AskedAt": "= {}",
    "FirstLeader": "= None",
    "Given": "<- NobodyGiven",
}
Operator = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,60}$")]


@dataclass(frozen=True, slots=True)
class Configuration:
    """The input of TLC for a scenario: a root module and the text of a .cfg file."""

    name: str
    root: str
    text: str

    @property
    def invariants(self) -> tuple[str, ...]:
        """The names under ``INVARIANTS``."""
        return tuple(word for line in self._lines("INVARIANT") for word in line.split())

    @property
    def initial(self) -> str:
        """The initial predicate."""
        return " ".join(self._lines("INIT")).strip()

    @property
    def next(self) -> str:
        """The next-state relation."""
        return " ".join(self._lines("NEXT")).strip()

    def _lines(self, wanted: str) -> list[str]:
        found, section = [], ""
        for line in self.text.splitlines():
            line = line.split("\\*")[0].rstrip()
            match = _SECTION.match(line)
            if match is not None:
                section, line = match[1], match[2]
            if section.rstrip("S") == wanted:
                found.append(line)
        return found


class TlaMutant(BaseModel):
    """A mutant in TLA+: the operators that take the place of others; ``id`` as in ``mutants.toml``."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    id: Name
    scenario: Name
    replaces: Annotated[dict[Operator, Operator], Field(min_length=1)]


class _MutantFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    mutant: Annotated[tuple[TlaMutant, ...], Field(strict=False)]


class Modules:
    """A folder of modules and configurations."""

    def __init__(self, folder: Path | None = None) -> None:
        """``folder`` is the one of the project, unless it is given. Raises InputError where it is none."""
        self.folder = folder or places.root() / "tla"
        if not (os.path.isdir(self.folder) and any(self.folder.glob("*.tla"))):
            raise InputError(
                f"{self.folder}: there are no TLA+ modules; name the project's folder 'tla' with --modules."
            )

    def sources(self) -> dict[str, str]:
        """The modules, by file name. Raises InputError."""
        return {path.name: _read(path) for path in sorted(self.folder.glob("*.tla"))}

    def names(self) -> tuple[str, ...]:
        """The scenarios that have a configuration."""
        return tuple(sorted(path.stem for path in self.folder.glob("*.cfg")))

    def configuration(self, name: str) -> Configuration:
        """The configuration of a scenario. Raises InputError where there is none."""
        if name not in self.names():
            hint = did_you_mean(name, self.names(), most=2) or f"; there are {', '.join(self.names())}."
            why = "docs/tlc.md says what TLA+ has no form for"
            raise InputError(f"scenario '{name}' has no TLA+ configuration ({why}){hint}")
        text = _read(self.folder / f"{name}.cfg")
        named = _FIRST_LINE.match(text)
        return Configuration(name, named[1] if named else DEFAULT_MODULE, text)

    def mutants(self) -> dict[str, TlaMutant]:
        """The mutants with a TLA+ counterpart, by id. Raises InputError."""
        path = self.folder / "mutants.toml"
        found = read_toml(_MutantFile, _read(path), str(path), "correct it").mutant
        return {mutant.id: mutant for mutant in found}

    def mutated(self, mutant: TlaMutant) -> Configuration:
        """The configuration of the mutant's scenario with the mutant in place. Raises InputError."""
        plain = self.configuration(mutant.scenario)
        lines = [f"    {old} <- {new}" for old, new in mutant.replaces.items()]
        taken = [line for line in plain.text.splitlines() if _replaced(line) not in mutant.replaces]
        named = {line.split()[0] for line in taken if line.startswith(" ") and line.split()}
        of_brokers = plain.root.startswith(BROKERS_MODULE)
        if not of_brokers:
            lines += [f"    {name} {value}" for name, value in _WITHOUT_CHANGES.items() if name not in named]
        at = next((n for n, line in enumerate(taken) if line.startswith("CONSTANTS")), None)
        if at is None:
            raise InputError(f"{self.folder / mutant.scenario}.cfg: there is no line CONSTANTS; add one.")
        text = "\n".join([*taken[: at + 1], *lines, *taken[at + 1 :]]) + "\n"
        return Configuration(plain.name, BROKERS_MUTANTS_MODULE if of_brokers else MUTANTS_MODULE, text)


def _replaced(line: str) -> str:
    """The name that a line of a configuration replaces."""
    return line.partition("<-")[0].strip() if "<-" in line else ""


def _read(path: Path) -> str:
    return read_text(path, "a file of the TLA+ modules", most=MAX_FILE_BYTES)
