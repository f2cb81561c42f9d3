"""The results of a check as CI systems read them."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.checking import ci
from kraftcheck.checking.results import Outcome
from kraftcheck.cli.main import main
from kraftcheck.support.errors import InputError

AS_EXPECTED = Outcome(as_expected=True, differs=False, undetermined=False, states=5, seconds=0.5)
DIFFERS = Outcome(as_expected=False, differs=True, undetermined=False, states=5, seconds=1.0)
OPEN = Outcome(as_expected=False, differs=False, undetermined=True, states=5, seconds=1.5)
RESULTS = [
    ci.Result("good", "", AS_EXPECTED, "good  holds  as expected\n"),
    ci.Result(
        "bad", "a,b: c.toml", DIFFERS, "bad  violated  DIFFERS\n    100%\n\ntrace\n", "sequenceDiagram\n"
    ),
    ci.Result("open", "open.toml", OPEN, "open  UNDETERMINED\n"),
]


def test_junit() -> None:
    suites = ElementTree.fromstring(ci.junit(RESULTS))
    assert suites.attrib == {
        "name": "kraftcheck",
        "tests": "3",
        "failures": "1",
        "errors": "1",
        "time": "3.000",
    }
    cases = suites.findall("testsuite/testcase")
    assert [case.get("name") for case in cases] == ["good", "bad", "open"]
    assert [[part.tag for part in case] for case in cases] == [["system-out"], ["failure"], ["error"]]
    (failure,) = cases[1]
    assert failure.get("message") == "violated DIFFERS" and "trace" in str(failure.text)


@pytest.mark.slow
@given(st.text(max_size=40))
def test_any_text_is_xml(text: str) -> None:
    (case,) = ElementTree.fromstring(ci.junit([ci.Result("x", text, DIFFERS, text)])).iter("testcase")
    assert case.find("failure") is not None


def test_annotations() -> None:
    bad, open_ = ci.commands(RESULTS).splitlines()
    title = "title=kraftcheck%3A bad"
    assert bad == f"::error file=a%2Cb%3A c.toml,{title}::bad violated DIFFERS%0A100%25"
    assert open_.startswith("::warning file=open.toml,")


def test_summary(tmp_path: Path) -> None:
    text = ci.markdown(RESULTS)
    assert text.startswith("### kraftcheck: 1 of 3 scenarios as expected\n")
    assert "| bad | violated DIFFERS |" in text and "```mermaid\nsequenceDiagram\n```" in text
    file = tmp_path / "summary.md"
    for _ in range(2):
        ci.append_summary(text, {"GITHUB_STEP_SUMMARY": str(file)})
    assert file.read_text(encoding="utf-8") == text * 2
    ci.append_summary(text, {})
    with pytest.raises(InputError, match="cannot be written"):
        ci.append_summary(text, {"GITHUB_STEP_SUMMARY": str(tmp_path)})


def test_a_large_diagram_is_left_out() -> None:
    large = ci.Result("large", "", DIFFERS, "large\n", "x" * 1_000_000)
    assert "mermaid" not in ci.markdown([large]) and "| large |" in ci.markdown([large])


@pytest.mark.slow
def test_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario, junit, summary = tmp_path / "wrong.toml", tmp_path / "out.xml", tmp_path / "summary.md"
    scenario.write_text(
        """name = "wrong"
about = "An expectation that is not met."
replicas = { voters = [1] }
expect = { verdict = "violated", violates = ["SingleLeaderPerEpoch"] }
"""
    )
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert main(["check", str(scenario), "ping-pong", "--junit", str(junit), "--github", "--json"]) == 1
    assert f"::error file={scenario},title=kraftcheck%3A wrong::wrong" in capsys.readouterr().err
    assert "| wrong |" in summary.read_text(encoding="utf-8")
    names = re.findall(r'<testcase .*? name="([^"]+)"', junit.read_text(encoding="utf-8"))
    assert names == ["wrong", "ping-pong"]
    assert main(["check", "ping-pong", "--junit", str(tmp_path)]) == 2
