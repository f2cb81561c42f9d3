"""The script with which a shell completes the command line."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kraftcheck.cli.main import COMMANDS, main

#: Prints what bash would offer for the words of the command line, the last one incomplete.
ASK = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
_shtab_kraftcheck kraftcheck "${COMP_WORDS[COMP_CWORD]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("completion") / "kraftcheck.bash"
    command = [sys.executable, "-m", "kraftcheck", "completion", "bash"]
    file.write_text(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return file


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("", {*COMMANDS}),
        ("mut", {"mutate"}),
        ("check finding-second-leader-of-e", {"finding-second-leader-of-epoch"}),
        ("check --smal", {"--smallest-bounds"}),
        ("trace sh", {"show"}),
        ("trace show --mer", {"--mermaid"}),
    ],
)
def test_bash_offers(script: Path, words: str, offered: set[str]) -> None:
    command = ["bash", "-c", ASK, "ask", str(script), "kraftcheck", *(words.split() or [""])]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert {*found} >= offered
    if words:
        assert all(each.startswith(words.split()[-1]) for each in found)


def test_without_shtab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 2
    assert capsys.readouterr().err == (
        "kraftcheck: completion needs shtab: pip install 'kraftcheck[completion]'.\n"
    )
