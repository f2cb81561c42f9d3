"""How vectors are made, without Spark."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.checking.coverage.outcomes import features, outcomes
from kraftcheck.cli import main as cli
from kraftcheck.pipeline.vectors import tasks
from kraftcheck.pipeline.vectors.cover import choose
from kraftcheck.reference.events import RequestTimedOut, Resign
from kraftcheck.reference.protocol import KAFKA, PRESETS
from kraftcheck.reference.step import step
from kraftcheck.support.errors import InputError
from kraftcheck.systems import scenario
from kraftcheck.systems.kraft.host import Host
from kraftcheck.systems.kraft.wiring import Wiring
from kraftcheck.vectors import asked, files, form, functions, situations, vector
from kraftcheck.vectors.candidates import Candidate

PAIRS = st.frozensets(st.sampled_from("abcdefgh"), min_size=1, max_size=5).map(
    lambda each: tuple(sorted(each))
)
CANDIDATES = st.lists(st.tuples(st.integers(0, 1), st.integers(1, 3), PAIRS), min_size=1, max_size=25).map(
    lambda found: [(tier, size, f"{n:03}", pairs) for n, (tier, size, pairs) in enumerate(found)]
)


@pytest.mark.slow
@given(CANDIDATES, st.integers(1, 3))
def test_the_greedy_choice_covers_what_there_is(
    candidates: list[tuple[int, int, str, tuple[str, ...]]], keep: int
) -> None:
    chosen = choose(candidates, keep)
    pairs = {tie: of for _, _, tie, of in candidates}
    for pair in {pair for of in pairs.values() for pair in of}:
        there = sum(pair in of for of in pairs.values())
        assert sum(pair in pairs[tie] for tie in chosen) >= min(keep, there)
    assert all(covers and set(covers) <= set(pairs[tie]) for tie, covers in chosen.items())


@pytest.mark.slow
@given(CANDIDATES, st.integers(1, 2))
def test_what_a_task_leaves_out_is_never_chosen(
    candidates: list[tuple[int, int, str, tuple[str, ...]]], keep: int
) -> None:
    made = [Candidate("step", tier, pairs, size, tie, dict) for tier, size, tie, pairs in candidates]
    random.Random(len(made)).shuffle(made)
    kept = {each.tie for each in tasks._smallest(iter(made), keep)}
    fewer = [each for each in candidates if each[2] in kept]
    assert choose(fewer, keep) == choose(candidates, keep)


@pytest.mark.slow
def test_a_scenario_gives_steps_and_sequences_that_the_reference_repeats() -> None:
    (task,) = tasks.tasks([scenario.find("ping-pong")], beyond=False)
    rows = [*tasks.rows(task, 500, 1)]
    assert {row["kind"] for row in rows} == {"step", "sequence"}
    for row in rows:
        found = json.loads(row["vector"])
        assert vector.difference(found, "vector") is None
        assert found["hash"] == form.digest(form.content(found)) == row["hash"]


@pytest.mark.slow
def test_all_is_more_than_the_smallest() -> None:
    (task,) = tasks.tasks([scenario.find("single-voter")], beyond=False)
    some = [row["tie"] for row in tasks.rows(task, 500, 1)]
    every = [row["tie"] for row in tasks.rows(task, 500, None)]
    assert set(some) < set(every)
    assert some == [row["tie"] for row in tasks.rows(task, 500, 1)]


@pytest.mark.slow
def test_the_protocol_of_a_vector_is_read_as_it_was_written() -> None:
    for protocol in situations.protocols().values():
        assert vector.decode_protocol(vector.encode_protocol(protocol), "vector") == protocol
    like_kafka = [name for name, each in PRESETS.items() if vector.tier_of(each) == 0]
    assert like_kafka == ["kafka", "kafka-4.2", "kafka-4.3", "kafka-4.4"]


@pytest.mark.slow
def test_malformed_input_meets_every_role_and_is_answered_with_errors() -> None:
    words = {word for each in situations.malformed(KAFKA) for word in outcomes(each.state, each.outcome)}
    for wanted in (
        "VoteResponse INCONSISTENT_CLUSTER_ID",
        "VoteResponse INVALID_REQUEST",
        "VoteResponse FENCED_LEADER_EPOCH",
        "VoteResponse INVALID_VOTER_KEY",
        "FetchResponse UNKNOWN_LEADER_EPOCH",
        "UpdateRaftVoterResponse INVALID_REQUEST",
        "AddRaftVoterResponse DUPLICATE_VOTER",
        "DescribeQuorumResponse UNKNOWN_TOPIC_OR_PARTITION",
        "dies",
    ):
        assert wanted in words


def test_a_listener_receives_every_question() -> None:
    replica = situations.tables.replica_in("Follower", leader="3")
    assert replica is not None
    found = asked.Asking()
    for node in (3, 2):
        Host(Wiring(listener=found), KAFKA, replica).execute(replica, RequestTimedOut(node))
    Host(Wiring(), KAFKA, replica).execute(replica, Resign(9))
    events = {each.happened for each in found}
    assert {RequestTimedOut(3), RequestTimedOut(2)} < events and Resign(9) not in events
    assert all(step(each.protocol, each.state, each.happened) == each.outcome for each in found)


@pytest.mark.slow
def test_an_outcome_is_told_in_words() -> None:
    found = next(each for each in situations.of_tables(KAFKA) if "VOTE-10" in each.outcome.rules)
    assert step(KAFKA, found.state, found.happened) == found.outcome
    assert any(pair.startswith("VOTE-10: VoteResponse ") for pair in features(found.state, found.outcome))


@given(
    st.lists(st.one_of(st.none(), st.integers(0, 9)), min_size=1, max_size=7),
    st.integers(0, 9),
    st.one_of(st.none(), st.integers(0, 9)),
)
def test_the_high_watermark_is_what_a_majority_has(
    ends: list[int | None], start: int, mark: int | None
) -> None:
    arguments = {"ends": [*ends], "epoch_start": start, "high_watermark": mark}
    result, rules = functions.call("high-watermark", arguments, "vector")
    held = max((n for n in range(10) if 2 * sum((end or 0) >= n for end in ends) > len(ends)), default=0)
    assert result == (max(held, mark or 0) if held > start else mark)
    assert "HWM-1" in rules


# Sets as folders.


def small_set(folder: Path) -> Path:
    found = []
    for name, arguments in [*functions.cases()][:4]:
        made = vector.of_question(form.FUNCTION, form.Function(name, arguments))
        found.append(("functions.json", {**made, "hash": form.digest(form.content(made)), "covers": ["x"]}))
    files.write(folder, found)
    return folder


def test_a_set_is_written_checked_and_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = small_set(tmp_path / "set")
    assert cli.main(["pipeline", "vectors", "--check", str(folder)]) == 0
    assert "agrees with the reference" in capsys.readouterr().out
    (folder / "README.md").write_text("mine", encoding="utf-8")
    small_set(folder)
    assert (folder / "README.md").read_text(encoding="utf-8") == "mine"


def test_another_result_is_a_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = small_set(tmp_path)
    path = folder / "functions.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    data["vectors"][0]["result"] = "lost"
    path.write_text(json.dumps(data), encoding="utf-8")
    assert cli.main(["pipeline", "vectors", "--check", str(folder)]) == 1
    data["vectors"][0]["hash"] = form.digest(form.content(data["vectors"][0]))
    path.write_text(json.dumps(data), encoding="utf-8")
    assert cli.main(["pipeline", "vectors", "--check", str(folder)]) == 1
    assert 'the reference has "won"' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        ("index.json", '"complete": true', '"complete": false', "not complete"),
        ("index.json", '"version": 5', '"version": 9', "only version 5"),
        ("index.json", '"specification": 1', '"specification": 7', "follows version 7 of the specification"),
        ("index.json", "kraftcheck-vectors-index", "other", "is not the index"),
        ("index.json", "functions.json", "../functions.json", "is no list of files"),
        ("functions.json", '"kind": "function"', '"kind": "step"', "not the file that index.json names"),
        ("functions.json", '"vectors": [', '"vectors": [7,', "is no list of vectors"),
        ("functions.json", '"vectors": [', '"vectors": ', "not JSON"),
    ],
)
def test_what_is_no_set_is_refused_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, old: str, new: str, says: str
) -> None:
    folder = small_set(tmp_path)
    text = (folder / name).read_text(encoding="utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new), encoding="utf-8")
    assert cli.main(["pipeline", "vectors", "--check", str(folder)]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "thesis.txt").write_text("mine", encoding="utf-8")
    assert cli.main(["pipeline", "vectors", "-o", str(tmp_path)]) == 2
    assert "contains no vectors of kraftcheck" in capsys.readouterr().err
    assert [each.name for each in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize(
    "words",
    [[], ["ping-pong", "--check", "x"], ["-o", "x", "--per-feature", "0"], ["no-such-scenario", "-o", "x"]],
)
def test_bad_arguments_are_refused(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["pipeline", "vectors", *words]) == 2
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--per-feature", "0"], "argument --per-feature: expected a whole number greater than 0, not '0'"),
        (["--max-states", "0"], "argument --max-states: expected a whole number greater than 0, not '0'"),
    ],
)
def test_a_number_that_is_none_is_named(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["pipeline", "vectors", "-o", str(tmp_path / "set"), *words]) == 2
    assert said in capsys.readouterr().err


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["kind", "protocol", "preset", "switches", "replica", "event", "outcome", "steps"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@pytest.mark.slow
@given(
    JSON,
    st.sampled_from(["step", "sequence", "function", "message", 7]),
    st.sampled_from(["replica", "controller", "broker", 7, None]),
)
def test_what_is_no_vector_is_refused(data: object, kind: object, node: object) -> None:
    hostile = {**(data if isinstance(data, dict) else {"replica": data}), "kind": kind}
    hostile["protocol"] = {"preset": "kafka", "switches": {}}
    with pytest.raises(InputError):
        vector.difference({**hostile, "node": node}, "vector")  # type: ignore[dict-item]
