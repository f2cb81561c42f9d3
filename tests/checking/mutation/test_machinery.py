"""How a mutant is made, explored and judged, and what is said where that is not possible."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kraftcheck.checking.mutation import campaign, catalogue, patch, server
from kraftcheck.checking.mutation.campaign import Result, Status
from kraftcheck.checking.mutation.catalogue import Edit, Mutant
from kraftcheck.checking.mutation.worker import judging
from kraftcheck.cli import main as cli
from kraftcheck.cli.commands import mutate
from kraftcheck.support.errors import InputError
from kraftcheck.support.forks import interpreter
from kraftcheck.systems.scenario import find
from tests.browser import NEEDS_AXE, NEEDS_CHROMIUM, browser, inaccessible, problems

SOURCE = """
def one():
    return 1 + 1


def two():
    return 1 + 1
"""


def edit(find: str, replace: str, function: str | None = None) -> Edit:
    return Edit(module="kraftcheck.reference.voters", function=function, find=find, replace=replace)


def mutant(*edits: Edit, expect: tuple[str, ...] = ("NoFatal",), equivalent: str | None = None) -> Mutant:
    return Mutant(
        id="mine",
        rules=("VOTE-8",),
        about="For a test.",
        scenario="mutants-old-file",
        expect=() if equivalent else expect,
        equivalent=equivalent,
        edit=edits,
    )


# Edits.


def test_edit_within_a_function() -> None:
    changed = patch.apply(SOURCE, [edit("1 + 1", "2", "two")], "mine")
    assert changed == SOURCE.replace("return 1 + 1\n", "return 2\n").replace("return 2", "return 1 + 1", 1)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (edit("1 + 1", "2"), "occurs 2 times in kraftcheck.reference.voters, not once"),
        (edit("1 + 2", "2"), "occurs 0 times"),
        (edit("1 + 1", "2", "three"), "has no function three"),
        (edit("1 + 1", "(2", "one"), "does not parse"),
        (edit("def one():", "def one():  # the same"), "change nothing"),
    ],
)
def test_edits_that_do_not_apply_are_refused_in_one_sentence(wrong: Edit, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        patch.apply(SOURCE, [wrong], "mine")
    assert "mutant 'mine'" in str(caught.value) and "\n" not in str(caught.value)


def test_unknown_module_is_refused() -> None:
    wrong = mutant(Edit(module="kraftcheck.reference.nowhere", find="a", replace="b"))
    with pytest.raises(InputError, match="there is no module"):
        patch.mutated_sources(wrong)


def test_a_mutant_is_never_made_after_the_reference_was_imported() -> None:
    import kraftcheck.reference.voters  # noqa: F401

    before = list(sys.meta_path)
    with pytest.raises(RuntimeError, match="imported before"):
        patch.install("mine", {})
    assert sys.meta_path == before


# The catalogue.


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mutant = 1", "mutant"),
        ("[[mutant]]\nid = 'a'", "mutant.0"),
        ("nonsense", ":1: each line is a table"),
        ("[[mutant]]\nid='a'\nrules=['VOTE-8']\nabout='b'\nscenario='c'\nedit=[]", "mutant.0"),
    ],
)
def test_a_damaged_catalogue_is_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "mutants.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=said):
        catalogue.shipped(file)


def test_an_id_is_given_once(tmp_path: Path) -> None:
    twice = entry("twice", 'expect = ["NoFatal"]', "a", "b")
    with pytest.raises(InputError, match="two mutants have the id 'twice'"):
        catalogue.shipped(written(tmp_path, twice, twice))


@pytest.mark.slow
def test_a_mutant_of_brokers_is_nothing_to_ask_a_replica_of() -> None:
    command, environment = interpreter(
        "kraftcheck.evidence.adapters.adapter", "--mutant", "fenced-broker-serves"
    )
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 2
    assert "changes kraftcheck.reference.brokers.views, which no question to a replica reaches" in done.stderr


def test_a_mutant_is_either_killed_or_equivalent() -> None:
    with pytest.raises(ValueError, match="either"):
        mutant(edit("a", "b"), expect=())


# Workers and campaigns.


def written(tmp_path: Path, *mutants: str) -> Path:
    file = tmp_path / "mutants.toml"
    file.write_text("\n".join(mutants), encoding="utf-8")
    return file


def entry(
    id_: str, outcome: str, find: str, replace: str, module: str = "kraftcheck.reference.startup"
) -> str:
    return f"""
