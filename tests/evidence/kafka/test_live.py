"""Apache Kafka itself, which KRAFTCHECK_KAFKA names (and KRAFTCHECK_KAFKA_JARS, for a source tree)."""

import json
import os
import re
from pathlib import Path

import pytest

from kraftcheck.cli.main import main
from kraftcheck.evidence.adapters import wire
from kraftcheck.evidence.adapters.answers import REPORTED
from kraftcheck.evidence.adapters.session import AdapterProcess, Session
from kraftcheck.evidence.kafka.build import command

KAFKA, JARS = os.environ.get("KRAFTCHECK_KAFKA"), os.environ.get("KRAFTCHECK_KAFKA_JARS")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not KAFKA, reason="Apache Kafka NOT DRIVEN: name a release by KRAFTCHECK_KAFKA"),
]


def _words() -> list[str]:
    assert KAFKA is not None
    return command(Path(KAFKA), Path(JARS) if JARS else None, lambda line: None)


def _send(process: AdapterProcess, message: dict[str, object]) -> dict[str, object]:
    answer = json.loads(process.exchange(json.dumps(message)))
    assert isinstance(answer, dict)
    return answer


def test_it_shows_all_that_the_protocol_knows() -> None:
    with AdapterProcess(_words(), 60) as process:
        shown = Session(process).capabilities
    assert shown.name.startswith("Apache Kafka")
    # Releases before 4.1 cannot finalize kraft.version.
    assert shown.events >= set(wire.EVENTS) - {"upgradeKRaftVersion"}
    assert shown.effects == set(REPORTED)
    # Releases before trunk replace no entry of a voter.
    assert shown.state | {"pendingUpdate"} == set(wire.STATE)
    assert shown.addresses and shown.draws


def test_what_is_nonsense_is_refused_and_the_adapter_goes_on() -> None:
    with AdapterProcess(_words(), 60) as process:
        assert "unsupported" in _send(process, {"id": 0, "type": "poll", "now": 1})
        assert "error" in _send(process, {"id": 1, "type": "start", "now": 1})
        assert _send(process, {"id": 2, "type": "crash", "now": 2}) == {"id": 2, "effects": [], "state": {}}


def test_elections_and_replication_agree_with_the_reference(capsys: pytest.CaptureFixture[str]) -> None:
    assert KAFKA is not None
    jars = ["--jars", JARS] if JARS else []
    names = [word for name in ("three-voters-elect", "observer") for word in ("--scenario", name)]
    assert main(["drive", "--kafka", KAFKA, *jars, *names, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["verdict"] == "agrees" and report["steps"] > 100


def test_recorded_clusters_agree_with_the_reference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert KAFKA is not None
    jars = ["--jars", JARS] if JARS else []
    profiles = ["--profile", "steady", "--profile", "crash"]
    words = ["record", "--kafka", KAFKA, *jars, "--count", "2", *profiles, "--seconds", "15", "--compare"]
    status = main([*words, "--shrink", "0", "--json", "-o", str(tmp_path / "runs")])
    report = json.loads(capsys.readouterr().out)
    assert report["kinds"] == [] and report["made"] == 2 and report["events"] > 500
    assert status == 0


def test_every_finding_about_replicas_is_confirmed(capsys: pytest.CaptureFixture[str]) -> None:
    """Those that are in this release."""
    assert KAFKA is not None
    jars = ["--jars", JARS] if JARS else []
    assert main(["reproduce", "all", "--kafka", KAFKA, *jars]) == 0
    assert re.search(r"\b(\d\d) of \1 behaviours confirmed", capsys.readouterr().out)
