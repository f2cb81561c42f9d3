"""The preset of the protocol that a Kafka is compared with, by the classes that it has."""

from __future__ import annotations

import argparse
import zipfile
from pathlib import Path

import pytest

from kraftcheck.evidence.kafka.option import protocol_of

RAFT = "org/apache/kafka/raft"


def release(folder: Path, *classes: str) -> Path:
    """A release with a jar of these classes."""
    (folder / "libs").mkdir()
    with zipfile.ZipFile(folder / "libs" / "kafka-raft-9.9.9.jar", "w") as jar:
        for name in classes:
            jar.writestr(f"{name}.class", b"")
    return folder


def chosen(kafka: Path | None, named: str | None) -> str:
    arguments = argparse.Namespace(kafka=kafka, jars=None, protocol=named)
    return protocol_of(arguments, lambda text: None)


@pytest.mark.parametrize(
    ("classes", "preset"),
    [
        ((f"{RAFT}/KafkaRaftClient", f"{RAFT}/internals/UpdateVoterHandlerState"), "kafka-3.9"),
        ((f"{RAFT}/internals/EpochElection",), "kafka-4.0"),
        ((f"{RAFT}/internals/EpochElection", f"{RAFT}/RaftLog"), "kafka-4.3"),
        ((f"{RAFT}/RaftLog", f"{RAFT}/internals/RecordsDecodingStrategy"), "kafka-trunk"),
    ],
)
def test_the_classes_decide(tmp_path: Path, classes: tuple[str, ...], preset: str) -> None:
    assert chosen(release(tmp_path, *classes), None) == preset


def test_another_preset_is_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kafka = release(tmp_path, f"{RAFT}/RaftLog")
    for same in ("kafka", "kafka-4.4"):
        assert chosen(kafka, same) == same
    assert capsys.readouterr().err == ""
    assert chosen(kafka, "kafka-3.9") == "kafka-3.9"
    assert "does as kafka-4.3, and is compared with --protocol kafka-3.9" in capsys.readouterr().err


def test_without_kafka_the_default_is_left() -> None:
    assert (chosen(None, None), chosen(None, "kip996")) == ("kafka", "kip996")
