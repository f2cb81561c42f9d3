"""The source files of the product, each parsed once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


def sources(folder: str) -> list[Path]:
    """The Python files in a folder of the checkout."""
    return sorted((ROOT / folder).rglob("*.py"))


@cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a source file."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imported(path: Path) -> frozenset[str]:
    """Dotted names of all modules that a source file imports, at any depth."""
    return frozenset(_imported(path))


def _imported(path: Path) -> Iterator[str]:
    package = path.relative_to(ROOT).parts[:-1]
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join([*package[: len(package) - node.level + 1], *filter(None, [base])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def importing(folder: str, *, but: frozenset[str] = frozenset()) -> list[tuple[str, str]]:
    """Each file in a folder, but for those called ``but``, with each module that it imports."""
    return [
        (path.relative_to(ROOT).as_posix(), name)
        for path in sources(folder)
        if path.name not in but
        for name in sorted(imported(path))
    ]