[[mutant]]
id = "{id_}"
rules = ["INIT-2"]
about = "For a test."
scenario = "mutants-old-file"
{outcome}
[[mutant.edit]]
module = "{module}"
find = '{find}'
replace = '{replace}'
"""


GUARD = "if stored.epoch < replica.log.last_epoch:"


def only_result(file: Path) -> Result:
    (result,) = campaign.run(catalogue.shipped(file).values())
    return result


@pytest.mark.slow
def test_a_mutant_that_does_nothing_survives(tmp_path: Path) -> None:
    file = written(tmp_path, entry("idle", 'expect = ["NoFatal"]', GUARD, GUARD.replace("<", "< 0 +")))
    result = only_result(file)
    assert result.status is Status.SURVIVED
    assert result.reason == "NoFatal not violated"


@pytest.mark.slow
def test_a_claim_of_equivalence_is_checked(tmp_path: Path) -> None:
    file = written(tmp_path, entry("wrong", 'equivalent = "So I say."', GUARD, "if False:"))
    result = only_result(file)
    assert result.status is Status.FAILED
    assert result.reason == "said to be equivalent, yet violates LogEpochsMonotone"


@pytest.mark.slow
def test_a_mutant_that_breaks_python_is_no_refutation(tmp_path: Path) -> None:
    file = written(tmp_path, entry("broken", 'expect = ["NoFatal"]', GUARD, "if 1 / 0:"))
    result = only_result(file)
    assert result.status is Status.FAILED
    assert "ZeroDivisionError" in result.reason


@pytest.mark.slow
def test_a_mutant_that_never_ends_is_undetermined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "GRACE_SECONDS", 3.0)
    endless = entry("endless", 'expect = ["NoFatal"]', GUARD, "if sum(iter(int, 1)):")
    mutant = catalogue.shipped(written(tmp_path, endless))["endless"]
    (result,) = campaign.run([mutant], timeout=2.0)
    assert (result.status, result.reason) == (Status.UNDETERMINED, "no result in time")


def test_judging_one_property_alone() -> None:
    zombie = find("zombie-leader")
    assert judging(zombie, "LeaderWithoutMajorityStepsDown").check.eventually == zombie.check.eventually
    assert "NoFatal" in judging(zombie, "LeaderWithoutMajorityStepsDown").check.without
    assert judging(zombie, "NoFatal").check.only == ("NoFatal",)
    elect = find("three-voters-elect")
    assert judging(elect, "GoalRecordCommitted").check.goals == ("GoalRecordCommitted",)
    assert judging(elect, None).check.goals == ()


@pytest.mark.parametrize("name", ["NoFatal", "LeaderEventuallyElected", "GoalVoterRemoved", None])
def test_a_known_death_kills_no_mutant(name: str | None) -> None:
    shrink = find("shrink-and-restart")
    assert shrink.check.ignore_fatal
    assert judging(shrink, name).check.ignore_fatal == shrink.check.ignore_fatal


# The command.


def test_choosing_by_id_and_by_rule() -> None:
    known = catalogue.shipped()
    chosen = mutate.choose(["HWM-1", "no-check-quorum"], known)
    assert [each.id for each in chosen] == ["no-check-quorum", "majority-index-rounded-down"]
    with pytest.raises(InputError, match="did you mean 'no-check-quorum'"):
        mutate.choose(["no-chek-quorum"], known)


@pytest.mark.parametrize(
    ("statuses", "status"),
    [
        ([Status.KILLED, Status.EQUIVALENT], 0),
        ([Status.KILLED, Status.SURVIVED, Status.UNDETERMINED], 1),
        ([Status.FAILED], 1),
        ([Status.KILLED, Status.UNDETERMINED], 3),
    ],
)
def test_exit_status(statuses: list[Status], status: int) -> None:
    some = mutant(edit("a", "b"))
    assert campaign.exit_status(Result(some, each, "") for each in statuses) == status


def test_the_command_lists(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["mutate", "--list", "--json", "HWM-1"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)["mutants"]
    assert listed["id"] == "majority-index-rounded-down"
    assert cli.main(["mutate", "--list", "VOTE-11"]) == 0
    assert "equivalent:" in capsys.readouterr().out


@pytest.mark.slow
def test_a_result_fits_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert cli.main(["mutate", "start-behind-the-log", "--jobs", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 60
    assert lines[1].startswith("    violates LogEpochsMonotone in 1 step; ")


@pytest.mark.slow
def test_the_command_tells_the_counterexample(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["mutate", "start-behind-the-log", "-v", "--html", str(tmp_path / "pages")]) == 0
    (page,) = (tmp_path / "pages").iterdir()
    assert page.name == "start-behind-the-log.LogEpochsMonotone.html"
    assert "The reference has the edit of start-behind-the-log" in page.read_text(encoding="utf-8")
    out = capsys.readouterr().out
    assert "+ if False:" in out
    assert "LogEpochsMonotone is violated after 1 step" in out
    assert "1 mutant: 1 killed" in out
    assert cli.main(["mutate", "start-behind-the-log", "--json", "--jobs", "1"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["status"] == "killed" and data["runs"][0]["steps"] == 1


@pytest.mark.slow
@NEEDS_CHROMIUM
@NEEDS_AXE
def test_the_page_of_a_counterexample_is_accessible(tmp_path: Path) -> None:
    assert cli.main(["mutate", "start-behind-the-log", "--html", str(tmp_path)]) == 0
    (file,) = tmp_path.iterdir()
    with browser() as driver:
        for step in (0, 1):
            driver.get(f"{file.as_uri()}#step={step}")
            driver.refresh()
            assert inaccessible(driver) == []
        assert problems(driver) == []


def test_bad_input_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["mutate", "no-such-mutant"]) == 2
    assert cli.main(["mutate", "all", "--list"]) == 0
    assert capsys.readouterr().err.count("\n") == 1
    assert cli.main(["mutate", "--jobs", "0"]) == 2
