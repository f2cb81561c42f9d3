"""The JUnit test of a counterexample: one file for ``raft/src/test/java/org/apache/kafka/raft`` of Kafka."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources

from kraftcheck.evidence.adapters.asked import times_of
from kraftcheck.evidence.adapters.deployed import CLUSTER
from kraftcheck.evidence.adapters.stimuli import Start
from kraftcheck.evidence.junit.happenings import Happening, happenings
from kraftcheck.evidence.junit.imports import PACKAGE, as_in, imports_of
from kraftcheck.evidence.junit.judges import NO_FATAL, Judge, fits, judges
from kraftcheck.evidence.junit.messages import NotWritable, literal
from kraftcheck.evidence.junit.statements import Statement, name_of, statements, wrapped
from kraftcheck.evidence.quorum.chosen import obstacle
from kraftcheck.evidence.quorum.replay import behaviour
from kraftcheck.evidence.recordings.wire_codec import uuid
from kraftcheck.reference.effects import Fatal
from kraftcheck.reference.events import Poll
from kraftcheck.reference.protocol import RELEASES
from kraftcheck.support.errors import InputError
from kraftcheck.support.printable import printable
from kraftcheck.systems.kraft.scenario import of_replicas
from kraftcheck.traces import Trace
from kraftcheck.traces.view import View, permalink, view_of

#: The release whose test classes the file is written for, if the protocol of the trace is of none.
_OTHERWISE = "4.3"

_WIDTH = 115


def class_name(trace: Trace) -> str:
    """The class of the test, and so the name of its file."""
    words = re.findall("[A-Za-z0-9]+", trace.scenario.name.removeprefix("finding-"))
    return "KafkaRaftClient" + "".join(word[0].upper() + word[1:] for word in words) + "Test"


def release_of(trace: Trace) -> str:
    """The release whose test classes the test of ``trace`` is written for."""
    preset = of_replicas(trace.scenario, "a test of Kafka").protocol.preset
    return preset.removeprefix("kafka-") if preset in RELEASES else _OTHERWISE


def source(trace: Trace) -> str:
    """The test of ``trace``, which fails as long as Kafka behaves like this.

    Raises InputError where the trace is not one of replicas, violates nothing, or has a part for which there
    is no form in a test.
    """
    scenario = of_replicas(trace.scenario, "a test of Kafka")
    reason = obstacle(scenario)
    if reason is not None:
        raise InputError(f"--kafka-test: {scenario.name}: {reason}.")
    if trace.property is None:
        raise InputError(
            "--kafka-test: the trace violates no property, so that a test of it would not fail; give a "
            "counterexample."
        )
    if trace.is_of_behaviours:
        raise InputError(
            f"--kafka-test: {trace.property} says what eventually happens, and no finite test fails for it; "
            "'kraftcheck reproduce' takes the steps."
        )
    judge = judges().get(trace.property)
    if judge is None:
        raise InputError(
            f"--kafka-test: there is no assertion in Java for {trace.property}; 'kraftcheck reproduce' takes "
            "the steps."
        )
    system, chosen, taken = behaviour(trace)
    noted, stopped = happenings(system, chosen, taken)
    if stopped is not None:
        raise InputError(f"--kafka-test: step {stopped.step} has no form in a test: {stopped.reason}.")
    try:
        return _file(trace, judge, noted)
    except NotWritable as error:
        raise InputError(f"--kafka-test: the behaviour has no form in a test: {error}.") from None


def _file(trace: Trace, judge: Judge, noted: Sequence[Happening]) -> str:
    events = [each.question for each in noted if not isinstance(each.question.event, Poll)]
    if not events or not fits(judge, events[-1]):
        raise NotWritable(f"its last event is none that the assertion of {trace.property} is about")
    if trace.property == NO_FATAL and not _dies(noted[-1]):
        raise NotWritable("the process that exits does not do so in the last event")
    view = view_of(trace)
    body = [*_test(trace, view, judge, noted)]
    release = release_of(trace)
    parts = [_core(judge), *map(_part, judge.parts)]
    if _uses("voters", "\n".join(parts[1:])):
        parts[0] = parts[0].replace("//# methods of a replica\n", _part("effective_voters") + "\n")
    text = as_in(re.sub(r"//# .*\n", "", "\n".join(parts)), release)
    text = _with_times(_needed("\n".join(body), text), noted)
    klass = [
        f"public class {class_name(trace)} {{",
        f"    private static final String CLUSTER_ID = {literal(CLUSTER)};",
    ]
    lines = [*klass, "", *body, "", text.rstrip("\n"), "}"]
    whole = "\n".join(lines)
    imports = imports_of(whole, release)
    head = [*_license(), f"package {PACKAGE};", "", *imports, "", *_about(trace, view)]
    return "\n".join([*head, whole]) + "\n"


def _dies(each: Happening) -> bool:
    outcome = each.question.outcome
    return outcome is not None and bool(outcome.effects) and isinstance(outcome.effects[-1], Fatal)


# The parts that all tests share.


@cache
def _part(name: str) -> str:
    found = resources.files(__package__).joinpath("java", f"{name}.java")
    return found.read_text(encoding="utf-8")


def _core(judge: Judge) -> str:
    """The quorum, with the calls that an assertion needs in it."""
    text = _part("quorum")
    if judge.observe:  # Also where the process exits in this round.
        lines = [
            "try {",
            "    client.poll();",
            "} finally {",
            *(f"    {each}" for each in judge.observe),
            "}",
        ]
        observed = "".join(f"            {line}\n" for line in lines)
        text = text.replace("            client.poll();\n//# after a poll\n", observed)
    if "check_quorum" in judge.parts:
        field = "        private final Set<Integer> heardFrom = new TreeSet<>();\n"
        text = text.replace("//# fields of a replica\n", field)
        text = text.replace("//# before a request\n", "            long before = untilCheckQuorum(this);\n")
        after = "            observeCheckQuorum(this, exchange.data, before);\n"
        text = text.replace("//# after a request\n", after)
    return text


def _uses(name: str, text: str) -> bool:
    return re.search(rf"\b{name}\(", text) is not None


def _needed(body: str, text: str) -> str:
    """``text`` without the methods that nothing calls: those between ``//? NAME`` and ``//.``."""
    pieces = re.split(r"(?m)^//\? (\w+)\n(.*?)^//\.\n", text, flags=re.DOTALL)
    fixed, optional = pieces[::3], list(zip(pieces[1::3], pieces[2::3], strict=True))
    kept = set[int]()
    while True:
        known = "\n".join([body, *fixed, *(optional[each][1] for each in kept)])
        more = {each for each, (name, _) in enumerate(optional) if _uses(name, known)} - kept
        if not more:
            break
        kept |= more
    found = [fixed[0]]
    for number, (_, code) in enumerate(optional):
        found += [code if number in kept else "", fixed[number + 1]]
    return re.sub(r"\n{3,}", "\n\n", "".join(found))


