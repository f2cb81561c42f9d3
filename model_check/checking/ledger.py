"""Results of earlier explorations that were as expected, with the code that they depend on.

The result of a scenario depends on its file; on the functions of the reference, as far as they ran
(:mod:`kraftcheck.checking.coverage.blocks`); on the code that the reference runs when it is imported; and on
all other modules that take part in a check, and the libraries that decide their behaviour. The ledger keeps a
digest of each. It is a file in the user's cache, for each place where kraftcheck is installed.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec

import kraftcheck
from kraftcheck.checking.coverage import blocks
from kraftcheck.checking.coverage.executed import Place, is_of
from kraftcheck.checking.coverage.marked import keep_marked
from kraftcheck.support.cache import user_cache
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import write_atomically
from kraftcheck.support.places import REFERENCE, SPEC, folder_of, modules, root
from kraftcheck.systems.scenario import Scenario

T = TypeVar("T")

#: The packages whose executed functions are noted. They keep nothing from one scenario for the next, except
#: caches that :func:`~kraftcheck.checking.coverage.executed.recording` clears.
RECORDED = (REFERENCE,)
#: The modules that check a scenario, that it finds by name, and that record the executed code.
_ENTRIES = (
    *("kraftcheck.checking.run", "kraftcheck.systems.kraft.scenario", "kraftcheck.systems.brokers.scenario"),
    *(
        "kraftcheck.cli.commands.check",
        "kraftcheck.checking.mutation.server",
        "kraftcheck.checking.mutation.worker",
        "kraftcheck.checking.coverage.executed",
    ),
)
#: Modules that count as a whole: their statements about types are evaluated before a scenario is explored, or
#: cached. So do those that are not plain (:func:`blocks.is_plain`), and what they import.
_WHOLE = frozenset({f"kraftcheck.reference.{name}" for name in ("frozen", "types")})
_LIBRARIES = ("numba", "numpy", "scipy", "llvmlite", "msgspec", "pydantic")
_MOST_BYTES = 64 << 20
_WRITE_EVERY_SECONDS = 10.0

_Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{16}$")]
_Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


class _Function(msgspec.Struct, array_like=True, forbid_unknown_fields=True, frozen=True):
    module: str
    function: str
    flags: Annotated[str, msgspec.Meta(pattern=r"^[01]+$")]
    digest: _Digest


class _Entry(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """``scenario``, ``rest``: digests; ``seen``: the functions that ran, by their index in the file."""

    scenario: _Digest
    rest: _Digest
    seen: list[_Count]
    states: _Count
    when: Annotated[int, msgspec.Meta(ge=0, le=10**11)]


class _File(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    functions: list[_Function]
    entries: dict[str, _Entry]


@dataclass(frozen=True, slots=True)
class Kept:
    """A result as expected that still holds: the number of distinct states, and the time (seconds of the
    epoch).
    """

    states: int
    when: float


class _Parts(msgspec.Struct, forbid_unknown_fields=True):
    """Digests of the parts of one source, as far as they are known: see :class:`_Module`."""

    whole: str | None = None
    outside: str | None = None
    is_plain: bool | None = None
    imports: list[str] | None = None
    seen: dict[str, str | None] = {}

    def with_more(self, more: _Parts) -> _Parts:
        """What is known here and there."""
        return _Parts(
            self.whole or more.whole,
            self.outside or more.outside,
            more.is_plain if self.is_plain is None else self.is_plain,
            more.imports if self.imports is None else self.imports,
            {**more.seen, **self.seen},
        )


class _Digests(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """``parts``, by the digest of the source; ``made_by``: a digest of what makes them."""

    made_by: str
    parts: dict[str, _Parts]


class _Module:
    """A module's source, with digests of its parts; ``parts``: those that are known from earlier runs."""

    def __init__(self, text: str, parts: _Parts | None = None) -> None:
        self.text = text
        self.parts = _Parts() if parts is None else parts

    def _tree(self) -> ast.Module:
        try:
            return ast.parse(self.text)
        except (SyntaxError, ValueError):
            return ast.parse(f"broken = {self.text!a}")

    @property
    def whole(self) -> str:
        self.parts.whole = self.parts.whole or blocks.whole(self._tree())
        return self.parts.whole

    @property
    def outside(self) -> str:
        self.parts.outside = self.parts.outside or blocks.outside(self._tree())
        return self.parts.outside

    @property
    def is_plain(self) -> bool:
        if self.parts.is_plain is None:
            self.parts.is_plain = blocks.is_plain(self._tree())
        return self.parts.is_plain

    @property
    def imports(self) -> Sequence[str]:
        """All modules that it names in imports, in any place, and names that may be modules."""
        if self.parts.imports is None:
            self.parts.imports = sorted(set(_imported(self._tree())))
        return self.parts.imports

    @cached_property
    def _functions(self) -> Mapping[str, blocks.Function]:
        return blocks.functions_in(self._tree())

    def seen(self, function: str, flags: str) -> str | None:
        """A digest of the part of a function that a run with ``flags`` executed; ``None``: it has other
        blocks, or does not exist.
        """
        key = f"{function} {flags}"
        if key not in self.parts.seen:
            found = self._functions.get(function)
            try:
                digest = None if found is None else blocks.seen(found, flags)
            except blocks.UnlikeError:
                digest = None
            self.parts.seen[key] = digest
        return self.parts.seen[key]


