"""Small recordings of releases of Kafka, made by `kraftcheck record`: the reference does as each release did,
and a change of any field is noticed.

Each is ``record --seed 4 --seconds 15 --profile snapshot``: changes of the voter set, snapshots and
killed processes. Without Kafka, they hold the comparison and the presets against what Kafka did.
"""

from __future__ import annotations

import gzip
import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.cli.main import main
from kraftcheck.evidence.recorder.schedule import load
from kraftcheck.evidence.recordings.exceptions import NO_ERROR
from kraftcheck.evidence.recordings.lockstep import compare
from kraftcheck.evidence.recordings.recording import recording_of
from kraftcheck.reference.protocol import RELEASES
from kraftcheck.systems.kraft.switches import preset_of
from tests.evidence.recordings.line_changes import Fields, change, change_of, fields_of, is_reported

FOLDER = Path(__file__).with_name("releases")
NAMES = ("3.9", "4.1", "4.3.1", "4.4")
#: Releases that word the absence of an error, and those that do not.
WORDED, SILENT = NAMES[:2], NAMES[2:]


@cache
def lines_of(name: str) -> list[dict[str, Any]]:
    """The lines of a recording; not to be changed."""
    content = gzip.decompress((FOLDER / name / "trace.jsonl.gz").read_bytes())
    return [json.loads(line) for line in content.splitlines()]


@cache
def fields(name: str) -> Fields:
    """The fields of its lines."""
    return fields_of(lines_of(name))


@pytest.mark.slow
def test_the_reference_does_as_each_release_did(capsys: pytest.CaptureFixture[str]) -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(NAMES)
    main(["conform", "--json", *(str(FOLDER / name) for name in NAMES)])
    shown = json.loads(capsys.readouterr().out)
    assert [run["differences"] for run in shown["runs"]] == [[]] * len(NAMES)
    assert not any(run["skipped"] for run in shown["runs"])
    assert len(shown["rules"]) > 100


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_is_small_and_names_its_release_and_how_to_make_it_again(name: str) -> None:
    folder = FOLDER / name
    assert sum(path.stat().st_size for path in folder.iterdir()) < 80_000
    assert preset_of(str(lines_of(name)[0]["kafka"])) == f"kafka-{name[:3]}"
    assert load(folder / "schedule.json").profile == lines_of(name)[0]["scenario"]
    shown = {line["ev"] for line in lines_of(name)}
    assert shown >= {"start", "recv", "tick", "api", "end", "adminResult", "apiVersions", "lost"}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("count", [5, pytest.param(300, marks=pytest.mark.nightly)])
def test_a_change_of_any_field_is_reported_at_its_line(name: str, count: int) -> None:
    protocol, draw = RELEASES[f"kafka-{name[:3]}"], random.Random(f"{name} {count}")
    changes = (change_of(lines_of(name), fields(name), draw) for _ in range(count))
    assert [str(made) for made in changes if not is_reported(made, protocol)] == []


@pytest.mark.nightly
@pytest.mark.parametrize("name", NAMES)
def test_a_change_of_each_kind_of_field_is_reported_at_its_line(name: str) -> None:
    protocol, draw = RELEASES[f"kafka-{name[:3]}"], random.Random(name)
    places = [draw.choice(there) for _, there in sorted(fields(name).items())]
    changes = (change(lines_of(name), seq, path, draw) for seq, path in places)
    assert [str(made) for made in changes if not is_reported(made, protocol)] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [WORDED[0], SILENT[0]])
def test_only_the_text_none_and_only_before_4_2_may_stand_where_there_is_no_error(name: str) -> None:
    lines, protocol = lines_of(name), RELEASES[f"kafka-{name[:3]}"]
    answer = next(
        line for line in lines if line["ev"] == "adminResult" and line["data"].get("errorCode") == 0
    )
    assert answer["data"]["errorMessage"] == ("NONE" if name in WORDED else None)
    assert compare(recording_of(lines), protocol).exceptions[NO_ERROR] == (name in WORDED)
    for text, agrees in (("FINE", False), ("NONE", name in WORDED)):
        other = [*lines]
        other[answer["seq"]] = {**answer, "data": {**answer["data"], "errorMessage": text}}
        assert (not compare(recording_of(other), protocol).differences) == agrees
