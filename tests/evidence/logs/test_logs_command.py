"""``kraftcheck logs`` as it is typed."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

from kraftcheck.bench.logs import figures
from kraftcheck.cli.main import main
from kraftcheck.evidence.history.checks import CHECKS
from kraftcheck.evidence.logs.findings import NOTES
from tests.evidence.logs.log_lines import change, state, steps_of, text_of

STEPS = steps_of(random.Random(5).choice, "4.3", 30)
TEXT = "".join(line for step in STEPS for line in step.lines).encode()
START = state("Unattached", 0)
WRONG = text_of(change(START, None) + change(state("Follower", 1, leader=1), START))


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.log"
    path.write_bytes(TEXT)
    return path


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    path = tmp_path / "wrong.log"
    path.write_bytes(WRONG)
    return path


def test_a_clean_log(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["logs", str(good)]) == 0
    out = capsys.readouterr().out
    assert "node 1" in out
    assert "4.2 to 4.5; transition table kip996" in out
    assert f"no problem: 1 node, {len(CHECKS)} checks" in " ".join(out.split())


def test_a_problem_is_printed_with_its_lines(wrong: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["logs", str(wrong)]) == 1
    out = capsys.readouterr().out
    assert "problem 1: ResignedLeavesItsEpoch, node 1" in out
    assert f"{wrong}:4" in out
    assert "S-34" in out
    assert "1 problem in the logs of 1 node: ResignedLeavesItsEpoch 1" in out


@pytest.mark.parametrize("columns", ["60", "80"])
def test_it_fits_a_narrow_terminal(
    wrong: Path, columns: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.chdir(wrong.parent)
    main(["logs", wrong.name])
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line) for line in lines) <= int(columns)
    assert not any("\x1b" in line for line in lines)


def test_limit_and_counts(wrong: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["logs", str(wrong), "--limit", "0"]) == 1
    out = capsys.readouterr().out
    assert "problem 1:" not in out
    assert "the first 0 are shown" in " ".join(out.split())


def test_history(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["logs", str(good), "--history"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "starts as Unattached, epoch 0" in lines[0]
    assert sum(f"[{good}:" in line for line in lines) == len(STEPS)


@pytest.mark.parametrize("history", [False, True])
def test_json(wrong: Path, history: bool, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["logs", str(wrong), "--json", *(["--history"] if history else [])]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["format"] == "kraftcheck-logs" and data["version"] == 2
    assert data["nodes"][0]["transitions"] == 2
    assert data["files"][0]["lines"] == 4
    (problem,) = data["problems"]
    assert (problem["check"], problem["line"], problem["node"]) == ("ResignedLeavesItsEpoch", 4, 1)
    assert len(data.get("history", [])) == 2 * history


def test_checks_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["logs", "--checks"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in CHECKS)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["missing.log"],
        ["GOOD", "missing.log"],
        ["GOOD", "--release", "2.8"],
        ["GOOD", "--release", "x"],
        ["GOOD", "--pattern", "%q"],
        ["GOOD", "--pattern", "%p %m%n"],
        ["GOOD", "--limit", "-1"],
        ["GOOD", "--pattern", "%d{yyyy} %m"],
    ],
)
def test_bad_input_is_one_sentence(
    good: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["logs", *(str(good) if word == "GOOD" else word for word in arguments)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("kraftcheck: ")
    assert captured.err.count("\n") == 1


def test_the_figures_of_the_benchmark() -> None:
    found = {figure.key: figure for figure in figures(size=60_000, rounds=1)}
    assert set(found) == {
        f"logs_{kind}_{form}"
        for kind in ("trace", "debug", "info", "controller")
        for form in ("plain", "gzip")
    }
    assert all(figure.value > 0 and figure.unit == "MB/s" for figure in found.values())


def test_the_page_lists_every_check_and_every_note() -> None:
    page = (Path(__file__).parents[3] / "docs" / "logs.md").read_text(encoding="utf-8")
    rows = set(re.findall(r"^\| `([A-Za-z][A-Za-z-]+)` \|", page, re.M))
    assert rows == {*CHECKS, *NOTES}


def test_what_a_terminal_could_take_as_a_command_is_not_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fatal = (
        b"[2026-01-01 00:00:01,000] ERROR Encountered fatal fault: Unexpected error in raft IO thread (x.Y)\n"
    )
    text = text_of(change(state("Unattached", 1), None)) + fatal + b"Error: \x1b[2J\x07 [bold] \xff\n"
    path = tmp_path / "a\x1b[1m.log"
    path.write_bytes(text)
    assert main(["logs", "--history", str(path)]) == 1
    shown = capsys.readouterr().out
    assert "Error: ?[2J? [bold]" in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize("more", (["--json"], ["--json", "--history"], [], ["--history"]))
def test_the_report_goes_to_a_file(
    wrong: Path, tmp_path: Path, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["logs", str(wrong), *more]) == 1
    printed = capsys.readouterr().out
    assert main(["logs", str(wrong), *more, "-o", str(tmp_path / "report")]) == 1
    assert capsys.readouterr().out == ""
    assert (tmp_path / "report").read_text(encoding="utf-8") == printed
    assert (
        not more
        or more[0] != "--json"
        or json.loads(printed)["problemCounts"] == {"ResignedLeavesItsEpoch": 1}
    )


def test_a_report_that_cannot_be_written_is_one_sentence(
    wrong: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["logs", str(wrong), "-o", str(tmp_path / "no" / "report")]) == 2
    captured = capsys.readouterr()
    assert "-o: there is no folder" in captured.err and captured.out == ""


def test_nothing_is_written_where_a_file_cannot_be_read(tmp_path: Path) -> None:
    assert main(["logs", str(tmp_path / "none.log"), "-o", str(tmp_path / "report")]) == 2
    assert not (tmp_path / "report").exists()


def test_the_benchmark_says_in_a_sentence_that_it_needs_a_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("kraftcheck.bench.laboratory.root", lambda: tmp_path)
    assert main(["bench", "--only", "logs", "--quick"]) == 2
    captured = capsys.readouterr()
    assert "tests/laboratory/logs/texts.py, which only a checkout" in captured.err
    assert captured.err.count("\n") == 1
