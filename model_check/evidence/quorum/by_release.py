"""Makes the results of :mod:`kraftcheck.checking.by_release`.

``python -m kraftcheck.evidence.quorum.by_release -o FILE`` checks each finding's scenario under the preset of
each release. Given releases of Kafka (folders, or source trees with ``--jars``), it also lets replicas of
each take the counterexamples. A result is written as soon as it is there, so that the same command resumes
after Ctrl-C; ``--anew`` forgets the earlier results of what it makes.

``--traces FOLDER`` has counterexamples of one release, which ``kraftcheck check --traces`` wrote. A release
whose preset takes the same steps to the same violation is given these, and the scenario is not explored for
it. That is how nightly scenarios have results; under other presets their steps need not be the fewest.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from kraftcheck.checking import by_release
from kraftcheck.checking.by_release import Checked, Reproduced, Results
from kraftcheck.engine.watch import Progress
from kraftcheck.evidence.adapters.started import Adapters
from kraftcheck.evidence.kafka import build
from kraftcheck.evidence.kafka.option import KAFKA_TIMEOUT
from kraftcheck.evidence.quorum.chosen import NothingViolated, Source, behaviours, obstacle
from kraftcheck.evidence.quorum.known import known_counterexamples, under_release
from kraftcheck.evidence.quorum.replay import Reproduction, reproduce
from kraftcheck.reference.protocol import PRESETS
from kraftcheck.spec import RELEASES
from kraftcheck.support.arguments import flag
from kraftcheck.support.errors import InputError
from kraftcheck.support.exit_codes import EXIT_BAD_INPUT, EXIT_EXPECTED, EXIT_UNDETERMINED
from kraftcheck.support.streams import progress
from kraftcheck.systems.kraft.scenario import KRaftScenario
from kraftcheck.systems.other_protocol import under
from kraftcheck.systems.scenario import find
from kraftcheck.traces import Trace

Tell = Callable[[str], None]


def main(words: Sequence[str] | None = None) -> int:
    """Run the command: 0 all is there, 2 bad input, 3 interrupted."""
    parser = argparse.ArgumentParser(prog="python -m kraftcheck.evidence.quorum.by_release")
    parser.add_argument("kafka", nargs="*", type=Path, metavar="PATH", help="releases, or source trees")
    parser.add_argument("--jars", type=Path, metavar="FOLDER", help="third-party jars for source trees")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="the results")
    parser.add_argument("--traces", type=Path, metavar="FOLDER", help="counterexamples to try first")
    flag(parser, "--nightly", says="explore nightly scenarios where no trace fits, for as long as it takes")
    flag(parser, "--anew", says="forget the earlier results of what is made")
    arguments = parser.parse_args(words)
    try:
        results = by_release.read(arguments.output)
        with progress() as tell:
            _make(results, arguments, tell)
    except InputError as error:
        print(f"kraftcheck: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    except KeyboardInterrupt:
        print("kraftcheck: interrupted. The same command resumes without --anew.", file=sys.stderr)
        return EXIT_UNDETERMINED
    return EXIT_EXPECTED


def _make(results: Results, arguments: argparse.Namespace, tell: Tell) -> None:
    traces = known_counterexamples(arguments.traces)
    if arguments.anew:
        results.checked.clear()
    for name, release in [*by_release.missing(results)]:
        tell(f"{name} under {by_release.preset_of(release)} …")
        known = results.checked.setdefault(name, {})
        known[release] = _same(known, release) or by_release.checked(name, release, _shows(tell, name))
        by_release.write(results, arguments.output)
    for name, release in _nightly(results):
        shown = under_release(traces.get(name, ()), release)
        if not shown and not arguments.nightly:
            continue
        tell(f"{name} under {by_release.preset_of(release)} …")
        results.checked[name][release] = (
            by_release.shown_by(shown)
            if shown
            else by_release.checked(name, release, _shows(tell, name), nightly=True)
        )
        results.reproduced.get(name, {}).pop(release, None)
        by_release.write(results, arguments.output)
    for path in arguments.kafka:
        _reproduce_all(results, path, traces, arguments, tell)


def _nightly(results: Results) -> Iterator[tuple[str, str]]:
    """The nightly scenarios and releases without a verdict."""
    for name in by_release.scenarios():
        for release in RELEASES if "nightly" in find(name).tags else ():
            if results.checked[name][release].verdict == "undetermined":
                yield name, release


def _same(known: dict[str, Checked], release: str) -> Checked | None:
    """The result under an equal preset."""
    own = PRESETS[by_release.preset_of(release)]
    return next((one for other, one in known.items() if PRESETS[by_release.preset_of(other)] == own), None)


def _shows(tell: Tell, name: str) -> Callable[[Progress], None]:
    return lambda found: tell(f"{name}: {found.distinct:,} states")


def _reproduce_all(
    results: Results,
    path: Path,
    traces: Mapping[str, Sequence[Trace]],
    arguments: argparse.Namespace,
    tell: Tell,
) -> None:
    """Let the classes at ``path`` take the counterexamples of all findings. Raises InputError."""
    release = build.preset(path, arguments.jars, tell).removeprefix("kafka-")
    assert release in RELEASES
    if arguments.anew:
        for known in results.reproduced.values():
            known.pop(release, None)
    with Adapters(build.command(path, arguments.jars, tell), KAFKA_TIMEOUT) as adapters:
        for name in by_release.scenarios():
            known = results.reproduced.setdefault(name, {})
            if release not in known:
                tell(f"{name} on {adapters.name} …")
                checked = results.checked[name][release]
                taken = under_release(traces.get(name, ()), release)
                if {str(each.property): len(each.steps) for each in taken} != dict(checked.violated):
                    taken = ()
                known[release] = tuple(_reproduced(name, release, checked, taken, adapters, tell))
                by_release.write(results, arguments.output)


def _reproduced(
    name: str, release: str, checked: Checked, known: Sequence[Trace], adapters: Adapters, tell: Tell
) -> Iterator[Reproduced]:
    scenario = find(name)
    assert isinstance(scenario, KRaftScenario)
    reason = obstacle(scenario)
    if checked.verdict == "undetermined":
        reason = f"{checked.reason} before there was a counterexample"
    elif checked.verdict != "violated":
        reason = "there is no counterexample"
    if reason is not None:
        yield Reproduced(verdict="untried", reason=reason)
        return
    try:
        source = Source(name, under(scenario, by_release.preset_of(release)))
        found = known or [each.trace for each in behaviours(source, _shows(tell, name))]
        for trace in {each.path: each for each in found}.values():
            result = reproduce(trace, adapters.session)
            yield Reproduced(
                verdict=result.verdict,  # type: ignore[arg-type]
                steps=result.steps,
                taken=result.taken,
                reason=_reason(result),
            )
    except NothingViolated:
        yield Reproduced(verdict="untried", reason="there is no counterexample")


def _reason(result: Reproduction) -> str:
    stopped = result.stopped
    if stopped is None:
        return ""
    where = f"step {stopped.step}"
    if not stopped.differences:
        return f"{where}: {stopped.reason}"
    first = stopped.differences[0]
    return f"{where}, replica {stopped.replica}: {first.field}: expected {first.expected}, got {first.found}"


if __name__ == "__main__":
    sys.exit(main())
