"""Checksums of stored data sets, on plain files: what Spark and Hadoop are asked for is done here."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kraftcheck.pipeline import seals
from kraftcheck.pipeline.seals import SEAL, Seal, require_sealed, require_sums, seal
from kraftcheck.support.errors import InputError

SPARK: Any = None
FILES = {"part-0.parquet": b"the first", "part-1.parquet": b"the second", "part-2.parquet": b""}


class PlainFiles:
    """In the place of Hadoop's files."""

    def __init__(self, _: Any, folder: str, *__: Any, **___: Any) -> None:
        self.folder = folder

    def path(self, name: str) -> str:
        return f"{self.folder}/{name}"

    def read(self, name: str) -> bytes:
        return Path(self.path(name)).read_bytes()

    def write(self, name: str, content: bytes) -> None:
        Path(self.path(name)).write_bytes(content)


def _sums_of(_: Any, folders: Sequence[str]) -> dict[str, tuple[int, int]]:
    files = [path for folder in folders for path in Path(folder).iterdir() if path.name[0] not in "._"]
    contents = {str(path): path.read_bytes() for path in files}
    return {path: (len(content), zlib.crc32(content)) for path, content in contents.items()}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    def located(_: Any, path: str) -> tuple[Any, Any]:
        return path, SimpleNamespace(makeQualified=lambda place: SimpleNamespace(toString=lambda: place))

    monkeypatch.setattr(seals, "Files", PlainFiles)
    monkeypatch.setattr(seals, "sums_of", _sums_of)
    monkeypatch.setattr(seals, "located", located)
    # Without Spark there are no errors of it.
    monkeypatch.setattr(seals, "in_a_sentence", lambda _: nullcontext())
    place = tmp_path / "data"
    place.mkdir()
    for name, content in FILES.items():
        (place / name).write_bytes(content)
    seal(SPARK, str(place))
    return place


def test_what_was_written_is_taken_up(folder: Path) -> None:
    require_sealed(SPARK, [str(folder)], "do it again")
    (folder / "_SUCCESS").touch()
    require_sealed(SPARK, [str(folder)], "do it again")


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(["part-0.parquet", "part-1.parquet", SEAL]), st.integers(0, 2**20))
def test_every_changed_bit_is_refused_by_the_name_of_the_file(folder: Path, name: str, bit: int) -> None:
    path = folder / name
    content = path.read_bytes()
    changed = bytearray(content)
    changed[bit // 8 % len(content)] ^= 1 << bit % 8
    path.write_bytes(changed)
    with pytest.raises(InputError, match=f"^{path}: is .*; do it again\\.$"):
        require_sealed(SPARK, [str(folder)], "do it again")
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("change", "name", "what"),
    [
        (lambda path: path.unlink(), "part-2.parquet", "is missing"),
        (lambda path: path.write_bytes(b"the"), "part-0.parquet", "has 3 bytes instead of the 9 that were"),
        (lambda path: path.write_bytes(b"longer than before"), "part-1.parquet", "has 18 bytes instead of"),
        (lambda path: path.write_bytes(b"more"), "part-3.parquet", "was not there when"),
    ],
)
def test_other_files_than_before_are_refused(
    folder: Path, change: Callable[[Path], None], name: str, what: str
) -> None:
    change(folder / name)
    with pytest.raises(InputError, match=f"^{folder / name}: {what}.*; do it again\\.$"):
        require_sealed(SPARK, [str(folder)], "do it again")


def test_files_that_were_added_are_told_where_they_may_be(folder: Path) -> None:
    sums = Seal.parse((folder / SEAL).read_bytes()).files
    (folder / "part-3.parquet").write_bytes(b"more")
    assert require_sums(SPARK, {str(folder): sums}, "do it again", more=True) == ["part-3.parquet"]
    (folder / "part-0.parquet").write_bytes(b"The first")
    with pytest.raises(InputError, match="is damaged"):
        require_sums(SPARK, {str(folder): sums}, "do it again", more=True)
