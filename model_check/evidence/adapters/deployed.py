"""A sequence as a deployed process can meet it: with the ids that every formatted directory has.

Scenarios name directories in words such as ``d1``, and leave out ids on which nothing depends there. In
Kafka the id of a directory is a UUID, and a process has always one, and the id of its cluster.

Source: Kafka: Uuid.fromString; KafkaRaftClient (its constructor refuses the zero UUID); MetaProperties.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from typing import Any, TypeVar, cast

from kraftcheck.evidence.adapters.stimuli import DriveSequence
from kraftcheck.reference.frozen import Frozen, replace
from kraftcheck.reference.replica import Replica

T = TypeVar("T")

#: The cluster of a process whose sequence names none.
CLUSTER = "kraftcheck-cluster"
#: 16 bytes in the base 64 of URLs, without padding.
_UUID = re.compile(r"[A-Za-z0-9_-]{21}[AQgw]")
#: Words that are the beginning of a UUID. Those that end with the filling are left to the digest.
_WORD = re.compile(r"[A-Za-z0-9_-]{0,19}[B-Za-z0-9_-]")
_UUID_LENGTH, _FILLING = 22, "A"
#: The beginning of the id that is made for a directory that has none.
_LACKING = re.compile(r"directory-[0-9]+-")


def deployed(sequence: DriveSequence) -> DriveSequence:
    """``sequence`` with UUIDs as directory ids, and with the ids that its process lacks."""
    renamed = _renamed(replace(sequence, origin=None))
    return replace(renamed, identity=_complete(renamed.identity), origin=sequence.origin)


def renamed(value: T) -> T:
    """``value`` of the model with UUIDs as directory ids."""
    return _renamed(value)


def uuid_of(directory: str) -> str:
    """The UUID of a directory id: the same for the same id, and one that is a UUID is kept."""
    if _UUID.fullmatch(directory):
        return directory
    if _WORD.fullmatch(directory):
        return directory.ljust(_UUID_LENGTH, _FILLING)
    digest = hashlib.sha256(directory.encode()).digest()[:16]
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def modelled(value: T) -> T:
    """``value``, which a deployed replica has or sends, with the ids of the model: its words for directories,
    and none where the model has none.
    """
    found = _renamed(value, _word_of)
    return _without_cluster(found)


def _word_of(uuid: str) -> str | None:
    word = uuid.rstrip(_FILLING)
    if _LACKING.fullmatch(word):
        return None
    return word if _WORD.fullmatch(word) else uuid


def _without_cluster(value: T) -> T:
    named = getattr(value, "cluster_id", None) == CLUSTER
    return cast(T, replace(cast(Any, value), cluster_id=None)) if named else value


def _complete(identity: Replica) -> Replica:
    key = identity.key
    if key.directory is None:
        key = replace(key, directory=uuid_of(f"directory-{key.id}-"))
    return replace(identity, key=key, cluster_id=identity.cluster_id or CLUSTER)


def _renamed(value: T, rename: Callable[[str], str | None] = uuid_of) -> T:
    """``value`` with every directory id in it replaced; itself where there is none."""
    found: Any = value
    if isinstance(found, tuple):
        items = tuple(_renamed(each, rename) for each in found)
        return value if all(map(_is, items, found)) else cast(T, items)
    if not isinstance(found, Frozen):
        return value
    changes = {}
    for name in found.__struct_fields__:
        before = getattr(found, name)
        known = name == "directory" and before is not None
        after = rename(before) if known else _renamed(before, rename)
        if after is not before:
            changes[name] = after
    return cast(T, replace(found, **changes)) if changes else value


def _is(one: object, other: object) -> bool:
    return one is other
