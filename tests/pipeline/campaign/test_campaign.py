"""Campaigns on Spark: what is finished is never repeated, and the report says what was found."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.checking.run import check
from kraftcheck.cli.main import main
from kraftcheck.pipeline.campaign import driver, report
from kraftcheck.pipeline.campaign.matrix import Campaign, expand
from kraftcheck.pipeline.campaign.report_text import markdown
from kraftcheck.pipeline.campaign.schemas import CELLS
from kraftcheck.pipeline.campaign.store import Store
from kraftcheck.pipeline.datasets import write
from kraftcheck.pipeline.seals import SEAL
from kraftcheck.support.errors import InputError
from kraftcheck.support.sources import source_digest
from kraftcheck.systems.scenario import find

ONE = Campaign.model_validate({"matrix": [{"scenarios": ["single-voter"]}]})
MUTANT = "vote-for-an-id"
CAMPAIGN = Campaign.model_validate(
    {
        "matrix": [
            {"scenarios": ["single-voter"], "engines": ["check", "simulate"], "walks": 3, "coverage": True},
            {"scenarios": ["finding-restart-as-candidate"], "mutants": ["none", MUTANT]},
            {"scenarios": ["alter-quorum"], "protocols": ["kafka"]},
            {"mutants": [MUTANT], "mutants-in": "own"},
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
    return {row.cell: row.finished for row in store.finished().select("cell", "finished").collect()}


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
    _require_what_was_found(report.make(store))
    with pytest.raises(InputError, match="another version of kraftcheck"):
        driver.run(spark, store, cells[:1], "other", counts.append)


def _require_what_was_found(found: dict[str, Any]) -> None:
    assert found["cells"]["not_as_expected"] == 0 and found["cells"]["open"] == 0
    assert found["cells"]["verdicts"]["invalid"] == 1 and len(found["trouble"]) == 1
    assert ("NoFatal", "finding-restart-as-candidate") in {
        (each["property"], each["scenario"]) for each in found["found"]
    }
    assert found["mutants"]["status"] == {MUTANT: "killed"}
    # What the reference violates in the same place says nothing of the mutant.
    assert [(each["mutant"], each["property"]) for each in found["kills"]] == [(MUTANT, "VotedOncePerEpoch")]
    assert "VOTE-10" in found["coverage"]["data"]["rules"]["never"]
    assert "VOTE-2" in found["coverage"]["data"]["rules"]["exercised"]
    assert json.loads(json.dumps(found)) == found
    assert f"| {MUTANT} |" in markdown(found)


@pytest.mark.spark
def test_a_batch_that_is_not_as_it_was_written_is_named(spark: Any, tmp_path: Path) -> None:
    sources, cells = source_digest(), expand(ONE)
    store = Store(spark, str(tmp_path / "results"))
    store.plan(cells, [cell.id(sources) for cell in cells], sources, "one")
    row = spark.createDataFrame([], CELLS.schema())
    for _ in range(2):
        write(row, CELLS, store.new_batch())
    spark.sql("select 1 a").coalesce(1).write.parquet(str(tmp_path / "foreign"))
    (foreign,) = (tmp_path / "foreign").glob("*.parquet")
    for crc in (tmp_path / "results").rglob(".*.crc"):
        crc.unlink()
    for file in (tmp_path / "results" / "cells.v3").glob("*/[p_]*.*"):
        content = file.read_bytes()
        flipped = bytes([*content[:60], content[60] ^ 1, *content[61:]])
        for wrong in (foreign.read_bytes(), content[:99], flipped):
            file.write_bytes(wrong)
            # For the report, and for the run that goes on.
            for look in (lambda: report.make(store), store.finished_ids):
                with pytest.raises(InputError, match=f"^{file}: .*; remove the folder of this batch and run"):
                    look()
        file.write_bytes(content)
    assert report.make(store)["cells"]["finished"] == 0


@pytest.mark.spark
def test_where_no_campaign_is_it_is_said_why(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "text").touch()
    for name, said in (
        ("none", "there is no such folder"),
        ("empty", "is empty"),
        ("foreign", r"holds no campaign \('plan' is missing\)"),
    ):
        with pytest.raises(InputError, match=f"^{tmp_path / name}: {said}; give a folder in which"):
            report.make(Store(spark, str(tmp_path / name)))


BROKER_MUTANT = "former-life-accepted"
OF_BOTH_KINDS = Campaign.model_validate(
    {
        "matrix": [
            {
                "scenarios": ["brokers-timeouts-swapped", "brokers-liveness-known", "single-voter"],
                "mutants": ["none", BROKER_MUTANT],
                "coverage": True,
            },
            {"scenarios": ["brokers-timeouts-swapped"], "engines": ["simulate"], "seeds": "0..1"},
            {"mutants": [BROKER_MUTANT], "mutants-in": "own"},
        ]
    }
)


@pytest.mark.spark
def test_cells_of_brokers_find_what_is_found_natively(spark: Any, tmp_path: Path) -> None:
    sources, cells = source_digest(), expand(OF_BOTH_KINDS)
    store = Store(spark, str(tmp_path / "results"))
    store.plan(cells, [cell.id(sources) for cell in cells], sources, "brokers")
    driver.run(spark, store, cells, sources, lambda finished: None)
    rows = store.finished().where("mutant = 'none' and engine = 'check'").collect()
    assert {row.scenario for row in rows} == {cell.scenario for cell in cells}
    for row in rows:
        native = check(find(row.scenario))
        counts = native.exploration.distinct, native.exploration.depth
        assert (row.distinct, row.depth) == counts and row.as_expected, row.scenario
        assert [each.property for each in row.violated] == [
            each.property for each in native.exploration.violations
        ]
    found = report.make(store)
    assert found["mutants"]["status"] == {BROKER_MUTANT: "killed"}
    assert {"IncarnationMonotone", "OneLiveIncarnation"} <= {each["property"] for each in found["kills"]}
    walked = [each for each in found["found"] if each["engine"] == "simulate"]
    assert [(each["property"], each["cells"]) for each in walked] == [("InactiveBeforeSelfFenced", 2)]
    rules = found["coverage"]["data"]["rules"]
    assert "FENCE-1" in rules["exercised"] and "VOTE-10" in rules["never"] and "ISR-1" in rules["never"]
    assert "| mutant | " in markdown(found) and " IncarnationMonotone |" in markdown(found)


@pytest.mark.spark
def test_results_are_reported_without_running_anything(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results, page = tmp_path / "results", tmp_path / "report.md"
    options = _one_cell(results)
    assert main(options) == 3
    assert "1 undetermined" in capsys.readouterr().out
    before = sorted(results.rglob("*"))
    assert main(options) == 3
    assert "1 cells, of which 1 are finished" in capsys.readouterr().err
    assert main(["pipeline", "campaign", "--report", str(results), "--json", "-o", str(page)]) == 3
    found = json.loads(capsys.readouterr().out)
    assert found["limits"]["cells"] == {"max_states": 1} and "Limits hit" in page.read_text()
    cells = [path for path in before if "cells.v3" in str(path)]
    assert [path for path in sorted(results.rglob("*")) if "cells.v3" in str(path)] == cells


@pytest.mark.spark
def test_a_folder_with_something_else_is_left_alone(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letters").write_text("kept")
    options = ["--scenario", "single-voter", "--results", str(tmp_path / "mine")]
    assert main(["pipeline", "campaign", *options]) == 2
    assert "there is something that is no campaign: 'letters'; choose" in capsys.readouterr().err
    # A plan, but of somebody else: it would be written over.
    (tmp_path / "mine" / "plan").mkdir()
    (tmp_path / "mine" / "plan" / "of-a-house").write_text("kept")
    assert main(["pipeline", "campaign", *options]) == 2
    assert "there is something that is no campaign: 'plan/of-a-house'; choose" in capsys.readouterr().err
    assert (tmp_path / "mine" / "plan" / "of-a-house").read_text() == "kept"
    plan = tmp_path / "other" / "plan"
    spark.range(3).write.parquet(str(plan))
    assert main(["pipeline", "campaign", *options[:-1], str(plan.parent)]) == 2
    assert "there is something that is no campaign: 'plan'; choose" in capsys.readouterr().err
    assert spark.read.parquet(str(plan)).count() == 3
    assert main(["pipeline", "campaign", "--report", str(tmp_path / "nowhere")]) == 2
    assert "there is no such folder" in capsys.readouterr().err


@pytest.mark.spark
def test_what_has_a_name_of_ours_is_left_alone_too(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "mine"

    def refused(what: str) -> bool:
        before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
        assert main(["pipeline", "campaign", "--scenario", "single-voter", "--results", str(place)]) == 2
        assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before
        return f"there is something that is no campaign: '{what}'; choose" in capsys.readouterr().err

    (place / "scenarios").mkdir(parents=True)
    (place / "scenarios" / "my.toml").write_text("mine")
    assert refused("scenarios/my.toml")
    shutil.rmtree(place / "scenarios")
    (place / "plan").write_text("mine")
    assert refused("plan")
    (place / "plan").unlink()
    spark.range(3).write.parquet(str(place / "plan"))
    (place / "plan" / "_SUCCESS").unlink()
    assert refused("plan")


@pytest.mark.spark
def test_plain_files_may_lie_beside_a_campaign(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results"
    options = _one_cell(results)
    assert main([*options, "-o", str(tmp_path / "first.md")]) == 3
    report = results / "report.md"
    assert main(["pipeline", "campaign", "--report", str(results), "-o", str(report)]) == 3
    (results / ".DS_Store").touch()
    capsys.readouterr()
    assert main(options) == 3
    assert "1 cells, of which 1 are finished" in capsys.readouterr().err
    assert report.read_text() == (tmp_path / "first.md").read_text()
    (results / "holidays").mkdir()
    assert main(options) == 2
    assert "there is something that is no campaign: 'holidays'; choose" in capsys.readouterr().err


def _without_cells(results: Path) -> None:
    """As when the driver was killed while it wrote down what the campaign consists of."""
    shutil.rmtree(results / "cells.v3")
    for name in ("plan", "scenarios"):
        (results / name / SEAL).unlink()
        (results / name / "_SUCCESS").unlink()
        (results / name / "_temporary" / "0").mkdir(parents=True)


def _without_plan(results: Path) -> None:
    """As when it was killed in the first batch, and before another plan was written."""
    shutil.rmtree(results / "plan")
    (batch,) = (results / "cells.v3").iterdir()
    (batch / SEAL).unlink()


@pytest.mark.spark
@pytest.mark.parametrize("killed", [_without_cells, _without_plan])
def test_a_campaign_that_was_killed_as_it_began_is_begun_again(
    killed: Callable[[Path], None], spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results"
    assert main(_one_cell(results)) == 3
    killed(results)
    assert main(_one_cell(results)) == 3
    assert "1 cells, of which 0 are finished" in capsys.readouterr().err
    assert (results / "plan" / "_SUCCESS").exists()


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
    )


def _finished(results: Path) -> list[tuple[str, Any]]:
    import pyarrow.parquet

    rows: list[tuple[str, Any]] = []
    for mark in results.glob(f"cells.v3/*/{SEAL}"):
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
    own = [pid for pid in _processes("CoarseGrainedExecutorBackend") if _descends(pid, running.pid)]
    assert own
    os.kill(own[0], signal.SIGKILL)
    assert running.wait() == 0
    rows = _finished(results)
    assert len(rows) == len(dict(rows)) == 60


def _processes(word: str) -> list[int]:
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if word.encode() in (place / "cmdline").read_bytes():
                found.append(int(place.name))
        except OSError:
            continue
    return found


def _descends(pid: int, ancestor: int) -> bool:
    while pid > 1:
        if pid == ancestor:
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return False


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
