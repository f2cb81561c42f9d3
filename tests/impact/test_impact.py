"""Would my change be noticed? What questions and diffs name, the order of checks, and running them."""

from __future__ import annotations

import difflib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.checking.coverage.functions import functions_of, sources_in
from kraftcheck.checking.mutation import campaign, catalogue, patch
from kraftcheck.checking.mutation.campaign import Status
from kraftcheck.checking.mutation.catalogue import Mutant
from kraftcheck.cli.main import main
from kraftcheck.impact import concern, own_edit, targets
from kraftcheck.impact import record as recorded
from kraftcheck.impact.concern import Nearness
from kraftcheck.impact.diff import parse
from kraftcheck.impact.run import run
from kraftcheck.impact.targets import Sources
from kraftcheck.support.errors import InputError
from kraftcheck.support.places import root

SOURCES = sources_in(root())
VOTE = "reference/vote.py"
GUARD = """    if work.replica.quorum_state.leader is not None:
        work.by("VOTE-9")
        return False
"""


@cache
def known() -> Sources:
    """The sources with what is in them."""
    return Sources(SOURCES)


def edited(find: str, replace: str, file: str = VOTE) -> tuple[dict[str, str], str]:
    """The sources after an edit, and the edit as a diff."""
    assert SOURCES[file].count(find) == 1
    after = SOURCES[file].replace(find, replace)
    lines = difflib.unified_diff(
        SOURCES[file].splitlines(), after.splitlines(), f"a/{file}", f"b/{file}", lineterm=""
    )
    return {**SOURCES, file: after}, "\n".join(lines) + "\n"


# What is asked about.


@pytest.mark.parametrize(
    "word",
    ["vote.would_grant_vote", "would_grant_vote", "kraftcheck.reference.vote.would_grant_vote"],
)
def test_a_function_by_its_names(word: str) -> None:
    target = targets.of_words([word], known())
    assert target.functions == {"vote.would_grant_vote"}
    assert {"VOTE-8", "VOTE-9", "VOTE-10"} <= target.rules and "VOTE-16" not in target.rules
    assert "known-leader-rule-removed" in target.mutants


@pytest.mark.parametrize("word", ["vote.py", VOTE, f"./{VOTE}", "kraftcheck.reference.vote", "vote"])
def test_a_file_by_its_names(word: str) -> None:
    target = targets.of_words([word], known())
    of_file = {each.name for each in known().functions.values() if each.file == VOTE}
    assert target.functions == of_file


def test_a_rule_and_a_line() -> None:
    rule = targets.of_words(["vote-9"], known())
    assert rule.functions == {"vote.would_grant_vote"} and rule.rules == {"VOTE-9"}
    line = SOURCES[VOTE].split(GUARD)[0].count("\n") + 1
    for offset in range(3):
        at = targets.of_words([f"vote.py:{line + offset}"], known())
        assert at.functions == rule.functions and at.rules == rule.rules
    # The line after the guard is decided by the rules that are named right before it.
    assert targets.of_words([f"vote.py:{line + 4}"], known()).rules == {"VOTE-10", "DEF-6"}


def test_methods_and_brokers() -> None:
    assert targets.of_words(["Replica.is_voter"], known()).functions == {"replica.Replica.is_voter"}
    found = targets.of_words(["brokers/fencing.py"], known()).functions
    assert found and all(name.startswith("brokers/fencing") for name in found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("would_grant_votes", "did you mean"),
        ("VOTE-99", "did you mean 'VOTE-9'"),
        ("handle_request", "is the name of 16 functions"),
        ("step.py", None),
        ("nowhere.py", "no file or function"),
        ("vote.py:99999", "lines, and no line"),
        ("../../etc/passwd", "is no rule"),
        ("\x1b[31mred", "is no rule"),
        ("x" * 100_000, "is no rule"),
    ],
)
def test_unknown_words_are_one_sentence(
    word: str, said: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["impact", word])
    error = capsys.readouterr().err
    if said is None:
        assert status == 0
        return
    assert status == 2 and said in error and error.count("\n") == 1 and len(error) < 600
    assert "\x1b" not in error


