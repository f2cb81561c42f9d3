"""Folders that are kept for the next run: made whole or not at all, and only where others cannot write."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kraftcheck.support import cache
from kraftcheck.support.cache import kept_folder, user_cache
from kraftcheck.support.errors import InputError


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tmp_path.chmod(0o755)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def writing(text: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        (folder / "content").write_text(text)

    return make


def test_a_folder_is_made_once_for_each_key() -> None:
    found = kept_folder("things", "a", writing("first"))
    assert found == user_cache() / "things" / "a"
    kept_folder("things", "a", writing("second"))
    kept_folder("things", "b", writing("other"))
    assert (found / "content").read_text() == "first"


@pytest.mark.parametrize(
    "damage", [Path.unlink, lambda path: path.write_text(""), lambda path: (path.parent / "x").touch()]
)
def test_a_damaged_folder_is_made_anew(damage: Callable[[Path], object]) -> None:
    found = kept_folder("things", "a", writing("first"))
    damage(found / "content")
    kept_folder("things", "a", writing("second"))
    assert (found / "content").read_text() == "second"
    assert not (found / "x").exists()


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_is_not_finished_leaves_nothing(error: type[BaseException]) -> None:
    def fails(folder: Path) -> None:
        (folder / "half").write_text("")
        raise error

    with pytest.raises(error):
        kept_folder("things", "a", fails)
    assert not list((user_cache() / "things").iterdir())


def test_of_two_processes_that_make_it_the_first_one_stays() -> None:
    def slow(folder: Path) -> None:
        kept_folder("things", "a", writing("the fast one"))
        writing("the slow one")(folder)

    found = kept_folder("things", "a", slow)
    assert (found / "content").read_text() == "the fast one"
    assert [each.name for each in found.parent.iterdir()] == ["a"]


def test_folders_that_were_not_used_for_long_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "KEPT", 2)
    for age, key in ((30, "a"), (20, "b"), (10, "c")):
        found = kept_folder("things", key, writing(key))
        os.utime(found, (os.stat(found).st_atime, os.stat(found).st_mtime - age))
    left_behind = found.parent / ".unfinished-x"
    left_behind.mkdir()
    os.utime(left_behind, (0, 0))
    kept_folder("things", "a", writing("a again"))
    assert {each.name for each in found.parent.iterdir()} == {"a", "c"}


@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_no_program_is_kept_where_others_can_write(
    mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = user_cache() / "things"
    place.mkdir(parents=True)
    place.chmod(mode)
    own = tmp_path / "sources"
    own.mkdir(mode=0o755)
    monkeypatch.setattr(cache, "__file__", str(own / "cache.py"))
    with pytest.raises(InputError, match="other users can write to it"):
        kept_folder("things", "a", writing("a"))
    assert not list(place.iterdir())


def test_a_cache_that_cannot_be_written_is_named(home: Path) -> None:
    (home / "cache").write_text("a file")
    with pytest.raises(InputError, match=r"cache/kraftcheck/things: cannot be written .* XDG_CACHE_HOME"):
        kept_folder("things", "a", writing("a"))
