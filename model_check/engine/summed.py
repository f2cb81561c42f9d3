"""Descriptions of stored files: JSON that carries its own checksum, so that no changed bit goes unnoticed."""

from __future__ import annotations

import zlib
from typing import Annotated, Self

import msgspec

Count = Annotated[int, msgspec.Meta(ge=0)]


class Summed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The contents of a JSON file. ``checksum``: the CRC-32 of all the rest."""

    checksum: Count = 0

    def text(self) -> str:
        """The content of the file."""
        data = msgspec.to_builtins(self)
        del data["checksum"]
        checksum = zlib.crc32(msgspec.json.encode(data))
        return msgspec.json.encode(msgspec.structs.replace(self, checksum=checksum)).decode()

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """The contents of a file. Raises ValueError unless :meth:`text` gave exactly these bytes."""
        try:
            found = msgspec.json.decode(content, type=cls)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise ValueError(str(error)) from None
        if found.text().encode() != content:
            raise ValueError("it is not what was written")
        return found
