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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple

from kraftcheck.checking.coverage.executed import functions, is_of
from kraftcheck.support.places import REFERENCE


class Place(NamedTuple):
    """The place of a function's definition: the line of its first decorator or of ``def``."""

    module: str
    line: int


@dataclass
class Image:
    """A process that imports the reference: ``before``, the modules that were loaded before that;
    ``functions``, those of the reference by place; ``ran``, the places of those that ran meanwhile;
    ``packages``, the outermost packages whose modules may use the reference.
    """

    before: frozenset[str] = field(default_factory=lambda: frozenset(sys.modules))
    functions: Mapping[Place, tuple[FunctionType, ...]] = field(default_factory=dict)
    ran: set[Place] = field(default_factory=set)
    packages: set[str] = field(default_factory=lambda: {"kraftcheck"})

    def load(self, load: Callable[[], object]) -> None:
        """Call ``load``, which imports the reference or modules that use it. Raises what it raises."""

        def note(frame: FrameType, event: str, _: Any) -> None:
            module = frame.f_globals.get("__name__", "")
            if event == "call" and is_of(module, (REFERENCE,)):
                self.ran.add(Place(module, frame.f_code.co_firstlineno))

        sys.setprofile(note)
        try:
            load()
        finally:
            sys.setprofile(None)
        found: dict[Place, list[FunctionType]] = defaultdict(list)
        for each in functions():
            found[Place(each.__globals__["__name__"], each.__code__.co_firstlineno)].append(each)
        self.functions = {place: tuple(several) for place, several in found.items()}

    def keep(self) -> None:
        """Never drop the modules that are loaded now, if the reference is not among them."""
        if not any(is_of(name, (REFERENCE,)) for name in sys.modules):
            self.before = frozenset(sys.modules)

    def become(self, module: str, source: str, changed: str, file: str) -> bool:
        """Replace the code of the functions of ``module`` in whose bodies its ``source`` and the text
        ``changed`` differ; ``file`` is the name of the new code in tracebacks. False: nothing was replaced,
        since only an import of ``changed`` has the same effect.
        """
        old, new = _parts(source), _parts(changed)
        if old.outside != new.outside or len(old.bodies) != len(new.bodies):
            return False
        codes = _codes_by_line(compile(changed, file, "exec"))
        replacements: list[tuple[FunctionType, CodeType]] = []
        for (line, before), (new_line, after) in zip(old.bodies, new.bodies, strict=True):
            if before == after:
                continue
            place, code = Place(module, line), codes[new_line]
            there = self.functions.get(place, ())
            if place in self.ran or not there:
                return False
            if any(each.__code__.co_freevars != code.co_freevars for each in there):
                return False
            replacements += [(each, code) for each in there]
        for function, code in replacements:
            function.__code__ = code
        return True

    def forget(self) -> None:
        """Drop the modules that were imported with the reference, except those of libraries."""
        ours = {name for name in sys.modules if name.partition(".")[0] in self.packages}
        for name in ours - self.before:
            del sys.modules[name]
            package, _, module = name.rpartition(".")
            if package in self.before:
                # ``from package import module`` looks there first.
                vars(sys.modules[package]).pop(module, None)


class _Parts(NamedTuple):
    """The text of a module: ``outside``, its lines outside the bodies of its outermost functions, and
    ``bodies``, each with the line of its function.
    """

    outside: list[str]
    bodies: list[tuple[int, list[str]]]


def _parts(source: str) -> _Parts:
    lines = source.split("\n")
    found, begin = _Parts([], []), 0
    for function in _outermost(ast.parse(source)):
        body, end = function.body[0].lineno - 1, function.end_lineno or 0
        first = min([function.lineno, *(each.lineno for each in function.decorator_list)])
        found.outside.extend([*lines[begin:body], ""])
        found.bodies.append((first, lines[body:end]))
        begin = end
    found.outside.extend(lines[begin:])
    return found


def _outermost(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    """The functions outside other functions whose body begins on a line of its own, in order."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.FunctionDef):
            yield from _outermost(node)
        elif node.body[0].lineno > max(node.lineno, *map(_last_line, (*ast.walk(node.args), node.returns))):
            yield node


def _last_line(node: ast.AST | None) -> int:
    return getattr(node, "end_lineno", None) or 0


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
