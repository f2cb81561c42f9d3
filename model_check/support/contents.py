"""A digest of all that a value holds, the same in every process."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Container, Iterator, Mapping
from collections.abc import Set as AbstractSet
from enum import Enum
from functools import partial
from hashlib import sha256
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import msgspec
from pydantic import BaseModel

from kraftcheck.support.remembering import Remembered


class NoContentsError(TypeError):
    """A value, or a part of one, that is no data; the argument names its class."""


#: By the class of an object the names of its parts that do not count.
LeftOut = Callable[[type], Container[str]]


def digest_of(value: Any, left_out: LeftOut = lambda _: ()) -> str:
    """32 hexadecimal digits: two values have the same if their classes and contents are equal.

    Answers that are remembered do not count, nor do the parts that are ``left_out`` of an object. Raises
    NoContentsError.
    """
    return sha256("".join(_texts(value, left_out)).encode()).hexdigest()[:32]


def _texts(value: Any, left_out: LeftOut) -> Iterator[str]:
    if value is None or isinstance(value, bool | int | float | str | bytes):
        yield f"{value!r},"
    elif isinstance(value, Enum):
        yield f"{type(value).__qualname__}.{value.name},"
    elif isinstance(value, tuple | list):
        yield f"{type(value).__qualname__}["
        for each in value:
            yield from _texts(each, left_out)
        yield "]"
    elif isinstance(value, AbstractSet):
        yield f"{{{''.join(sorted(''.join(_texts(each, left_out)) for each in value))}}}"
    elif isinstance(value, Mapping):
        # In its order, which may matter.
        yield f"{type(value).__qualname__}{{"
        for key, item in value.items():
            yield from _texts((key, item), left_out)
        yield "}"
    elif not isinstance(value, Remembered):
        yield f"{type(value).__qualname__}("
        for name, part in _parts(value):
            if name not in left_out(type(value)):
                yield f"{name}="
                yield from _texts(part, left_out)
        yield ")"


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """The named parts of an object."""
    # Of what a function makes, there are many with one name.
    if isinstance(value, type | FunctionType) and "<locals>" not in value.__qualname__:
        yield value.__module__, value.__qualname__
    elif isinstance(value, MethodType | BuiltinFunctionType) and value.__self__ is not None:
        yield value.__name__, value.__self__
    elif isinstance(value, partial):
        yield from {"func": value.func, "args": value.args, "keywords": value.keywords}.items()
    elif isinstance(value, msgspec.Struct):
        yield from ((name, getattr(value, name)) for name in value.__struct_fields__)
    elif isinstance(value, BaseModel):
        yield from ((name, getattr(value, name)) for name in type(value).model_fields)
    elif dataclasses.is_dataclass(value) and not hasattr(value, "__dict__"):
        yield from ((each.name, getattr(value, each.name)) for each in dataclasses.fields(value))
    elif hasattr(value, "__dict__") and not isinstance(value, Callable):  # type: ignore[arg-type]
        yield from sorted(vars(value).items())
    else:
        raise NoContentsError(type(value).__qualname__)