@pytest.mark.slow
@given(st.text(max_size=30))
def test_any_word_is_known_or_refused(word: str) -> None:
    try:
        targets.of_words([word], known())
    except InputError as error:
        assert "\n" not in str(error)


@pytest.mark.slow
def test_a_diff_names_what_it_removes_and_adds() -> None:
    after, text = edited(GUARD, "")
    target, other = targets.of_changes(parse(text, "a test"), after, "a test")
    assert target.functions == {"vote.would_grant_vote"} and target.rules == {"VOTE-9"} and not other
    removed = {"known-leader-rule-removed", "resigned-leader-votes", "vote-in-place-of-known-leader"}
    assert removed == target.mutants
    after, text = edited(
        GUARD, GUARD + '    if request.pre_vote:\n        work.by("VOTE-1")\n        return False\n'
    )
    target, _ = targets.of_changes(parse(text, "a test"), after, "a test")
    assert target.functions == {"vote.would_grant_vote"} and target.rules == {"VOTE-1"}


@pytest.mark.slow
def test_a_diff_of_checks_and_other_files() -> None:
    lines = "@@ -1 +1 @@\n-a\n+b\n"
    files = ("model_check/scenarios/replication/divergence.toml", "tests/reference/test_vote.py", "README.md")
    text = "".join(f"--- a/{file}\n+++ b/{file}\n{lines}" for file in files)
    target, other = targets.of_changes(parse(text, "a test"), SOURCES, "a test")
    assert target.checks == {"scenario divergence", "test tests/reference/test_vote.py"}
    assert other == ("README.md",)
    found = concern.concerned(target, known().functions)
    assert [each.nearness for each in found] == [Nearness.CHANGED, Nearness.CHANGED]


# Which checks concern it.


def test_the_nearest_checks_come_first() -> None:
    found = concern.concerned(targets.of_words(["VOTE-9"], known()), known().functions)
    assert [(each.nearness, each.others) for each in found] == sorted(
        (each.nearness, each.others) for each in found
    )
    names = [each.name for each in found]
    assert names[0] == "vectors steps/vote-request.json"
    assert names.index("scenario mutants-two-candidates") < 5
    for each in found:
        ran = concern.checks()[each.name]
        assert "vote.would_grant_vote" in ran.functions or each.mutants or each.rules


def test_every_rule_with_code_is_about_a_function() -> None:
    named = {rule for each in functions_of(SOURCES).values() for rule in each.rule_ids}
    for rule in sorted(named & {*targets.spec.load().rules})[::20]:
        target = targets.of_words([rule], known())
        assert target.functions and rule in target.rules


def test_code_outside_functions_concerns_what_runs_its_module() -> None:
    line = next(n for n, text in enumerate(SOURCES[VOTE].splitlines(), 1) if text.startswith("from"))
    target = targets.of_words([f"vote.py:{line}"], known())
    assert target.functions == {"vote"}
    users = {each.name for each in concern.concerned(target, known().functions)}
    assert {
        each.name for each in concern.concerned(targets.of_words(["VOTE-9"], known()), known().functions)
    } <= users


@pytest.mark.slow
def test_the_answer_in_words_and_as_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["impact", "VOTE-9"]) == 0
    out = capsys.readouterr().out
    assert "vote.would_grant_vote" in out and "known-leader-rule-removed (equivalent)" in out
    assert main(["impact", "VOTE-9", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["rules"] == ["VOTE-9"] and data["checks"][0]["name"] == "steps/vote-request.json"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["VOTE-9", "--diff"],
        ["--diff", "no-such-revision"],
        ["--diff", "--output=x"],
    ],
)
def test_bad_questions_are_one_sentence(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["impact", *arguments]) == 2
    assert capsys.readouterr().err.strip()


# Running them.

