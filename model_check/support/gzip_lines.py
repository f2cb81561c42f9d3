"""The lines of a gzip file from outside, within bounds: of a damaged or hostile file no more is unpacked."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from kraftcheck.support.errors import InputError
from kraftcheck.support.files import opened

#: The longest line and the largest content that are read; a file of more than ``_CHECKED_BYTES`` must not be
#: compressed more than ``MAX_RATIO`` times. Our files have less than a hundredth of both, and a ratio of 35.
MAX_LINE_BYTES, MAX_BYTES = 2**20, 2**28
MAX_RATIO, _CHECKED_BYTES = 200, 16 * 2**20


def gzip_lines(path: Path, what: str) -> Iterator[tuple[str, str]]:
    """Each line of the gzip file ``path``, which should be ``what`` ("the events of a recorded run"), and its
    place. Raises InputError.
    """
    number = 0
    try:
        with opened(path, what) as file, gzip.GzipFile(fileobj=file) as stream:
            while line := stream.readline(MAX_LINE_BYTES + 1):
                number += 1
                where = f"{path}, line {number}"
                if len(line) > MAX_LINE_BYTES:
                    raise InputError(f"{where}: longer than {MAX_LINE_BYTES:,} bytes; no line of ours is.")
                if stream.tell() > max(MAX_RATIO * file.tell(), _CHECKED_BYTES):
                    raise InputError(
                        f"{where}: the file is compressed more than {MAX_RATIO} times; no file of ours is."
                    )
                if stream.tell() > MAX_BYTES:
                    raise InputError(
                        f"{where}: {what} take more than {MAX_BYTES:,} bytes; give a shorter file."
                    )
                yield _text(line, where), where
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        if number == 0 and isinstance(error, gzip.BadGzipFile):
            raise InputError(f"{path}: is no gzip file; give {what}.") from error
        raise InputError(f"{path}: the gzip file is damaged or cut off after line {number}.") from error


def _text(line: bytes, where: str) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise InputError(f"{where}: is not UTF-8 text.") from None
