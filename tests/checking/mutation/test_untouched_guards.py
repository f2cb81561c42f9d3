"""Each guard of brokers and their controller is what a mutant is about, or it is said why not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest

from kraftcheck.checking.mutation import catalogue, patch
from kraftcheck.checking.mutation.catalogue import Edit, Mutant
from kraftcheck.checking.mutation.server import Job, Server
from kraftcheck.impact.run import FAILED, PASSED, TESTS_FIRST
from kraftcheck.support.forks import End
from kraftcheck.systems.guards import Guard, guards_of_brokers
from tests.checking.mutation import untouched
from tests.checking.mutation.untouched import Reason

TESTED = [(each, reason) for reason in untouched.reasons() for each in reason.guards if reason.test]


@cache
def _untouched() -> list[Guard]:
    """The guards that no mutant touches."""
    touched = untouched.touched(catalogue.shipped().values())
    return [guard for place, guard in guards_of_brokers().items() if place not in touched]


def test_each_guard_is_touched_by_a_mutant_or_has_a_reason() -> None:
    explained = {each for reason in untouched.reasons() for each in reason.guards}
    assert {untouched.key(guard) for guard in _untouched()} - explained == set(), (
        "write a mutant, or say in unmutated_guards.toml why there is none"
    )


def test_each_reason_is_that_of_a_guard_which_no_mutant_touches() -> None:
    explained = Counter(each for reason in untouched.reasons() for each in reason.guards)
    assert explained.keys() - {untouched.key(guard) for guard in _untouched()} == set(), (
        "a mutant touches it, or there is no such guard"
    )
    assert max(explained.values()) == 1


def test_what_an_edit_touches() -> None:
    def touched(find: str, replace: str) -> list[str]:
        edit = Edit(module="kraftcheck.reference.brokers.pending_isrs", find=find, replace=replace)
        mutant = Mutant(id="mine", rules=("ISR-9",), about="A.", scenario="a", equivalent="B.", edit=(edit,))
        return sorted(guards_of_brokers()[place].text for place in untouched.touched([mutant]))

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
    begin, word, rest = condition.partition("if " if guard.then else "return ")
    end = ":\n" if guard.then else "\n"
    if rest.startswith("(\n"):  # It stands on lines of its own, and the parenthesis ends after them.
        word, end = f"{word}(", "\n"
    # The lines before make the text one that occurs once.
    context = before[-1000:]
    edit = Edit(
        module=module, find=f"{context}{condition}", replace=f"{context}{begin}{word}{reason.becomes}{end}"
    )
    return Mutant(id="mine", rules=("ISR-9",), about="A.", scenario="a", equivalent="B.", edit=(edit,))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as found:
        yield found


#: A mutant that cannot run says nothing about its guard.
BROKEN = re.compile(r" - (SyntaxError|NameError|UnboundLocalError|ImportError|ModuleNotFoundError)\b")


def came(server: Server, mutant: Mutant | None, test: str) -> tuple[str, list[str]]:
    """What comes of a test of the reference, or of the mutant: its status, and the tests that fail."""
    changed = {} if mutant is None else patch.mutated_sources(mutant)
    arguments = {"name": test, "marks": ""}
    ended = server.run(Job("kraftcheck.impact.worker:test", arguments, 60.0, "mine", changed, TESTS_FIRST))
    assert ended.end is End.DONE, ended.why
    return str(ended.found[0]["status"]), [str(line) for line in ended.found[0]["why"]]


@pytest.mark.slow
@pytest.mark.parametrize(("key", "reason"), TESTED, ids=[each for each, _ in TESTED])
def test_a_test_sees_that_a_guard_is_gone(key: str, reason: Reason, server: Server) -> None:
    guards = [guard for guard in _untouched() if untouched.key(guard) == key]
    assert reason.test is not None and guards
    for guard in guards:
        status, why = came(server, _without(guard, reason), reason.test)
        assert status == FAILED
        assert why and all(line.startswith(f"FAILED {reason.test}") for line in why), why
        assert not any(map(BROKEN.search, why)), why


#: Of each file one test: all of them are run by themselves, too.
OF_EACH_FILE = {
    test.partition("::")[0]: test
    for test in sorted(reason.test for _, reason in TESTED if reason.test is not None)
}


@pytest.mark.one_in(4)
@pytest.mark.slow
@pytest.mark.parametrize("test", OF_EACH_FILE.values(), ids=OF_EACH_FILE)
def test_the_reference_as_it_is_passes_these_tests(test: str, server: Server) -> None:
    assert came(server, None, test)[0] == PASSED


def test_many_files_have_such_tests() -> None:
    assert len(OF_EACH_FILE) > 10
