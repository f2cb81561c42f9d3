"""The recorded runs in a list of folders."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kraftcheck.support.errors import InputError

#: The files of a run.
FILES = ("run.json", "trace.jsonl.gz")


def find_runs(folders: Iterable[Path]) -> list[Path]:
    """The runs among ``folders``, each once: a folder that is a run, or every ``run-*`` below a folder.

    Raises InputError for a folder without runs. An incomplete ``run-*`` is listed too: reading it reports the
    missing part.
    """
    found: dict[Path, Path] = {}
    for folder in folders:
        try:
            for run in _runs_in(folder):
                found.setdefault(run.resolve(), run)
        except (OSError, ValueError) as error:
            raise InputError(f"{folder}: cannot be read ({error}); give a folder of recorded runs.") from None
    return list(found.values())


def _runs_in(folder: Path) -> list[Path]:
    if folder.is_file():
        raise InputError(
            f"{folder}: is a file; give the folder of a recorded run, or a folder of such folders."
        )
    if not folder.exists():
        raise InputError(f"{folder}: there is no such folder; give the folder of a recorded run.")
    if any((folder / name).exists() for name in FILES):
        return [folder]
    runs = sorted(path for path in folder.rglob("run-*") if path.is_dir())
    if not runs:
        files = " and ".join(FILES)
        raise InputError(
            f"{folder}: there is no recorded run; expected {files}, or folders run-* that have them."
        )
    return runs
