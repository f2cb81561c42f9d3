"""Each guard of brokers and their controller is what a mutant is about, or it is said why not."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kraftcheck.checking.mutation import catalogue, patch, untouched
from kraftcheck.checking.mutation.catalogue import Edit, Mutant
from kraftcheck.checking.mutation.untouched import Reason
from kraftcheck.systems.guards import Guard, guards_of_brokers

ROOT = Path(__file__).parents[3]
GUARDS = guards_of_brokers()
TOUCHED = untouched.touched(catalogue.shipped().values())
UNTOUCHED = {untouched.key(guard) for place, guard in GUARDS.items() if place not in TOUCHED}
TESTED = [(each, reason) for reason in untouched.reasons() for each in reason.guards if reason.test]

#: Runs tests on the reference with one condition changed; reads a line of JSON for each: the mutant (null:
#: none), the test. Each runs in a process forked from one that has imported all that it needs.
RUN = """
import importlib, json, os, pkgutil, sys
import pytest
from kraftcheck.checking.mutation import patch, warm
from kraftcheck.checking.mutation.catalogue import Mutant
from kraftcheck.support.places import REFERENCE, folder_of

def load():
    for each in pkgutil.walk_packages([str(folder_of(REFERENCE))], REFERENCE + "."):
        importlib.import_module(each.name)

def changed(mutant):
    for module, source in patch.mutated_sources(mutant).items():
        if not image.become(module, patch.source_of(module, mutant.id), source, module):
            image.forget()
            for name in [each for each in sys.modules if each.startswith("tests.")]:
                del sys.modules[name]
            patch.install(mutant)
            return

QUIET = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist"]
image = warm.image(load)
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
pytest.main([*QUIET, "--collect-only", "tests/reference/brokers"])  # imports what the tests need
for line in sys.stdin:
    mutant, test = json.loads(line)
    if (child := os.fork()) == 0:
        if mutant is not None:
            changed(Mutant.model_validate(mutant))
        os._exit(pytest.main([*QUIET, test]))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=answers, flush=True)
"""


def test_each_guard_is_touched_by_a_mutant_or_has_a_reason() -> None:
    explained = {each for reason in untouched.reasons() for each in reason.guards}
    assert UNTOUCHED - explained == set(), "write a mutant, or say in unmutated_guards.toml why there is none"


def test_each_reason_is_that_of_a_guard_which_no_mutant_touches() -> None:
    explained = Counter(each for reason in untouched.reasons() for each in reason.guards)
    assert explained.keys() - UNTOUCHED == set(), "a mutant touches it, or there is no such guard"
    assert max(explained.values()) == 1


def test_what_an_edit_touches() -> None:
    def touched(find: str, replace: str) -> list[str]:
        edit = Edit(module="kraftcheck.reference.brokers.pending_isrs", find=find, replace=replace)
        mutant = Mutant(id="mine", rules=("ISR-9",), about="A.", scenario="a", equivalent="B.", edit=(edit,))
        return sorted(GUARDS[place].text for place in untouched.touched([mutant]))

    condition = "broker.legacy or (not by_epoch and Api.ISR in broker.awaiting)"
    assert touched(f"if {condition}:", "if broker.legacy:") == [condition]
    assert touched(f"if {condition}:\n        return", f"if {condition}:\n        pass") == [condition]
    assert touched("work.update(pending=kept)", "pass") == ["kept != broker.pending"]
    assert touched("    if kept != broker.pending:", "    kept = ()\n    if kept != broker.pending:") == []
    assert (
        touched("by_epoch = work.protocol.isr_changes is", "by_epoch = work.protocol.isr_changes is not")
        == []
    )


def _without(guard: Guard, reason: Reason) -> Mutant:
    """The mutant of the reference in which the condition of ``guard`` is another one."""
    module = f"kraftcheck.reference.{guard.place.partition('.')[0].replace('/', '.')}"
    lines = patch.source_of(module, "mine").splitlines(keepends=True)
    before, condition = "".join(lines[: guard.first - 1]), "".join(lines[guard.first - 1 : guard.last])
    begin, word, _ = condition.partition("if " if guard.then else "return ")
    end = ":\n" if guard.then else "\n"
    # The lines before make the text one that occurs once.
    context = before[-1000:]
    edit = Edit(
        module=module, find=f"{context}{condition}", replace=f"{context}{begin}{word}{reason.becomes}{end}"
    )
    return Mutant(id="mine", rules=("ISR-9",), about="A.", scenario="a", equivalent="B.", edit=(edit,))


Ask = Callable[[Mutant | None, str], int]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Runs a test on a mutant and gives pytest's exit code."""
    output = tmp_path_factory.mktemp("guards") / "output"
    with (
        output.open("w") as told,
        subprocess.Popen(
            [sys.executable, "-c", RUN],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=told, text=True,
        ) as server,
    ):  # fmt: skip
        assert server.stdin is not None and server.stdout is not None
        answers = server.stdout

        def asked(mutant: Mutant | None, test: str) -> int:
            data = None if mutant is None else mutant.model_dump(mode="json")
            print(json.dumps([data, test]), file=server.stdin, flush=True)
            line = answers.readline()
            assert line, output.read_text()
            return int(line)

        yield asked
        server.stdin.close()


@pytest.mark.slow
@pytest.mark.parametrize(("key", "reason"), TESTED, ids=[each for each, _ in TESTED])
def test_a_test_sees_that_a_guard_is_gone(key: str, reason: Reason, ask: Ask) -> None:
    guards = [
        guard for place, guard in GUARDS.items() if untouched.key(guard) == key and place not in TOUCHED
    ]
    assert reason.test is not None and guards
    for guard in guards:
        assert ask(_without(guard, reason), reason.test) == pytest.ExitCode.TESTS_FAILED


@pytest.mark.slow
def test_the_reference_as_it_is_passes_these_tests(ask: Ask) -> None:
    tests = sorted({reason.test for _, reason in TESTED if reason.test is not None})
    assert {test: ask(None, test) for test in tests} == dict.fromkeys(tests, 0)
