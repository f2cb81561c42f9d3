"""The tests are compiled with Kafka's test classes and fail: KRAFTCHECK_KAFKA names a source tree."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kraftcheck.checking import by_release
from kraftcheck.evidence.junit.judges import NO_FATAL, judges
from kraftcheck.evidence.junit.program import class_name, source
from kraftcheck.evidence.kafka import installation, jdk
from kraftcheck.evidence.kafka.build import command
from kraftcheck.site.counterexamples import of_scenario
from kraftcheck.systems.kraft.switches import preset_of
from kraftcheck.systems.other_protocol import under
from kraftcheck.systems.scenario import find
from kraftcheck.traces import Trace

KAFKA, JARS = os.environ.get("KRAFTCHECK_KAFKA"), os.environ.get("KRAFTCHECK_KAFKA_JARS")
SOURCES = Path(KAFKA or "-") / "raft" / "src"
#: From 4.4 on the mock classes are in folders of their own.
MOCKS = [
    folder / "java"
    for module in ("raft", "clients", "server-common")
    for folder in sorted((Path(KAFKA or "-") / module / "src").glob("test*"))
]
HERE = Path(__file__).parent

#: As Kafka's build has it: no warning but these.
WARNINGS = ("-Xlint:all,-serial,-try,-options", "-Werror")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not KAFKA, reason="the tests for Kafka NOT RUN: name a source tree by KRAFTCHECK_KAFKA"
    ),
    pytest.mark.skipif(
        not any((folder / "org/apache/kafka/raft/MockLog.java").is_file() for folder in MOCKS),
        reason="the tests for Kafka NOT RUN: KRAFTCHECK_KAFKA has no raft/src/test, as a source tree has",
    ),
]

#: By scenario of a finding part of the message of its test, in every release that has the finding: of each in
#: which a process exits, for any exception would do otherwise, and for each other assertion of one at least.
FAILS = {
    "finding-removed-candidate": "must be in the set of voters",
    "finding-restart-under-removed-leader": "Expected to be Follower, but the current state is Unattached",
    "finding-observer-without-voter-set": "Expected to be Follower, but the current state is Unattached",
    "finding-only-voter-restarts": "since this node is already a Leader",
    "finding-helper-without-endpoints": "Unknown leader endpoints (Endpoints(endpoints={}))",
    "finding-resigned-leader-unknown": "Unknown leader endpoints (Endpoints(endpoints={}))",
    "finding-elected-by-static-voters": "there is no voter set in the log or checkpoint",
    "finding-restart-as-candidate": "Received unexpected invalid request error",
    "finding-removed-voter-acknowledges": "Unexpected acknowledgement from non-voter 2",
    "finding-wiped-leader": "inconsistent with current leader OptionalInt.empty and epoch 0",
    "finding-second-leader-of-epoch": "Epoch 2 has had the leaders [2, 3]",
    "finding-single-voter-power-loss": "LEADER_CHANGE of epoch 2 at offset 0, where LEADER_CHANGE of epoch 1",
    "finding-restart-before-write-back": "is durable only at [1], no majority",
    "finding-removal-before-flush": "only at [], no majority",
    "finding-removed-voter-keeps-leader": "has restarted its check-quorum timer",
    "finding-refusal-of-old-leader": "as a duplicate, and the committed voters are",
    "finding-snapshot-with-a-skipped-set": "of replica 1 has not the committed voters",
    "finding-acts-by-a-truncated-set": "acts by another voter set than the newest one in its log",
    "finding-auto-join-undoes-removal": "The leader changes the voters for a replica that was removed",
    "finding-removal-takes-back-another": "and nothing else",
    "finding-second-leader-by-static-voters": "Epoch 3 has had the leaders [1, 2]",
    "finding-voter-set-after-truncation": "without the record that epoch 2 has committed",
}


def _counterexamples(preset: str) -> Iterator[Trace]:
    """Those of all findings that a test can be written for."""
    for name in by_release.scenarios():
        violated = by_release.kept().checked[name][preset.removeprefix("kafka-")].violated
        if violated.keys() & judges().keys():
            traces = (each.trace for each in of_scenario(under(find(name), preset)))
            found = [each for each in traces if each.property in judges()]
            assert found
            yield from found


def _java() -> str:
    """The version of Java that the sources of Kafka's raft module are of."""
    text = (Path(KAFKA or "-") / "build.gradle").read_text(encoding="utf-8")
    found = re.search(r"min(?:NonClient)?JavaVersion = (\d+)", text)
    assert found is not None
    return found[1]


def test_each_fails_for_its_reason(tmp_path: Path) -> None:
    assert KAFKA is not None
    program = command(Path(KAFKA), Path(JARS) if JARS else None, lambda line: None)
    classpath = program[program.index("-cp") + 1]
    written, expected = [], {}
    preset = preset_of(installation.find(Path(KAFKA), Path(JARS) if JARS else None).name)
    for trace in _counterexamples(preset):
        written.append(tmp_path / f"{class_name(trace)}.java")
        written[-1].write_text(source(trace), encoding="utf-8")
        expected[class_name(trace)] = FAILS.get(trace.scenario.name, "")
        assert trace.property != NO_FATAL or trace.scenario.name in FAILS
    assert len(written) == len(expected) > 20 and FAILS.keys() <= by_release.scenarios().keys()
    lookup = os.pathsep.join(
        map(
            str,
            (*MOCKS, SOURCES / "main" / "java", HERE / "stubs"),
        )
    )
    tools, classes = jdk.find(), tmp_path / "classes"
    done = subprocess.run(
        [tools.javac, "--release", _java(), *WARNINGS, "-d", classes, "-cp", classpath, "-sourcepath", lookup,
         HERE / "RunTest.java", *written],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    ran = subprocess.run(
        [tools.java, "-cp", f"{classes}{os.pathsep}{classpath}", "RunTest", *expected],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    shown = dict(line.split(": ", 1) for line in ran.stdout.splitlines())
    assert shown.keys() == expected.keys()
    for name, reason in expected.items():
        assert shown[name].startswith("fails: ") and reason in shown[name], (name, shown[name])
