"""Bad scenario files and bad arguments: one sentence, exit status 2, nothing written."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.cli.main import main
from kraftcheck.support.errors import InputError
from kraftcheck.systems.scenario import parse

GOOD = """
name = "good"
about = "a good one"
replicas = { voters = [1, 2] }
expect = { verdict = "holds" }
budgets = { timers = 2 }
"""

#: Every mistake has its sentence in ``test_newcomers``.
BAD = {
    "unknown key": GOOD.replace("timers = 2", "timer = 2"),
    "contradiction": GOOD.replace("[1, 2]", "[1, 1]"),
    "not TOML": "name = = =",
    "missing key": 'name = "x"\n',
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD.keys())
def test_bad_scenario(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(text)
    assert main(["check", str(file), "--traces", str(tmp_path / "traces")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "bad.toml" in err or "good" in err
    assert len(err.splitlines()) == (4 if text == BAD["missing key"] else 1)
    assert "Traceback" not in err
    assert sorted(tmp_path.iterdir()) == [file]


def test_unreadable_and_huge_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    noise = tmp_path / "noise.toml"
    noise.write_bytes(bytes(range(256)) * 40_000)
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00" * 100)
    endless, colourful = Path("/dev/zero"), tmp_path / "\x1b[31m.toml"
    for path in (noise, binary, tmp_path, tmp_path / "missing.toml", endless, colourful):
        assert main(["check", str(path)]) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert error.strip().isprintable()


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "--max-states", "-1"],
        ["check", "--max-memory", "lots"],
        ["check", "--threads", "0"],
        ["check", "--tag", "unheard-of"],
        ["check", "no-such-scenario"],
        ["chekc"],
        ["check", "--frobnicate"],
    ],
)
def test_bad_arguments(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_limit_is_undetermined_and_never_green(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "three-voters-elect", "--max-states", "1000"]) == 3
    assert "UNDETERMINED" in capsys.readouterr().out


@pytest.mark.slow
@given(st.text(max_size=300) | st.binary(max_size=300).map(lambda data: data.decode("latin-1")))
@settings(max_examples=300)
def test_noise_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse(text, "noise")


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from(["name", "about", "expect", "bounds", "budgets"]), st.integers()))
def test_wrong_values_are_refused(data: dict[str, int]) -> None:
    text = "\n".join(f"{key} = {value}" for key, value in data.items())
    with pytest.raises(InputError):
        parse(text, "noise")


def test_too_many_threads(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "single-voter", "--threads", "100000"]) == 2
    assert "at most" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check", "single-voter", "--tag", "ci"], "not both"),
        (["check", "--tag", ""], "has the tag ''"),
        (["check", "no-such-*"], "no shipped scenario matches 'no-such-*'"),
        (["check", "--list", "--tag", "no-such-tag"], "has the tag 'no-such-tag'"),
        (["check", "--list", "no-such-scenario"], "there is no scenario"),
        (["check", "--threads", "1000"], "expected at most 256"),
        (["simulate", "single-voter", "--seed", "-1"], "expected a number from 0 on"),
        (["mutate", "--jobs", "1000"], "expected at most 256"),
        (["trace", "replay", "single-voter"], "give a trace file"),
        (["trace", "show", "single-voter"], "give --path"),
        (["bench", "no-such-scenario"], "there is no scenario"),
        (["bench", "--recorded", "/no/such/folder"], "there is no such folder"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_words_that_make_no_sense(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == "" and said in err and err.count("\n") == 1


def test_named_scenarios_are_listed_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--list", "single-voter"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines() if line[0] != " "] == [
        "single-voter"
    ]
