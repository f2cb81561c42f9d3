"""The JUnit test of a counterexample: what the file looks like, and what is refused. It needs no Kafka."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from kraftcheck import spec
from kraftcheck.cli.main import main
from kraftcheck.evidence.junit import judges, messages
from kraftcheck.evidence.junit.happenings import happenings
from kraftcheck.evidence.junit.imports import as_in, differences
from kraftcheck.evidence.junit.program import class_name, source
from kraftcheck.evidence.junit.statements import statements
from kraftcheck.evidence.quorum.replay import behaviour
from kraftcheck.reference.events import (
    Append,
    BackoffExpired,
    CreateSnapshot,
    Event,
    Poll,
    Resign,
    Timer,
    UpgradeKRaftVersion,
)
from kraftcheck.reference.log import SnapshotId
from kraftcheck.site.counterexamples import of_scenario
from kraftcheck.spec import RELEASES
from kraftcheck.support.errors import InputError
from kraftcheck.systems import scenario
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.other_protocol import under
from kraftcheck.traces import Trace, build, json_form
from kraftcheck.traces.model import Finding

RESTART = ("finding-restart-as-candidate", (0, 1, 1, 1))


#: What all tests share.
JAVA = Path(str(judges.__file__)).parent / "java"


def _java() -> str:
    return "\n".join(each.read_text(encoding="utf-8") for each in sorted(JAVA.glob("*.java")))


@cache
def trace_of(name: str, path: tuple[int, ...]) -> Trace:
    chosen = scenario.find(name)
    return build(kind_of(chosen).build(chosen), chosen, path)


@cache
def restart() -> str:
    return source(trace_of(*RESTART))


@cache
def _of_release(release: str, name: str = "finding-single-voter-power-loss") -> str:
    (found,) = of_scenario(under(scenario.find(name), f"kafka-{release}"))
    return source(found.trace)


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
def test_a_test_is_for_the_release_of_its_behaviour(release: str) -> None:
    text = _of_release(release)
    imported = re.findall("^import (?!static)(org.apache.*);$", text, re.MULTILINE)
    known = [each.rpartition(".")[2] for each in imported]
    assert imported == sorted(imported) and len(known) == len(set(known))
    assert f"test classes of Kafka {release}." in re.sub(r"\s+\*?\s*", " ", text)
    # By part of a program the releases that have it.
    for part, releases in {
        "import java.util.Arrays;": "3.9",
        "private record Disk": "4.0 4.1 4.2 4.3 4.4 trunk",
        "initialize(staticVoters, store, new Metrics(time));": "3.9",
        "QUORUM_AUTO_JOIN_ENABLE_CONFIG": "4.2 4.3 4.4 trunk",
        "import org.apache.kafka.common.record.MemoryRecords;": "3.9 4.0 4.1 4.2",
        "import org.apache.kafka.common.record.internal.MemoryRecords;": "4.3 4.4 trunk",
        "int maxTotalBatchBytes)": "4.3 4.4 trunk",
        "handleLoadBootstrap": "4.3 4.4 trunk",
        "import org.apache.kafka.common.utils.LogContext;": "3.9 4.0 4.1 4.2 4.3",
        "import org.apache.kafka.common.utils.internals.LogContext;": "4.4 trunk",
        "CompletionStage<RaftResponse.Inbound> send(": "4.4 trunk",
    }.items():
        assert (part in text) == (release in releases.split()), part


@pytest.mark.slow
def test_a_class_of_the_tests_package_is_not_imported() -> None:
    name = "finding-snapshot-with-a-skipped-set"
    for release, imports in {"4.0": False, "4.1": True}.items():
        text = _of_release(release, name)
        assert "new OffsetAndEpoch(" in text and ("OffsetAndEpoch;" in text) == imports


def test_each_difference_of_a_release_is_of_something() -> None:
    text = _java() + (JAVA.parent / "imports.toml").read_text(encoding="utf-8")
    for release in RELEASES:
        for each in differences(release):
            assert each.keys() & {"since", "until"} and all(part["before"] in text for part in each["parts"])
            assert all(f'"{name}"' in text for name in each["imports"])


def test_programs_for_3_9_are_of_java_8() -> None:
    newer = r'"""|\b(?:List|Set|Map)\.of\(|\brecord \w+\(|\bvar \w|\binstanceof \w+ \w|\)\.isEmpty\(\)'
    assert re.search(newer, _java()) and not re.search(newer, as_in(_java(), "3.9"))


def test_the_file_can_be_dropped_into_kafkas_tests() -> None:
    text = restart()
    assert text.startswith("/*\n * Licensed to the Apache Software Foundation")
    assert "\npackage org.apache.kafka.raft;\n" in text
    assert class_name(trace_of(*RESTART)) == "KafkaRaftClientRestartAsCandidateTest"
    assert "\npublic class KafkaRaftClientRestartAsCandidateTest {\n" in text
    assert text.count("    @Test\n    public void testNoFatal() throws Exception {\n") == 1
    assert max(map(len, text.splitlines())) <= 120 and text.isascii()
    assert not re.search(r"//[#?.]|@\w+@|\n\n\n|[ \t]\n", text)


def test_braces_and_brackets_are_balanced() -> None:
    bare = re.sub(r'"(?:[^"\\\n]|\\.)*"|//.*|/\*[\s\S]*?\*/', "", restart())
    for opens, closes in ("{}", "()", "[]"):
        assert bare.count(opens) == bare.count(closes)


def test_exactly_the_classes_that_are_named_are_imported() -> None:
    text = restart()
    imported = re.findall(r"(?m)^import (?:static )?[\w.]+\.(\w+);$", text)
    assert len(imported) == len(set(imported)) > 30
    body = text[text.index("public class") :]
    assert all(re.search(rf"\b{name}\b", body) for name in imported)


def test_it_takes_the_steps_with_their_rules_and_judges_the_last_event() -> None:
    text = restart()
    steps = re.findall(r"// (\d)\. (Replica \d: .*)\n        //    by (.*)", text)
    assert [number for number, _, _ in steps] == ["1", "2", "3", "4"]
    assert steps[2][1:] == ("Replica 3: from 1: VoteRequest(e1 last=1@1)", "VOTE-4")
    # The process is killed with its record on the disk; the request of the next process is what arrives.
    killed = text.index("replica1.kill(1, 1);\n        replica1.start();\n")
    asked = text.index("Exchange vote2 = replica1.sent(ApiKeys.VOTE, 3);")
    assert killed < asked < text.index("replica3.receive(vote2);")
    assert 'assertDoesNotThrow(() -> replica1.receiveResponse(vote2), "Replica 1 exits");\n    }\n' in text


def test_only_what_a_test_calls_is_in_it() -> None:
    text = restart()
    assert "void kill(" in text and "Exchange sent(" in text
    for unused in ("createSnapshot", "lookForLeaderAt", "formatWith", "leaders", "conflicts"):
        assert not re.search(rf"\b{unused}\b", text.partition("public class")[2])


@pytest.mark.slow
def test_a_property_of_states_is_observed_after_each_poll_and_judged_at_the_end() -> None:
    path = (2, 5, 3, 0, 1, 0, 0, 0, 4, 1, 2, 1, 1, 1, 3, 1, 1, 1, 1, 3, 1, 1, 1, 2)
    text = source(trace_of("finding-second-leader-of-epoch", path))
    # Also of a process that exits in that round.
    assert re.search(r"try \{\s+client\.poll\(\);\s+\} finally \{\s+observeLeader\(this\);\s+\}", text)
    assert "assertOneLeaderPerEpoch();\n    }\n\n" in text
    assert "// SingleLeaderPerEpoch (S-1): In every epoch, at most one replica ever becomes Leader." in text
    assert text.count("VoterSet voters1 = voterSet(") == 1
    assert text.count(".formatWith(voters1);") == 3
    # Steps of the network alone are comments.
    assert re.search(r"// 2\. .* is lost\n\n        // 3\. ", text)


@pytest.mark.slow
def test_a_request_that_a_timer_sends_goes_before_the_next_fetch() -> None:
    """No round of the loop lies between the response and the expiry."""
    text = source(of_scenario(scenario.find("finding-auto-join-undoes-removal"))[0].trace)
    response, pause = r"handleResponse\(fetch\d\);", r"time\.sleep\(\d+\);"
    assert (
        len(re.findall(rf"{response}\s+replica2\.{pause}\s+replica2\.expire\(\"updateVoter\"\);", text)) == 2
    )


@pytest.mark.slow
def test_a_replica_listens_where_it_does_in_the_behaviour() -> None:
    text = source(of_scenario(scenario.find("finding-append-counts-fetch-again"))[0].trace)
    moved = 'replica4.listener = InetSocketAddress.createUnresolved("new-node-4", 9093);'
    assert re.findall(r"replica\d\.listener = .*", text) == [moved]
    assert text.index(moved) < text.index("replica4.start();")


@pytest.mark.slow
def test_a_log_without_voters_has_those_of_its_snapshot() -> None:
    text = source(of_scenario(scenario.find("finding-forgets-committed-set"))[0].trace)
    assert "if (!voters.isPresent()) voters = votersInSnapshot(replica.log);" in text


@pytest.mark.parametrize(
    ("event", "written"),
    [
        (CreateSnapshot(SnapshotId(4, 2)), ["createSnapshot(4, 2);"]),
        (
            CreateSnapshot(SnapshotId(4, 2), (7, 8), delete_prefix=True),
            ['createSnapshot(4, 2, "7", "8");', "deleteBeforeSnapshot(4, 2);"],
        ),
        (Append(3, (7,)), ['append(3, "7");']),
        (Resign(3), ["resign(3);"]),
        (UpgradeKRaftVersion(3, 1), ["upgradeKRaftVersion(3, 1);"]),
        (BackoffExpired(2), ["connectionIsReady(2);"]),
        (Poll((Timer.CHECK_QUORUM, Timer.UPDATE_VOTER)), ['expire("checkQuorum", "updateVoter");']),
        (Poll((), 2), ["lookForLeaderAt(2);"]),
        (Poll(), []),
    ],
)
def test_an_event_is_a_call(event: Event, written: list[str]) -> None:
    noted, _ = happenings(*behaviour(trace_of(*RESTART)))
    begun = noted[: next(index for index, each in enumerate(noted) if each.step)]
    happens = begun[-1]._replace(step=1, question=replace(begun[-1].question, event=event), sent=())
    lines = [line for each in statements([*begun, happens]) if each.step == 1 for line in each.lines]
    assert lines == [f"replica3.{call}" for call in written]


# What is refused.


def test_a_behaviour_that_violates_nothing_makes_no_test() -> None:
    with pytest.raises(InputError, match="violates no property"):
        source(trace_of(RESTART[0], (0, 1)))


def test_what_eventually_happens_makes_no_test() -> None:
    trace = trace_of("finding-leader-removal-timed-out", ())
    with pytest.raises(InputError, match="LeaderRemovalCompletes says what eventually happens"):
        source(replace(trace, finding=Finding("LeaderRemovalCompletes", ())))


def test_a_property_without_an_assertion_makes_no_test() -> None:
    trace = trace_of(*RESTART)
    with pytest.raises(InputError, match="no assertion in Java for LogMatching"):
        source(replace(trace, finding=Finding("LogMatching", ())))


def test_an_assertion_is_about_events_of_its_kind() -> None:
    trace = trace_of(*RESTART)
    with pytest.raises(InputError, match="its last event is none that the assertion of VoterChangeIsAsAsked"):
        source(replace(trace, finding=Finding("VoterChangeIsAsAsked", ())))


def test_brokers_and_unreleased_messages_make_no_test() -> None:
    with pytest.raises(InputError, match="no scenario of replicas, which a test of Kafka needs"):
        source(trace_of("finding-late-registration", ()))
    with pytest.raises(InputError, match="KIP-595 were never released"):
        source(trace_of("finding-alter-quorum-leader-leaves", ()))


def test_text_of_a_scenario_ends_no_comment() -> None:
    trace = trace_of(*RESTART)
    about = "*/ class Other {} /* \\u002a\\u002f @see <b>"
    chosen = trace.scenario.model_copy(update={"about": about, "name": "9 */ \\u002a/../x"})
    text = source(replace(trace, scenario=chosen))
    head = text[text.index("/**") : text.index("public class")]
    assert head.count("*/") == 1 and "\\u" not in text and "<b>" not in head
    assert re.fullmatch(r"KafkaRaftClient\w+Test", class_name(replace(trace, scenario=chosen)))


# The command.


def test_the_command_prints_the_test(capsys: pytest.CaptureFixture[str]) -> None:
    name, path = RESTART
    assert main(["trace", "show", name, "--path", ",".join(map(str, path)), "--kafka-test"]) == 0
    assert capsys.readouterr().out == restart()


def test_a_trace_file_that_the_reference_does_not_take_makes_no_test(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "trace.json"
    changed = json_form.dumps(trace_of(*RESTART)).replace("error=INVALID_REQUEST", "error=NONE")
    file.write_text(changed, encoding="utf-8")
    assert main(["trace", "show", str(file), "--kafka-test"]) == 2
    shown = capsys.readouterr()
    assert not shown.out and "the present reference does not take this behaviour (step 4" in shown.err


# Parts.


def test_each_assertion_is_of_a_property_and_has_its_parts() -> None:
    known = {each.name for each in spec.load().properties.values()}
    for name, judge in judges.judges().items():
        assert name in known
        assert all((JAVA / f"{part}.java").is_file() for part in judge.parts)


def test_long_json_is_broken_between_its_parts_only() -> None:
    text = json.dumps({"a b": "x y " * 40, "c": 1, "d": "quotes \" and ', slash \\ \u2028"})
    lines = messages.json_literal(text)
    strings = [json.loads(line.removesuffix(" +")) for line in lines]
    assert len(lines) > 2 and all(line.endswith(" +") for line in lines[:-1])
    assert [each for each in strings if "x y" in each] == ["'" + "x y " * 40 + "',"]
    assert json.loads("".join(strings).replace("'", '"')) == json.loads(text)
