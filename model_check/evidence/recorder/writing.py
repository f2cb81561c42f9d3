"""Recordings as files: a folder with the events, the summary, and the schedule that makes it again."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.evidence.recordings.recording import FILES
from kraftcheck.support.errors import InputError


def is_whole(folder: Path) -> bool:
    """Whether ``folder`` is a recording: :func:`write_run` leaves whole ones only."""
    return all((folder / name).is_file() for name in FILES)


def files_of(name: str, lines: Sequence[Json], **labels: Any) -> dict[str, bytes]:
    """The files of the recording ``name``; ``labels``: further fields of ``run.json``.

    The same lines give the same bytes.
    """
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    run = {"run": name, **labels, "events": len(lines)}
    return {
        "trace.jsonl.gz": gzip.compress(text.encode(), compresslevel=6, mtime=0),
        "run.json": f"{json.dumps(run, indent=1)}\n".encode(),
    }


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the recording ``folder``, whole or not at all. Raises InputError."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.kraftcheck-"))
        try:
            for name, content in files.items():
                (made / name).write_bytes(content)
            made.chmod(0o755)
            os.replace(made, folder)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}); choose another place.") from None
