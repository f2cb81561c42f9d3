"""Sets of vectors as folders: an index, files of vectors, and the schema of both.

A folder is complete when its index says so, which is written last.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kraftcheck import spec
from kraftcheck.checking.coverage.not_exercised import NOT_REACHED
from kraftcheck.support import codec
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import read_text, write_atomically
from kraftcheck.systems.kinds import KINDS
from kraftcheck.vectors import form
from kraftcheck.vectors.candidates import Candidates
from kraftcheck.vectors.form import Vector
from kraftcheck.vectors.schema import FORMAT, INDEX_FORMAT, VERSION, schema
from kraftcheck.vectors.vector import difference

INDEX, SCHEMA = "index.json", "schema.json"
#: A set on demand may be large; a file of it is read as a whole.
MAX_BYTES = 2**31


@dataclass(slots=True)
class Checked:
    """The result of checking a set. ``differences``: a sentence each."""

    files: int = 0
    steps: int = 0
    vectors: int = 0
    rules: frozenset[str] = frozenset()
    differences: tuple[str, ...] = ()


# Writing.


def require_free(folder: Path) -> None:
    """Raise InputError if ``folder`` contains anything but a set of vectors."""
    if not os.path.exists(folder):
        return
    if not folder.is_dir():
        raise InputError(f"-o: {folder} is no folder; choose another place.")
    if any(folder.iterdir()):
        try:
            _read_index(folder, complete=False)
        except InputError:
            raise InputError(
                f"-o: {folder} is not empty and contains no vectors of kraftcheck; choose another place."
            ) from None


def write(folder: Path, found: Iterable[tuple[str, Vector]]) -> list[dict[str, Any]]:
    """Write a set: vectors with the names of their files, by file. The files of the index.

    An existing set is replaced; other files in the folder stay. Raises InputError.
    """
    require_free(folder)
    old = _files_of(folder)
    _write_index(folder, [], complete=False)
    entries = []
    for name, group in itertools.groupby(found, key=lambda each: each[0]):
        entries.append(_write_file(folder, name, [vector for _, vector in group]))
    for name in old - {entry["file"] for entry in entries}:
        (folder / name).unlink(missing_ok=True)
    write_atomically(folder / SCHEMA, json.dumps(schema(), separators=(",", ":")) + "\n")
    _write_index(folder, entries, complete=True)
    return entries


def _files_of(folder: Path) -> set[str]:
    if not os.path.exists(folder / INDEX):
        return set()
    return {entry["file"] for entry in _read_index(folder, complete=False)["files"]}


def _write_file(folder: Path, name: str, members: list[Vector]) -> dict[str, Any]:
    kind, node = members[0]["kind"], members[0]["node"]
    hashed = _hash_of(members)
    head = {
        "format": FORMAT,
        "version": VERSION,
        "specification": spec.VERSION,
        "kind": kind,
        "node": node,
        "hash": hashed,
    }
    lines = ",\n".join(form.canonical(each) for each in members)
    write_atomically(
        folder / name, f'{json.dumps(head)[:-1]}, "vectors": [\n{lines}\n]}}\n', create_folder=True
    )
    decided: set[str] = set().union(*(form.rules(each) for each in members))
    return {
        "file": name,
        "kind": kind,
        "node": node,
        "vectors": len(members),
        "hash": hashed,
        "rules": _ordered(decided),
    }


def _hash_of(members: Iterable[Vector]) -> str:
    """The hash of a file: of the hashes of its vectors, in their order."""
    return form.digest("".join(str(each["hash"]) for each in members))


def _write_index(folder: Path, entries: list[dict[str, Any]], *, complete: bool) -> None:
    exercised = {rule for entry in entries for rule in entry["rules"]}
    index = {
        "format": INDEX_FORMAT,
        "version": VERSION,
        "specification": spec.VERSION,
        "complete": complete,
        "files": entries,
        "without": without(exercised) if complete else {},
    }
    write_atomically(folder / INDEX, json.dumps(index, indent=1) + "\n", create_folder=True)


def _ordered(rules: set[str]) -> list[str]:
    return [rule for rule in spec.load().rules if rule in rules]


def without(exercised: set[str]) -> dict[str, list[str]]:
    """By reason the rules that decide nothing in the form."""
    found: dict[str, list[str]] = {}
    of_kinds: list[Candidates] = [kind.vectors.load() for kind in KINDS]
    in_steps = {rule: each for each in of_kinds for rule in each.in_steps()}
    for rule_id, rule in spec.load().rules.items():
        if rule_id in exercised:
            continue
        if rule.uncovered is not None:
            reason = "the reference does not carry it out"
        elif rule_id not in in_steps:
            reason = "decides no step"
        else:
            silent = in_steps[rule_id].why_silent(rule_id)
            reason = silent or NOT_REACHED.replace("these sequences", "what was explored")
        found.setdefault(reason, []).append(rule_id)
    return found


# Reading.


def _read_index(folder: Path, *, complete: bool = True) -> dict[str, Any]:
    path = folder / INDEX
    data = _head(path, INDEX_FORMAT, "the index of a set of vectors")
    if not isinstance(data.get("files"), list) or not all(map(_is_entry, data["files"])):
        raise InputError(f"{path}: 'files' is no list of files; make the set again.")
    if complete and data.get("complete") is not True:
        raise InputError(f"{path}: the set is not complete; make it again.")
    return data


def _is_entry(entry: object) -> bool:
    if not isinstance(entry, dict):
        return False
    file = entry.get("file")
    inside = isinstance(file, str) and file.endswith(".json") and not Path(file).is_absolute()
    return inside and ".." not in Path(str(file)).parts


def _head(path: Path, wanted: str, what: str) -> dict[str, Any]:
    data = codec.parse(read_text(path, what, most=MAX_BYTES), str(path))
    if not isinstance(data, dict) or data.get("format") != wanted:
        raise InputError(f"{path}: is not {what} (its 'format' is not {wanted}).")
    if data.get("version") != VERSION:
        raise InputError(f"{path}: only version {VERSION} can be read; make the set again.")
    if data.get("specification") != spec.VERSION:
        raise InputError(
            f"{path}: follows version {data.get('specification')} of the specification, which is at "
            f"{spec.VERSION} by now; make the set again."
        )
    return data


def read(folder: Path) -> Iterator[tuple[dict[str, Any], list[Vector]]]:
    """The files of a set, as the index describes them, with their form. Raises InputError."""
    for entry in _read_index(folder)["files"]:
        path = folder / entry["file"]
        data = _head(path, FORMAT, "a file of vectors")
        members = data.get("vectors")
        if not isinstance(members, list) or not all(isinstance(each, dict) for each in members):
            raise InputError(f"{path}: 'vectors' is no list of vectors; make the set again.")
        if any(data.get(key) != entry.get(key) for key in ("kind", "node", "hash")):
            raise InputError(f"{path}: is not the file that {INDEX} names (kind, node or hash differ).")
        yield entry, members


def check(folder: Path) -> Checked:
    """Compare a set with the reference: hashes, the index, every vector. Raises InputError if it is no set,
    or not complete.
    """
    done, rules, differences = Checked(), set[str](), list[str]()
    for entry, members in read(folder):
        path, decided = entry["file"], set[str]()
        for number, each in enumerate(members):
            where = f"{path}: vectors[{number}]"
            if each.get("hash") != form.digest(form.content(each)):
                differences.append(f"{where}.hash: is not that of the vector.")
                continue
            found = difference(each, where)
            if found is not None:
                differences.append(f"{found}.")
                continue
            for key in ("kind", "node"):
                if each[key] != entry[key]:
                    raise InputError(f"{where}.{key}: expected {entry[key]}, as {INDEX} says.")
            steps = each.get("steps")
            done.steps += len(steps) if isinstance(steps, list) else 1
            decided |= form.rules(each)
        if _hash_of(members) != entry["hash"] or entry.get("vectors") != len(members):
            differences.append(f"{path}: the hash or the number of vectors is not what {INDEX} says.")
        elif not differences and _ordered(decided) != entry.get("rules"):
            differences.append(f"{path}: the rules are not those that {INDEX} names.")
        done.files, done.vectors, rules = done.files + 1, done.vectors + len(members), rules | decided
    if not differences and _read_index(folder).get("without") != without(rules):
        differences.append(f"{INDEX}: 'without' is not what has no vector.")
    done.rules, done.differences = frozenset(rules), tuple(differences)
    return done
