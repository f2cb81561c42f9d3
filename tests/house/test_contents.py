"""Digests of values: equal for equal contents, and refused for what cannot be told apart."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from kraftcheck.reference.voters import majority, static_voters
from kraftcheck.support.contents import NoContentsError, digest_of
from kraftcheck.systems.kraft.invariants import never_holds


def local(given: int) -> tuple[Callable[[], int], Callable[..., int], type]:
    class Local:
        pass

    return lambda: 1, lambda given=given: given, Local


def test_equal_contents_have_one_digest() -> None:
    assert digest_of(static_voters((1, 2))) == digest_of(static_voters((1, 2)))
    assert digest_of(partial(majority, 3)) == digest_of(partial(majority, 3))
    assert digest_of(never_holds("RecordIdentity")) == digest_of(never_holds("RecordIdentity"))
    assert digest_of({frozenset({"a", "b"})}) == digest_of({frozenset({"b", "a"})})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (static_voters((1, 2)), static_voters((1, 3))),
        (partial(majority, 3), partial(majority, 5)),
        ({1: 2, 3: 4}, {3: 4, 1: 2}),
        ((1,), [1]),
        (1, True),
        ("1", 1),
        (majority, static_voters),
    ],
)
def test_other_contents_have_another(one: Any, other: Any) -> None:
    assert digest_of(one) != digest_of(other)


@pytest.mark.parametrize("value", local(1))
def test_what_a_function_makes_has_none(value: Any) -> None:
    with pytest.raises(NoContentsError):
        digest_of(value)
