"""Campaigns on Spark: what is finished is never repeated, and the report says what was found."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.checking.run import check
from kraftcheck.cli.main import main
from kraftcheck.pipeline.campaign import driver, report
from kraftcheck.pipeline.campaign.command import exit_status
from kraftcheck.pipeline.campaign.executor import run_cell
from kraftcheck.pipeline.campaign.matrix import Campaign, expand
from kraftcheck.pipeline.campaign.report_text import markdown
from kraftcheck.pipeline.campaign.store import CELLS, Store, planned_rows
from kraftcheck.pipeline.datasets import SUMS
from kraftcheck.support.errors import InputError
from kraftcheck.support.sources import source_digest
from kraftcheck.systems.scenario import find
from tests.pipeline.explore.test_clusters import executors

ONE = Campaign.model_validate({"matrix": [{"scenarios": ["single-voter"]}]})
MUTANT, BROKER_MUTANT = "vote-for-an-id", "former-life-accepted"
#: Of replicas and of brokers: what holds, is violated and is invalid, mutants, and walks.
CAMPAIGN = Campaign.model_validate(
    {
        "matrix": [
            {"scenarios": ["single-voter"], "engines": ["check", "simulate"], "walks": 3, "coverage": True},
            {"scenarios": ["finding-restart-as-candidate"], "mutants": ["none", MUTANT]},
            {"scenarios": ["alter-quorum"], "protocols": ["kafka"]},
            {"mutants": [MUTANT, BROKER_MUTANT], "mutants-in": "own"},
            {
                "scenarios": ["brokers-timeouts-swapped"],
                "mutants": ["none", BROKER_MUTANT],
                "coverage": True,
            },
            {"scenarios": ["brokers-timeouts-swapped"], "engines": ["simulate"], "seeds": "0..1"},
        ]
    }
)


class Killed(BaseException):
    """Stands for the end of the driver."""


def _one_cell(results: Path) -> list[str]:
    """The command of a campaign whose only cell comes to its limit, which is status 3."""
    limited = ["--scenario", "single-voter", "--max-states", "10"]
    return ["pipeline", "campaign", *limited, "--results", str(results)]


def _columns(store: Store) -> dict[str, Any]:
    return {row["cell"]: row["finished"] for row in store.finished()}


@pytest.mark.spark
def test_a_campaign_goes_on_where_it_was_killed(spark: Any, tmp_path: Path) -> None:
    sources, cells = source_digest(), expand(CAMPAIGN)
    store = Store(spark, str(tmp_path / "results"))
    store.plan(cells, [cell.id(sources) for cell in cells], sources, "a-test")

    def kill(finished: int) -> None:
        raise Killed

    with pytest.raises(Killed):
        driver.run(spark, store, cells, sources, kill)
    before = _columns(store)
    assert 0 < len(before) < len(cells)
    found = report.make(store)["cells"]
    assert (found["planned"], found["finished"]) == (len(cells), len(before))

    missing = [cell for cell in cells if cell.id(sources) not in before]
    counts: list[int] = []
    driver.run(spark, store, missing, sources, counts.append)
    after = _columns(store)
    assert counts[-1] == len(missing) and after.keys() == {cell.id(sources) for cell in cells}
    assert all(after[cell] == finished for cell, finished in before.items())
    found = report.make(store)
    _require_what_was_found(found)
    _require_what_was_found_of_brokers(found)
    for row in store.finished():
        if (row["mutant"], row["engine"], row["protocol"]) == ("none", "check", "scenario"):
            _require_what_is_found_natively(row)
    with pytest.raises(InputError, match="another version of kraftcheck"):
        driver.run(spark, store, cells[:1], "other", counts.append)


def _require_what_was_found(found: dict[str, Any]) -> None:
    assert found["cells"]["not_as_expected"] == 0 and found["cells"]["open"] == 0
    assert found["cells"]["verdicts"]["invalid"] == 1 and len(found["trouble"]) == 1
    assert ("NoFatal", "finding-restart-as-candidate") in {
        (each["property"], each["scenario"]) for each in found["found"]
    }
    assert found["mutants"]["status"] == {MUTANT: "killed", BROKER_MUTANT: "killed"}
    # What the reference violates in the same place says nothing of the mutant.
    kills = [(each["mutant"], each["property"]) for each in found["kills"]]
    assert [property for mutant, property in kills if mutant == MUTANT] == ["VotedOncePerEpoch"]
    assert "VOTE-10" in found["coverage"]["data"]["rules"]["never"]
    assert "VOTE-2" in found["coverage"]["data"]["rules"]["exercised"]
    assert json.loads(json.dumps(found)) == found
    assert f"| {MUTANT} |" in markdown(found)


def _require_what_was_found_of_brokers(found: dict[str, Any]) -> None:
    kills = {each["property"] for each in found["kills"] if each["mutant"] == BROKER_MUTANT}
    assert {"IncarnationMonotone", "OneLiveIncarnation"} <= kills
    walked = [each for each in found["found"] if each["engine"] == "simulate"]
    assert [(each["property"], each["cells"]) for each in walked] == [("InactiveBeforeSelfFenced", 2)]
    rules = found["coverage"]["data"]["rules"]
    assert "INC-3" in rules["exercised"] and "ISR-1" in rules["never"]
    assert f"| {BROKER_MUTANT} | IncarnationMonotone " in markdown(found)


def _require_what_is_found_natively(row: dict[str, Any]) -> None:
    native = check(find(row["scenario"])).exploration
    assert (row["distinct"], row["depth"], row["as_expected"]) == (native.distinct, native.depth, True)
    violated = [each["property"] for each in row["violated"]]
    assert violated == [each.property for each in native.violations], row["scenario"]


@pytest.mark.spark
def test_a_damaged_batch_is_named(spark: Any, tmp_path: Path) -> None:
    sources, cells = source_digest(), expand(ONE)
    store = Store(spark, str(tmp_path / "results"))
    store.plan(cells, [cell.id(sources) for cell in cells], sources, "one")
    for _ in range(2):
        store.add(spark.createDataFrame([], CELLS.schema()))
    for crc in (tmp_path / "results").rglob(".*.crc"):
        crc.unlink()
    file, *_ = (tmp_path / "results" / "cells.v3").glob("*/cells/*.parquet")
    content = file.read_bytes()
    file.write_bytes(content[:99])
    # For the report, and for the run that goes on.
    for look in (lambda: report.make(store), store.finished_ids):
        with pytest.raises(InputError, match=f"^{file}: .*; remove the folder of this batch and run"):
            look()
    file.write_bytes(content)
    assert report.make(store)["cells"]["finished"] == 0


@pytest.mark.spark
def test_a_campaign_as_a_user_runs_it(spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results, page = tmp_path / "results", tmp_path / "results" / "report.md"
    options = _one_cell(results)
    assert main(options) == 3
    assert "1 undetermined" in capsys.readouterr().out
    # Other files may lie there.
    page.touch()
    cells = sorted((results / "cells.v3").rglob("*"))
    assert main(options) == 3
    assert "1 cells, of which 1 are finished" in capsys.readouterr().err
    assert main(["pipeline", "campaign", "--report", str(results), "--json", "-o", str(page)]) == 3
    found = json.loads(capsys.readouterr().out)
    assert found["limits"]["cells"] == {"max_states": 1} and "Limits hit" in page.read_text()
    assert sorted((results / "cells.v3").rglob("*")) == cells
    # What a run leaves that was killed as it began.
    shutil.rmtree(results / "plans")
    shutil.copytree(next((results / "cells.v3").iterdir()), results / "cells.v3" / "_killed")
    assert main(options) == 3
    assert "1 cells, of which 1 are finished" in capsys.readouterr().err


@pytest.mark.spark
def test_a_folder_of_something_else_is_left_alone(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "mine"
    (place / "plans").mkdir(parents=True)
    (place / "plans" / "of-a-house").write_text("kept")
    assert main(_one_cell(place)) == 2
    assert f"{place}: has 'plans' and is no folder of a campaign; choose" in capsys.readouterr().err
    assert [path.name for path in place.rglob("*")] == ["plans", "of-a-house"]
    assert main(_one_cell(place / "plans" / "of-a-house")) == 2
    assert "of-a-house: cannot be" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    for name, said in (("none", "there is no"), ("empty", "holds no"), ("mine", "holds no campaign")):
        assert main(["pipeline", "campaign", "--report", str(tmp_path / name)]) == 2
        assert f"{tmp_path / name}: {said}" in capsys.readouterr().err


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "value", "name"),
    [("--max-seconds", "1", "max_seconds"), ("--max-memory", "150M", "max_memory")],
)
def test_a_cell_that_goes_beyond_its_limit_is_undetermined(
    limit: str, value: str, name: str, spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--scenario", "nightly-three-voters", limit, value, "--results", str(tmp_path / "results")]
    assert main(["pipeline", "campaign", *options, "--json"]) == 3
    found = json.loads(capsys.readouterr().out)
    assert found["cells"]["verdicts"] == {"undetermined": 1} and found["limits"]["cells"] == {name: 1}
    (which,) = found["limits"]["which"]
    assert which["distinct_states"] > 0 and which["scenario"] == "nightly-three-voters"


@pytest.mark.slow
@pytest.mark.parametrize("keep_going", [False, True])
def test_what_the_reference_violates_as_well_kills_nothing(keep_going: bool) -> None:
    matrix = {"scenarios": ["finding-restart-as-candidate"], "mutants": ["VOTE-8"], "keep-going": keep_going}
    sources, cells = source_digest(), expand(Campaign.model_validate({"matrix": [matrix]}))
    ids = [cell.id(sources) for cell in cells]
    rows = [dict.fromkeys(CELLS.names) | run_cell(cell.task(sources)) for cell in cells]
    found = report.of_rows(planned_rows(cells, ids, sources, "a-test"), rows)
    assert found["cells"]["planned"] == found["cells"]["finished"] == 4
    assert [(each["mutant"], each["property"]) for each in found["kills"]] == [
        ("grant-without-looking-at-vote", "VotedOncePerEpoch")
    ]
    others = {"vote-for-an-id", "vote-written-again"}
    assert set(found["mutants"]["reasons"]) == (set() if keep_going else others)
    status = {found["mutants"]["status"][mutant] for mutant in others}
    assert status == {"survived" if keep_going else "undetermined"}
    assert exit_status(found) == (0 if keep_going else 3)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "give a campaign file, or --scenario"),
        (["--scenario", "single-voter"], "--results: say in which folder"),
        (["mutants", "--scenario", "single-voter"], "not both"),
        (["mutants", "--report", "x"], "--report runs nothing"),
        (["--scenario", "single-voter", "--max-memory", "much"], "limits.memory: expected a size"),
        (["--scenario", "single-voter", "--engine", "guess"], "engines"),
    ],
)
def test_options_that_make_no_campaign(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pipeline", "campaign", *options]) == 2
    assert said in capsys.readouterr().err


def test_cells_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "campaign", "--scenario", "single-voter", "--list", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["scenario"] == "single-voter" and len(told["cell"]) == 32


# The whole: another process, which is killed.


def _start(results: Path, campaign: str, master: str, *more: str) -> subprocess.Popen[bytes]:
    root = str(Path(__file__).parents[3])
    settings = ("spark.ui.enabled=false", "spark.sql.shuffle.partitions=4", "spark.driver.host=127.0.0.1")
    options = [part for setting in settings for part in ("--conf", setting)]
    command = [sys.executable, "-m", "kraftcheck", "pipeline", "campaign", campaign, *more, *options]
    return subprocess.Popen(
        [*command, "--master", master, "--results", str(results)],
        env={**os.environ, "PYTHONPATH": root},
        stdout=subprocess.DEVNULL,
        cwd=results.parent,
        start_new_session=True,
    )


def _finished(results: Path) -> list[tuple[str, Any]]:
    import pyarrow.parquet

    rows: list[tuple[str, Any]] = []
    for mark in results.glob(f"cells.v3/[0-9]*/cells/{SUMS}"):
        for file in mark.parent.glob("*.parquet"):
            table = pyarrow.parquet.read_table(file, columns=["cell", "finished"])
            rows += [(row["cell"], row["finished"]) for row in table.to_pylist()]
    return rows


@pytest.mark.spark
@pytest.mark.nightly
def test_a_thousand_cells_are_killed_half_way(tmp_path: Path) -> None:
    results = tmp_path / "results"
    first = _start(results, "variants", "local[2]")
    while len(_finished(results)) < 450 and first.poll() is None:
        time.sleep(1)
    first.send_signal(signal.SIGKILL)
    first.wait()
    time.sleep(5)
    before = dict(_finished(results))
    assert 450 <= len(before) < 1000
    # A limit leaves some cells undetermined, which is status 3; with status 1 one would be wrong.
    assert _start(results, "variants", "local[2]").wait() == 3
    rows = _finished(results)
    assert len(rows) == len(dict(rows)) >= 1000
    assert dict(rows).items() >= before.items()


@pytest.mark.spark
@pytest.mark.nightly
def test_an_executor_that_is_killed_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "campaign.toml"
    file.write_text(
        "limits = { seconds = 3600 }\n"
        "[[matrix]]\nscenarios = ['single-voter', 'flip-flop']\nengines = ['simulate']\n"
        "seeds = '0..29'\nwalks = 20\n"
    )
    results = tmp_path / "results"
    running = _start(results, str(file), "local-cluster[2,1,2048]")
    while not _finished(results) and running.poll() is None:
        time.sleep(0.5)
    own = executors(running.pid)
    assert own
    os.kill(own[0], signal.SIGKILL)
    assert running.wait() == 0
    rows = _finished(results)
    assert len(rows) == len(dict(rows)) == 60


@pytest.mark.spark
@pytest.mark.nightly
def test_mutants_come_to_the_same_end_as_by_kraftcheck_mutate(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = ["VOTE-8", "VOTE-10", "bugs"]
    options = [part for word in chosen for part in ("--mutant", word)]
    results = str(tmp_path / "results")
    main(["pipeline", "campaign", *options, "--mutants-in", "own", "--results", results, "--json"])
    found = json.loads(capsys.readouterr().out)
    main(["mutate", *chosen, "--jobs", "2", "--json"])
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert found["mutants"]["status"] == {each["mutant"]: each["status"] for each in told}
    kills = {(each["mutant"], each["property"], each["steps"]) for each in found["kills"]}
    assert kills == {
        (each["mutant"], run["property"], run["steps"])
        for each in told
        for run in each["runs"]
        if run["verdict"] == "violated"
    }
