"""Guards of the reference and their answers: decisions in its source, watched while it runs.

A guard is an ``if`` of a function of the reference through which steps run, or a ``return`` of a truth value
that is not a constant. Conditional expressions and the parts of a condition are not distinguished.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from kraftcheck.support.places import REFERENCE, folder_of
from kraftcheck.systems.citations import BROKERS, OUTSIDE_BROKER_STEPS, OUTSIDE_STEPS, looks_like_id

#: Modules of the reference without decisions of a step, or with the names of its results.
_VALUES = ("disk", "effects", "errors", "events", "messages", "protocol")
#: The module of the package of brokers that names the result of a step, and decides nothing in it.
_NAMES_STEPS = ("transitions",)


@dataclass(frozen=True, slots=True)
class Guard:
    """A decision at ``place`` (``vote.py:40``, ``brokers/lives.py:13``) of ``function``; ``text`` is its
    condition.

    ``rules``: those that the function names. It spans the lines ``first`` to ``last``; the line ``then``
    comes next where an ``if`` goes that way, and is 0 for a ``return``. ``end`` is the last line of that
    branch.
    """

    place: str
    function: str
    text: str
    rules: tuple[str, ...]
    first: int
    last: int
    then: int
    end: int


Seen = tuple[str, bool]


@cache
def guards_of_replicas() -> Mapping[str, Guard]:
    """All guards of a replica by place, in the order of files and lines."""
    return _guards_in(folder_of(REFERENCE), (*OUTSIDE_STEPS, *_VALUES))


@cache
def guards_of_brokers() -> Mapping[str, Guard]:
    """The same of brokers and their controller."""
    return _guards_in(folder_of(REFERENCE) / BROKERS, (*OUTSIDE_BROKER_STEPS, *_VALUES, *_NAMES_STEPS))


def _guards_in(folder: Path, without: Collection[str]) -> dict[str, Guard]:
    files = (file for file in sorted(folder.glob("*.py")) if file.stem not in without)
    return {guard.place: guard for file in files for guard in _guards_of(file)}


def _guards_of(file: Path) -> Iterator[Guard]:
    name = file.relative_to(folder_of(REFERENCE)).as_posix()
    source = file.read_text(encoding="utf-8")
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef):
            continue
        words = [each.value for each in ast.walk(function) if isinstance(each, ast.Constant)]
        rules = tuple(dict.fromkeys(word for word in words if isinstance(word, str) and looks_like_id(word)))
        answers = isinstance(function.returns, ast.Name) and function.returns.id == "bool"
        for each in _own(function):
            if isinstance(each, ast.If):
                test, then, end = each.test, each.body[0].lineno, each.body[-1].end_lineno
            elif answers and isinstance(each, ast.Return) and not isinstance(each.value, ast.Constant | None):
                test, then, end = each.value, 0, each.end_lineno
            else:
                continue
            text = " ".join((ast.get_source_segment(source, test) or "").split())
            first = each.lineno if then else test.lineno
            last = test.end_lineno or first
            yield Guard(f"{name}:{first}", function.name, text, rules, first, last, then, end or last)


def _own(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes of a function without those of functions within it."""
    waiting: list[ast.AST] = [*function.body]
    while waiting:
        each = waiting.pop(0)
        yield each
        if not isinstance(each, ast.FunctionDef | ast.Lambda):
            waiting += ast.iter_child_nodes(each)


class Watch:
    """Watches the reference; ``seen`` are the evaluated ones of ``guards``, with their answers.

    Only calls of ``asking`` are watched, the functions by which steps ask the reference: properties ask it
    too.
    """

    def __init__(self, guards: Mapping[str, Guard], asking: Iterable[Callable[..., Any]]) -> None:
        self.seen: set[Seen] = set()
        # By function too: the lines of generators and lambdas within a condition do not decide it.
        self._at: dict[tuple[str, str], dict[int, Guard]] = {}
        folder = folder_of(REFERENCE)
        for guard in guards.values():
            path = str(folder / guard.place.partition(":")[0])
            lines = self._at.setdefault((path, guard.function), {})
            lines.update(dict.fromkeys(range(guard.first, guard.last + 1), guard))
        self._running = {function.__code__ for function in asking}
        self._depth = 0

    @contextmanager
    def watching(self) -> Iterator[set[Seen]]:
        """The guards that are evaluated while the context lasts; another tracer of this thread is
        suspended.
        """
        self.seen = set()
        before = sys.gettrace()
        sys.settrace(self._on_call)
        try:
            yield self.seen
        finally:
            sys.settrace(before)

    def _on_call(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any] | None:
        code: CodeType = frame.f_code
        if code in self._running:
            self._depth += 1
            return self._until_return
        lines = self._at.get((code.co_filename, code.co_name)) if self._depth else None
        return None if lines is None else _Frame(lines, self.seen).on_event

    def _until_return(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
        if event == "return":
            self._depth -= 1
        return self._until_return


class _Frame:
    """A running function of the reference: the guard that it has reached; the next line shows its answer."""

    __slots__ = ("guard", "lines", "seen")

    def __init__(self, lines: Mapping[int, Guard], seen: set[Seen]) -> None:
        self.lines, self.seen = lines, seen
        self.guard: Guard | None = None

    def on_event(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
        guard, line = self.guard, frame.f_lineno
        if event == "line":
            if guard is not None and guard.then and not guard.first <= line <= guard.last:
                self.seen.add((guard.place, line == guard.then))
            self.guard = self.lines.get(line)
        elif event == "exception":
            self.guard = None
        elif event == "return" and guard is not None:
            self.seen.add((guard.place, bool(argument) if not guard.then else False))
        return self.on_event
