"""From the reference's source to a mutant's, and importing it in place of the reference's."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from itertools import accumulate
from types import ModuleType

from kraftcheck.checking.mutation.catalogue import Edit, Mutant
from kraftcheck.support import places
from kraftcheck.support.errors import InputError
from kraftcheck.support.places import REFERENCE


def apply(source: str, edits: Iterable[Edit], mutant: str) -> str:
    """``source`` after ``edits``. Raises InputError unless each applies once and the result parses."""
    changed = source
    for edit in edits:
        changed = _apply(changed, edit, mutant)
    try:
        same = ast.dump(ast.parse(changed)) == _dumped(source)
    except SyntaxError as error:
        raise InputError(
            f"mutant '{mutant}': the edited source does not parse ({error.msg}, line {error.lineno}); "
            "correct its edit in the catalogue."
        ) from None
    if same:
        raise InputError(f"mutant '{mutant}': its edits change nothing; correct them in its catalogue.")
    return changed


def _apply(source: str, edit: Edit, mutant: str) -> str:
    begin, end = region(source, edit, mutant)
    count = source.count(edit.find, begin, end)
    if count != 1:
        place = f"function {edit.function} of {edit.module}" if edit.function else edit.module
        raise InputError(
            f"mutant '{mutant}': the text to replace occurs {count} times in {place}, not once; "
            "adapt its edit in the catalogue to the reference."
        )
    where = source.index(edit.find, begin, end)
    return source[:where] + edit.replace + source[where + len(edit.find) :]


def region(source: str, edit: Edit, mutant: str) -> tuple[int, int]:
    """The part of ``source`` to which the edit may apply: the whole, or the one function that it names."""
    if edit.function is None:
        return 0, len(source)
    if edit.function in (regions := _functions(source)):
        return regions[edit.function]
    raise InputError(
        f"mutant '{mutant}': {edit.module} has no function {edit.function}; "
        "adapt its edit in the catalogue to the reference."
    )


# A campaign edits the same few modules hundreds of times.
@lru_cache(maxsize=64)
def _dumped(source: str) -> str:
    return ast.dump(ast.parse(source))


@lru_cache(maxsize=64)
def _functions(source: str) -> dict[str, tuple[int, int]]:
    """By name the first and last line of each function; of several with one name those of the first."""
    starts = [0, *accumulate(map(len, source.splitlines(keepends=True)))]
    found: dict[str, tuple[int, int]] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            assert node.end_lineno is not None
            found.setdefault(node.name, (starts[node.lineno - 1], starts[node.end_lineno]))
    return found


def mutated_sources(mutant: Mutant) -> dict[str, str]:
    """The changed source of each module ``mutant`` edits. Raises InputError if an edit does not apply."""
    return {
        module: apply(
            source_of(module, mutant.id), [each for each in mutant.edit if each.module == module], mutant.id
        )
        for module in dict.fromkeys(edit.module for edit in mutant.edit)
    }


def source_of(module: str, mutant: str) -> str:
    """The source of a module of the reference, found without importing it."""
    file = places.file_of(module)
    if file is None:
        raise InputError(f"mutant '{mutant}': there is no module {module}; correct it in its catalogue.")
    return file.read_text(encoding="utf-8")


class ChangedSources(MetaPathFinder, Loader):
    """Gives modules other sources when they are imported: ``sources``, by module. None of it is cached as
    bytecode. ``name``: what tracebacks call it. ``applied``: the modules imported so far.
    """

    def __init__(self, name: str, sources: Mapping[str, str]) -> None:
        self._name, self._sources = name, sources
        self.applied: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module's spec with this loader; ``None`` for modules that do not change."""
        spec = PathFinder.find_spec(fullname, path, target) if fullname in self._sources else None
        if spec is not None:
            spec.loader = self
        return spec

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        exec(compile(self._sources[name], file_of(name, self._name), "exec"), module.__dict__)
        self.applied.add(name)


def file_of(module: str, name: str) -> str:
    """The file name of the changed source of ``module`` in tracebacks."""
    return f"<{module}, mutant {name}>"


def install(name: str, sources: Mapping[str, str]) -> ChangedSources:
    """Make this process import ``sources`` instead of those of the reference; only before it has imported
    any of it.
    """
    early = [name for name in sys.modules if f"{name}.".startswith(f"{REFERENCE}.")]
    if early:
        raise RuntimeError(f"{early[0]} was imported before the mutant was made")
    finder = ChangedSources(name, sources)
    sys.meta_path.insert(0, finder)
    return finder
