"""The counterexamples of the scenarios that violate something, without exploring them.

``counterexamples.json`` has the options of each; the reference takes them again when the site is built. Where
they no longer lead to the violation, the scenario is explored. ``python -m kraftcheck.site.counterexamples``
explores all and writes the file, which takes a minute or two.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from pydantic import BaseModel, ConfigDict, TypeAdapter

from kraftcheck.checking.run import check
from kraftcheck.engine.prepared import prepare
from kraftcheck.support.arguments import cores
from kraftcheck.support.files import write_atomically
from kraftcheck.support.parallel import processes
from kraftcheck.support.places import folder_of
from kraftcheck.systems.scenario import Scenario, shipped
from kraftcheck.traces import Trace, TraceError
from kraftcheck.traces.build import behaviour

FILE = "counterexamples.json"


class Pin(BaseModel):
    """The options of a counterexample of ``property``; ``loop``: those after which a cycle repeats."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    property: str
    path: tuple[int, ...]
    loop: int | None = None


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A behaviour of the scenario ``scenario`` that violates ``violated``, and its trace."""

    scenario: str
    violated: tuple[str, ...]
    trace: Trace

    @property
    def page(self) -> str:
        """The address of its page on the site."""
        return f"traces/{self.scenario}-{self.violated[0]}.html"


def violated() -> tuple[Scenario, ...]:
    """The shipped scenarios that expect a violation."""
    return tuple(each for each in shipped().values() if each.expect.verdict == "violated")


@cache
def pinned() -> Mapping[str, tuple[Pin, ...]]:
    """The counterexamples of the file, by scenario."""
    text = (resources.files("kraftcheck.site") / FILE).read_bytes()
    return TypeAdapter(dict[str, tuple[Pin, ...]]).validate_json(text)


def of_scenario(
    scenario: Scenario, note: Callable[[str], None] = lambda _: None
) -> tuple[Counterexample, ...]:
    """The counterexamples of ``scenario``, those by the same steps together; ``note`` is called when it must
    be explored.
    """
    try:
        traces = tuple(_taken(scenario, pin) for pin in pinned()[scenario.name])
    except (KeyError, TraceError):
        note(f"{scenario.name}: explored, for {FILE} has no path to its violation")
        traces = _explored(scenario)
    return _together(scenario, traces)


def _taken(scenario: Scenario, pin: Pin) -> Trace:
    """The trace of ``pin``. Raises TraceError where the reference no longer takes it to the violation."""
    return behaviour(scenario, None, pin.path, pin.property, pin.loop)


def _explored(scenario: Scenario) -> tuple[Trace, ...]:
    """Shortest counterexamples of ``scenario``; any of them, as looking for the simplest one takes longer."""
    several = len(scenario.expect.violates) > 1
    return tuple(check(scenario, threads=cores(), keep_going=several).traces(seek=False))


def _together(scenario: Scenario, traces: Iterable[Trace]) -> tuple[Counterexample, ...]:
    by_path: dict[tuple[int, ...], list[Trace]] = {}
    for trace in traces:
        by_path.setdefault(trace.path, []).append(trace)
    return tuple(
        Counterexample(scenario.name, tuple(str(each.property) for each in group), group[0])
        for group in by_path.values()
    )


def _pins(scenario: Scenario) -> tuple[str, list[dict[str, object]]]:
    """The entry of the file for ``scenario``, without traces of another scenario, its initial prefix."""
    found = check(scenario, threads=1, keep_going=len(scenario.expect.violates) > 1)
    traces = [each for each in found.traces() if each.scenario.name == scenario.name and not each.initial]
    pins = [Pin(property=str(each.property), path=each.path, loop=each.loop) for each in traces]
    return scenario.name, [pin.model_dump(exclude_none=True) for pin in pins]


def write() -> None:
    """Explore all scenarios that violate something, and write the file."""
    prepare()  # Otherwise each process compiles.
    with processes(cores()) as pool:
        entries = [entry for entry in pool.map(_pins, violated()) if entry[1]]
    lines = (f" {json.dumps(name)}: {json.dumps(pins, separators=(',', ':'))}" for name, pins in entries)
    write_atomically(folder_of("kraftcheck") / "site" / FILE, "{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    write()
