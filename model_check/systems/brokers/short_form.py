"""The short form of brokers and their controller: ``broker id=1 incarnation=1 controller=1 fenced=no``.

Names of classes and fields are those of ``reference/brokers``. The grammar: ``docs/short-form.md``.
"""

from __future__ import annotations

from enum import Enum
from functools import partial
from typing import Any

from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.messages import BrokerState
from kraftcheck.support import codec
from kraftcheck.systems import short_form
from kraftcheck.systems.short_form import Style

EXAMPLE = "broker id=1 incarnation=1"


def error_name(code: BrokerErrorCode, *, draft: bool) -> str:
    """The name of an error code in one form: KIP-343 has names of its own for two of them."""
    names = [name for name, member in BrokerErrorCode.__members__.items() if member is code]
    return names[-1 if draft else 0]


def _member(member: Enum, *, draft: bool) -> str:
    """States are in small letters, error codes in capitals."""
    if isinstance(member, BrokerErrorCode):
        return error_name(member, draft=draft)
    if isinstance(member.value, str):
        return member.value
    return member.name.lower() if isinstance(member, BrokerState) else member.name


_STYLES = {draft: Style(False, False, partial(_member, draft=draft)) for draft in (True, False)}


def describe(value: Any, *, draft: bool = False) -> str:
    """A value in the short form: it parses back to the same value. In the ``draft`` error codes have the
    names of KIP-343.
    """
    return short_form.describe(value, _STYLES[draft])


def fields_text(value: Any, *, draft: bool = False) -> str:
    """The fields of a value in the short form, without its name; see :func:`describe`."""
    return " ".join(short_form.fields_of(value, _STYLES[draft]))


def parse(text: str, kind: Any, where: str) -> Any:
    """The value of one of the classes of ``kind`` that ``text`` stands for. Raises InputError, which names
    ``where``, for a text that is none and for a value that JSON does not allow either.
    """
    value = short_form.parse(text, kind, _STYLES[False], where, EXAMPLE)
    return codec.decode(codec.encode(value, kind), kind, where)
