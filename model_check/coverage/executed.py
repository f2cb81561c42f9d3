"""Which functions of the reference run: recorded at the cost of one detour for each function.

A recording exchanges the code of each function for a probe. The first call runs the probe, which notes the
function and puts its code back. A function that is called a million times is slowed down once, so a recording
may be on in every exploration.
"""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import _lru_cache_wrapper, cache
from types import CodeType, FunctionType
from typing import Any, TypeVar

_PACKAGE = "reference"
T = TypeVar("T")

with warnings.catch_warnings():
    # The constant that is called becomes a callable, see _probe_of.
    warnings.simplefilter("ignore", SyntaxWarning)
    exec("def _probe(*arguments, **named):\n    return 'ran'(*arguments, **named)")
_PROBE: FunctionType = locals()["_probe"]


@contextmanager
def recording() -> Iterator[set[str]]:
    """The functions of the reference that run meanwhile, as :func:`name_of` calls them; the set grows.

    A function that was defined in another function counts as that one, a lambda outside functions as its
    module. Code outside functions runs when its module is imported, and is not recorded. Results that
    functions of the reference have cached are forgotten first, so that nothing stays unseen because it ran
    earlier. Recordings may be nested; they end in the reverse order. All threads are recorded.
    """
    ran: set[str] = set()
    for cached in _loaded(_lru_cache_wrapper):
        cached.cache_clear()
    waiting = {function: function.__code__ for function in functions()}
    for function, code in waiting.items():
        function.__code__ = _probe_of(function, code, ran, waiting)
    try:
        yield ran
    finally:
        for function, code in list(waiting.items()):
            function.__code__ = code


def name_of(module: str, qualified: str) -> str:
    """What a function is called: ``vote.would_grant_vote``, ``replica.Replica.epoch``, or, where it has no
    name of its own, its module, ``vote``.

    module: ``reference.vote``; qualified: the qualified name of its code.
    """
    place = module.partition(".")[2].replace(".", "/")
    named = qualified.partition(".<locals>")[0]
    return place if "<" in named else f"{place}.{named}"


def is_of_reference(module: str) -> bool:
    """Whether ``module`` is the name of a module of the reference."""
    return module.partition(".")[0] == _PACKAGE


def functions() -> tuple[FunctionType, ...]:
    """The functions of the reference that this process has, wherever they are kept.

    Those that were there when ``gc.freeze`` was called are found only if this was called before it.
    """
    return _loaded(FunctionType)


def _loaded(kind: type[T]) -> tuple[T, ...]:
    """What of ``kind`` the reference has in this process: functions, or caches around functions."""
    modules = frozenset((name, id(module)) for name, module in sys.modules.items() if is_of_reference(name))
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
        # What the standard library makes for classes of values is in no source.
        or (
            isinstance(each, FunctionType)
            and id(each.__globals__) in namespaces
            and each.__code__.co_filename != "<string>"
        )
    )


def _probe_of(
    function: FunctionType, code: CodeType, ran: set[str], waiting: dict[FunctionType, CodeType]
) -> CodeType:
    """Code that notes that ``function`` runs, puts ``code`` back, and calls it."""
    name = name_of(function.__globals__["__name__"], code.co_qualname)

    def note_and_call(*arguments: Any, **named: Any) -> Any:
        original = waiting.pop(function, None)
        if original is not None:
            function.__code__ = original
            ran.add(name)
        return function(*arguments, **named)

    return _calling(note_and_call).replace(
        co_freevars=code.co_freevars,
        co_filename=code.co_filename,
        co_name=code.co_name,
        co_qualname=code.co_qualname,
        co_firstlineno=code.co_firstlineno,
    )


def _calling(called: Callable[..., Any]) -> CodeType:
    code = _PROBE.__code__
    constants = tuple(called if each == "ran" else each for each in code.co_consts)
    return code.replace(co_consts=constants)
