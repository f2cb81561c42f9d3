"""The executed parts of some packages: functions, and their blocks.

A recording exchanges the code of each function for code of the same source that notes its blocks (see
:mod:`kraftcheck.checking.coverage.blocks`): the code sets a byte where a block begins, which costs almost
nothing.
"""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial, reduce
from operator import or_
from types import CodeType, FunctionType
from typing import NamedTuple

from kraftcheck.checking.coverage import blocks
from kraftcheck.checking.coverage.marked import marked
from kraftcheck.support import places
from kraftcheck.support.places import REFERENCE
from kraftcheck.support.remembering import note_to


class Place(NamedTuple):
    """A function of a module: ``vote.Ballot.grant`` of ``reference`` is ``("kraftcheck.reference.vote",
    "Ballot.grant")``.
    """

    module: str
    function: str


class Recording:
    """The functions that have run since it began; it grows while it records.

    A function that was defined in another function is a part of that one, a lambda outside functions a part
    of its module. Code outside functions runs when its module is imported, and is not recorded.

    What ran within a part of the time is a *footprint*, which has a number: :meth:`take` ends such a part.
    Of an answer that was kept (:mod:`kraftcheck.support.remembering`) it has what ran to find it.
    """

    def __init__(self, modules: Sequence[str]) -> None:
        self._places: dict[str, range] = {}
        begin = 0
        for name in modules:
            self._places[name] = range(begin, begin + marked(name).size)
            begin += marked(name).size
        self._noted = bytearray(begin)
        self._nothing = bytes(begin)
        self._again: set[int] = set()
        self._footprints: dict[tuple[bytes, frozenset[int]], int] = {}

    def part(self, module: str) -> memoryview:
        """Where the code of a module notes its blocks."""
        place = self._places[module]
        return memoryview(self._noted)[place.start : place.stop]

    def take(self) -> int:
        """The footprint of all that ran since the last time, or since the recording began."""
        key = bytes(self._noted), frozenset(self._again)
        self._noted[:] = self._nothing
        self._again.clear()
        return self._footprints.setdefault(key, len(self._footprints))

    # What kept answers ask for.

    def begin(self) -> tuple[bytes, set[int]]:
        before = bytes(self._noted), self._again
        self._noted[:] = self._nothing
        self._again = set()
        return before

    def end(self, before: tuple[bytes, set[int]]) -> int:
        number = self.take()
        self._noted[:], self._again = before
        self._again.add(number)
        return number

    def again(self, number: int) -> None:
        self._again.add(number)

    # What has run.

    def footprints(self) -> list[dict[Place, str]]:
        """By number of each footprint the functions that ran, as in :attr:`flags`."""
        whole: list[int] = []
        for noted, again in self._footprints:
            # Those of kept answers came first.
            whole.append(reduce(or_, (whole[number] for number in again), int.from_bytes(noted)))
        return [self._flags(each.to_bytes(len(self._noted))) for each in whole]

    @property
    def flags(self) -> dict[Place, str]:
        """The functions that ran, each with the flags of its blocks (:func:`blocks.flags_of`)."""
        return self._flags(self._everything())

    def _everything(self) -> bytes:
        found = (int.from_bytes(noted) for noted, _ in self._footprints)
        return reduce(or_, found, int.from_bytes(self._noted)).to_bytes(len(self._noted))

    def _flags(self, noted: bytes) -> dict[Place, str]:
        found: dict[Place, str] = {}
        for module, place in self._places.items():
            found.update(_flags_of(module, noted[place.start : place.stop]))
        return found

    @property
    def names(self) -> set[str]:
        """The functions that ran, as :func:`name_of` calls them."""
        return {name_of(place.module, place.function) for place in self.flags}

    def noted_in(self, module: str) -> bytes:
        """Which blocks of a module have run."""
        place = self._places[module]
        return self._everything()[place.start : place.stop]


@contextmanager
def recording(packages: Sequence[str] = (REFERENCE,)) -> Iterator[Recording]:
    """Record the functions of ``packages`` that run in this context, on all threads.

    All their modules are imported before. Answers that were kept before are not used
    (:mod:`kraftcheck.support.remembering`), so that no function is missed because it ran earlier. Recordings
    of the same packages may be nested; they end in the reverse order.
    """
    _import(tuple(packages))
    modules = {name: vars(sys.modules[name]) for name in sorted(_modules(packages))}
    before = {name: namespace.get(blocks.NOTED) for name, namespace in modules.items()}
    found = Recording(list(modules))
    exchanged: list[tuple[FunctionType, CodeType]] = []
    noted_before = note_to(found)
    try:
        for name, namespace in modules.items():
            namespace[blocks.NOTED] = found.part(name)
        _exchange(packages, exchanged)
        yield found
    finally:
        note_to(noted_before)
        for function, code in exchanged:
            function.__code__ = code
        # Functions that were made in the context continue to note blocks, so the last arrays stay.
        for name, namespace in modules.items():
            if (outer := before[name]) is not None:
                outer[:] = bytes(map(max, outer, found.noted_in(name)))
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
    """Import the modules of ``packages`` and make their marked code, so that forked processes share it."""
    _import(tuple(packages))
    functions(packages)
    for module in _modules(packages):
        marked(module)


def functions(packages: Sequence[str] = (REFERENCE,)) -> tuple[FunctionType, ...]:
    """The functions of ``packages`` that this process has, at any place."""
    modules = frozenset((name, id(sys.modules[name])) for name in _modules(packages))
    return _found(modules)


def _modules(packages: Sequence[str]) -> list[str]:
    return [name for name, module in sys.modules.items() if module is not None and is_of(name, packages)]


@cache
def _import(packages: tuple[str, ...]) -> None:
    """Import all modules of ``packages``: what is imported later would run without being noted. A file that
    is no module cannot be imported later either.
    """
    for name in filter(partial(is_of, packages=packages), places.modules()):
        with suppress(Exception):
            importlib.import_module(name)


@cache
def _found(modules: frozenset[tuple[str, int]]) -> tuple[FunctionType, ...]:
    """All functions of ``modules``, each a name and an identity."""
    namespaces = {id(vars(sys.modules[name])) for name, _ in modules}
    # In a forked process: what is frozen is not among the objects.
    frozen = gc.get_freeze_count() > 0
    gc.unfreeze()
    objects = gc.get_objects()
    if frozen:
        gc.freeze()
    return tuple(
        each
        for each in objects
        # The standard library's functions for classes of values are in no source.
        if isinstance(each, FunctionType)
        and id(each.__globals__) in namespaces
        and each.__code__.co_filename != "<string>"
    )


@cache
def _flags_of(module: str, noted: bytes) -> dict[Place, str]:
    """The functions of a module that ran, with the flags of their blocks."""
    return {
        Place(module, name): _flags_of_function(module, name, began)
        for name, numbers in marked(module).numbers.items()
        if any(began := noted[numbers.start : numbers.stop])
    }


@cache
def _flags_of_function(module: str, name: str, began: bytes) -> str:
    return blocks.flags_of(marked(module).functions[name], began)


def _exchange(packages: Sequence[str], exchanged: list[tuple[FunctionType, CodeType]]) -> None:
    """Give all functions marked code that have none; note them in ``exchanged``, with the code they had."""
    for function in functions(packages):
        before = function.__code__
        if before.co_name == "<lambda>":
            continue  # It has no statements.
        module = marked(function.__globals__["__name__"])
        code = module.codes[before.co_qualname, before.co_firstlineno]
        if before is not code:
            exchanged.append((function, before))
            function.__code__ = code