class Sources:
    """The sources of kraftcheck."""

    def __init__(
        self, modules: Mapping[str, _Module], files: Sequence[Path] = (), rest: str | None = None
    ) -> None:
        self._modules = modules
        self._files = files
        self._rest = rest

    @classmethod
    def installed(cls, rest: str | None = None) -> Sources:
        """Those of this installation, of which another process may have found :attr:`rest`."""
        files = modules()
        texts = {
            name: path.read_text(encoding="utf-8", errors="backslashreplace") for name, path in files.items()
        }
        known = _read_digests()
        return cls(
            {name: _Module(text, known.get(_digest(text))) for name, text in texts.items()},
            [*files.values(), *_tables()],
            rest,
        )

    def keep_digests(self) -> None:
        """Keep what is known of these sources for later runs, with what other processes have kept of them;
        without a place for it they find it again.
        """
        keep_marked()
        kept = _read_digests()
        own = {_digest(module.text): module.parts for module in self._modules.values()}
        parts = {key: known.with_more(kept[key]) if key in kept else known for key, known in own.items()}
        if parts != kept:
            content = msgspec.json.encode(_Digests(_made_by(), parts))
            with suppress(OSError, InputError):
                _digests_file().parent.mkdir(parents=True, exist_ok=True)
                write_atomically(_digests_file(), content)

    def changed_meanwhile(self) -> bool:
        """Whether a file is younger than this process, which then may have imported the previous contents.

        A file that is moved here keeps the time of its contents, not that of its own change.
        """
        try:
            changed = (max(found.st_mtime, found.st_ctime) for found in map(os.stat, self._files))
            return any(each >= kraftcheck.BEGAN for each in changed)
        except OSError:
            return True

    def replaced(self, changed: Mapping[str, str]) -> Sources:
        """The same with other texts for some modules."""
        return Sources({**self._modules, **{name: _Module(text) for name, text in changed.items()}})

    def seen(self, place: Place, flags: str) -> str | None:
        """A digest of the part of a function that a run with ``flags`` executed; ``None``: it has other
        blocks, or does not exist.
        """
        module = self._modules.get(place.module)
        return None if module is None else module.seen(place.function, flags)

    @cached_property
    def rest(self) -> str:
        """A digest of all dependencies of a check apart from its scenario and the noted functions."""
        if self._rest is not None:
            return self._rest
        found = hashlib.sha256()
        reference, in_parts = self._reference(), self.in_parts()
        for name in sorted(self.closure() | reference):
            module = self._modules[name]
            found.update(f"{name} {module.outside if name in in_parts else module.whole}\n".encode())
        found.update(_environment())
        return found.hexdigest()[:16]

    def _reference(self) -> set[str]:
        return {name for name in self._modules if is_of(name, RECORDED)}

    def in_parts(self) -> set[str]:
        """The modules of the reference of which a result depends on the functions that ran; of any other one
        it depends as a whole.
        """
        reference = self._reference()
        not_plain = (name for name in reference if not self._modules[name].is_plain)
        return reference - _WHOLE - self._used_by(not_plain)

    def closure(self) -> set[str]:
        """The modules that are imported at any time while a scenario is checked."""
        return self._used_by(_ENTRIES, packages=True)

    def _used_by(self, names: Iterable[str], *, packages: bool = False) -> set[str]:
        """The modules ``names`` and all that they import at any time; with the ``packages`` around them."""
        found: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name == _ANY:
                return {*self._modules}
            if name not in found and name in self._modules:
                found.add(name)
                waiting += self._modules[name].imports
                waiting += [name.rpartition(".")[0]] if packages else []
        return found


