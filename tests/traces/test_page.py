"""The page of a trace: what is in the file, and that texts in it are only texts."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.checking.findings import faults
from kraftcheck.checking.run import check
from kraftcheck.cli.main import main
from kraftcheck.reference.frozen import replace
from kraftcheck.systems.scenario import find
from kraftcheck.traces import json_form
from kraftcheck.traces.page import page_of
from kraftcheck.traces.page.document import document_of
from kraftcheck.traces.page.html import page
from tests.traces.trace_samples import POWER_LOSS, UNSTABLE, counterexample

DATA = re.compile(r'<script type="application/json" id="document">(.*?)</script>', re.DOTALL)


def test_the_document_has_every_step() -> None:
    trace = counterexample(UNSTABLE)
    found = document_of(trace, ["What is known."])
    assert found.about == (UNSTABLE["about"], "What is known.")
    assert [lane.name for lane in found.lanes] == ["replica 1", "replica 2", "replica 3"]
    assert [step.rules for step in found.steps] == [step.rules for step in trace.steps]
    assert set(found.rules) == {rule for step in trace.steps for rule in step.rules}
    assert found.steps[-1].violations == ("ReturningReplicaDeposesNobody",)
    assert found.verdict is not None and found.verdict.startswith("ReturningReplicaDeposesNobody")
    assert any("Candidate → Leader" in text for step in found.steps for text in step.moments)


def test_an_outcome_is_short() -> None:
    outcomes = [step.outcome for step in document_of(counterexample(UNSTABLE)).steps]
    assert outcomes[-1].startswith("→ Leader")
    assert any(text.startswith("→ Candidate, epoch ") for text in outcomes) and "" in outcomes
    (trace,) = check(find("finding-wiped-leader")).traces()
    assert [step.outcome for step in document_of(trace).steps][-1] == "its process exits"


def test_effects_that_never_happen() -> None:
    effects = [effect for step in document_of(counterexample(POWER_LOSS)).steps for effect in step.effects]
    assert {effect.done for effect in effects} == {True, False}


def test_a_crash_comes_first_and_a_new_start_is_told_from_what_never_happened() -> None:
    (trace,) = check(find("finding-restart-before-write-back")).traces()
    step = document_of(trace).steps[1]
    assert step.besides == "crashes after effect 1 of 4" and step.head.startswith("←1 FetchResponse(")
    assert [effect.done for effect in step.effects[:5]] == [True, False, False, False, True]
    assert step.effects[4].text == "starts again"


def test_the_page_has_the_document_and_needs_nothing_else() -> None:
    document = document_of(counterexample(UNSTABLE))
    text = page(document)
    found = DATA.search(text)
    assert found is not None
    assert json.loads(found[1]) == json.loads(json.dumps(asdict(document)))
    assert "default-src 'none'" in text
    assert re.findall(r"(?:src|href)\s*=\s*[\"']?https?:", text) == []
    assert len(text) < 1_000_000


@settings(max_examples=40)
@given(
    st.text(st.characters(codec=None), max_size=60)
    | st.sampled_from(["</script><b>", "<!--", "\u2028", "&amp;"])
)
def test_no_text_ends_the_data(hostile: str) -> None:
    document = replace(
        document_of(counterexample(POWER_LOSS)), title=hostile, notation=(hostile,), again=hostile
    )
    text = page(document)
    assert text.count("<script") == 2 and text.count("</script") == 2 and text.count("<!--") == 1
    found = DATA.search(text)
    assert found is not None
    assert json.loads(found[1])["notation"] == [hostile]
    text.encode()


def test_long_texts_are_cut_off() -> None:
    document = replace(document_of(counterexample(POWER_LOSS)), notation=("a" * 1_000_000,))
    assert len(page(document)) < 200_000


def test_commands_write_pages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = counterexample(UNSTABLE)
    file, out = tmp_path / "trace.json", tmp_path / "trace.html"
    file.write_text(json_form.dumps(trace), encoding="utf-8")
    assert main(["trace", "show", str(file), "--html", str(out)]) == 0
    assert out.read_text(encoding="utf-8") == page_of(trace)
    folder = tmp_path / "traces"
    words = ["simulate", "finding-single-voter-power-loss", "--traces", str(folder)]
    assert main(words) == 0
    name = "finding-single-voter-power-loss.StateMachineSafety"
    assert sorted(path.name for path in folder.iterdir()) == [f"{name}.html", f"{name}.json"]
    assert main(["trace", "show", str(file), "--html", str(tmp_path)]) == 2
    assert "is a folder" in capsys.readouterr().err


def test_the_rule_at_fault_is_marked_where_it_decided() -> None:
    (trace,) = check(find("finding-removed-voter-acknowledges")).traces()
    document = document_of(trace, faults=faults(trace))
    assert [step.fault for step in document.steps] == ["", "", "", "BEGIN-3"]
    assert all(step.fault in step.rules for step in document.steps if step.fault)
    assert faults(counterexample(UNSTABLE)) == {}


def test_the_notation_explains_what_the_page_has_and_nothing_else() -> None:
    (trace,) = check(find("finding-removed-voter-acknowledges")).traces()
    texts = [text.partition(":")[0] for text in document_of(trace).notation]
    assert "1/d1" in texts and "unanswerable" not in texts and len(set(texts)) == len(texts)


def test_a_field_that_a_role_does_not_have_is_empty() -> None:
    steps = document_of(counterexample(UNSTABLE)).steps
    changes = [change for step in steps for change in step.changes if change.field == "granted"]
    assert changes and all("none" not in (change.before, change.after) for change in changes)
