"""What the reference answered in earlier explorations, kept for the next one of the same system.

Most time of a check goes to questions to the reference that it has answered before: what a replica in this
state does with this message. An answer still holds if the code that ran to find it is unchanged
(:mod:`kraftcheck.checking.ledger`), block by block; the others are asked again. What is kept of a system is
a file in the user's cache; one that is damaged, or written by other code, counts as none.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from kraftcheck.checking.coverage.executed import Place, Recording
from kraftcheck.checking.ledger import Sources
from kraftcheck.engine.kept_tables import KeptTables, contents_of, fill
from kraftcheck.engine.system import System
from kraftcheck.engine.tables import Tables
from kraftcheck.support.cache import can_be_trusted, user_cache
from kraftcheck.support.contents import NoContentsError, digest_of
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import write_atomically
from kraftcheck.support.places import root

_DIGEST_BYTES = 32
#: All files together; the oldest go first.
_MOST_BYTES = 2 << 30
#: A file is written anew when so many answers of a hundred are new.
_WORTH_PERCENT = 20


@dataclass(frozen=True, slots=True)
class Part:
    """The part of a function that ran, and a digest of it."""

    place: Place
    flags: str
    digest: str


@dataclass(frozen=True, slots=True)
class _Kept:
    """``parts``: of functions; ``footprints``: by number what ran, as numbers of ``parts``; ``found``: what a
    whole search found.
    """

    parts: list[Part]
    footprints: list[frozenset[int]]
    tables: KeptTables
    found: object


@dataclass(slots=True)
class _Use:
    """The ``kept`` answers, if there are any, that tables were made of, and their ``path``, if they can be
    kept; ``same``: whether all still hold.
    """

    path: Path | None
    kept: _Kept | None
    same: bool


class Answers:
    """The answers to be used and kept in explorations, in files of ``folder``; ``recording`` notes what runs
    and ``sources`` tell whether it is unchanged. ``always_search``: what a search found before is not used,
    only the answers.
    """

    def __init__(
        self, sources: Sources, recording: Recording, folder: Path, *, always_search: bool = False
    ) -> None:
        self._sources, self._recording, self._folder = sources, recording, folder
        self._always_search = always_search
        # Values of other classes must not be read: the digest covers them all.
        self._header = f"kraftcheck answers 1 {sources.rest}\n".encode()
        self._uses: list[tuple[Tables, _Use]] = []

    def tables(self, system: System, what: str = "search", *, whole: bool = False) -> Tables:
        """The tables of ``system``, with answers that were kept; ``whole``: only if all are the same now.

        What is asked for different purposes (``what``) is kept apart.
        """
        path = self._path(system, what)
        nothing = self._nothing()
        kept = None if path is None else _read(path, self._header)
        if self._recording.take() != nothing:
            kept = None  # Code that runs as values are read may make others of them now.
        tables = Tables(system, self._recording)
        same = kept is not None and self._fill(tables, kept)
        if not tables.resolved or (whole and not same):
            # Nothing of it is of use.
            tables, kept = Tables(system, self._recording), None
        self._uses.append((tables, _Use(path, kept, same)))
        return tables

    def _path(self, system: System, what: str) -> Path | None:
        with suppress(NoContentsError):
            # Other code may build another system of the same scenario.
            return self._folder / f"{digest_of(system)}-{what}.answers"
        return None

    def _nothing(self) -> int:
        """The number of the footprint in which nothing runs."""
        self._recording.take()
        return self._recording.take()

    def _fill(self, tables: Tables, kept: _Kept) -> bool:
        """Put what still holds of ``kept`` into ``tables``, and ask again for the rest; whether all answers
        are the same. Nothing stays in ``tables`` where none of it is of use.
        """
        unchanged = [self._sources.seen(part.place, part.flags) == part.digest for part in kept.parts]
        holds = np.array([all(unchanged[part] for part in parts) for parts in kept.footprints], np.bool_)
        if not all(holds[number] for number in kept.tables.besides):
            return False
        # Numbers of the kept footprints are negative from now on, those of the recording are not.
        contents = replace(
            kept.tables, ran=-1 - kept.tables.ran, besides=tuple(-1 - each for each in kept.tables.besides)
        )
        try:
            return fill(tables, contents, holds[kept.tables.ran])
        except Exception:
            # The code may refuse a state to which it does not lead any more.
            tables.resolved.clear()
            return False

    def found(self, tables: Tables) -> Any:
        """What a search with ``tables``, which come from :meth:`tables`, would find, if that is known: what
        one found that had the same answers; otherwise ``None``.
        """
        use = self._use(tables)
        return use.kept.found if use.kept is not None and use.same and not self._always_search else None

    def keep(self, tables: Tables, found: object = None) -> None:
        """Keep the contents of ``tables``, which come from :meth:`tables`, if there is much that is new.

        ``found``: what a search found by them, where that is complete.
        """
        use = self._use(tables)
        new = sum(number >= 0 for number in tables.ran)
        is_worth_it = 100 * new > _WORTH_PERCENT * len(tables.ran)
        if use.path is None or not is_worth_it or self._sources.changed_meanwhile():
            return
        contents = contents_of(tables)
        parts: dict[Part, int] = {}
        numbers: dict[int, int] = {}
        footprints: list[frozenset[int]] = []
        recorded = self._recording.footprints()
        for number in sorted({*contents.ran.tolist(), *contents.besides}):
            ran = self._parts_of(recorded[number]) if number >= 0 else _parts(use.kept, -1 - number)
            numbers[number] = len(footprints)
            footprints.append(frozenset(parts.setdefault(each, len(parts)) for each in ran))
        contents = replace(
            contents,
            ran=np.array([numbers[each] for each in contents.ran.tolist()], np.int32),
            besides=tuple(numbers[each] for each in contents.besides),
        )
        _write(use.path, self._header, _Kept(list(parts), footprints, contents, found))

    def _use(self, tables: Tables) -> _Use:
        return next(use for each, use in self._uses if each is tables)

    def used(self) -> list[tuple[Place, str]]:
        """What ran for the answers that were kept before."""
        found = set[Part]()
        for tables, use in self._uses:
            for number in {*tables.ran, *tables.ran_besides}:
                if number < 0:
                    found.update(_parts(use.kept, -1 - number))
        return [(part.place, part.flags) for part in found]

    def _parts_of(self, ran: dict[Place, str]) -> list[Part]:
        found = []
        for place, flags in ran.items():
            digest = self._sources.seen(place, flags)
            assert digest is not None, f"{place}: has other blocks than those that were noted"
            found.append(Part(place, flags, digest))
        return found


def _parts(kept: _Kept | None, number: int) -> list[Part]:
    assert kept is not None
    return [kept.parts[part] for part in kept.footprints[number]]


def of_this_user(rest: str, recording: Recording, *, always_search: bool) -> Answers:
    """The answers that this installation keeps, in the user's cache; ``rest``: see :attr:`Sources.rest`."""
    folder = user_cache() / f"answers-{hashlib.sha256(os.fsencode(root())).hexdigest()[:16]}"
    return Answers(_installed(rest), recording, folder, always_search=always_search)


