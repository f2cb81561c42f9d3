"""A sequence as a deployed process can meet it: with the ids that every formatted directory has.

Scenarios name directories in words such as ``d1``, and leave out ids on which nothing depends there. In
Kafka the id of a directory is a UUID, and a process has always one, and the id of its cluster.

Source: Kafka: Uuid.fromString; KafkaRaftClient (its constructor refuses the zero UUID); MetaProperties.
"""

from __future__ import annotations

import base64
import hashlib
import re
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


def deployed(sequence: DriveSequence) -> DriveSequence:
    """``sequence`` with UUIDs as directory ids, and with the ids that its process lacks."""
    renamed = _renamed(replace(sequence, origin=None))
    return replace(renamed, identity=_complete(renamed.identity), origin=sequence.origin)


def uuid_of(directory: str) -> str:
    """The UUID that stands for a directory id: the same for the same id, and one that is a UUID is kept."""
    if _UUID.fullmatch(directory):
        return directory
    if _WORD.fullmatch(directory):
        return directory.ljust(_UUID_LENGTH, _FILLING)
    digest = hashlib.sha256(directory.encode()).digest()[:16]
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def _complete(identity: Replica) -> Replica:
    key = identity.key
    if key.directory is None:
        key = replace(key, directory=uuid_of(f"directory-{key.id}-"))
    return replace(identity, key=key, cluster_id=identity.cluster_id or CLUSTER)


def _renamed(value: T) -> T:
    """``value`` with every directory id in it replaced; itself where there is none."""
    found: Any = value
    if isinstance(found, tuple):
        items = tuple(_renamed(each) for each in found)
        return value if all(map(_is, items, found)) else cast(T, items)
    if not isinstance(found, Frozen):
        return value
    changes = {}
    for name in found.__struct_fields__:
        before = getattr(found, name)
        after = uuid_of(before) if name == "directory" and before is not None else _renamed(before)
        if after is not before:
            changes[name] = after
    return cast(T, replace(found, **changes)) if changes else value


def _is(one: object, other: object) -> bool:
    return one is other
