"""What the reference answered in earlier explorations and walks, kept for the next ones.

Most time of a check goes to questions to the reference that it has answered before: what a replica in this
state does with this message. An answer still holds if the code that ran to find it is unchanged
(:mod:`kraftcheck.checking.ledger`), block by block; the others are asked again. Systems whose answers are the
same (:class:`~kraftcheck.engine.system.System`) share a file in the user's cache, which grows by what each
of them asks; one that is damaged, or written by other code, counts as none.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from kraftcheck.checking.coverage.executed import Place, Recording, recording
from kraftcheck.checking.ledger import RECORDED, Sources
from kraftcheck.engine.kept_tables import KeptTables, contents_of, fill
from kraftcheck.engine.system import System
from kraftcheck.engine.tables import Tables
from kraftcheck.engine.watch import IncompleteGraphError
from kraftcheck.support.cache import of_installation, read_whole, write_whole
from kraftcheck.support.contents import NoContentsError, digest_of

#: All files together; the oldest go first.
_MOST_BYTES = 2 << 30
#: A file is written anew when so many answers of a hundred are new.
_WORTH_PERCENT = 20


#: The file, its size and its time.
_Stamp = tuple[int, int, int]
_NO_FILE = (0, 0, 0)


@dataclass(frozen=True, slots=True)
class Part:
    """The part of a function that ran, and a digest of it."""

    place: Place
    flags: str
    digest: str


@dataclass(frozen=True, slots=True)
class _Kept:
    """``parts``: of functions; ``footprints``: by number what ran, as numbers of ``parts``; ``found``: what
    whole searches found, by the system and the purpose of each.
    """

    parts: list[Part]
    footprints: list[frozenset[int]]
    tables: KeptTables
    found: dict[str, object]


@dataclass(slots=True)
class _Use:
    """The ``kept`` answers, if there are any, that tables were made of, and their ``path``, if they can be
    kept; ``system``: a digest of the whole system; ``stamp``: of the file then; ``same``: whether all still
    hold.
    """

    path: Path | None
    system: str
    stamp: _Stamp
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
        self.sources, self._recording, self._folder = sources, recording, folder
        self._always_search = always_search
        # Values of other classes must not be read: the digest covers them all.
        self._header = f"kraftcheck answers 2 {sources.rest}\n".encode()
        self._uses: list[tuple[Tables, _Use]] = []
        self._used = set[Part]()

    def tables(self, system: System, *, alone: str = "") -> Tables:
        """The tables of ``system``, with answers that were kept, of any system that gives the same ones.

        ``alone``: a purpose for which their order matters. Then they are those of this system for this
        purpose alone, and only if all are the same now.
        """
        path, digest = self._path(system, alone)
        stamp, nothing = _stamp(path), self._nothing()
        kept = None if path is None else _read(path, self._header)
        if self._recording.take() != nothing:
            kept = None  # Code that runs as values are read may make others of them now.
        tables = Tables(system, self._recording)
        same = kept is not None and self._fill(tables, kept)
        if not tables.resolved or (alone and not same):
            # Nothing of it is of use.
            tables, kept, same = Tables(system, self._recording), None, False
        self._uses.append((tables, _Use(path, digest, stamp, kept, same)))
        return tables

    def _path(self, system: System, alone: str) -> tuple[Path | None, str]:
        """The file, and the digest of the whole system: other code may build another one of a scenario."""
        with suppress(NoContentsError):
            digest = digest_of(system)
            name = f"{digest}-{alone}" if alone else digest_of(system, _no_answer_depends_on)
            return self._folder / f"{name}.answers", digest
        return None, ""

    def _nothing(self) -> int:
        """The number of the footprint in which nothing runs."""
        self._recording.take()
        return self._recording.take()

    def _fill(self, tables: Tables, kept: _Kept) -> bool:
        """Put what still holds of ``kept`` into ``tables``, and ask again for the rest; whether all answers
        are the same. Nothing stays in ``tables`` where none of it is of use.
        """
        unchanged = [self.sources.seen(part.place, part.flags) == part.digest for part in kept.parts]
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

    def found(self, tables: Tables, what: str) -> Any:
        """What a search for ``what`` with ``tables``, which come from :meth:`tables`, would find, if that is
        known: what one of the same system found that had the same answers; otherwise ``None``.
        """
        use = self._use(tables)
        if use.kept is None or not use.same or self._always_search:
            return None
        return use.kept.found.get(f"{use.system}-{what}")

    def keep(self, tables: Tables, what: str = "", found: object = None) -> None:
        """Keep the contents of ``tables``, which come from :meth:`tables`, if there is much that is new.

        ``found``: what a search for ``what`` found by them, where that is complete.
        """
        use = self._use(tables)
        self._used |= _used(tables, use)
        self._uses = [each for each in self._uses if each[0] is not tables]
        known = use.kept.found if use.kept is not None and use.same else {}
        all_found = known if found is None else {f"{use.system}-{what}": found, **known}
        new = sum(number >= 0 for number in tables.ran)
        is_worth_it = 100 * new > _WORTH_PERCENT * len(tables.ran) or len(all_found) > len(known)
        if use.path is None or tables.interrupted or not is_worth_it or self.sources.changed_meanwhile():
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
        _write(use.path, self._header, _Kept(list(parts), footprints, contents, all_found), use.stamp)

    def _use(self, tables: Tables) -> _Use:
        return next(use for each, use in self._uses if each is tables)

    def used(self) -> list[tuple[Place, str]]:
        """What ran for the answers that were kept before."""
        found = self._used.union(*(_used(tables, use) for tables, use in self._uses))
        return [(part.place, part.flags) for part in found]

    def _parts_of(self, ran: dict[Place, str]) -> list[Part]:
        found = []
        for place, flags in ran.items():
            digest = self.sources.seen(place, flags)
            assert digest is not None, f"{place}: has other blocks than those that were noted"
            found.append(Part(place, flags, digest))
        return found


def _parts(kept: _Kept | None, number: int) -> list[Part]:
    assert kept is not None
    return [kept.parts[part] for part in kept.footprints[number]]


def _used(tables: Tables, use: _Use) -> set[Part]:
    """What ran for the answers in ``tables`` that were kept before."""
    numbers = {number for number in {*tables.ran, *tables.ran_besides} if number < 0}
    return {part for number in numbers for part in _parts(use.kept, -1 - number)}


def _no_answer_depends_on(kind: type) -> Container[str]:
    found: Container[str] = getattr(kind, "NO_ANSWER_DEPENDS_ON", ())
    return found


class _InUse:
    answers: Answers | None = None


@contextmanager
def using(answers: Answers | None) -> Iterator[None]:
    """What is explored in this context, one thing after another, uses and keeps these ``answers``: what runs
    on several threads at once cannot be told apart.
    """
    before, _InUse.answers = _InUse.answers, answers
    try:
        yield
    finally:
        _InUse.answers = before


def in_use() -> Answers | None:
    """The answers that are used at present."""
    return _InUse.answers


@contextmanager
def tables_of(system: System) -> Iterator[Tables]:
    """The tables of ``system`` for an exploration in this context; with kept answers, if some are in use."""
    answers = in_use()
    tables = Tables(system) if answers is None else answers.tables(system)
    try:
        yield tables
    except IncompleteGraphError:
        if answers is not None:
            answers.keep(tables)
        raise
    if answers is not None:
        answers.keep(tables)


@contextmanager
def kept_answers() -> Iterator[None]:
    """The answers of this user are used and kept in this context."""
    with recording(RECORDED) as ran:
        answers = of_this_user(None, ran, always_search=True)
        with using(answers):
            yield
    answers.sources.keep_digests()


def of_this_user(rest: str | None, noting: Recording, *, always_search: bool) -> Answers:
    """The answers that this installation keeps; ``rest``: as of :meth:`Sources.installed`."""
    return Answers(_installed(rest), noting, of_installation("answers"), always_search=always_search)


@cache
def _installed(rest: str | None) -> Sources:
    return Sources.installed(rest)


def _read(path: Path, header: bytes) -> _Kept | None:
    body = read_whole(path, header)
    found: _Kept | None = None if body is None else pickle.loads(zlib.decompress(body))
    return found


def _stamp(path: Path | None) -> _Stamp:
    with suppress(OSError):
        if path is not None:
            found = path.stat()
            return found.st_ino, found.st_size, found.st_mtime_ns
    return _NO_FILE


def _write(path: Path, header: bytes, kept: _Kept, before: _Stamp) -> None:
    """Write the file; where that is not possible, the next run asks again. ``before``: its stamp when it was
    read; a larger one that another process has written meanwhile stays.
    """
    try:
        body = zlib.compress(pickle.dumps(kept, pickle.HIGHEST_PROTOCOL), 1)
    except Exception:
        return  # The code under change may put into a message what is no value.
    now = _stamp(path)
    if (now == before or now[1] < len(body)) and write_whole(path, header, body):
        with suppress(OSError):
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
