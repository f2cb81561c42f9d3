"""A search that is cut short, taken up again from its checkpoint, and compared with one that was not."""

from __future__ import annotations

import errno
import json
import os
import tempfile
import zlib
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, cast
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from msgspec.json import encode as json_of

from kraftcheck.engine import explorer, resume
from kraftcheck.engine.block import BLOCK
from kraftcheck.engine.checkpoint import Checkpoint, CheckpointError
from kraftcheck.engine.explorer import explore
from kraftcheck.engine.links import AppendedFile
from kraftcheck.engine.system import UNLIMITED, Exploration, Interrupted, Limits, System
from kraftcheck.support.errors import DiskError
from tests.engine.random_systems import RandomSystem, random_system, systems
from tests.engine.replayed import facts
from tests.engine.synthetic import Synthetic
from tests.examples import examples

SMALL = Synthetic(nodes=3, epochs=2, entries=1, restarts=1, capacity=3)
SMALLER = Synthetic(nodes=2, epochs=2, entries=2, restarts=1, capacity=3)


@pytest.fixture(autouse=True)
def nothing_waits_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test here turns the machine off."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@cache
def whole(system: Synthetic | RandomSystem) -> Exploration:
    """The result of a search that is never interrupted."""
    return facts(explore(system))


def cut_short(
    system: System,
    folder: Path,
    limits: Limits = UNLIMITED,
    keep_going: bool = False,
    threads: int = 1,
    every: float = 0.0,
) -> Exploration:
    """A search with a checkpoint in ``folder``."""
    checkpoint = Checkpoint(folder, "test", every)
    try:
        return explore(system, limits=limits, keep_going=keep_going, threads=threads, checkpoint=checkpoint)
    finally:
        checkpoint.close()


@pytest.mark.slow
@examples(100)
@given(systems(), st.booleans(), st.lists(st.integers(1, 12), max_size=3), st.integers(0, 2**32))
def test_taken_up_again_is_as_never_interrupted(
    tmp_path_factory: pytest.TempPathFactory,
    system: RandomSystem,
    keep_going: bool,
    depths: list[int],
    seed: int,
) -> None:
    folder = tmp_path_factory.mktemp("checkpoint")
    rng = Random(seed)
    for depth in sorted(depths):
        cut_short(system, folder, Limits(max_depth=depth), keep_going, rng.choice([1, 2]))
    found = cut_short(system, folder, UNLIMITED, keep_going, rng.choice([1, 2]))
    assert facts(found) == facts(explore(system, keep_going=keep_going))
    assert [path.name for path in folder.iterdir()] == ["lock"]


class Stopped:
    """A system, with Ctrl-C at the given one of the questions that it is asked."""

    def __init__(self, system: System, left: int) -> None:
        self._system = system
        self._left = left

    def __getattr__(self, name: str) -> Any:
        if name in ("deliver", "actions", "record", "signal_local", "signal_message"):
            self._left -= 1
            if self._left == 0:
                raise KeyboardInterrupt
        return getattr(self._system, name)


@pytest.mark.slow
@examples(25)
@given(systems(), st.booleans(), st.lists(st.integers(1, 60), min_size=1, max_size=3), st.integers(1, 2))
def test_ctrl_c_leaves_what_is_complete(
    tmp_path_factory: pytest.TempPathFactory,
    system: RandomSystem,
    keep_going: bool,
    calls: list[int],
    threads: int,
) -> None:
    """Also where the last checkpoint would have been long ago, and in the middle of an answer."""
    folder = tmp_path_factory.mktemp("checkpoint")
    for each in calls:
        stopped = cast(System, Stopped(system, each))
        with suppress(Interrupted, KeyboardInterrupt):
            cut_short(stopped, folder, UNLIMITED, keep_going, threads, every=1e9)
    found = cut_short(system, folder, UNLIMITED, keep_going, threads, every=1e9)
    assert facts(found) == facts(explore(system, keep_going=keep_going))


