"""The types of what an adapter shows of a replica's state; ``docs/drive.md`` has the same as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    TypeAdapter,
    ValidationError,
)

from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.reference.types import INT64
from kraftcheck.support.errors import InputError

_Voter = Annotated[list[StrictInt | StrictStr], Field(min_length=1, max_length=2)]
_Ids = list[StrictInt]
_SnapshotId = Annotated[_Ids, Field(min_length=2, max_length=2)]
_Partial = Annotated[_Ids, Field(min_length=3, max_length=3)]


class _Election(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)
    granted: _Ids
    rejected: _Ids


def _each(names: str, kind: Any, expected: str) -> dict[str, tuple[TypeAdapter[Any], str]]:
    adapter = TypeAdapter(kind, config=None if kind is _Election else ConfigDict(strict=True))
    return dict.fromkeys(names.split(), (adapter, expected))


#: The type of each field, and the same in words.
_TYPES: Mapping[str, tuple[TypeAdapter[Any], str]] = {
    **_each("epoch leader leo lastEpoch hw logStart votersOffset kraftVersion", StrictInt, "a number"),
    **_each("epochStart pendingRemove", StrictInt, "a number"),
    **_each("isVoter resignRequested shuttingDown", StrictBool, "true or false"),
    **_each("state", StrictStr, "a text"),
    **_each("voted pendingAdd", _Voter, "[id] or [id, directory]"),
    **_each("snapshot", _SnapshotId, "[end offset, epoch]"),
    **_each("fetchingSnapshot", _Partial, "[end offset, epoch, position]"),
    **_each("voters", list[_Voter], "a list of [id] or [id, directory]"),
    **_each("unacked preferredSuccessors", _Ids, "a list of ids"),
    **_each("election", _Election, 'an object {"granted": [ids], "rejected": [ids]}'),
    **_each("progress", dict[str, _Ids], "an object with a list of numbers for each id"),
}


def require_state(where: str, state: Mapping[str, Json]) -> None:
    """Raise InputError if a field that the protocol knows has another type; ``null`` is an absent field."""
    for name, value in state.items():
        adapter, expected = _TYPES.get(name, (None, ""))
        if adapter is None or value is None:
            continue
        try:
            adapter.validate_python(value)
        except ValidationError:
            raise InputError(f"{where}: field 'state.{name}' must be {expected}.") from None
    require_numbers(where, state)


def require_numbers(where: str, value: Json) -> None:
    """Raise InputError if there is a number in ``value``, at any depth, that no field of Kafka can hold."""
    left = [value]
    while left:
        found = left.pop()
        if isinstance(found, dict):
            left.extend(found.values())
        elif isinstance(found, list | tuple):
            left.extend(found)
        elif isinstance(found, int) and not -INT64 - 1 <= found <= INT64:
            raise InputError(f"{where}: the number {str(found)[:24]} has more than 64 bits.")