def _with_times(text: str, noted: Sequence[Happening]) -> str:
    protocol = noted[0].protocol
    times = times_of(protocol)
    values = {
        "electionTimeoutMs": times.election_timeout,
        "electionBackoffMaxMs": times.election_backoff_max,
        "fetchTimeoutMs": protocol.fetch_timeout_ms,
        "fetchMaxWaitMs": protocol.fetch_max_wait_ms,
    }
    for name, value in values.items():
        text = text.replace(f"@{name}@", str(value))
    return text


# The test itself.


def _test(trace: Trace, view: View, judge: Judge, noted: Sequence[Happening]) -> Iterator[str]:
    yield "    @Test"
    yield f"    public void test{trace.property}() throws Exception {{"
    for line in _body(trace, view, judge, noted):
        yield f"        {line}" if line else ""
    yield "    }"


def _body(trace: Trace, view: View, judge: Judge, noted: Sequence[Happening]) -> Iterator[str]:
    directories: dict[int, str] = {}
    for each in noted:
        if isinstance(each.question.event, Start):
            directories.setdefault(each.replica, uuid(each.question.identity.key.directory))
    for replica, directory in sorted(directories.items()):
        yield f"Replica {name_of(replica)} = new Replica({replica}, {literal(directory)});"
    found = list(statements(noted))
    last = max(index for index, each in enumerate(found) if each.event)
    yield from _steps(trace, view, _judged(trace, judge, found, last))
    request = re.search(r"receive\((\w+)\)", found[last].lines[0])
    words = {"replica": name_of(found[last].replica), "request": "" if request is None else request[1]}
    if judge.after:
        yield ""
        yield from _comment(f"{view.violated}: {view.statement}")
        yield from (line.format(**words) for line in judge.after)


def _judged(trace: Trace, judge: Judge, found: Sequence[Statement], last: int) -> Iterator[Statement]:
    """The statements, in which processes may end and the last one may be judged."""
    for index, each in enumerate(found):
        if index == last and trace.property == NO_FATAL:
            says = f"Replica {each.replica} exits"
            yield wrapped(each, "assertDoesNotThrow(() -> ", f", {literal(says)});")
        elif each.fatal and each.event:
            yield wrapped(each, "assertThrows(Exception.class, () -> ", ");")
        elif index == last and judge.before:
            lines = (line.format(replica=name_of(each.replica)) for line in judge.before)
            yield replace(each, lines=(*lines, *each.lines))
        else:
            yield each


def _steps(trace: Trace, view: View, found: Iterator[Statement]) -> Iterator[str]:
    number = 0
    yield ""
    yield from _comment("The way into the state in which the behaviour begins.")
    for each in found:
        while number < each.step:
            number += 1
            yield ""
            yield from _step(trace, view, number)
        yield from each.lines
    while number < len(trace.steps):
        number += 1
        yield ""
        yield from _step(trace, view, number)


def _step(trace: Trace, view: View, number: int) -> Iterator[str]:
    shown = view.steps[number - 1]
    rules = ", ".join(trace.steps[number - 1].rules)
    head = re.sub(r"←(\S+) ", r"from \1: ", shown.head)
    yield from _comment(f"{number}. Replica {shown.actor}: {head}")
    if rules:
        yield from _comment(f"   by {rules}", hang="   ")


def _comment(text: str, hang: str = "") -> Iterator[str]:
    for line in textwrap.wrap(_prose(text), _WIDTH - 11, subsequent_indent=hang, drop_whitespace=True):
        yield f"// {line}"


def _prose(text: str) -> str:
    """``text`` for a comment of Java: on one line, and unable to end it."""
    return printable(text).replace("\\", "/").replace("*/", "* /")


def _about(trace: Trace, view: View) -> Iterator[str]:
    finding = trace.finding
    assert finding is not None
    about = " ".join(trace.scenario.about.split())
    paragraphs = [
        f"{trace.scenario.name} of kraftcheck. {about}",
        f"The test fails as long as Kafka does so: {view.violated} is violated. {' '.join(finding.reasons)}",
        f"Made by: kraftcheck trace show {permalink(trace)} --kafka-test. Written for the test classes of "
        f"Kafka {release_of(trace)}.",
    ]
    yield "/**"
    for index, each in enumerate(paragraphs):
        if index:
            yield " *"
        text = html.escape(_prose(each), quote=False).replace("@", "&#64;")
        yield from (f" * {line}" for line in textwrap.wrap(text, _WIDTH - 3))
    yield " */"


def _license() -> list[str]:
    return [line for line in _part("license").splitlines() if line]