NEAREST = "vectors steps/vote-request.json"


@pytest.mark.slow
def test_the_removed_guard_is_noticed_and_the_reference_stays() -> None:
    after, _ = edited(GUARD, "")
    ran = list(run([NEAREST, "scenario scenario-a"], 1, 60.0, {VOTE: after[VOTE]}))
    assert [(each.check, each.status) for each in ran] == [(NEAREST, "failed")]
    assert sources_in(root()) == SOURCES


@pytest.mark.slow
def test_unchanged_nothing_fails() -> None:
    assert [each.status for each in run([NEAREST, "scenario scenario-a"], 1, 60.0)] == ["passed", "passed"]


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "status", "said"),
    [
        ("raise KeyError('gone')", "failed", "KeyError"),
        ("import os\nos._exit(7)", "failed", "status 7"),
        ("import os\nos.kill(os.getpid(), 9)", "undetermined", "signal 9"),
        ("raise OSError(28, 'No space left on device')", "undetermined", "No space left"),
        ("print('noise')\nprint('noise')", "passed", ""),
    ],
)
def test_a_reference_that_breaks_its_process(code: str, status: str, said: str) -> None:
    source = f"{SOURCES[VOTE]}\n{code}\n"
    (ran,) = run([NEAREST], 1, 60.0, {VOTE: source})
    assert ran.status == status and said in " ".join(ran.why)


@pytest.mark.slow
def test_checks_after_one_that_ends_its_process_are_run() -> None:
    begin = "    role = work.replica.role\n    if isinstance(role, Candidate):"
    source = SOURCES[VOTE].replace(begin, f"    import os\n    os.kill(os.getpid(), 9)\n{begin}")
    assert source != SOURCES[VOTE]
    names = ["vectors functions.json", NEAREST, "vectors steps/append.json"]
    ran = list(run(names, 1, 60.0, {VOTE: source}))
    assert [each.check for each in ran] == names
    assert [each.status for each in ran] == ["passed", "undetermined", "passed"]


@pytest.mark.slow
def test_tests_fail_as_well() -> None:
    after, _ = edited(GUARD, "")
    (ran,) = run(["test tests/reference/test_vote.py"], 1, 100.0, {VOTE: after[VOTE]})
    assert ran.status == "failed" and "test_vote" in ran.why[0]


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Path]:
    """A checkout of its own, whose reference may be changed."""
    names = ("reference", "spec", "model_check", "tests/vectors", "tests/reference", "pyproject.toml")
    for name in names:
        source, place = root() / name, tmp_path / name
        place.parent.mkdir(exist_ok=True)
        subprocess.run(["cp", "-r", str(source), str(place)], check=True)
    packages = tmp_path / "packages" / "kraftcheck"
    packages.mkdir(parents=True)
    for each in (*(tmp_path / "model_check").iterdir(), tmp_path / "reference", tmp_path / "spec"):
        (packages / each.name).symlink_to(each)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "reference"], ["commit", "-qm", "x"]):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)
    yield tmp_path


@pytest.mark.slow
def test_a_guard_removed_in_a_checkout_is_noticed(checkout: Path) -> None:
    """The committer's question, as it is asked: the change is there, and nothing else is known of it."""

    def ask(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-P", "-m", "kraftcheck", "impact", *arguments],
            env={**os.environ, "PYTHONPATH": str(checkout / "packages")},
            capture_output=True,
            text=True,
            check=False,
        )

    none = ask("--diff")
    assert none.returncode == 2 and "has changed since HEAD" in none.stderr
    after, _ = edited(GUARD, "")
    (checkout / VOTE).write_text(after[VOTE], encoding="utf-8")
    found = ask("--diff", "HEAD", "--run")
    assert found.returncode == 1, found.stderr
    assert "VOTE-9" in found.stdout and "Noticed by vectors steps/vote-request.json" in found.stdout
    (checkout / VOTE).write_text(SOURCES[VOTE] + "\nif not python(\n", encoding="utf-8")
    broken = ask("--diff")
    assert (
        broken.returncode == 2 and "is not valid Python" in broken.stderr and broken.stderr.count("\n") == 1
    )


