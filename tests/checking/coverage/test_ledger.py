"""What need not be explored again: that it is so little that no result that changes is missed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import kraftcheck
from kraftcheck.checking import ledger
from kraftcheck.checking.coverage.executed import Place, recording
from kraftcheck.checking.ledger import RECORDED, Ledger, Sources
from kraftcheck.checking.mutation import catalogue, patch
from kraftcheck.checking.run import check
from kraftcheck.cli.commands import check as check_command
from kraftcheck.cli.main import main
from kraftcheck.support.errors import InputError
from kraftcheck.support.parallel import processes
from kraftcheck.support.places import REFERENCE, SPEC, file_of, folder_of, modules
from kraftcheck.systems.scenario import find

SOURCES = Sources.installed()
NAME = "superseded-leader"


@cache
def ran_in(name: str) -> tuple[int, Sequence[tuple[Place, str]]]:
    """The number of states of a scenario, and the functions that run when it is explored."""
    with recording(RECORDED) as ran:
        result = check(find(name))
    assert result.as_expected
    return result.exploration.distinct, tuple(ran.flags.items())


def explored(path: Path, *names: str) -> Ledger:
    """A ledger with scenarios that were explored."""
    found = Ledger(path, SOURCES)
    for name in names:
        found.keep(find(name), *ran_in(name))
    return found


def edited(module: str, before: str, after: str) -> Sources:
    path = file_of(module)
    assert path is not None
    source = path.read_text(encoding="utf-8")
    assert source.count(before) == 1
    return SOURCES.replaced({module: source.replace(before, after)})


@pytest.mark.slow
@pytest.mark.parametrize(
    "slow",
    [False, pytest.param(True, marks=pytest.mark.nightly)],
)
def test_a_mutant_that_is_noticed_has_its_scenario_explored_again(slow: bool, tmp_path: Path) -> None:
    """`kraftcheck mutate` asks the same of all mutants."""
    mutants = [each for each in catalogue.shipped().values() if each.equivalent is None]
    names = (
        sorted({each.scenario for each in mutants})
        if slow
        else ["mutants-two-candidates", "parity-before-kip-996"]
    )
    known = explored(tmp_path / "ledger", *names)
    checked = [each for each in mutants if each.scenario in names]
    assert len(checked) > 15
    missed = [
        each.id
        for each in checked
        if known.kept(find(each.scenario), SOURCES.replaced(patch.mutated_sources(each))) is not None
    ]
    assert missed == []


@pytest.mark.slow
def test_what_is_kept_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "ledger"
    first = explored(path, NAME)
    first.write()
    kept = Ledger(path, SOURCES).kept(find(NAME))
    assert kept is not None and kept.states == ran_in(NAME)[0]
    assert kept == first.kept(find(NAME))
    assert Ledger(path, SOURCES).kept(find("parity-crash")) is None


@pytest.mark.slow
def test_what_another_result_may_depend_on(tmp_path: Path) -> None:
    known = explored(tmp_path / "ledger", NAME)
    scenario = find(NAME)
    assert known.kept(scenario) is not None
    other = scenario.model_copy(update={"check": scenario.check.model_copy(update={"goals": ()})})
    assert other != scenario and known.kept(other) is None
    # A function that runs, what a module does when it is imported, and the engine.
    assert (
        known.kept(scenario, edited("kraftcheck.reference.voters", "return voters // 2 + 1", "return voters"))
        is None
    )
    imports = "from __future__ import annotations"
    assert (
        known.kept(scenario, edited("kraftcheck.reference.remove_voter", imports, f"{imports}\nX = 1"))
        is None
    )
    # A function that did not run, under another name; one that shadows what is built in; what cannot be read.
    moved = edited(
        "kraftcheck.reference.end_quorum_epoch", "def successor_backoff_ms", "def successor_backoff_in_ms"
    )
    assert known.kept(scenario, moved) is None
    shadow = SOURCES.replaced(
        {"kraftcheck.reference.voters": f"{voters()}\n\ndef len(values):\n    return 1\n"}
    )
    assert known.kept(scenario, shadow) is None
    assert known.kept(scenario, SOURCES.replaced({"kraftcheck.reference.metrics": "def (:"})) is None
    command = SOURCES.replaced({"kraftcheck.cli.commands.check": "X = 1"})
    assert known.kept(scenario, command) is None
    engine = edited("kraftcheck.engine.frontier", imports, f"{imports}\nX = 1")
    assert known.kept(scenario, engine) is None


@pytest.mark.slow
def test_what_no_result_depends_on(tmp_path: Path) -> None:
    known = explored(tmp_path / "ledger", NAME)
    text = (folder_of(REFERENCE) / "remove_voter.py").read_text(encoding="utf-8")
    changed = text.replace("    return", "    X = 1\n    return")
    assert changed != text
    assert (
        known.kept(find(NAME), SOURCES.replaced({"kraftcheck.reference.remove_voter": changed})) is not None
    )
    assert known.kept(find(NAME), SOURCES.replaced({"kraftcheck.evidence.logs.command": "X = 1"})) is not None
    assert (
        known.kept(find(NAME), SOURCES.replaced({"kraftcheck.reference.voters": f"# Text.\n{voters()}"}))
        is not None
    )


def voters() -> str:
    return (folder_of(REFERENCE) / "voters.py").read_text(encoding="utf-8")


@pytest.mark.slow
def test_all_that_is_imported_for_a_check_is_depended_on() -> None:
    program = (
        "import sys\nfrom kraftcheck.checking.run import check\n"
        "from kraftcheck.systems.scenario import find\n"
        f"for name in ({NAME!r}, 'brokers-serves-drift-0', 'zombie-leader'):\n"
        "    check(find(name))\nprint(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    ours = {name for name in done.stdout.split() if name.partition(".")[0] == "kraftcheck"}
    assert len(ours) > 100
    assert ours <= SOURCES.closure()


def test_a_relative_import_may_be_of_any_module() -> None:
    other = SOURCES.replaced({"kraftcheck.engine.frontier": "from . import frontier\n"})
    assert other.closure() == {*modules()} > SOURCES.closure()


@pytest.mark.slow
def test_what_runs_while_the_reference_is_imported_counts_as_a_whole() -> None:
    program = (
        "import sys\nran = set()\n"
        "def note(frame, event, _):\n    module = frame.f_globals.get('__name__', '')\n"
        "    if event == 'call' and 'kraftcheck.reference' in module and frame.f_code.co_flags & 2:\n"
        "        if '<' not in frame.f_code.co_name:\n            ran.add(module)\n"
        "sys.setprofile(note)\nimport kraftcheck.cli.commands.check\n"
        "sys.setprofile(None)\nprint(*sorted(ran))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    ran = set(done.stdout.split())
    assert {f"{REFERENCE}.frozen", f"{REFERENCE}.fatal"} <= ran and not ran & SOURCES.in_parts()
    assert len(SOURCES.in_parts()) > 70


def test_all_counts_of_a_module_that_keeps_answers_or_acts_when_it_is_imported() -> None:
    before, after = "return voters // 2 + 1", "return voters"
    for change in ("@cache\ndef majority(", "WORKED_OUT = worked_out()\n\n\ndef majority("):
        text = voters().replace("def majority(", change)
        one, other = (
            SOURCES.replaced({f"{REFERENCE}.voters": each}) for each in (text, text.replace(before, after))
        )
        assert f"{REFERENCE}.voters" in SOURCES.in_parts() - one.in_parts()
        assert one.rest != other.rest


@pytest.mark.slow
def test_a_file_that_changed_meanwhile_is_not_what_was_explored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kraftcheck, "BEGAN", 0.0)
    assert explored(tmp_path / "ledger", NAME).kept(find(NAME)) is None


def test_a_file_that_was_moved_here_meanwhile_changed_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file.py"
    monkeypatch.setattr(kraftcheck, "BEGAN", time.time() - 1)
    file.touch()
    os.utime(file, (0, 0))
    assert Sources({}, [file]).changed_meanwhile()
    monkeypatch.setattr(kraftcheck, "BEGAN", time.time() + 1)
    assert not Sources({}, [file]).changed_meanwhile()


def test_the_rules_may_change_meanwhile_too() -> None:
    assert folder_of(SPEC) / "properties.toml" in SOURCES._files


@pytest.mark.slow
def test_processes_go_on_with_what_the_caller_began() -> None:
    with processes(1) as pool:
        assert pool.submit(eval, "__import__('kraftcheck').BEGAN").result() == kraftcheck.BEGAN


@pytest.mark.slow
def test_what_ran_does_not_depend_on_what_was_explored_before() -> None:
    """In a process of its own, which has imported what `kraftcheck check` imports."""
    program = (
        "import sys\nimport kraftcheck.cli.commands.check\n"
        "from kraftcheck.checking.coverage.executed import recording\n"
        "from kraftcheck.checking.ledger import RECORDED, Sources\n"
        "from kraftcheck.checking.run import check\n"
        "from kraftcheck.systems.scenario import find\n"
        "def ran(name):\n    with recording(RECORDED) as found:\n        check(find(name))\n"
        "    return {place: flags for place, flags in found.flags.items() if place.module in parts}\n"
        "parts = Sources.installed().in_parts()\n"
        "before = set(sys.modules)\n"
        "names = 'brokers-serves-drift-0', 'zombie-leader', 'auto-join', 'parity-crash'\n"
        "first = [ran(name) for name in names]\n"
        "again = [ran(name) for name in reversed(names)][::-1]\n"
        "assert all(len(each) > 50 for each in first)\n"
        "print(first == again, [each for each in set(sys.modules) - before if each.startswith('reference')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "True []\n", done.stderr


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"functions": [], "entries": {"\xff": {}}}',
        b'{"functions": [], "entries": {"x": {}}}',
        b"[" * 100_000,
        b"\xff",
        None,
    ],
)
def test_a_file_that_is_none_keeps_nothing(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    if content is None:
        explored(path, NAME).write()
        content = path.read_bytes().replace(b'"seen":[', b'"seen":[999999,')
    path.write_bytes(content)
    assert Ledger(path, SOURCES).kept(find(NAME)) is None


@pytest.mark.parametrize("damage", [None, "", "{}", '{"made_by": "another", "parts": {}}'])
def test_digests_of_sources_are_found_again(
    damage: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    few = {name: path for name, path in modules().items() if name.startswith(f"{REFERENCE}.vote")}
    monkeypatch.setattr(ledger, "modules", lambda: few)
    first = Sources.installed()
    expected = first.rest
    first.keep_digests()
    (file,) = tmp_path.rglob("digests-*.json")
    if damage is None:
        parsed: list[str] = []
        monkeypatch.setattr(ledger.ast, "parse", parsed.append)
        assert Sources.installed().rest == expected
        assert parsed == []
    else:
        file.write_text(damage, encoding="utf-8")
        assert Sources.installed().rest == expected


def test_digests_that_several_processes_find_are_kept_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    few = {name: path for name, path in modules().items() if name.startswith(f"{REFERENCE}.vote")}
    monkeypatch.setattr(ledger, "modules", lambda: few)
    first, second = Sources.installed(), Sources.installed("found by another")
    one, other = (Place(f"{REFERENCE}.vote", name) for name in ("_record_vote", "_no_function"))
    expected = first.rest, first.seen(other, "1"), second.seen(one, "1")
    first.keep_digests()
    second.keep_digests()
    monkeypatch.setattr(ledger.ast, "parse", _parsed_once_more)
    third = Sources.installed()
    assert (third.rest, third.seen(other, "1"), third.seen(one, "1")) == expected


def _parsed_once_more(text: str) -> None:
    pytest.fail("parsed once more")


@pytest.mark.slow
def test_a_check_by_name_parses_no_source_that_is_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert main(["check", NAME]) == 0
    monkeypatch.setattr(ledger.ast, "parse", _parsed_once_more)
    assert main(["check", NAME]) == 0


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any, **named: Any) -> None:
        raise InputError("cannot be written")

    monkeypatch.setattr(ledger, "write_atomically", refuse)
    explored(tmp_path / "ledger", NAME).write()
    assert not (tmp_path / "ledger").exists()


@pytest.mark.slow
def test_large_scenarios_are_left_out_unless_they_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    data = find("single-voter").model_copy(update={"tags": ("ci", "large")})
    other = find("finding-restart-as-candidate")
    monkeypatch.setattr(check_command, "shipped", lambda: {data.name: data, other.name: other})
    monkeypatch.setattr(Sources, "installed", lambda *_: SOURCES)
    assert main(["check"]) == 0
    assert "not explored, since they are large: single-voter; --all explores them" in capsys.readouterr().out
    for asked in (["--tag", "large"], ["--all"]):
        assert main(["check", *asked]) == 0
        assert re.search("single-voter +holds", capsys.readouterr().out)
    assert main(["check"]) == 0
    assert "large" not in capsys.readouterr().out


@pytest.mark.slow
def test_the_command_leaves_out_what_cannot_have_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    names = ("finding-restart-as-candidate", "zombie-leader")
    monkeypatch.setattr(check_command, "shipped", lambda: {name: find(name) for name in names})
    assert main(["check"]) == 0
    first = capsys.readouterr().out
    assert main(["check"]) == 0
    second = capsys.readouterr().out
    assert "zombie-leader " in first and "zombie-leader " not in second
    assert "2 scenarios unchanged since" in second and "unchanged" not in first
    for asked in ("--all", "zombie-leader"):
        assert main(["check", asked]) == 0
        assert "zombie-leader " in capsys.readouterr().out
