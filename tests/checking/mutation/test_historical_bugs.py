"""Historical bugs: every bug has a mutant or says why not, its page is that of today, and it can be asked."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kraftcheck import spec
from kraftcheck.checking.mutation import campaign, catalogue, historical_bugs
from kraftcheck.checking.mutation.campaign import Result, Run, Status
from kraftcheck.checking.mutation.historical_bugs import Bug
from kraftcheck.checking.mutation.patch import mutated_sources
from kraftcheck.checking.run import check
from kraftcheck.cli.commands.mutate import choose
from kraftcheck.cli.main import main
from kraftcheck.support.errors import InputError
from kraftcheck.systems.scenario import find
from kraftcheck.traces.brief import render

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "historical-bugs.md").read_text(encoding="utf-8")
BUGS = historical_bugs.shipped()
MUTANTS = catalogue.shipped()
every_bug = pytest.mark.parametrize("bug", BUGS.values(), ids=list(BUGS))


@pytest.mark.slow
@every_bug
def test_a_bug_has_a_mutant_or_says_why_not(bug: Bug) -> None:
    assert bool(bug.mutants()) != bool(bug.outside)
    for mutant in bug.mutants():
        assert mutant.expect and mutated_sources(mutant)
    violated = {name for mutant in bug.mutants() for name in mutant.expect}
    assert bug.shows is None or bug.shows in violated


def test_a_mutant_belongs_to_a_bug_that_is_told() -> None:
    assert {mutant.bug for mutant in MUTANTS.values()} - {None} <= set(BUGS)


def test_issues_are_listed_once() -> None:
    issues = [issue for bug in BUGS.values() for issue in (bug.id, *bug.also)]
    assert len(issues) == len(set(issues))


@every_bug
def test_the_page_tells_it(bug: Bug) -> None:
    told = "\n".join(historical_bugs.story(bug))
    assert told in PAGE, "run: kraftcheck bugs --markdown -o docs/historical-bugs.md"
    changes = "\n".join(historical_bugs.edits(bug))
    assert changes in PAGE, "run: kraftcheck bugs --markdown -o docs/historical-bugs.md"
    for mutant in bug.mutants():
        violated = ", ".join(f"`{name}` after " for name in mutant.expect[:1])
        assert f"- `{mutant.id}` is killed: {violated}" in PAGE


@every_bug
def test_the_page_agrees_with_the_catalogue_and_itself(bug: Bug) -> None:
    """The row, the verdicts and the trace of a bug; whether they are those of today takes minutes."""
    (row,) = (line for line in PAGE.splitlines() if line.startswith(f"| [{bug.id}](#"))
    title = f"| [{bug.id}](#{bug.id.lower()}) {bug.title} | {bug.kind} |"
    if bug.outside is not None:
        assert row == f"{title} not in the reference |  |"
        return
    section = PAGE.split(f"\n## {bug.id}\n")[1].split("\n## ")[0]
    found = {
        mutant.id: dict(re.findall(r"`(\w+)` after (\d+) step", line))
        for mutant in bug.mutants()
        for line in section.splitlines()
        if line.startswith(f"- `{mutant.id}` is killed: ")
    }
    assert {mutant.id: [*mutant.expect] for mutant in bug.mutants()} == {
        name: [*steps] for name, steps in found.items()
    }
    shown = bug.shows or bug.mutants()[0].expect[-1]
    by = next(name for name, steps in found.items() if shown in steps)
    assert row == f"{title} `{shown}` | {found[by][shown]} |"
    trace = section.split(f"\n`{shown}`, `{by}`:\n\n```text\n")[1]
    numbers = [int(number) for number in re.findall(r"^ {0,2}(\d+)\. ", trace, re.MULTILINE)]
    assert numbers == [*range(1, int(found[by][shown]) + 1)]


def test_the_page_tells_nothing_else() -> None:
    assert PAGE.count("\n## ") == len(BUGS)
    assert PAGE.count("\n```text") == sum(bug.outside is None for bug in BUGS.values())


@pytest.mark.nightly
def test_the_page_is_up_to_date(tmp_path: Path) -> None:
    file = tmp_path / "historical-bugs.md"
    assert main(["bugs", "--markdown", "-o", str(file), "--timeout", "600"]) == 0
    assert file.read_text(encoding="utf-8") == PAGE, (
        "run: kraftcheck bugs --markdown -o docs/historical-bugs.md"
    )


def run(judged: str, steps: int, violated: str | None = None) -> Run:
    return Run(judged, "violated", violated or judged, steps, 1, 0.1, None, (f"{judged} in {steps}",))


def test_which_counterexample_tells_the_story() -> None:
    bug = BUGS["KAFKA-10533"]
    assert bug.shows == "LeaderCompleteness"
    first, second = bug.mutants()
    results = [
        Result(first, Status.KILLED, "", (run("AcknowledgedIsDurable", 3), run("LeaderCompleteness", 9))),
        Result(second, Status.KILLED, "", (run("LeaderCompleteness", 7),)),
    ]
    best = bug.best(results)
    assert best is not None and (best[0].mutant, best[1].steps) == (first, 9)
    free = bug.model_copy(update={"shows": None})
    best = free.best(list(reversed(results)))
    assert best is not None and best[1].steps == 7
    assert bug.best([]) is None
    assert bug.best([Result(first, Status.SURVIVED, "", (run("LeaderCompleteness", 9, "NoFatal"),))]) is None
    page = historical_bugs.as_markdown([bug], {bug.id: results})
    assert "LeaderCompleteness in 9" in page and "AcknowledgedIsDurable in 3" not in page


def test_choosing() -> None:
    assert [each.id for each in historical_bugs.choose(["10527", "kafka-12619"])] == [
        "KAFKA-10527",
        "KAFKA-12619",
    ]
    assert [each.id for each in historical_bugs.choose(["KAFKA-17675"])] == ["KAFKA-17642"]
    assert len(historical_bugs.choose([])) == len(BUGS)
    with pytest.raises(InputError, match="did you mean 'KAFKA-10527'"):
        historical_bugs.choose(["10528"])


def test_mutate_knows_historical_bugs() -> None:
    tagged = [mutant.id for mutant in MUTANTS.values() if mutant.bug]
    assert [mutant.id for mutant in choose(["bugs"], MUTANTS)] == tagged
    assert [mutant.id for mutant in choose(["KAFKA-12619"], MUTANTS)] == ["commit-at-epoch-start"]


@pytest.mark.slow
def test_the_command_lists(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bugs"]) == 0
    out = capsys.readouterr().out
    assert all(bug.id in out and bug.title in out for bug in BUGS.values())
    assert main(["bugs", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["bugs"]
    assert [each["id"] for each in listed] == list(BUGS)
    assert listed[0]["mutants"] == ["leader-restarts-as-leader"]


@pytest.mark.slow
def test_the_command_kills_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bugs", "KAFKA-12331", "--jobs", "1", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["violates"] == "NoFatal" and len(data["trace"]) > 3
    assert "begins before the end of the log" in data["trace"][-1]
    assert data["results"][0]["status"] == "killed"


def test_the_command_shows_one(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (mutant,) = BUGS["KAFKA-12331"].mutants()
    found = [Result(mutant, Status.KILLED, "", (run("NoFatal", 3),))]
    monkeypatch.setattr(campaign, "run", lambda mutants, **_: found)
    assert main(["bugs", "12331"]) == 0
    out = capsys.readouterr().out
    assert "Batch(0," in out and "NoFatal is violated after 3 steps" in out and "NoFatal in 3" in out
    assert "leader-batch-at-offset-zero, in mutants-observer: killed" in " ".join(out.split())


@pytest.mark.parametrize(
    "arguments",
    [["KAFKA-1"], ["-o", "x"], ["--markdown", "--json"], ["--jobs", "0"], ["KAFKA-10527", "x" * 900]],
)
def test_bad_input_is_one_sentence(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bugs", *arguments]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_bug_that_is_not_killed_writes_no_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def survived(mutants: object, **_: object) -> list[Result]:
        (mutant,) = BUGS["KAFKA-12331"].mutants()
        return [Result(mutant, Status.SURVIVED, "NoFatal not violated")]

    monkeypatch.setattr(campaign, "run", survived)
    file = tmp_path / "historical-bugs.md"
    assert main(["bugs", "12331", "--markdown", "-o", str(file)]) == 1
    assert not file.exists()
    assert "leader-batch-at-offset-zero is survived: NoFatal not violated" in capsys.readouterr().err


def test_rules_without_which_a_bug_is_back_are_in_the_catalogue() -> None:
    for bug in BUGS.values():
        for mutant in bug.mutants():
            assert set(mutant.rules) <= set(spec.load().rules)


def test_a_trace_in_brief() -> None:
    (trace,) = check(find("finding-single-voter-power-loss")).traces()
    text = render(trace)
    assert text.startswith("replica 1: ")
    assert [line for line in text.splitlines() if line.startswith("  1. replica 1:")]
    assert trace.finding is not None
    assert text.splitlines()[-1] == trace.finding.reasons[-1]
