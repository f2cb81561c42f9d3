"""Writing files so that nothing half-written is left behind."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from model_check.errors import InputError


def write_atomically(path: Path, text: str, *, create_folder: bool = False) -> None:
    """Write ``text`` to ``path`` by way of a temporary file. Raises InputError where that is not possible."""
    try:
        if create_folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); choose another place.") from None
