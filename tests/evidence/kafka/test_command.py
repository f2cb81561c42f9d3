"""``kraftcheck drive --kafka``: one sentence and status 2 for whatever is no Kafka."""

from pathlib import Path

import pytest

from kraftcheck.cli.main import main


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--kafka", "nowhere"], "--kafka: nowhere is no folder; give a release of Apache Kafka"),
        (["--kafka", "."], "--kafka: . has neither libs/kafka-raft-*.jar nor raft/src/main/java"),
        (["--kafka", ".", "--jars", "."], "--jars: goes with a source tree of Kafka, which . is not"),
        (["--adapter", "true", "--jars", "."], "--jars: goes with --kafka and a source tree"),
    ],
)
def test_what_is_no_kafka_is_refused(
    options: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["drive", *options]) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["drive", "--scenario", "three-voters-elects"], "did you mean 'three-voters-elect'"),
        (["drive", "--protocol", "kafka-4.9"], "there is no preset 'kafka-4.9'"),
        (["drive", "--traces", "none.json"], "none.json"),
        (["drive", "-o", "nowhere/trace.json"], "-o"),
        (["drive", "--record", "nowhere/session.jsonl.gz"], "--record"),
        (["record", "-o", "runs", "--schedule", "none.json"], "none.json"),
        (["record", "-o", "runs", "--seconds", "1"], "--seconds"),
    ],
)
def test_what_is_misspelt_is_reported_before_kafka_is_looked_at(
    options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*options, "--kafka", "nowhere"]) == 2
    error = capsys.readouterr().err
    assert sentence in error and "nowhere is no folder" not in error


@pytest.mark.parametrize("options", [[], ["--kafka", ".", "--adapter", "true"]])
def test_an_implementation_is_named_exactly_once(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["drive", *options]) == 2
    error = capsys.readouterr().err
    assert "--kafka" in error and "--adapter" in error
