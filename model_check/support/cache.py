"""What is kept for the next run: folders of this user's cache, made whole or not at all."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from kraftcheck.support.errors import InputError
from kraftcheck.support.files import write_atomically
from kraftcheck.support.places import root

#: So many folders of a kind are kept, the last used of them.
KEPT = 12
#: The beginning of the name of a folder that is being made; one so old was left behind by a killed process.
_UNFINISHED = ".unfinished-"
_LEFT_BEHIND_SECONDS = 24 * 3600.0
#: The list of the files of a kept folder with their sizes, in that folder.
_CONTENT = ".content"
_DIGEST_BYTES = 32


def user_cache() -> Path:
    """The folder of kraftcheck in ``$XDG_CACHE_HOME`` or ``~/.cache``, which need not exist."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(home, "kraftcheck")


def of_installation(kind: str) -> Path:
    """The folder of a kind for the place where kraftcheck is installed, which need not exist."""
    return user_cache() / f"{kind}-{sha256(os.fsencode(root())).hexdigest()[:16]}"


def read_whole(path: Path, header: bytes) -> bytes | None:
    """The content of a file by :func:`write_whole`; ``None``: there is none with this ``header``, it is
    damaged, or others can write to its folder.
    """
    try:
        if not can_be_trusted(path.parent):
            return None
        content = path.read_bytes()
    except OSError:
        return None
    begin = len(header) + _DIGEST_BYTES
    body = content[begin:]
    return body if content[:begin] == header + sha256(body).digest() else None


def write_whole(path: Path, header: bytes, body: bytes) -> bool:
    """Write a file with a digest of its ``body``; whether that was possible."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, header + sha256(body).digest() + body)
    except (OSError, InputError):
        return False
    return True


def can_be_trusted(folder: Path) -> bool:
    """Whether only root, this user and those who can change these sources can write to ``folder``, or put
    another one in its place.
    """
    sources, found, above = Path(__file__).parent.stat(), folder.stat(), folder.parent.stat()
    if found.st_uid not in (0, os.geteuid(), sources.st_uid):
        return False
    # A file in a folder with the sticky bit is renamed by its owner alone.
    modes = (found, *(() if above.st_mode & stat.S_ISVTX else (above,)))
    of_the_sources = sources.st_gid if sources.st_mode & stat.S_IWGRP else None
    return not any(
        each.st_mode & stat.S_IWOTH or (each.st_mode & stat.S_IWGRP and each.st_gid != of_the_sources)
        for each in modes
    )


def kept_folder(kind: str, key: str, make: Callable[[Path], None]) -> Path:
    """The folder that ``make`` fills, in the user's cache: made if it is not there yet under this ``key``.

    Two processes may make it at once: each makes its own, and the first one stays. Where ``make`` raises,
    nothing stays. A folder that has lost a file, or part of one, is made anew. Raises InputError where the
    cache cannot be written, or others can write to it.
    """
    place = user_cache() / kind
    found = place / key
    try:
        for each in (place.parent.parent, place.parent, place):
            each.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not can_be_trusted(place):
            raise InputError(
                f"{place}: other users can write to it or to the folder that it is in, so no program is run "
                "from there; run 'chmod go-w' on both, or name another folder by XDG_CACHE_HOME."
            )
        if not _is_whole(found):
            shutil.rmtree(found, ignore_errors=True)
            _make(place, found, make)
            _forget(place, found)
        os.utime(found)
    except OSError as error:
        raise InputError(
            f"{place}: cannot be written ({error.strerror}); name another folder by XDG_CACHE_HOME."
        ) from None
    return found


def _make(place: Path, found: Path, make: Callable[[Path], None]) -> None:
    unfinished = Path(tempfile.mkdtemp(dir=place, prefix=_UNFINISHED))
    try:
        make(unfinished)
        (unfinished / _CONTENT).write_text(_content(unfinished), encoding="utf-8")
        unfinished.chmod(0o700)
        with suppress(OSError):  # Another process was faster.
            os.rename(unfinished, found)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _is_whole(folder: Path) -> bool:
    """Whether ``folder`` is there with all files that it was made with, of the same size."""
    try:
        return (folder / _CONTENT).read_text(encoding="utf-8") == _content(folder)
    except (OSError, ValueError):
        return False


def _content(folder: Path) -> str:
    files = (each for each in folder.rglob("*") if each.is_file() and each != folder / _CONTENT)
    return "".join(sorted(f"{each.relative_to(folder)} {each.stat().st_size}\n" for each in files))


def _forget(place: Path, found: Path) -> None:
    """Remove the folders that were not used for the longest time, and what killed processes left behind."""
    now = time.time()
    with suppress(OSError):
        ages = {each: now - each.stat().st_mtime for each in place.iterdir() if each.is_dir()}
        whole = sorted((each for each in ages if not each.name.startswith(".")), key=lambda each: ages[each])
        left = [each for each in ages if each.name.startswith(_UNFINISHED)]
        for each in [*whole[KEPT:], *(path for path in left if ages[path] > _LEFT_BEHIND_SECONDS)]:
            if each != found:
                shutil.rmtree(each, ignore_errors=True)
