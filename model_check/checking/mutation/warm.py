"""Making a mutant in a process that has already imported the reference.

Importing everything needed to explore a scenario takes longer than exploring most mutants. A server therefore
imports it once, and each process that is forked from it replaces the code of the functions that its mutant
edits. That equals an import of the edited source if the edit changes only bodies of functions, and none of
these functions ran during the import. For any other mutant the process drops every module that may depend on
the reference, and imports it again.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple

from kraftcheck.checking.coverage.executed import functions, is_of
from kraftcheck.support.places import REFERENCE


class Place(NamedTuple):
    """The place of a function's definition: the line of its first decorator or of ``def``."""

    module: str
    line: int


class _Body(NamedTuple):
    line: int
    body: str


@dataclass(frozen=True)
class Image:
    """A process with the reference imported: ``before``, the modules that were loaded before it;
    ``functions``, those of the reference by place; ``ran``, the places of those that ran during the import.
    """

    before: frozenset[str]
    functions: Mapping[Place, tuple[FunctionType, ...]]
    ran: frozenset[Place]

    def become(self, module: str, source: str, changed: str, file: str) -> bool:
        """Replace the code of the functions of ``module`` in whose bodies its ``source`` and the text
        ``changed`` differ; ``file`` is the name of the new code in tracebacks. False: nothing was replaced,
        since only an import of ``changed`` has the same effect.
        """
        old, new = ast.parse(source), ast.parse(changed)
        codes = _codes_by_line(compile(changed, file, "exec"))
        replacements: list[tuple[FunctionType, CodeType]] = []
        for before, after in zip(_take_bodies(old), _take_bodies(new), strict=False):
            if before.body == after.body:
                continue
            place, code = Place(module, before.line), codes[after.line]
            there = self.functions.get(place, ())
            if place in self.ran or not there:
                return False
            if any(each.__code__.co_freevars != code.co_freevars for each in there):
                return False
            replacements += [(each, code) for each in there]
        if ast.dump(old) != ast.dump(new):
            return False
        for function, code in replacements:
            function.__code__ = code
        return True

    def forget(self) -> None:
        """Drop the modules that were imported with the reference, except those of libraries."""
        ours = {name for name in sys.modules if name.partition(".")[0] == "kraftcheck"}
        for name in ours - self.before:
            del sys.modules[name]
            package, _, module = name.rpartition(".")
            if package in self.before:
                # ``from package import module`` looks there first.
                vars(sys.modules[package]).pop(module, None)


def image(load: Callable[[], None]) -> Image:
    """The process after ``load``, which imports the reference and all modules that use it."""
    before = frozenset(sys.modules)
    ran: set[Place] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and is_of(module, (REFERENCE,)):
            ran.add(Place(module, frame.f_code.co_firstlineno))

    sys.setprofile(note)
    try:
        load()
    finally:
        sys.setprofile(None)
    found: dict[Place, list[FunctionType]] = defaultdict(list)
    for each in functions():
        found[Place(each.__globals__["__name__"], each.__code__.co_firstlineno)].append(each)
    return Image(before, {place: tuple(several) for place, several in found.items()}, frozenset(ran))


def _take_bodies(tree: ast.AST) -> list[_Body]:
    """The outermost functions below ``tree``, in order; their bodies are removed from it."""
    found = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            line = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            found.append(_Body(line, ast.dump(ast.Module(node.body, []))))
            node.body = []
        else:
            found += _take_bodies(node)
    return found


def _codes_by_line(code: CodeType) -> dict[int, CodeType]:
    """The code of the outermost functions in ``code``, that of a module or of a class, by first line."""
    found: dict[int, CodeType] = {}
    for each in code.co_consts:
        if not isinstance(each, CodeType) or each.co_name.startswith("<"):
            continue
        if each.co_flags & inspect.CO_OPTIMIZED:
            found[each.co_firstlineno] = each
        else:
            found |= _codes_by_line(each)
    return found