def no_room(*_: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("write", ["append_keys", "write_rows", "commit", "append"])
@pytest.mark.parametrize("which", [1, 5, 20])
def test_a_full_disk_is_told_and_spoils_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: str, which: int
) -> None:
    calls, owner = 0, AppendedFile if write == "append" else Checkpoint
    inner = getattr(owner, write)

    def full(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        return (no_room if calls == which else inner)(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(owner, write, full)
        with pytest.raises(DiskError, match="cannot be written \\(No space left on device\\)"):
            cut_short(SMALLER, tmp_path)
    assert facts(cut_short(SMALLER, tmp_path)) == whole(SMALLER)


@pytest.mark.parametrize("error", [BrokenPipeError(errno.EPIPE, "Broken pipe"), OSError("of whatever kind")])
def test_other_errors_are_no_full_disk(monkeypatch: pytest.MonkeyPatch, error: OSError) -> None:
    def progress(_: explorer.Progress) -> None:
        raise error

    monkeypatch.setattr(explorer, "PROGRESS_SECONDS", 0.0)
    with pytest.raises(OSError) as raised:
        explore(SMALLER, progress=progress)
    assert raised.value is error


def test_no_folder_for_temporary_files_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_get_default_tempdir", none)
    with pytest.raises(DiskError, match="temporary files: cannot be written \\(No usable"):
        explore(SMALLER)


def test_a_limit_leaves_all_complete_levels(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path, "test", every=1e9)
    cut = explore(SMALLER, limits=Limits(max_states=5_000), checkpoint=checkpoint)
    assert checkpoint.depth is not None
    assert cut.levels[: checkpoint.depth + 1] == whole(SMALLER).levels[: checkpoint.depth + 1]
    assert checkpoint.depth == cut.depth - 1
    assert facts(explore(SMALLER, checkpoint=checkpoint)) == whole(SMALLER)
    assert checkpoint.found == cut.depth - 1
    assert not (tmp_path / "checkpoint.json").exists()
    checkpoint.close()


def test_time_before_is_told_and_does_not_count_against_the_limit(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path, "test", every=1e9)
    explore(SMALLER, limits=Limits(max_depth=3), checkpoint=checkpoint)
    saved = checkpoint.load()
    assert saved is not None
    checkpoint.commit(structs.replace(saved, seconds=1e6), [])
    found = explore(SMALLER, limits=Limits(max_seconds=1e5), checkpoint=checkpoint)
    assert found.limit is None and found.seconds > 1e6
    checkpoint.close()


@pytest.mark.slow
def test_a_large_one_on_any_number_of_threads(tmp_path: Path) -> None:
    for states, threads in ((1_000, 2), (5_000, 1), (20_000, 2)):
        cut_short(SMALL, tmp_path, Limits(max_states=states), threads=threads)
    assert facts(cut_short(SMALL, tmp_path, threads=2)) == whole(SMALL)


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    cut_short(SMALL, tmp_path, Limits(max_states=2_000))
    assert (tmp_path / "checkpoint.json").exists()
    return tmp_path


def flipped(content: bytes, bit: int) -> bytes:
    """``content`` with one bit changed."""
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@pytest.mark.slow
@examples(20)
@given(st.data())
def test_no_changed_bit_changes_the_answer(begun: Path, data: st.DataObject) -> None:
    """In what the checkpoint counts it is refused, by the name of the file; what follows is of no account."""
    files = {path: path.read_bytes() for path in sorted(begun.iterdir()) if path.stat().st_size}
    path = data.draw(st.sampled_from(list(files)), label="file")
    counted = _counted(begun, path)
    if not counted:
        return
    path.write_bytes(flipped(files[path], data.draw(st.integers(0, 8 * counted - 1), label="bit")))
    at_once = mock.patch.object(resume, "BLOCK", data.draw(st.sampled_from([100, BLOCK]), label="at once"))
    damaged = f"^{path}: .*; the checkpoint is damaged: remove {begun} "
    try:
        with at_once, pytest.raises(CheckpointError, match=damaged):
            cut_short(SMALL, begun)
    finally:
        path.write_bytes(files[path])


def _counted(folder: Path, path: Path) -> int:
    """The number of bytes of a file that count for the checkpoint."""
    saved = json.loads((folder / "checkpoint.json").read_text())
    if path.suffix in (".links", ".fingerprints"):
        level = int(path.stem.removeprefix("level-"))
        return 8 * int(saved["levels"][level]) if level < len(saved["levels"]) else 0
    return path.stat().st_size


def test_every_damaged_bit_of_the_description_is_recognised(begun: Path) -> None:
    path = begun / "checkpoint.json"
    original = path.read_bytes()
    checkpoint = Checkpoint(begun, "test")
    for bit in range(0, 8 * len(original), 29):
        path.write_bytes(flipped(original, bit))
        with pytest.raises(CheckpointError, match=r"checkpoint\.json: is not what was written"):
            checkpoint.load()
    path.write_bytes(original)
    assert checkpoint.load() is not None
    checkpoint.close()


def test_one_with_an_empty_level_is_refused(begun: Path) -> None:
    path = begun / "checkpoint.json"
    original = path.read_bytes()
    saved = json.loads(original)
    for level in range(len(saved["levels"])):
        levels = [0 if each == level else size for each, size in enumerate(saved["levels"])]
        path.write_bytes(_with_checksum(saved | {"levels": levels}))
        with pytest.raises(CheckpointError, match=r"checkpoint\.json: is not what was written"):
            cut_short(SMALL, begun)
    path.write_bytes(_with_checksum(saved))
    assert path.read_bytes() == original


def _with_checksum(saved: dict[str, Any]) -> bytes:
    """The content of a file that a forger makes of it."""
    rest = {key: value for key, value in saved.items() if key != "checksum"}
    return json_of(saved | {"checksum": zlib.crc32(json_of(rest))})


FILES = ("keys", "checkpoint.json", "level-00000.links", "level-00003.fingerprints")
NOISE = (b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 10_000, b'{"format": 1e999}')


@pytest.mark.parametrize(
    ("name", "left"),
    [*((name, left) for name in FILES for left in (None, 3)), *(("checkpoint.json", each) for each in NOISE)],
)
def test_a_file_that_is_missing_or_damaged_is_named(begun: Path, name: str, left: bytes | int | None) -> None:
    """``left``: what it holds, or how much of it is there."""
    path = begun / name
    content = path.read_bytes()
    path.unlink()
    if left is not None:
        path.write_bytes(content[:left] if isinstance(left, int) else left)
    before = _contents(begun)
    with pytest.raises(CheckpointError, match=f"{name}.* damaged.* remove "):
        cut_short(SMALL, begun)
    assert _contents(begun) == before


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize(
    "name", ["keys", "notes.txt", "level-00000.links", "level-00007.rows", "checkpoint.json.new", "lock"]
)
def test_a_foreign_folder_is_refused_and_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("a foreign file")
    with pytest.raises(CheckpointError, match=f"has '{name}' but no checkpoint.json, .* name another folder"):
        cut_short(SMALLER, tmp_path)
    assert _contents(tmp_path) == {name: b"a foreign file"}


def test_foreign_files_next_to_a_checkpoint_stay(tmp_path: Path) -> None:
    cut_short(SMALLER, tmp_path, Limits(max_states=500))
    foreign = [
        "notes.txt",
        "a.rows",
        "level-1.links",
        "keys.txt",
        "checkpoint.json.old",
        "level-00001.rows.gz",
    ]
    for name in foreign:
        (tmp_path / name).write_text(name)
    assert facts(cut_short(SMALLER, tmp_path)) == whole(SMALLER)
    assert _contents(tmp_path) == {"lock": b"", **{name: name.encode() for name in foreign}}


@pytest.mark.parametrize(
    "name", ["lock", "keys", "checkpoint.json", "checkpoint.json.new", "level-00099.links"]
)
@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_what_is_no_plain_file_is_refused(begun: Path, tmp_path_factory: Any, name: str, kind: str) -> None:
    """Nothing is written through a symbolic link, and a pipe without a writer is not waited for."""
    target = tmp_path_factory.mktemp("elsewhere") / "precious"
    target.write_text("a foreign file")
    (begun / name).unlink(missing_ok=True)
    {"link": lambda path: path.symlink_to(target), "folder": Path.mkdir, "pipe": os.mkfifo}[kind](
        begun / name
    )
    with pytest.raises(CheckpointError, match=r"plain file|is no folder for a checkpoint"):
        cut_short(SMALL, begun)
    assert target.read_text() == "a foreign file"


class Dead(BaseException):
    """The process was killed here."""


@pytest.mark.slow
@pytest.mark.parametrize("which", range(0, 36, 3))
def test_killed_at_any_change_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: int
) -> None:
    """Before, or after, each file that is replaced or removed; at the end all of them are removed."""
    changes, system = 0, random_system(98)

    def killing(inner: Any) -> Any:
        def changed(*arguments: Any, **more: Any) -> Any:
            nonlocal changes
            changes += 1
            if changes == which + 1:
                raise Dead
            result = inner(*arguments, **more)
            if changes == which + 2:
                raise Dead
            return result

        return changed

    with monkeypatch.context() as patched:
        for owner, name in ((os, "replace"), (os, "unlink"), (Path, "unlink")):
            patched.setattr(owner, name, killing(getattr(owner, name)))
        for _ in range(2):
            with suppress(Dead):
                cut_short(system, tmp_path)
    assert facts(cut_short(system, tmp_path)) == facts(explore(system))
    assert _contents(tmp_path) == {"lock": b""}


def test_a_full_disk_at_the_end_costs_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = Checkpoint.remove

    def remove(self: Checkpoint) -> None:
        monkeypatch.setattr(Checkpoint, "_write", no_room)
        inner(self)

    monkeypatch.setattr(Checkpoint, "remove", remove)
    assert facts(cut_short(SMALLER, tmp_path)) == whole(SMALLER)
    assert _contents(tmp_path) == {"lock": b""}


def test_a_checkpoint_of_something_else_is_refused(begun: Path) -> None:
    checkpoint = Checkpoint(begun, "something else")
    with pytest.raises(CheckpointError, match="another scenario"):
        explore(SMALL, checkpoint=checkpoint)
    checkpoint.close()
    with pytest.raises(CheckpointError, match="other outcomes"):
        cut_short(Synthetic(nodes=3, epochs=2, entries=2, restarts=1, capacity=3), begun)


def test_one_process_at_a_time(begun: Path) -> None:
    checkpoint = Checkpoint(begun, "test")
    with pytest.raises(CheckpointError, match="another process"):
        Checkpoint(begun, "test")
    checkpoint.close()
    Checkpoint(begun, "test").close()


def test_no_folder(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(CheckpointError, match="no folder"):
        Checkpoint(file, "test")


@pytest.mark.slow
def test_a_frontier_on_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    expected = whole(SMALL)
    monkeypatch.setattr(explorer, "IN_MEMORY", 10_000)
    assert facts(explore(SMALL, threads=2)) == expected
    cut_short(SMALL, tmp_path, Limits(max_states=20_000), threads=2, every=1e9)
    assert facts(cut_short(SMALL, tmp_path, threads=2, every=1e9)) == expected
