"""Recorded answers of TLC: when they count, what happens otherwise, and that they are up to date."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from kraftcheck.cli.main import main
from kraftcheck.support.errors import InputError
from kraftcheck.tlc.modules import Modules
from kraftcheck.tlc.recorded import FILE, RecordedAnswers
from tests.tlc.tools import tools

MODULES = Modules()
ARGUMENTS = ["tlc", "--recorded", "--json"]


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(user: str, oldest: int) -> str:
        raise InputError("there is no Java.")

    monkeypatch.setattr("kraftcheck.tlc.install.find_java", missing)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the modules."""
    return Path(shutil.copytree(MODULES.folder, tmp_path / "tla"))


def changed(folder: Path, name: str, **fields: object) -> None:
    data = json.loads((folder / FILE).read_text(encoding="utf-8"))
    data["answers"][name] |= fields
    (folder / FILE).write_text(json.dumps(data), encoding="utf-8")


def printed(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.slow
def test_the_answers_of_all_small_scenarios_and_mutants_are_up_to_date(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Otherwise: ``make answers``."""
    recorded = RecordedAnswers(MODULES)
    assert main(["tlc", "--small", "--list"]) == 0
    small = capsys.readouterr().out.split()
    mutants = {each.id: MODULES.mutated(each) for each in MODULES.mutants().values()}
    configurations = {name: MODULES.configuration(name) for name in small}
    assert not set(mutants) & set(configurations)
    wanted = mutants | configurations
    assert set(recorded.answers) == set(wanted)
    assert [name for name, each in wanted.items() if recorded.of(name, each) is None] == []
    without_states = {name for name in small if recorded.answers[name].states is None}
    assert without_states == {name for name in small if recorded.answers[name].violated}


@pytest.mark.usefixtures("no_java")
@pytest.mark.parametrize(
    "arguments",
    [
        ["scenario-a"],
        ["scenario-a-granting-by-log"],
        pytest.param(["--mutants", "add-without-catching-up"], marks=pytest.mark.slow),
    ],
)
def test_a_recorded_answer_needs_no_java(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ARGUMENTS, *arguments]) == 0
    found = printed(capsys)
    assert (found["status"], found["recorded"]) == ("same", True)


@pytest.mark.slow
@pytest.mark.usefixtures("no_java")
@pytest.mark.parametrize(
    ("name", "fields", "difference"),
    [
        ("scenario-a", {"distinct_states": 127}, "126 distinct states, in TLC 127"),
        ("scenario-a", {"depth": 12}, "11 as depth, in TLC 12"),
        ("scenario-a", {"generated_states": 1}, "generated states as TLC counts them, in TLC 1"),
        ("scenario-a", {"states": "0" * 64}, "the states are not those that TLC found"),
        ("scenario-a", {"violated": ["NoFatal"], "steps": 3}, "TLC: violated: NoFatal in 3 steps"),
        ("scenario-a-granting-by-log", {"steps": 4}, "has 5 steps, TLC's 4"),
    ],
)
def test_another_recorded_answer_is_a_difference(
    name: str, fields: dict[str, object], difference: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed(folder, name, **fields)
    # It was recorded of one worker, however many were to run now.
    for more in ([], ["--workers", "2"]):
        assert main([*ARGUMENTS, name, "--modules", str(folder), *more]) == 1
        assert difference in str(printed(capsys)["differences"])


@pytest.mark.usefixtures("no_java")
@pytest.mark.parametrize("file", ["KRaftLog.tla", "scenario-a.cfg"])
def test_an_answer_to_other_modules_does_not_count(
    file: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / file
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert main([*ARGUMENTS, "scenario-a", "--modules", str(folder)]) == 2
    assert "there is no Java" in capsys.readouterr().err


@pytest.mark.usefixtures("no_java")
def test_states_that_are_wanted_and_were_not_recorded_are_asked_for(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed(folder, "scenario-a", states=None)
    assert main([*ARGUMENTS, "scenario-a", "--modules", str(folder)]) == 2
    assert main([*ARGUMENTS, "scenario-a", "--modules", str(folder), "--states", "0"]) == 0


@pytest.mark.parametrize(
    "content",
    ["", "{}", "[1]", "\x00", '{"format": "kraftcheck-tlc-answers-2", "answers": {}}', "[" * 100_000],
)
def test_a_file_of_another_form_is_refused(
    content: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / FILE).write_text(content, encoding="utf-8")
    assert main([*ARGUMENTS, "scenario-a", "--modules", str(folder)]) == 2
    error = capsys.readouterr().err
    assert f"{FILE}: " in error and error.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--recorded", "--record"], "leave --recorded out"),
        (["--record", "--workers", "2"], "leave --workers out"),
        (["--record", "--trace", "x.json"], "leave them, or --trace, out"),
    ],
)
def test_options_that_contradict_each_other(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tlc", *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [["scenario-a", "scenario-a-granting-by-log"], ["--mutants", "add-without-catching-up"]]
)
def test_what_tlc_answers_is_what_is_recorded(
    arguments: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jar = ["--jar", str(tools().jar), "--modules", str(folder)]
    (folder / FILE).unlink()
    assert main(["tlc", *arguments, *jar, "--record"]) == 0
    made = RecordedAnswers(Modules(folder)).answers
    assert made == {name: RecordedAnswers(MODULES).answers[name] for name in made} and made


@pytest.mark.slow
def test_a_difference_from_a_recorded_answer_makes_tlc_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """TLC runs after all, and here says the same as the checker."""
    changed(folder, "scenario-a", states="0" * 64)
    assert main([*ARGUMENTS, "scenario-a", "--jar", str(tools().jar), "--modules", str(folder)]) == 0
    assert printed(capsys)["recorded"] is False


@pytest.mark.nightly
@pytest.mark.parametrize("what", ["--small", "--mutants"])
def test_tlc_still_answers_all_that_is_recorded(what: str, folder: Path) -> None:
    before = RecordedAnswers(MODULES).answers
    assert main(["tlc", what, "--record", "--jar", str(tools().jar), "--modules", str(folder)]) == 0
    assert RecordedAnswers(Modules(folder)).answers == before
