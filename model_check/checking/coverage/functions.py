"""The functions of the reference in its sources: where they are, which rules they name, and a digest of each.

The sources are parsed, not imported: they may be those of another revision, or broken.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kraftcheck.support.errors import InputError
from kraftcheck.systems.citations import looks_like_id

PACKAGE = "reference"


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the reference, or what of a module is outside its functions.

    name: as :func:`kraftcheck.checking.coverage.executed.name_of` has it, of a module ``vote``; file:
    ``reference/vote.py``; lines: from the first decorator to the last line, of a module all that are in no
    function; rules: the rules that it names, with their lines; digest: of its lines, so that equal digests
    mean equal sources.
    """

    name: str
    file: str
    lines: tuple[int, ...]
    rules: tuple[tuple[str, int], ...]
    digest: str

    @property
    def rule_ids(self) -> frozenset[str]:
        return frozenset(rule for rule, _ in self.rules)

    @property
    def is_module(self) -> bool:
        """Whether this is what a module has outside its functions."""
        return self.name == module_of(self.file)


def module_of(file: str) -> str:
    """What the module in ``reference/brokers/lives.py`` is called here: ``brokers/lives``."""
    return file.removeprefix(f"{PACKAGE}/").removesuffix(".py")


def functions_of(sources: Mapping[str, str]) -> dict[str, Function]:
    """The functions in sources of the reference, given by file, by name. Raises InputError for one that is
    not Python.
    """
    return {each.name: each for file, source in sources.items() for each in _functions_in(file, source)}


def sources_in(root: Path) -> dict[str, str]:
    """The sources of the reference in a folder, by file (``reference/vote.py``). Raises InputError."""
    files = sorted((root / PACKAGE).rglob("*.py"))
    try:
        return {each.relative_to(root).as_posix(): each.read_text(encoding="utf-8") for each in files}
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{root / PACKAGE}: cannot be read ({error}); restore it.") from None


def parsed(file: str, source: str) -> ast.Module:
    """The syntax tree of a source. Raises InputError if it is not Python."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        where = f"{file}:{line}" if line else file
        raise InputError(
            f"{where}: is not valid Python ({getattr(error, 'msg', error)}); correct it."
        ) from None


def _functions_in(file: str, source: str) -> Iterator[Function]:
    tree, lines = parsed(file, source), source.splitlines()
    named = sorted(
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and looks_like_id(node.value)
    )
    outside = set(range(1, len(lines) + 1))
    for name, node in _definitions(tree, module_of(file)):
        first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        within = range(first, (node.end_lineno or first) + 1)
        outside -= set(within)
        yield _function(name, file, tuple(within), lines, named)
    yield _function(module_of(file), file, tuple(sorted(outside)), lines, named)


def _function(
    name: str, file: str, within: tuple[int, ...], lines: list[str], named: list[tuple[int, str]]
) -> Function:
    text = "\n".join(lines[line - 1].rstrip() for line in within)
    known = set(within)
    rules = tuple((rule, line) for line, rule in named if line in known)
    return Function(name, file, within, rules, hashlib.sha256(text.encode()).hexdigest()[:12])


def _definitions(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Functions of a module and of its classes; those within functions belong to these."""
    for each in ast.iter_child_nodes(node):
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{prefix}.{each.name}", each
        elif isinstance(each, ast.ClassDef):
            yield from _definitions(each, f"{prefix}.{each.name}")
        elif not isinstance(each, ast.expr):
            yield from _definitions(each, prefix)
