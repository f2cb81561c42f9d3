"""Descriptions of stored files: JSON that carries its own checksum, so that no changed bit goes unnoticed."""

from __future__ import annotations

import zlib
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field


class Summed(BaseModel):
    """The contents of a JSON file. ``checksum``: the CRC-32 of all the rest."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    checksum: Annotated[int, Field(ge=0)] = 0

    def text(self) -> str:
        """The content of the file."""
        rest = self.model_dump_json(exclude={"checksum"})
        return self.model_copy(update={"checksum": zlib.crc32(rest.encode())}).model_dump_json()

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """The contents of a file. Raises ValueError unless :meth:`text` gave exactly these bytes."""
        found = cls.model_validate_json(content)
        if found.text().encode() != content:
            raise ValueError("it is not what was written")
        return found
