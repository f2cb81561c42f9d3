"""The behaviours that a word names: those of a finding, a scenario, a trace file, or of all findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kraftcheck.checking.findings import known_findings
from kraftcheck.checking.run import CheckResult, check
from kraftcheck.engine.watch import Progress
from kraftcheck.reference.protocol import KAFKA, OF_KAFKA, PRESETS, Discovery, Protocol, VoterChanges
from kraftcheck.support.arguments import cores
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import read_standard_input
from kraftcheck.systems import scenario
from kraftcheck.systems.kraft.scenario import KRaftScenario, of_replicas
from kraftcheck.systems.kraft.switches import SWITCHES
from kraftcheck.systems.other_protocol import under
from kraftcheck.systems.scenario import Scenario
from kraftcheck.traces import Trace, json_form
from kraftcheck.traces.replay import replay

#: The word for all findings about replicas.
ALL = "all"

#: Why a scenario cannot be reproduced.
NOT_RELEASED = "AlterQuorum and FindQuorum of KIP-595 were never released and have no form on the wire"
FIXED = "it has the fix of a finding, which no release has"
WITHOUT_DISKS = "the drive protocol has no disks that another release or a person has written"

_WHAT = "a quorum of adapters"
#: Where all names of findings and scenarios are.
_ALL_NAMES = "docs/findings.md lists the findings, and 'kraftcheck check --list' the scenarios"


class Chosen(NamedTuple):
    """A behaviour to reproduce: what it is called, the properties that it violates, and its trace."""

    name: str
    violated: tuple[str, ...]
    trace: Trace


class NothingViolated(InputError):
    """A scenario holds, so that there is no behaviour to reproduce."""


class Source(NamedTuple):
    """Where behaviours come from: a trace file (``-``: standard input), or a scenario that is explored."""

    word: str
    scenario: Scenario | None


def sources(words: Sequence[str], preset: str | None = None) -> tuple[list[Source], dict[str, str]]:
    """What the words name, each once, and the scenarios that ``all`` leaves out, with the reasons.
    ``preset``: that of the protocol of scenarios, instead of their own. Raises InputError.
    """
    found: dict[str, Source] = {}
    left_out: dict[str, str] = {}
    for word in words:
        if word == ALL:
            chosen, left_out = _all()
        else:
            chosen = _named(word)
        for source in chosen:
            if source.scenario is not None:
                source = source._replace(scenario=under(source.scenario, preset))
            elif preset is not None:
                raise InputError(f"--protocol: {source.word} is a trace, which knows its protocol.")
            found.setdefault(source.word, source)
    return list(found.values()), left_out


def of_release(chosen: Sequence[Source], preset: str) -> list[Source]:
    """``chosen`` for replicas of a release of Kafka, whose preset is ``preset``: scenarios of a preset of
    Kafka under that one, with the switches that they set; all others as they are.
    """
    found: list[Source] = []
    for source in chosen:
        scenario = source.scenario
        own = None if not isinstance(scenario, KRaftScenario) else scenario.protocol.preset
        other = own in OF_KAFKA and PRESETS[preset] != PRESETS[own]
        found.append(source._replace(scenario=under(scenario, preset)) if scenario and other else source)
    return found


def _all() -> tuple[list[Source], dict[str, str]]:
    names = [name for known in known_findings() for name in known.scenarios]
    every = {name: scenario.find(name) for name in names}
    replicas = {name: each for name, each in every.items() if isinstance(each, KRaftScenario)}
    left_out = {name: reason for name, each in replicas.items() if (reason := obstacle(each)) is not None}
    return [Source(name, each) for name, each in replicas.items() if name not in left_out], left_out


def _named(word: str) -> list[Source]:
    if word == "-" or (word.endswith(".json") and Path(word).is_file()):
        return [Source(word, None)]
    known = {finding.id: finding for finding in known_findings()}
    if word in known:
        return [Source(name, _required(scenario.find(name))) for name in known[word].scenarios]
    if word.endswith(".json"):
        raise InputError(
            f"{word}: there is no such file; 'kraftcheck check --traces DIR' writes trace files."
        )
    return [Source(word, _required(scenario.find(word, known, _ALL_NAMES)))]


def _required(chosen: Scenario) -> KRaftScenario:
    """``chosen``, of which replicas can be driven. Raises InputError."""
    found = of_replicas(chosen, _WHAT)
    reason = obstacle(found)
    if reason is not None:
        raise InputError(f"{found.name}: {reason}; choose another scenario.")
    return found


def obstacle(chosen: KRaftScenario) -> str | None:
    """The reason why the drive protocol has no place for a scenario; ``None`` if there is none."""
    protocol = SWITCHES.protocol(chosen.protocol.preset, chosen.protocol.set, chosen.file)
    if protocol.discovery is not Discovery.FETCH or protocol.voter_changes is not VoterChanges.KIP853:
        return NOT_RELEASED
    if any(getattr(KAFKA, name) is False and getattr(protocol, name) for name in Protocol.__struct_fields__):
        return FIXED
    replicas, at = chosen.replicas, chosen.protocol.at.values()
    if replicas.newer_disk or replicas.zero_directory or any("vote-memory" in each for each in at):
        return WITHOUT_DISKS
    return None


def behaviours(source: Source, progress: Callable[[Progress], None] | None = None) -> Iterator[Chosen]:
    """The behaviours of ``source``: the trace of the file, or the counterexamples of the scenario, which is
    explored for that. Raises InputError.
    """
    if source.scenario is None:
        if source.word == "-":
            trace = json_form.loads(read_standard_input("a trace file"), "standard input")
        else:
            trace = json_form.load(Path(source.word))
        _required(trace.scenario)
        difference = replay(trace)
        if difference is not None and not difference.of_numbers:
            raise InputError(
                f"{source.word}: the present reference does not do what the trace records ({difference}), so "
                "nothing could be confirmed; make the trace anew by 'kraftcheck check --traces DIR'."
            )
        name = trace.scenario.name if source.word == "-" else Path(source.word).name
        yield Chosen(name, () if trace.property is None else (trace.property,), trace)
        return
    if not (shown := shown_by(explored(source.scenario, progress))):
        raise NothingViolated(
            f"{source.scenario.name}: no property is violated there, so that there is no behaviour to "
            "reproduce; give a trace file."
        )
    yield from shown


def explored(chosen: Scenario, progress: Callable[[Progress], None] | None = None) -> CheckResult:
    """The result of a scenario, with a counterexample of each property that it expects to be violated."""
    return check(chosen, threads=cores(), keep_going=len(chosen.expect.violates) > 1, progress=progress)


def shown_by(found: CheckResult) -> list[Chosen]:
    """The behaviours that the counterexamples of a scenario show; one may violate several properties."""
    by_path: dict[tuple[int, ...], Chosen] = {}
    for trace in found.traces():
        assert trace.property is not None
        known = by_path.get(trace.path)
        violated = (*(() if known is None else known.violated), trace.property)
        by_path[trace.path] = Chosen(found.scenario.name, violated, trace)
    return list(by_path.values())