@cache
def _environment() -> bytes:
    """A digest of the rules, the interpreter and the libraries."""
    found = hashlib.sha256()
    for path in _tables():
        found.update(path.name.encode() + path.read_bytes())
    found.update(f"{sys.version} {sys.flags.optimize}\n".encode())
    for library in _LIBRARIES:
        found.update(importlib.metadata.version(library).encode() + b"\n")
    return found.digest()


def _tables() -> list[Path]:
    """The files of the rules."""
    return sorted(folder_of(SPEC).rglob("*.toml"))


#: In the place of a module: one of a relative import, of which there are none here.
_ANY = "."
#: Where statements have statements in them.
_WITHIN = ("body", "orelse", "finalbody", "handlers", "cases")


def _imported(tree: ast.Module) -> Iterator[str]:
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level:
            yield _ANY
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)
        for name in _WITHIN:
            waiting += getattr(node, name, ())


class Ledger:
    """The results that are kept in a file. Without a readable file there are none."""

    def __init__(self, path: Path, sources: Sources) -> None:
        self._path = path
        self.sources = sources
        found = _read(path)
        self._functions, self._entries = found.functions, found.entries
        self._written = time.time()
        self._index = {each: index for index, each in enumerate(self._functions)}

    def kept(self, scenario: Scenario, sources: Sources | None = None) -> Kept | None:
        """The result of ``scenario``, if all its dependencies are unchanged; with other ``sources``, if it
        would be their result too.
        """
        sources = sources or self.sources
        entry = self._entries.get(scenario.name)
        if entry is None or entry.scenario != _digest_of(scenario) or entry.rest != sources.rest:
            return None
        for each in (self._functions[index] for index in entry.seen):
            if sources.seen(Place(each.module, each.function), each.flags) != each.digest:
                return None
        return Kept(entry.states, entry.when)

    def keep(self, scenario: Scenario, states: int, ran: Iterable[tuple[Place, str]]) -> None:
        """Keep the result of ``scenario``, which is as expected; ``ran``: the parts of functions that ran,
        each by the flags of its blocks.
        """
        seen: list[int] = []
        if self.sources.changed_meanwhile():
            return
        for place, flags in sorted(set(ran)):
            digest = self.sources.seen(place, flags)
            assert digest is not None, f"{place}: has other blocks than those that were noted"
            function = _Function(place.module, place.function, flags, digest)
            seen.append(self._index.setdefault(function, len(self._functions)))
            if seen[-1] == len(self._functions):
                self._functions.append(function)
        now = round(time.time())
        self._entries[scenario.name] = _Entry(_digest_of(scenario), self.sources.rest, seen, states, now)
        if now - self._written > _WRITE_EVERY_SECONDS:
            self.write()

    def write(self) -> None:
        """Write the file; where that is not possible, the next run explores the new results again."""
        self.sources.keep_digests()
        self._written = time.time()
        used = sorted({index for each in self._entries.values() for index in each.seen})
        number = {old: new for new, old in enumerate(used)}
        entries = {
            name: msgspec.structs.replace(each, seen=[number[index] for index in each.seen])
            for name, each in self._entries.items()
        }
        content = msgspec.json.encode(_File([self._functions[index] for index in used], entries))
        with suppress(OSError, InputError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self._path, content.decode())


def of_this_user(sources: Sources | None = None) -> Ledger:
    """The ledger of this user and installation, in the user's cache."""
    return Ledger(user_cache() / f"results-{_of_installation()}.json", sources or Sources.installed())


def _of_installation() -> str:
    return hashlib.sha256(os.fsencode(root())).hexdigest()[:16]


def _read(path: Path) -> _File:
    nothing = _File([], {})
    found = _decoded(path, _File) or nothing
    count = len(found.functions)
    return found if all(index < count for each in found.entries.values() for index in each.seen) else nothing


def _decoded(path: Path, kind: type[T]) -> T | None:
    """The content of a file of the cache; ``None`` where there is none that can be read."""
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return None
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, ValueError, msgspec.DecodeError, RecursionError):
        return None


def _digests_file() -> Path:
    return user_cache() / f"digests-{_of_installation()}.json"


def _read_digests() -> dict[str, _Parts]:
    found = _decoded(_digests_file(), _Digests)
    return found.parts if found is not None and found.made_by == _made_by() else {}


@cache
def _made_by() -> str:
    """What the digests of parts depend on, apart from the source: how they are made, and the syntax tree."""
    makers = (Path(each).read_text(encoding="utf-8") for each in (__file__, blocks.__file__))
    return _digest(f"{sys.version} {''.join(makers)}")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:32]


def _digest_of(scenario: Scenario) -> str:
    return hashlib.sha256(scenario.model_dump_json().encode()).hexdigest()[:16]
