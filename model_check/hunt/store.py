"""What a hunt has come to, in one file of its folder, from which the same command goes on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, ValidationError

from kraftcheck.hunt.step import Line
from kraftcheck.support.contents import digest_of
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import read_text, write_atomically
from kraftcheck.support.sources import source_digest
from kraftcheck.systems.scenario import Scenario, from_data
from kraftcheck.traces.json_form import scenario_data

#: The file of the folder.
STATE = "hunt.json"
_MOST_BYTES = 2**28


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Seen(_Model):
    """The first violation by a cause, or of new ones that are alike: where it was seen, after how many steps
    of the hunt and seconds; ``times``: how often in all. ``file``: that of the scenario which shows it, if
    it is new; ``confirmed``: whether exploring that file shows it.
    """

    property: str
    scenario: str
    widened: tuple[str, ...]
    steps: int
    walked: bool
    at_step: int
    seconds: float
    times: int = 1
    file: str | None = None
    confirmed: bool | None = None


class LineData(_Model):
    """A :class:`Line` as data."""

    first: dict[str, Any] | None
    now: dict[str, Any] | None
    explores: bool
    widened: tuple[str, ...]


class State(_Model):
    """``scenarios``: the chosen ones, each with the digest of its content; ``done``: how many of them have
    taken the step of ``round``. ``steps``: all steps that searched a scenario. ``causes``, ``new``: what was
    seen, by the id of the finding and by the name of the scenario that was written.
    """

    format: Literal["kraftcheck-hunt-state"] = "kraftcheck-hunt-state"
    version: Literal[1] = 1
    seed: int
    sources: str
    scenarios: dict[str, str]
    round: Annotated[int, Field(ge=0, lt=100_000)] = 0
    done: NonNegativeInt = 0
    steps: int = 0
    states: int = 0
    walked: int = 0
    seconds: float = 0.0
    lines: dict[str, LineData] = {}
    causes: dict[str, Seen] = {}
    new: dict[str, Seen] = {}


def begin(folder: Path, scenarios: Sequence[Scenario], seed: int) -> State:
    """The state in ``folder``, or one in which nothing has happened. Raises InputError where another hunt is
    there, or something else, and where two scenarios have one name.
    """
    names = [each.name for each in scenarios]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"two scenarios are called '{twice}'; give each once.")
    chosen = {each.name: digest_of(each.model_dump_json(by_alias=True)) for each in scenarios}
    begun = State(seed=seed, sources=source_digest(), scenarios=chosen)
    path = folder / STATE
    if not path.exists():
        return begun
    text = read_text(path, "the state of a hunt", most=_MOST_BYTES)
    try:
        found = State.model_validate_json(text)
    except ValidationError:
        raise InputError(f"{path}: is not the state of a hunt; choose another folder.") from None
    for what, there, here in (
        ("--seed", found.seed, seed),
        ("scenarios", [*found.scenarios.items()], [*chosen.items()]),  # Their order counts, too.
        ("sources of kraftcheck", found.sources, begun.sources),
    ):
        if there != here:
            raise InputError(f"{path}: this hunt was begun with other {what}; choose another folder.")
    if found.done > len(found.scenarios):
        raise InputError(f"{path}: is not the state of a hunt; choose another folder.")
    return found


def save(folder: Path, state: State) -> None:
    """Write ``state``. Raises InputError."""
    write_atomically(folder / STATE, state.model_dump_json(indent=1) + "\n", create_folder=True)


def line_of(state: State, name: str) -> Line:
    """What the scenario of this name has come to."""
    data = state.lines.get(name)
    if data is None:
        return Line()
    return Line(_scenario(data.first, name), _scenario(data.now, name), data.explores, data.widened)


def keep_line(state: State, name: str, line: Line) -> None:
    """Keep it in ``state``."""
    state.lines[name] = LineData(
        first=_data(line.first), now=_data(line.now), explores=line.explores, widened=line.widened
    )


def _scenario(data: dict[str, Any] | None, name: str) -> Scenario | None:
    return None if data is None else from_data(data, name)


def _data(scenario: Scenario | None) -> dict[str, Any] | None:
    found: dict[str, Any] | None = (
        None if scenario is None else json.loads(json.dumps(scenario_data(scenario)))
    )
    return found
