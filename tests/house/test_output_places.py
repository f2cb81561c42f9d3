"""A place that cannot be written to is refused in a sentence, before the work and not after it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kraftcheck.cli.main import main
from kraftcheck.support.files import require_file_can_be_written, require_folder_can_be_written

#: Commands that write a file, and what does their work.
FILES = {
    "bugs --markdown -o": "kraftcheck.checking.mutation.campaign.run",
    "graph single-voter -o": "kraftcheck.cli.commands.graph.collect_states",
    "graph single-voter --to role=Leader -o": "kraftcheck.cli.commands.graph.collect_states",
    "conform RUN -o": "kraftcheck.cli.commands.conform.find_runs",
    "rules --table -o": "kraftcheck.query.rule_table.rows",
    "rules --count REPORT -o": "kraftcheck.checking.coverage.rule_evidence.counted",
    "logs LOG -o": "kraftcheck.cli.commands.logs.read_logs",
    "drive --adapter COMMAND -o": "kraftcheck.cli.commands.drive.AdapterProcess",
}
FOLDERS = {
    "check single-voter --traces": "kraftcheck.cli.commands.check.check",
    "hunt single-voter -o": "kraftcheck.cli.commands.hunt.Hunt",
    "tlc --trace TRACE -o": "kraftcheck.traces.json_form.load",
    "drive --adapter COMMAND --save": "kraftcheck.cli.commands.drive.AdapterProcess",
}


Refusing = Callable[[str, Path, str], str]


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Refusing:
    """What a command says of a place, before it does its work."""

    def said_of(command: str, place: Path, work: str) -> str:
        def done(*arguments: object, **more: object) -> None:
            raise AssertionError("the work was done first")

        monkeypatch.setattr(work, done)
        words = command.split()
        assert main([*words, str(place)]) == 2
        out, said = capsys.readouterr()
        assert out == "" and said.startswith(f"kraftcheck: {words[-1]}: ") and said.count("\n") == 1
        return said

    return said_of


@pytest.mark.parametrize(("command", "work"), FILES.items())
def test_a_file_that_cannot_be_written(command: str, work: str, tmp_path: Path, refused: Refusing) -> None:
    assert "is a folder" in refused(command, tmp_path, work)
    assert "there is no folder" in refused(command, tmp_path / "none" / "file", work)
    assert "is a device" in refused(command, Path(os.devnull), work)
    assert "cannot be written" in refused(command, tmp_path / ("x" * 300), work)


@pytest.mark.parametrize(("command", "work"), FOLDERS.items())
def test_a_folder_that_cannot_be_written(command: str, work: str, tmp_path: Path, refused: Refusing) -> None:
    file = tmp_path / "file"
    file.write_text("kept", encoding="utf-8")
    assert "is no folder" in refused(command, file, work)
    assert "is no folder" in refused(command, file / "below", work)
    assert file.read_text(encoding="utf-8") == "kept"


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder in which nothing can be made")
@pytest.mark.parametrize(("command", "work"), FOLDERS.items())
def test_a_folder_that_cannot_be_made_is_named_itself(command: str, work: str, refused: Refusing) -> None:
    said = refused(command, Path("/proc/new/one"), work)
    assert ": /proc/new/one cannot be made, for /proc cannot be written; " in said


def test_looking_leaves_nothing_behind(tmp_path: Path) -> None:
    require_file_can_be_written(tmp_path / "file", "-o")
    require_folder_can_be_written(tmp_path / "one" / "other", "-o")
    require_file_can_be_written(None, "-o")
    require_folder_can_be_written(None, "-o")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("form", ["json", "html"])
def test_a_foreign_file_with_the_name_of_a_trace_is_not_replaced(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["check", "scenario-a-granting-by-log", "--traces", str(tmp_path)]
    assert main(command) == 0
    (trace,) = tmp_path.glob(f"*.{form}")
    written = trace.read_bytes()
    trace.write_bytes(written[:40])
    assert main(command) == 0
    assert trace.read_bytes() == written
    for foreign in (b"of somebody else", b'{\n "format": "mine"\n}\n', b"<!DOCTYPE html><html lang=en>"):
        trace.write_bytes(foreign)
        capsys.readouterr()
        assert main(command) == 2
        said = capsys.readouterr().err
        assert f"{trace}: is there already and was not written by kraftcheck; move it" in said
        assert trace.read_bytes() == foreign
    trace.unlink()
    os.mkfifo(trace)
    assert main(command) == 2
