"""The museum: every defect has a mutant or says why not, its page is that of today, and it can be asked."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kraftcheck import spec
from kraftcheck.checking.mutation import campaign, catalogue, museum, museum_page
from kraftcheck.checking.mutation.campaign import Result, Run, Status
from kraftcheck.checking.mutation.museum import Defect
from kraftcheck.checking.mutation.patch import mutated_sources
from kraftcheck.checking.run import check
from kraftcheck.cli.commands.mutate import choose
from kraftcheck.cli.main import main
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft import names
from kraftcheck.systems.scenario import find
from kraftcheck.traces.brief import render

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "museum.md").read_text(encoding="utf-8")
DEFECTS = museum.shipped()
MUTANTS = catalogue.shipped()
every_defect = pytest.mark.parametrize("defect", DEFECTS.values(), ids=list(DEFECTS))


@every_defect
def test_a_defect_has_a_mutant_or_says_why_not(defect: Defect) -> None:
    assert bool(defect.mutants()) != bool(defect.outside)
    for mutant in defect.mutants():
        assert mutant.expect and mutated_sources(mutant)
    violated = {name for mutant in defect.mutants() for name in mutant.expect}
    assert defect.shows is None or defect.shows in violated


def test_a_mutant_belongs_to_a_defect_that_is_told() -> None:
    assert {mutant.defect for mutant in MUTANTS.values()} - {None} <= set(DEFECTS)


def test_issues_are_listed_once() -> None:
    issues = [issue for defect in DEFECTS.values() for issue in (defect.id, *defect.also)]
    assert len(issues) == len(set(issues))


@every_defect
def test_the_page_tells_it(defect: Defect) -> None:
    told = "\n".join(museum_page.story(defect))
    assert told in PAGE, "run: kraftcheck museum --markdown -o docs/museum.md"
    changes = "\n".join(museum_page.edits(defect))
    assert changes in PAGE, "run: kraftcheck museum --markdown -o docs/museum.md"
    for mutant in defect.mutants():
        violated = ", ".join(f"`{name}` after " for name in mutant.expect[:1])
        assert f"- `{mutant.id}` is refuted: {violated}" in PAGE


@every_defect
def test_the_page_agrees_with_the_catalogue_and_itself(defect: Defect) -> None:
    """The row, the verdicts and the trace of a defect; whether they are those of today takes minutes."""
    (row,) = (line for line in PAGE.splitlines() if line.startswith(f"| [{defect.id}](#"))
    title = f"| [{defect.id}](#{defect.id.lower()}) {defect.title} | {defect.kind} |"
    if defect.outside is not None:
        assert row == f"{title} not in the reference |  |"
        return
    section = PAGE.split(f"\n## {defect.id}\n")[1].split("\n## ")[0]
    found = {
        mutant.id: dict(re.findall(r"`(\w+)` after (\d+) step", line))
        for mutant in defect.mutants()
        for line in section.splitlines()
        if line.startswith(f"- `{mutant.id}` is refuted: ")
    }
    assert {mutant.id: [*mutant.expect] for mutant in defect.mutants()} == {
        name: [*steps] for name, steps in found.items()
    }
    shown = defect.shows or defect.mutants()[0].expect[-1]
    by = next(name for name, steps in found.items() if shown in steps)
    assert row == f"{title} `{shown}` | {found[by][shown]} |"
    trace = section.split(f"\n`{shown}`, `{by}`:\n\n```text\n")[1]
    numbers = [int(number) for number in re.findall(r"^ {0,2}(\d+)\. ", trace, re.MULTILINE)]
    assert numbers == [*range(1, int(found[by][shown]) + 1)]


def test_the_page_tells_nothing_else() -> None:
    assert PAGE.count("\n## ") == len(DEFECTS)
    assert PAGE.count("\n```text") == sum(defect.outside is None for defect in DEFECTS.values())


@pytest.mark.nightly
def test_the_page_is_up_to_date(tmp_path: Path) -> None:
    file = tmp_path / "museum.md"
    assert main(["museum", "--markdown", "-o", str(file), "--timeout", "600"]) == 0
    assert file.read_text(encoding="utf-8") == PAGE, "run: kraftcheck museum --markdown -o docs/museum.md"


def run(judged: str, steps: int, violated: str | None = None) -> Run:
    return Run(judged, "violated", violated or judged, steps, 1, 0.1, None, (f"{judged} in {steps}",))


def test_which_counterexample_tells_the_story() -> None:
    defect = DEFECTS["KAFKA-10533"]
    assert defect.shows == "LeaderCompleteness"
    first, second = defect.mutants()
    results = [
        Result(first, Status.REFUTED, "", (run("AcknowledgedIsDurable", 3), run("LeaderCompleteness", 9))),
        Result(second, Status.REFUTED, "", (run("LeaderCompleteness", 7),)),
    ]
    best = defect.best(results)
    assert best is not None and (best[0].mutant, best[1].steps) == (first, 9)
    free = defect.model_copy(update={"shows": None})
    best = free.best(list(reversed(results)))
    assert best is not None and best[1].steps == 7
    assert defect.best([]) is None
    assert (
        defect.best([Result(first, Status.SURVIVED, "", (run("LeaderCompleteness", 9, "NoFatal"),))]) is None
    )
    page = museum_page.as_markdown([defect], {defect.id: results})
    assert "LeaderCompleteness in 9" in page and "AcknowledgedIsDurable in 3" not in page


def test_choosing() -> None:
    assert [each.id for each in museum.choose(["10527", "kafka-12619"])] == ["KAFKA-10527", "KAFKA-12619"]
    assert [each.id for each in museum.choose(["KAFKA-17675"])] == ["KAFKA-17642"]
    assert len(museum.choose([])) == len(DEFECTS)
    with pytest.raises(InputError, match="did you mean 'KAFKA-10527'"):
        museum.choose(["10528"])


def test_mutate_knows_the_museum() -> None:
    tagged = [mutant.id for mutant in MUTANTS.values() if mutant.defect]
    assert [mutant.id for mutant in choose(["museum"], MUTANTS)] == tagged
    assert [mutant.id for mutant in choose(["KAFKA-12619"], MUTANTS)] == ["commit-at-epoch-start"]


@pytest.mark.slow
def test_the_command_lists(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["museum"]) == 0
    out = capsys.readouterr().out
    assert all(defect.id in out and defect.title in out for defect in DEFECTS.values())
    assert main(["museum", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [each["id"] for each in listed] == list(DEFECTS)
    assert listed[0]["mutants"] == ["leader-restarts-as-leader"]


@pytest.mark.slow
def test_the_command_refutes_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["museum", "KAFKA-12331", "--jobs", "1", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["violates"] == names.NO_FATAL and len(data["trace"]) > 3
    assert "does not continue the log" in data["trace"][-1]
    assert data["results"][0]["status"] == "refuted"


def test_the_command_shows_one(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (mutant,) = DEFECTS["KAFKA-12331"].mutants()
    found = [Result(mutant, Status.REFUTED, "", (run("NoFatal", 3),))]
    monkeypatch.setattr(campaign, "run", lambda mutants, **_: found)
    assert main(["museum", "12331"]) == 0
    out = capsys.readouterr().out
    assert "Batch(0," in out and "NoFatal is violated after 3 steps" in out and "NoFatal in 3" in out
    assert "leader-batch-at-offset-zero, in mutants-observer: refuted" in " ".join(out.split())


@pytest.mark.parametrize(
    "arguments",
    [["KAFKA-1"], ["-o", "x"], ["--markdown", "--json"], ["--jobs", "0"], ["KAFKA-10527", "x" * 900]],
)
def test_bad_input_is_one_sentence(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["museum", *arguments]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_defect_that_is_not_refuted_writes_no_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def survived(mutants: object, **_: object) -> list[Result]:
        (mutant,) = DEFECTS["KAFKA-12331"].mutants()
        return [Result(mutant, Status.SURVIVED, "NoFatal not violated")]

    monkeypatch.setattr(campaign, "run", survived)
    file = tmp_path / "museum.md"
    assert main(["museum", "12331", "--markdown", "-o", str(file)]) == 1
    assert not file.exists()
    assert "leader-batch-at-offset-zero is survived: NoFatal not violated" in capsys.readouterr().err


def test_rules_without_which_a_defect_is_back_are_in_the_catalogue() -> None:
    for defect in DEFECTS.values():
        for mutant in defect.mutants():
            assert set(mutant.rules) <= set(spec.load().rules)


def test_a_trace_in_brief() -> None:
    (trace,) = check(find("finding-single-voter-power-loss")).traces()
    text = render(trace)
    assert text.startswith("replica 1: ")
    assert [line for line in text.splitlines() if line.startswith("  1. replica 1:")]
    assert trace.finding is not None
    assert text.splitlines()[-1] == trace.finding.reasons[-1]
