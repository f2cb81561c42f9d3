"""The door through which files from outside are read, and writing files so that no half is left behind.

Whatever a name stands for, reading ends: of regular files and pipes no more is read than could be of use, and
devices, folders and pipes without a writer are refused.
"""

from __future__ import annotations

import atexit
import codecs
import os
import select
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO

from kraftcheck.support.errors import InputError
from kraftcheck.support.printable import shown

#: Characters by which a file of ours is known: '{', a line feed and ' "format": "kraftcheck'.
_BEGINNING = 24
#: The largest file that is read as a whole.
MAX_BYTES = 32 * 2**20
#: How long a pipe may go without a writer, in seconds.
WRITER_SECONDS = 3.0


@contextmanager
def opened(path: Path, what: str) -> Iterator[BinaryIO]:
    """The file or pipe ``path``, which should be ``what`` ("a trace file"), for reading in binary.

    Raises InputError for anything else, for a file that cannot be opened or read, and a pipe without writer.
    """
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            _require_data(file, path, what)
            yield file
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None)
        if reason is None and "null byte" not in str(error):
            raise  # It is about the content.
        raise InputError(f"{path}: cannot be read ({reason or 'not a file name'}); give {what}.") from None


def _without_waiting(name: str, flags: int) -> int:
    """The opening of a pipe would wait for its writer."""
    return os.open(name, flags | os.O_NONBLOCK)


def _require_data(file: BinaryIO, path: Path, what: str) -> None:
    mode = os.fstat(file.fileno()).st_mode
    if stat.S_ISREG(mode):
        return
    if not stat.S_ISFIFO(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a device or a socket"
        raise InputError(f"{path}: is {kind}; give {what}.")
    writers = select.poll()
    writers.register(file, select.POLLIN)
    came = writers.poll(WRITER_SECONDS * 1000)
    os.set_blocking(file.fileno(), True)
    # Where some process has the pipe open for writing, this waits for it; where none has, the pipe ends.
    if not came and not file.peek(1):  # type: ignore[attr-defined]
        raise InputError(f"{path}: is a pipe that no process writes to; give {what}.")


def read_text(path: Path, what: str, *, most: int = MAX_BYTES) -> str:
    """The text of the file ``path``, which should be ``what`` ("a trace file"), of at most so many bytes.

    No more than that is read, whatever the file is. Raises InputError.
    """
    with opened(path, what) as file:
        content = file.read(most + 1)
    return _text(content, str(path), what, most)


def read_standard_input(what: str, *, most: int = MAX_BYTES) -> str:
    """The text of the standard input, as :func:`read_text` does it. Raises InputError."""
    stream: IO[str] | None = sys.stdin
    if stream is None:
        raise InputError(f"standard input: is closed; give {what} there.")
    try:
        content = getattr(stream, "buffer", stream).read(most + 1)
    except OSError as error:
        raise InputError(f"standard input: cannot be read ({error.strerror}); give {what} there.") from None
    return content if isinstance(content, str) else _text(content, "standard input", what, most)


def _text(content: bytes, where: str, what: str, most: int) -> str:
    if len(content) > most:
        raise InputError(f"{where}: larger than {most:,} bytes, so it is not {what}.")
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InputError(f"{where}: is UTF-16 text; save it as UTF-8.")
    try:
        return content.decode("utf-8-sig")  # some editors begin a file with a byte order mark
    except UnicodeDecodeError:
        raise InputError(f"{where}: not UTF-8 text, so it is not {what}; save it as UTF-8.") from None


def require_file_can_be_written(path: Path | None, option: str) -> None:
    """Raise InputError now, not after the work, where the file that ``option`` names cannot be written.

    ``None``: no file is wanted.
    """
    if path is None:
        return
    try:
        if path.is_dir():
            raise InputError(f"{option}: {path} is a folder; give the name of a file in it.")
        if path.exists() and not path.is_file():
            raise InputError(f"{option}: {path} is a device or the like; give the name of a file.")
        if not path.parent.is_dir():
            raise InputError(f"{option}: there is no folder {path.parent}; create it first.")
        _try(path)
    except (OSError, ValueError) as error:
        raise _unwritable(option, path, error) from None


def write_output(path: Path | None, text: str) -> None:
    """Write ``text`` to the file, or to standard output. Raises InputError."""
    if path is None:
        print(text, end="")
    else:
        write_atomically(path, text)


def require_folder_can_be_written(path: Path | None, option: str) -> None:
    """The same for a folder, which is created when something is written there."""
    if path is None:
        return
    there = next(each for each in (path, *path.absolute().parents) if os.path.lexists(each))
    if not there.is_dir():
        raise InputError(f"{option}: {there} is no folder; choose another place.")
    try:
        _try(there / "file")
    except (OSError, ValueError):
        where = path if there == path else f"{path} cannot be made, for {there}"
        raise InputError(f"{option}: {where} cannot be written; choose another place.") from None


#: The environment variable that names a folder of the process that started this one. What a process leaves
#: behind that is killed is removed with it.
CALLERS_FOLDER = "KRAFTCHECK_CALLERS_FOLDER"


class TemporaryFolder(tempfile.TemporaryDirectory[str]):
    """A temporary folder of this product, as a context or until :meth:`cleanup`.

    Where another process of ours has started this one, it lies in that one's folder (``CALLERS_FOLDER``).
    """

    def __init__(self, prefix: str = "kraftcheck-") -> None:
        super().__init__(prefix=prefix, dir=os.environ.get(CALLERS_FOLDER))

    def cleanup(self) -> None:
        """Remove the folder; where memory is short, at the end of the process, when there may be more."""
        try:
            super().cleanup()
        except (OSError, MemoryError):
            atexit.register(shutil.rmtree, self.name, ignore_errors=True)


def _temporary_beside(path: Path) -> tuple[int, str]:
    return tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.kraftcheck-")


def _try(path: Path) -> None:
    """Raises OSError, or ValueError, where :func:`write_atomically` would."""
    handle, temporary = _temporary_beside(path)
    os.close(handle)
    os.unlink(temporary)


def _unwritable(option: str, path: Path, error: Exception) -> InputError:
    reason = getattr(error, "strerror", None) or "not a file name"
    return InputError(f"{option}: {path} cannot be written ({reason}); choose another place.")


def _require_ours(path: Path, beginning: bytes) -> None:
    """Raise InputError where there is something else at ``path`` than a file with this ``beginning``."""
    if not os.path.lexists(path):
        return
    ours = path.is_file()
    if ours:
        with path.open("rb") as file:
            found = file.read(len(beginning))
        ours = found in (b"", beginning)
    if not ours:
        raise InputError(
            f"{path}: is there already and was not written by kraftcheck; move it, or choose another folder."
        )


def write_atomically(path: Path, content: str | bytes, *, create_folder: bool = False) -> None:
    """Write ``content`` to ``path`` by way of a temporary file. Raises InputError where that is not possible.

    ``create_folder``: people chose the folder, not the name of the file. The folder is created, and a file
    that is there is replaced only if it begins like ``content``, as an earlier one of ours does.
    """
    data = content if isinstance(content, bytes) else shown(content).encode()
    try:
        if create_folder:
            path.parent.mkdir(parents=True, exist_ok=True)
            _require_ours(path, data[:_BEGINNING])
        handle, temporary = _temporary_beside(path)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); choose another place.") from None
