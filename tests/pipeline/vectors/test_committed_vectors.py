"""The committed vectors: the reference does what they say, a consumer in JavaScript too."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kraftcheck import spec
from kraftcheck.checking.coverage.not_exercised import NOT_REACHED
from kraftcheck.checking.coverage.outcomes import SEPARATOR, features
from kraftcheck.systems import scenario
from kraftcheck.systems.citations import in_broker_steps, in_steps
from kraftcheck.vectors import broker_situations, candidates, files, form, messages
from kraftcheck.vectors.schema import schema
from kraftcheck.vectors.vector import difference

SET = Path(__file__).parents[2] / "vectors"
CONSUMERS = SET / "consumer"
#: Of a Fetch request: its version has no high watermark.
NO_HIGH_WATERMARK = 2**63 - 1
MEGABYTES = 2.8


def members() -> Iterator[tuple[str, dict[str, Any]]]:
    for entry, found in files.read(SET):
        yield from ((entry["file"], each) for each in found)


@pytest.mark.slow
def test_the_reference_does_what_they_say() -> None:
    done = files.check(SET)
    assert done.differences == ()
    assert done.vectors > 300


def test_the_set_is_small() -> None:
    size = sum(path.stat().st_size for path in SET.rglob("*.json"))
    assert size <= MEGABYTES * 1e6


def numbers(value: Any) -> Iterator[int]:
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from numbers(each)
    elif isinstance(value, int):
        yield value


def test_every_number_fits_a_double() -> None:
    large = [number for _, each in members() for number in numbers(each) if abs(number) >= 2**53]
    assert set(large) <= {NO_HIGH_WATERMARK}


def test_the_index_names_every_file() -> None:
    named = {entry["file"] for entry, _ in files.read(SET)} | {files.INDEX, files.SCHEMA}
    assert {path.relative_to(SET).as_posix() for path in SET.rglob("*.json")} == named


def test_every_vector_was_chosen_for_something_that_it_shows() -> None:
    for file, each in members():
        assert each["covers"], file
        if each["kind"] == "message":
            of_message = (each[key] for key in ("api", "direction", "version", "body"))
            assert set(each["covers"]) <= set(candidates.message(*of_message).features)
            continue
        shown = set(each.get("rules") or ())
        if each["kind"] != "function":
            outcomes = [each] if each["kind"] == "step" else each["steps"]
            shown = {rule for one in outcomes for rule in one.get("outcome", {}).get("rules", ())}
        assert {pair.partition(SEPARATOR)[0] for pair in each["covers"]} <= shown, each["hash"]


def test_every_message_is_read_in_each_version_and_refused_for_each_reason() -> None:
    covered = {pair for _, each in members() if each["kind"] == "message" for pair in each["covers"]}
    for api, direction in itertools.product(messages.APIS, (messages.REQUEST, messages.RESPONSE)):
        if messages.layout(api, direction) is None:
            continue
        wanted = {f"version {version}" for version in messages.versions(api)}
        wanted |= {f"refused, {reason}" for reason in messages.REASONS}
        name = f"{api} {direction}"
        assert {f"{name}: {word}" for word in wanted} <= covered


def test_every_rule_that_a_step_can_show_has_a_vector_or_a_reason() -> None:
    index = json.loads((SET / files.INDEX).read_text(encoding="utf-8"))
    shown = {rule for entry in index["files"] for rule in entry["rules"]}
    reasons = {rule: reason for reason, rules in index["without"].items() for rule in rules}
    assert shown.isdisjoint(reasons)
    assert shown | reasons.keys() == set(spec.load().rules)
    in_some_step = {*in_steps(), *in_broker_steps()}
    assert shown | {rule for rule, why in reasons.items() if "decides no step" not in why} >= in_some_step
    unexplained = [
        rule for rule, reason in reasons.items() if reason.startswith(NOT_REACHED.split(" by ")[0])
    ]
    assert unexplained == []


def test_every_rule_that_scenarios_must_exercise_has_a_vector() -> None:
    index = json.loads((SET / files.INDEX).read_text(encoding="utf-8"))
    shown = {rule for entry in index["files"] for rule in entry["rules"]}
    wanted = {
        name.partition(" ")[2]
        for each in scenario.shipped().values()
        for name in each.expect.covers
        if name.startswith("rule ")
    }
    assert wanted <= shown


BROKER_AREAS = ("INC", "BSTATE", "HEARTBEAT", "FENCE", "ISR", "COMPAT", "REG", "HBK", "AISR")


@pytest.mark.slow
def test_brokers_show_each_rule_with_each_outcome_that_malformed_input_leads_to() -> None:
    covered = {pair for _, each in members() if each["node"] != form.REPLICA for pair in each["covers"]}
    protocols = broker_situations.protocols()
    shown = {
        pair
        for name in ("draft", "shipped")
        for each in broker_situations.asked(protocols[name])
        for pair in features(each.state, each.outcome)
    }
    assert shown <= covered


def test_every_rule_of_brokers_has_a_vector() -> None:
    wanted = set(in_broker_steps())
    assert {rule.rpartition("-")[0] for rule in wanted} >= set(BROKER_AREAS)
    shown = {rule for entry, _ in files.read(SET) if entry["node"] != form.REPLICA for rule in entry["rules"]}
    of_areas = {rule for rule in wanted if rule.rpartition("-")[0] in BROKER_AREAS}
    assert of_areas <= shown


def test_what_brokers_refuse_is_among_the_vectors() -> None:
    covered = {pair.partition(": ")[2] for _, each in members() for pair in each["covers"]}
    for wanted in (
        "MetadataHeartbeatResponse STALE_BROKER_EPOCH",
        "MetadataHeartbeatResponse INVALID_REQUEST",
        "IsrChangeResponse INVALID_REQUEST",
        "BrokerRegistrationResponse DUPLICATE_BROKER_REGISTRATION",
        "BrokerRegistrationResponse INCONSISTENT_CLUSTER_ID",
        "BrokerRegistrationResponse UNSUPPORTED_VERSION",
        "BrokerHeartbeatResponse STALE_BROKER_EPOCH",
        "AlterPartitionResponse INVALID_UPDATE_VERSION",
        "AlterPartitionResponse INELIGIBLE_REPLICA",
        "AlterPartitionResponse UNKNOWN_TOPIC_ID",
        "the store is not written",
        "Refused",
    ):
        assert wanted in covered, wanted


def test_what_is_the_draft_or_what_shipped_is_shown_without_other_switches() -> None:
    protocols = {
        (each["protocol"]["preset"], frozenset(each["protocol"]["switches"]))
        for _, each in members()
        if each["node"] != form.REPLICA and "-timeout" not in str(each["protocol"])
    }
    assert {("draft", frozenset()), ("shipped", frozenset())} <= protocols


# The schema.


VALIDATOR = Draft202012Validator(schema())


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(SET.rglob("*.json")), ids=lambda path: path.stem)
def test_every_file_is_valid_by_the_schema(path: Path) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))
    if path.name == files.SCHEMA:
        assert data == schema()
    else:
        VALIDATOR.validate(data)


def test_the_schema_refuses_what_does_not_belong() -> None:
    entry, found = next(files.read(SET))
    data = {
        "format": files.FORMAT,
        "version": files.VERSION,
        "specification": spec.VERSION,
        "kind": entry["kind"],
        "node": entry["node"],
        "hash": entry["hash"],
        "vectors": [*found[:1]],
    }
    VALIDATOR.validate(data)
    for broken in ({"version": 1}, {"vectors": []}, {"vectors": [{**found[0], "more": 1}]}, {"extra": 1}):
        assert not VALIDATOR.is_valid({**data, **broken})


# The consumer.


def consume(folder: Path, consumer: str = "consume.mjs") -> subprocess.CompletedProcess[str]:
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs Node.js, and there is no 'node'")
    return subprocess.run(
        [node, str(CONSUMERS / consumer), str(folder)], capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize(("consumer", "most"), [("consume.mjs", 149), ("messages.mjs", 99)])
def test_the_consumer_is_short(consumer: str, most: int) -> None:
    assert len((CONSUMERS / consumer).read_text(encoding="utf-8").splitlines()) <= most


def test_the_consumer_agrees_and_says_what_it_has_checked() -> None:
    done = consume(SET)
    assert (done.returncode, done.stderr) == (0, "")
    checked = dict(line.split() for line in done.stdout.splitlines()[:-1])
    assert {"VOTE-10", "VOTE-8", "PREVOTE-13", "FETCH-9", "FETCH-23", "HWM-2", "DEF-2"} <= checked.keys()


def test_the_consumer_of_messages_agrees() -> None:
    done = consume(SET, "messages.mjs")
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout.split()[0]) >= 10


def changed(tmp_path: Path, name: str, old: str, new: str) -> Path:
    """The set with one text in one file replaced, wherever it occurs."""
    folder = tmp_path / "vectors"
    shutil.copytree(SET, folder)
    text = (folder / name).read_text(encoding="utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new), encoding="utf-8")
    return folder


def test_the_reference_contradicts_a_changed_vector() -> None:
    granting = next(
        each for file, each in members() if "vote-request" in file and '"granted": true' in json.dumps(each)
    )
    changed = json.loads(json.dumps(granting).replace('"granted": true', '"granted": false'))
    assert difference(granting, "vector") is None
    assert "granted: the vector has false, the reference has true" in (difference(changed, "vector") or "")


@pytest.mark.parametrize("consumer", ["consume.mjs", "messages.mjs"])
def test_a_set_of_another_version_is_refused(tmp_path: Path, consumer: str) -> None:
    done = consume(changed(tmp_path, "index.json", '"version": 5', '"version": 9'), consumer)
    assert done.returncode == 1
    assert "does not know" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("consumer", "name", "old", "new"),
    [
        ("consume.mjs", "steps/vote-request.json", '"granted":true', '"granted":false'),
        ("consume.mjs", "functions.json", '"result":"won"', '"result":"lost"'),
        ("consume.mjs", "functions.json", '"result":4', '"result":3'),
        ("messages.mjs", "functions.json", '"result":{"version":2}', '"result":{"version":1}'),
        ("messages.mjs", "messages.json", '"type":"VoteRequest"', '"type":"VoteResponse"'),
    ],
)
def test_a_changed_vector_is_noticed(tmp_path: Path, consumer: str, name: str, old: str, new: str) -> None:
    folder = changed(tmp_path, name, old, new)
    done = consume(folder, consumer)
    assert done.returncode == 1
    assert name in done.stdout
