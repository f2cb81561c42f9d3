"""What numbers, texts and tuples mean: the types that the fields of values are declared with.

For a type checker and at run time a :data:`ReplicaId` is an ``int`` and costs nothing more. The declared
type says what it stands for. Renaming under symmetry, relative epochs and the ranges of the JSON form read it
there (:func:`kraftcheck.reference.frozen.declared_types`). A field of a value has one of these types, another
value, an enumeration or ``bool``; ``tests/reference/test_types.py`` refuses any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, TypeVar

T = TypeVar("T")

INT16, INT32, INT64 = 2**15 - 1, 2**31 - 1, 2**63 - 1


class Meaning(Enum):
    """What a number or a text stands for."""

    # Numbers.
    NODE = "the id of a node"
    EPOCH = "an epoch"
    LAST_EPOCH = "the epoch with which records end"
    FIRST_OFFSET = "the offset of a first record"
    END_OFFSET = "the offset up to which there are records"
    CONTROL_OFFSET = "the offset of a control record, or where a log starts"
    APPLICATION_VALUE = "a record of the application"
    PLAIN = "a number in which no node, epoch or offset is named"
    # Texts.
    DIRECTORY = "the id of a metadata directory"
    HOST = "the name of a host"
    TEXT = "a text in which no node is named"


@dataclass(frozen=True, slots=True)
class Range:
    """The numbers that a type allows, both ends included. A peer may send others."""

    low: int
    high: int


class Order(Enum):
    """How the items of a tuple are ordered."""

    ASCENDING = "ascending order of the replicas in them, and of their directories"
    SEQUENCE = "an order that means something else, such as that in which they came"


#: Tuples, by how they are ordered.
Ascending = Annotated[tuple[T, ...], Order.ASCENDING]
InSequence = Annotated[tuple[T, ...], Order.SEQUENCE]

#: A sender or receiver: a replica, or (negative) a client that is none.
NodeId = Annotated[int, Meaning.NODE, Range(-INT32 - 1, INT32)]
ReplicaId = Annotated[int, Meaning.NODE, Range(0, INT32)]
Epoch = Annotated[int, Meaning.EPOCH, Range(0, INT32)]
#: The epoch of the last record of a log, or of what a log has of an epoch.
LastEpoch = Annotated[int, Meaning.LAST_EPOCH, Range(0, INT32)]
#: The offset of the first record of a batch or an epoch.
FirstOffset = Annotated[int, Meaning.FIRST_OFFSET, Range(0, INT64)]
#: One past a record: where a log ends, or up to where a replica has, flushed or committed it.
EndOffset = Annotated[int, Meaning.END_OFFSET, Range(0, INT64)]
#: The offset of a control record; -1: of none.
ControlOffset = Annotated[int, Meaning.CONTROL_OFFSET, Range(-1, INT64)]
#: Where a log starts: 0, or where its snapshot ends.
LogStart = Annotated[int, Meaning.CONTROL_OFFSET, Range(0, INT64)]
#: A record of the application. The protocol never looks inside.
ApplicationValue = Annotated[int, Meaning.APPLICATION_VALUE]

#: A level of the feature kraft.version.
KRaftLevel = Annotated[int, Meaning.PLAIN, Range(0, INT16)]
#: What pairs a response with its request.
Correlation = Annotated[int, Meaning.PLAIN]
#: A position in the bytes of a snapshot, or a number of bytes.
ByteCount = Annotated[int, Meaning.PLAIN, Range(0, INT64)]
#: A number of bytes of which there is at least one.
Size = Annotated[int, Meaning.PLAIN, Range(1, INT64)]
#: A reading of a clock, in ms.
Time = Annotated[int, Meaning.PLAIN]
#: A length of time in ms.
Milliseconds = Annotated[int, Meaning.PLAIN, Range(0, INT32)]
#: A length of time in ms, or a number, that is not 0.
Positive = Annotated[int, Meaning.PLAIN, Range(1, INT32)]
Port = Annotated[int, Meaning.PLAIN, Range(0, 65535)]
#: How many there are of something, or the place of one among them.
Count = Annotated[int, Meaning.PLAIN]

#: The id of the metadata directory of one replica.
Directory = Annotated[str, Meaning.DIRECTORY]
#: A host on which one replica listens.
Host = Annotated[str, Meaning.HOST]
#: A name that names no replica: of a listener, a partition, a role, a cluster, a rule.
Name = Annotated[str, Meaning.TEXT]
#: A sentence for people. Nothing depends on it.
Sentence = Annotated[str, Meaning.TEXT]
