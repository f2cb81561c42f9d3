"""The functions of the reference in its sources: their places, the rules that they name, and a digest of
each.

The sources are parsed, not imported: they may be those of another revision, or broken.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kraftcheck.checking.coverage import blocks
from kraftcheck.support.errors import InputError
from kraftcheck.systems.citations import looks_like_id

PACKAGE = "reference"


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the reference, or the part of a module outside its functions.

    name: as :func:`kraftcheck.checking.coverage.executed.name_of` has it, of a module ``vote``; file:
    ``reference/vote.py``; lines: from the first decorator to the last line, of a module all that are in no
    function; rules: the rules that it names, with their lines; digest: of its code, as in the ledger of
    results (:func:`kraftcheck.checking.coverage.blocks.whole`).
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
        """Whether this is the part of a module outside its functions."""
        return self.name == module_of(self.file)


def module_of(file: str) -> str:
    """The name here of the module in ``reference/brokers/lives.py``: ``brokers/lives``."""
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
    module = module_of(file)
    outside = set(range(1, len(lines) + 1))
    try:
        for qualified, node in blocks.functions_in(tree).items():
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            within = range(first, (node.end_lineno or first) + 1)
            outside -= set(within)
            name = f"{module}.{qualified.partition('#')[0]}"
            yield Function(name, file, tuple(within), _rules(named, within), blocks.whole(node))
        yield Function(module, file, tuple(sorted(outside)), _rules(named, outside), blocks.outside(tree))
    except RecursionError:
        raise InputError(f"{file}: is nested too deeply; give a simpler source.") from None


def _rules(named: Iterable[tuple[int, str]], lines: Container[int]) -> tuple[tuple[str, int], ...]:
    return tuple((rule, line) for line, rule in named if line in lines)