# An edit of one's own.


@pytest.mark.slow
def test_an_own_edit_is_killed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "my.patch"
    file.write_text(edited(GUARD, "")[1], encoding="utf-8")
    assert main(["mutate", "--patch", str(file)]) == 0
    assert "The edit is killed by vectors steps/vote-request.json." in capsys.readouterr().out
    assert sources_in(root()) == SOURCES


@pytest.mark.slow
def test_an_own_edit_survives(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {name: ran for name, ran in concern.checks().items() if name == NEAREST}
    monkeypatch.setattr(concern, "checks", lambda: known)
    file = tmp_path / "my.patch"
    file.write_text(
        edited(GUARD, GUARD.replace("is not None:", "is not None and True:"))[1], encoding="utf-8"
    )
    assert main(["mutate", "--patch", str(file), "--json"]) == 1
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert last["verdict"] == "survived all 1 checks that run what it edits"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (edited(GUARD, "")[1].replace("leader is not None", "leader is None"), "does not fit"),
        (edited(GUARD, "")[1].replace(VOTE, "../../etc/passwd"), "is no file of the reference"),
        (edited(GUARD, "")[1].replace(VOTE, "/etc/passwd"), "is no file of the reference"),
        (edited(GUARD, "")[1].replace(VOTE, "tests/reference/test_vote.py"), "is no file of the reference"),
        (edited(GUARD, "")[1].replace(f"b/{VOTE}", "/dev/null"), "is no file of the reference"),
        (edited(GUARD, GUARD.replace("return False", "return False  # so"))[1], "changes nothing that runs"),
        (edited(GUARD, GUARD.replace("return False", "return ("))[1], "is not valid Python"),
        ("hello", "not a unified diff"),
    ],
)
def test_a_patch_that_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        own_edit.changed_sources(text, "my.patch", SOURCES)
    assert "\n" not in str(caught.value)


def test_a_patch_and_mutants_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mutate", "--patch", "x", "VOTE-9"]) == 2
    assert main(["mutate", "--patch", "no-such.patch"]) == 2
    assert capsys.readouterr().err.count("\n") == 2


# Mutants that do not apply any more.


def test_a_mutant_that_does_not_apply_is_skipped(capsys: pytest.CaptureFixture[str]) -> None:
    known = catalogue.shipped()
    quick = known["start-behind-the-log"]
    gone = quick.model_copy(
        update={"id": "gone", "edit": (quick.edit[0].model_copy(update={"find": "no such text"}),)}
    )
    with pytest.raises(InputError):
        patch.mutated_sources(gone)
    found = list(campaign.run([gone]))
    assert [each.status for each in found] == [Status.SKIPPED]
    assert "occurs 0 times" in found[0].reason
    assert campaign.exit_status(found) == 3


@pytest.mark.slow
def test_the_others_are_run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    quick = catalogue.shipped()["start-behind-the-log"]
    gone = quick.model_copy(
        update={"id": "gone", "edit": (quick.edit[0].model_copy(update={"find": "no such text"}),)}
    )

    def shipped(path: Path | None = None) -> dict[str, Mutant]:
        return {"gone": gone, quick.id: quick}

    monkeypatch.setattr(catalogue, "shipped", shipped)
    assert main(["mutate"]) == 3
    out = capsys.readouterr().out
    assert "2 mutants: 1 killed, 1 skipped" in out and "occurs 0 times" in out


def test_the_recording_of_all_refuses_arguments(capfd: pytest.CaptureFixture[str]) -> None:
    with mock.patch.object(recorded, "record") as recording:
        assert recorded.main(["--out", "a file"]) == 2
    assert not recording.called
    assert capfd.readouterr().err == (
        "kraftcheck.impact.record: expected no arguments, not --out 'a file': it records all.\n"
    )
