"""Hypothesis strategies for every value of the reference, derived from the fields of its classes."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any

from hypothesis import strategies as st

from kraftcheck.reference import log as logs
from kraftcheck.reference.frozen import field_types, replace
from kraftcheck.reference.log import Batch, Log, Record, Snapshot, SnapshotId
from kraftcheck.reference.types import Range
from kraftcheck.reference.voters import Voter, VoterSet
from kraftcheck.support import codec

Plain = Mapping[type, st.SearchStrategy[Any]]


@st.composite
def logs_of_any_kind(draw: st.DrawFn) -> Log:
    log = Log()
    if draw(st.integers(0, 3)) == 0:
        id = SnapshotId(draw(st.integers(1, 9)), draw(st.integers(0, 3)))
        log = logs.reset_to(replace(draw(values_of(Snapshot)), id=id))
    for _ in range(draw(st.integers(0, 4))):
        epoch = draw(st.integers(log.last_epoch, log.last_epoch + 2))
        records = tuple(draw(st.lists(values_of(Record), min_size=1, max_size=3)))
        log = logs.append(log, Batch(log.end_offset, epoch, records))
    if draw(st.booleans()):
        log = logs.start_epoch(log, log.last_epoch + draw(st.integers(1, 3)))
    return log


def _voter_set(voters: list[Voter]) -> VoterSet:
    return VoterSet(tuple(sorted(voters, key=lambda voter: voter.key.id)))


#: Numbers and texts as they are found in a small cluster.
SMALL: Plain = {int: st.integers(-1, 7), str: st.sampled_from(["t", "cluster"])}


def values_of(
    kind: Any, allowed: Range | None = None, plain: Plain = MappingProxyType({})
) -> st.SearchStrategy[Any]:
    """Values of a type; ``allowed``: the range of a number; ``plain``: the numbers and texts in them, if they
    are not to be any.
    """
    if isinstance(kind, types.UnionType):
        return st.one_of([values_of(option, allowed, plain) for option in typing.get_args(kind)])
    if typing.get_origin(kind) is tuple:
        items = typing.get_args(kind)
        if items[1:] == (Ellipsis,):
            return st.lists(st.deferred(lambda: values_of(items[0], None, plain)), max_size=2).map(tuple)
        return st.tuples(*(values_of(item, None, plain) for item in items))
    if kind in plain:
        return plain[kind]
    if kind is types.NoneType:
        return st.none()
    if kind is bool:
        return st.booleans()
    if kind is int:
        return st.integers(-(2**63), 2**63 - 1) if allowed is None else st.integers(allowed.low, allowed.high)
    if kind is str:
        return st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
    if issubclass(kind, Enum):
        return st.sampled_from(list(kind))
    if kind is Log:
        return logs_of_any_kind()
    if kind is VoterSet:
        return st.lists(values_of(Voter), max_size=3, unique_by=lambda voter: voter.key.id).map(_voter_set)
    ranges = codec.ranges_of(kind)
    fields = {name: values_of(hint, ranges.get(name), plain) for name, hint in field_types(kind).items()}
    if kind is Batch:
        fields["records"] = st.lists(st.deferred(lambda: values_of(Record)), min_size=1, max_size=2).map(
            tuple
        )
    return st.builds(kind, **fields)
