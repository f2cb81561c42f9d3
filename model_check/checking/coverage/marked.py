"""Code of modules that notes its blocks (:mod:`kraftcheck.checking.coverage.blocks`), kept between runs."""

from __future__ import annotations

import ast
import importlib.util
import marshal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from types import CodeType
from typing import Any

from kraftcheck.checking.coverage import blocks
from kraftcheck.support.cache import of_installation, read_whole, write_whole


@dataclass(frozen=True)
class Marked:
    """A module: its ``source``, the numbers of the blocks of its functions by name, the count of these, and
    its ``code``, marked.
    """

    source: str
    numbers: dict[str, range]
    size: int
    code: CodeType

    @cached_property
    def functions(self) -> dict[str, Any]:
        """The functions by name as they are in the source."""
        return dict(blocks.functions_in(ast.parse(self.source)))

    @cached_property
    def codes(self) -> dict[tuple[str, int], CodeType]:
        """The marked code of all functions, by name and line."""
        return dict(_codes_in(self.code))


@cache
def marked(module: str) -> Marked:
    """The marked code of a module."""
    spec = importlib.util.find_spec(module)
    assert spec is not None and spec.origin is not None
    loader: Any = spec.loader
    source = loader.get_source(module)
    known = _kept().get(_key(module, source, spec.origin))
    if known is not None:
        numbers = {name: range(*ends) for name, ends in known[0].items()}
        made = Marked(source, numbers, known[1], known[2])
    else:
        tree = ast.parse(source)
        numbers = blocks.mark(tree)
        size = max((each.stop for each in numbers.values()), default=0)
        made = Marked(source, numbers, size, compile(tree, spec.origin, "exec"))
    _made()[_key(module, source, spec.origin)] = made
    return made


def keep_marked() -> None:
    """Keep for the next run what was marked in this one; where that is not possible, it marks anew."""
    if _made().keys() <= _kept().keys():
        return
    kept = {
        key: ({name: (each.start, each.stop) for name, each in made.numbers.items()}, made.size, made.code)
        for key, made in _made().items()
    }
    write_whole(_file(), _header(), marshal.dumps(kept))


@cache
def _made() -> dict[str, Marked]:
    return {}


@cache
def _kept() -> dict[str, tuple[dict[str, tuple[int, int]], int, CodeType]]:
    content = read_whole(_file(), _header())
    return {} if content is None else marshal.loads(content)


def _key(module: str, source: str, file: str) -> str:
    return sha256(f"{module} {file} {source}".encode(errors="backslashreplace")).hexdigest()


def _file() -> Path:
    return of_installation("marked") / "code"


@cache
def _header() -> bytes:
    """What the code depends on, apart from the sources."""
    makers = b"".join(Path(each).read_bytes() for each in (__file__, blocks.__file__))
    return f"kraftcheck marked {sys.version!r} {sha256(makers).hexdigest()}\n".encode()


def _codes_in(code: CodeType) -> Iterator[tuple[tuple[str, int], CodeType]]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield (each.co_qualname, each.co_firstlineno), each
            yield from _codes_in(each)
