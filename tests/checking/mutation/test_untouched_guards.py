"""Each guard of brokers and their controller is what a mutant is about, or it is said why not."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from kraftcheck.checking.mutation import catalogue, untouched
from kraftcheck.checking.mutation.catalogue import Edit, Mutant
from kraftcheck.checking.mutation.untouched import Reason
from kraftcheck.systems.guards import Guard, guards_of_brokers

ROOT = Path(__file__).parents[3]
GUARDS = guards_of_brokers()
TOUCHED = untouched.touched(catalogue.shipped().values())
UNTOUCHED = {untouched.key(guard) for place, guard in GUARDS.items() if place not in TOUCHED}
TESTED = [(each, reason) for reason in untouched.reasons() for each in reason.guards if reason.test]

#: Runs a test on the reference with one condition changed: module, source before, source after, test.
RUN = """
import sys
from kraftcheck.checking.mutation import patch
from kraftcheck.checking.mutation.catalogue import Mutant
finder = patch.install(Mutant.model_validate_json(sys.argv[1]))
import pytest
status = pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", sys.argv[2]])
assert finder.applied == set(finder.edits)
sys.exit(status)
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
    file = ROOT / f"{module.replace('.', '/')}.py"
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    before, condition = "".join(lines[: guard.first - 1]), "".join(lines[guard.first - 1 : guard.last])
    begin, word, _ = condition.partition("if " if guard.then else "return ")
    end = ":\n" if guard.then else "\n"
    # The lines before make the text one that occurs once.
    context = before[-1000:]
    edit = Edit(
        module=module, find=f"{context}{condition}", replace=f"{context}{begin}{word}{reason.becomes}{end}"
    )
    return Mutant(id="mine", rules=("ISR-9",), about="A.", scenario="a", equivalent="B.", edit=(edit,))


@pytest.mark.slow
@pytest.mark.parametrize(("key", "reason"), TESTED, ids=[each for each, _ in TESTED])
def test_a_test_sees_that_a_guard_is_gone(key: str, reason: Reason) -> None:
    guards = [
        guard for place, guard in GUARDS.items() if untouched.key(guard) == key and place not in TOUCHED
    ]
    assert reason.test is not None and guards
    for guard in guards:
        mutant = _without(guard, reason).model_dump_json()
        done = subprocess.run(
            [sys.executable, "-c", RUN, mutant, reason.test], cwd=ROOT, capture_output=True, text=True
        )
        assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout + done.stderr
