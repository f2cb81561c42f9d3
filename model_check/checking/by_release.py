"""Which finding is there in which release of Kafka: the results that ``findings_by_release.json`` keeps.

``python -m kraftcheck.evidence.quorum.by_release`` makes them: each finding's scenario under the preset of
each release, and its counterexamples taken by real replicas of the releases that were given. A release is
named as in :data:`kraftcheck.spec.RELEASES`; its preset is ``kafka-RELEASE``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kraftcheck.checking.findings import Known, known_findings, recognised
from kraftcheck.checking.run import check
from kraftcheck.engine.system import Limits
from kraftcheck.engine.watch import Progress
from kraftcheck.reference.protocol import OF_KAFKA
from kraftcheck.spec import RELEASES
from kraftcheck.support.arguments import cores
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import write_atomically
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.kraft.scenario import KRaftScenario
from kraftcheck.systems.other_protocol import under
from kraftcheck.systems.scenario import find
from kraftcheck.traces import Trace

#: The name of the file, among the package's data.
FILE: Final = "findings_by_release.json"

#: A scenario that takes longer is undetermined.
MAX_SECONDS: Final = 60


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Checked(_Entry):
    """A scenario under the preset of a release.

    violated: by property the steps of the shortest counterexample. looks_like: the findings that these
    resemble. reason: why there is no verdict.
    """

    verdict: Literal["violated", "holds", "undetermined", "unbuilt"]
    violated: Mapping[str, int] = {}
    looks_like: tuple[str, ...] = ()
    reason: str = ""


class Reproduced(_Entry):
    """A counterexample under the preset of a release, as the classes of that release took it.

    ``taken`` of ``steps`` steps are the same; ``reason``: why not all, or why it was not tried.
    """

    verdict: Literal["confirmed", "differs", "undetermined", "untried"]
    steps: int = 0
    taken: int = 0
    reason: str = ""


class Results(BaseModel):
    """All results, by scenario and release; in ``reproduced`` one for each counterexample."""

    model_config = ConfigDict(extra="forbid")

    format: Literal[1] = 1
    checked: dict[str, dict[str, Checked]] = Field(default_factory=dict)
    reproduced: dict[str, dict[str, tuple[Reproduced, ...]]] = Field(default_factory=dict)


def preset_of(release: str) -> str:
    """The preset of the protocol for a release."""
    return f"kafka-{release}"


@cache
def scenarios() -> dict[str, Known]:
    """The scenarios of findings about replicas of Kafka, by name; the presets of releases have no others."""
    return {
        name: known
        for known in known_findings()
        for name in known.scenarios
        if isinstance(scenario := find(name), KRaftScenario) and scenario.protocol.preset in OF_KAFKA
    }


def kept() -> Results:
    """The results of this package."""
    return read(Path(str(resources.files("kraftcheck.checking") / FILE)))


def read(file: Path) -> Results:
    """The results in ``file``; none where it is missing. Raises InputError for another content."""
    if not file.exists():
        return Results()
    try:
        return Results.model_validate_json(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValidationError):
        message = f"{file}: not results by release of format 1; remove it or name another file."
        raise InputError(message) from None


def write(results: Results, file: Path) -> None:
    """Write ``results``. Raises InputError."""
    write_atomically(file, results.model_dump_json(indent=1) + "\n")


def missing(results: Results) -> Iterator[tuple[str, str]]:
    """The scenarios and releases that have not been checked."""
    for name in scenarios():
        for release in RELEASES:
            if release not in results.checked.get(name, {}):
                yield name, release


def checked(
    name: str, release: str, progress: Callable[[Progress], None] | None = None, *, nightly: bool = False
) -> Checked:
    """The scenario of a finding, explored under the preset of a release. ``nightly``: also one that takes
    minutes, for as long as it takes.
    """
    try:
        scenario = under(find(name), preset_of(release))
        if "nightly" in scenario.tags and not nightly:
            kind_of(scenario).build(scenario)
            return Checked(verdict="undetermined", reason="it is a nightly scenario, not tried")
        several = len(find(name).expect.violates) > 1
        found = check(
            scenario,
            threads=cores(),
            keep_going=several,
            limits=Limits(max_seconds=None if nightly else MAX_SECONDS),
            progress=progress,
        )
    except InputError as error:
        return Checked(verdict="unbuilt", reason=str(error))
    traces = found.traces()
    if not traces and found.undetermined:
        return Checked(verdict="undetermined", reason=found.limit or "a budget leaves the verdict open")
    return shown_by(traces)


def shown_by(traces: Sequence[Trace]) -> Checked:
    """What counterexamples show; none: that the scenario holds."""
    steps = {trace.property: len(trace.steps) for trace in traces if trace.property is not None}
    alike = [known.id for trace in traces if (known := recognised(trace)) is not None]
    return Checked(
        verdict="violated" if steps else "holds",
        violated=steps,
        looks_like=tuple(dict.fromkeys(alike)),
    )