@cache
def _installed(rest: str) -> Sources:
    return Sources.installed(rest)


def _read(path: Path, header: bytes) -> _Kept | None:
    try:
        if not can_be_trusted(path.parent):
            return None
        content = path.read_bytes()
    except OSError:
        return None
    begin = len(header) + _DIGEST_BYTES
    body = content[begin:]
    if content[:begin] != header + hashlib.sha256(body).digest():
        return None
    found: _Kept = pickle.loads(zlib.decompress(body))
    return found


def _write(path: Path, header: bytes, kept: _Kept) -> None:
    """Write the file; where that is not possible, the next run asks again."""
    try:
        body = zlib.compress(pickle.dumps(kept, pickle.HIGHEST_PROTOCOL), 1)
    except Exception:
        return  # The code under change may put into a message what is no value.
    with suppress(OSError, InputError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, header + hashlib.sha256(body).digest() + body)
        # With what killed processes have left unfinished.
        _make_room(sorted(path.parent.iterdir(), key=lambda each: each.stat().st_mtime))


def _make_room(files: Sequence[Path]) -> None:
    """Remove the first of ``files`` until they are small enough together."""
    left = sum(each.stat().st_size for each in files)
    for each in files:
        if left <= _MOST_BYTES:
            return
        left -= each.stat().st_size
        each.unlink()
