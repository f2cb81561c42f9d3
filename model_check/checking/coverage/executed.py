"""The executed parts of some packages: functions, and their blocks.

A recording exchanges the code of each function for code of the same source that notes its blocks (see
:mod:`kraftcheck.checking.coverage.blocks`): the code sets a byte where a block begins, which costs almost
nothing.
"""

from __future__ import annotations

import ast
import gc
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import _lru_cache_wrapper, cache
from types import CodeType, FunctionType
from typing import Any, NamedTuple, TypeVar

from kraftcheck.checking.coverage import blocks
from kraftcheck.support.places import REFERENCE

T = TypeVar("T")

#: The package whose bounded caches keep what follows from calls of the reference.
_SYSTEMS = "kraftcheck.systems"


class Place(NamedTuple):
    """A function of a module: ``vote.Ballot.grant`` of ``reference`` is ``("kraftcheck.reference.vote",
    "Ballot.grant")``.
    """

    module: str
    function: str


@dataclass(frozen=True)
class Recording:
    """The functions that have run since it began; it grows while it records.

    A function that was defined in another function is a part of that one, a lambda outside functions a part
    of its module. Code outside functions runs when its module is imported, and is not recorded.
    """

    _noted: dict[str, bytearray]

    @property
    def flags(self) -> dict[Place, str]:
        """The functions that ran, each with the flags of its blocks (:func:`blocks.flags_of`)."""
        return {
            Place(module, name): blocks.flags_of(_marked(module).functions[name], began)
            for module, noted in self._noted.items()
            for name, numbers in _marked(module).numbers.items()
            if any(began := noted[numbers.start : numbers.stop])
        }

    @property
    def names(self) -> set[str]:
        """The functions that ran, as :func:`name_of` calls them."""
        return {name_of(place.module, place.function) for place in self.flags}


@contextmanager
def recording(packages: Sequence[str] = (REFERENCE,)) -> Iterator[Recording]:
    """Record the functions of ``packages`` that run in this context, on all threads.

    Modules that are imported in the context are not recorded. Caches of the packages' functions are cleared
    first, and those in which systems keep what they found by calling them, so that no function is missed
    because it ran earlier. Recordings of the same packages may be
    nested; they end in the reverse order.
    """
    for cached in (*_loaded(_lru_cache_wrapper, packages), *_loaded(_lru_cache_wrapper, (_SYSTEMS,))):
        if is_of(cached.__module__, packages) or cached.cache_parameters()["maxsize"] is not None:
            cached.cache_clear()
    modules = {name: vars(sys.modules[name]) for name in sorted(_modules(packages))}
    before = {name: namespace.get(blocks.NOTED) for name, namespace in modules.items()}
    noted = {name: bytearray(_marked(name).size) for name in modules}
    exchanged: list[tuple[FunctionType, CodeType]] = []
    try:
        for name, namespace in modules.items():
            namespace[blocks.NOTED] = noted[name]
        _exchange(packages, exchanged)
        yield Recording(noted)
    finally:
        for function, code in exchanged:
            function.__code__ = code
        # Functions that were made in the context continue to note blocks, so the last arrays stay.
        for name, namespace in modules.items():
            if (outer := before[name]) is not None:
                outer[:] = bytes(map(max, outer, noted[name]))
                namespace[blocks.NOTED] = outer


def name_of(module: str, qualified: str) -> str:
    """The name of a function: ``vote.would_grant_vote``, ``replica.Replica.epoch``, or, where it has no name
    of its own, its module, ``vote``.

    module: ``kraftcheck.reference.vote``; qualified: the qualified name of its code.
    """
    place = module.removeprefix(f"{REFERENCE}.").replace(".", "/")
    named = qualified.partition(".<locals>")[0].partition("#")[0]
    return place if "<" in named else f"{place}.{named}"


def is_of(module: str, packages: Sequence[str]) -> bool:
    """Whether ``module`` is the name of a module of one of ``packages``, or of such a package."""
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def prepare(packages: Sequence[str]) -> None:
    """Make the marked code of the imported modules of ``packages``, so that forked processes share it."""
    functions(packages)
    for module in _modules(packages):
        _marked(module)


def functions(packages: Sequence[str] = (REFERENCE,)) -> tuple[FunctionType, ...]:
    """The functions of ``packages`` that this process has, at any place."""
    return _loaded(FunctionType, packages)


def _modules(packages: Sequence[str]) -> list[str]:
    return [name for name, module in sys.modules.items() if module is not None and is_of(name, packages)]


def _loaded(kind: type[T], packages: Sequence[str]) -> tuple[T, ...]:
    """The objects of ``kind`` that the packages have in this process: functions, or caches around
    functions.
    """
    modules = frozenset((name, id(sys.modules[name])) for name in _modules(packages))
    return tuple(each for each in _found(modules) if isinstance(each, kind))


@cache
def _found(modules: frozenset[tuple[str, int]]) -> tuple[Any, ...]:
    """All functions of ``modules``, each a name and an identity, and the caches around them."""
    namespaces = {id(vars(sys.modules[name])) for name, _ in modules}
    names = {name for name, _ in modules}
    return tuple(
        each
        for each in gc.get_objects()
        if (isinstance(each, _lru_cache_wrapper) and each.__module__ in names)
        # The standard library's functions for classes of values are in no source.
        or (
            isinstance(each, FunctionType)
            and id(each.__globals__) in namespaces
            and each.__code__.co_filename != "<string>"
        )
    )


@dataclass(frozen=True)
class _Marked:
    """A module: its functions by name as they are in its source, the numbers of their blocks, the count of
    these, and marked code of all its functions.
    """

    functions: dict[str, Any]
    numbers: dict[str, range]
    size: int
    codes: dict[tuple[str, int], CodeType]


@cache
def _marked(module: str) -> _Marked:
    spec = importlib.util.find_spec(module)
    assert spec is not None and spec.origin is not None
    loader: Any = spec.loader
    source = loader.get_source(module)
    tree = ast.parse(source)
    numbers = blocks.mark(tree)
    size = max((each.stop for each in numbers.values()), default=0)
    codes = dict(_codes_in(compile(tree, spec.origin, "exec")))
    return _Marked(blocks.functions_in(ast.parse(source)), numbers, size, codes)


def _codes_in(code: CodeType) -> Iterator[tuple[tuple[str, int], CodeType]]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield (each.co_qualname, each.co_firstlineno), each
            yield from _codes_in(each)


def _exchange(packages: Sequence[str], exchanged: list[tuple[FunctionType, CodeType]]) -> None:
    """Give all functions marked code that have none; note them in ``exchanged``, with the code they had."""
    for function in functions(packages):
        before = function.__code__
        if before.co_name == "<lambda>":
            continue  # It has no statements.
        module = _marked(function.__globals__["__name__"])
        marked = module.codes[before.co_qualname, before.co_firstlineno]
        if before is not marked:
            exchanged.append((function, before))
            function.__code__ = marked
