"""Reading the fields of Kafka's messages from bytes that may be anything.

The encoding is that of flexible versions (KIP-482). The library kio decodes it as well, and the tests write
with it; but a wrong length of an array makes it end the process, so that damaged bytes must not reach it.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
_MAX_VARINT_BYTES = 10


class UnreadableRecordError(Exception):
    """The records of a batch are not what its header says; the message ends a sentence about the batch."""


class Fields:
    """The fields in ``content``, read one after the other. All methods raise UnreadableRecordError where they
    go beyond its end, or where a length cannot be.
    """

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    @property
    def left(self) -> int:
        """How many bytes have not been read."""
        return len(self._content) - self._at

    def take(self, count: int) -> bytes:
        """The next ``count`` bytes."""
        if not 0 <= count <= self.left:
            raise UnreadableRecordError(f"with a field of {count:,} bytes where {self.left:,} are left")
        self._at += count
        return self._content[self._at - count : self._at]

    def integer(self, size: int, *, signed: bool = True) -> int:
        """A number of ``size`` bytes."""
        return int.from_bytes(self.take(size), "big", signed=signed)

    def unsigned(self) -> int:
        """A number of variable length."""
        found = 0
        for at in range(_MAX_VARINT_BYTES):
            byte = self.take(1)[0]
            found |= (byte & 0x7F) << 7 * at
            if byte < 0x80:
                return found
        raise UnreadableRecordError("with a number of more than ten bytes")

    def signed(self) -> int:
        """A signed number of variable length (zigzag)."""
        found = self.unsigned()
        return found >> 1 ^ -(found & 1)

    def data(self) -> bytes:
        """Bytes behind their signed length, which is -1 for none."""
        size = self.signed()
        return b"" if size == -1 else self.take(size)

    def text(self) -> str:
        """A compact string."""
        return self.take(self.unsigned() - 1).decode("utf-8", "replace")

    def directory(self) -> str | None:
        """An id of a directory as Kafka prints it; None for the id of zeros, which stands for no id."""
        found = self.take(16)
        return base64.urlsafe_b64encode(found).rstrip(b"=").decode() if any(found) else None

    def array(self, element: Callable[[Fields], T]) -> tuple[T, ...]:
        """A compact array; no element takes less than a byte."""
        count = self.unsigned() - 1
        if count > self.left:
            raise UnreadableRecordError(f"with an array of {count:,} elements in {self.left:,} bytes")
        return tuple(element(self) for _ in range(count))

    def tags(self) -> None:
        """Skip tagged fields."""
        for _ in range(self.unsigned()):
            self.unsigned()
            self.take(self.unsigned())
