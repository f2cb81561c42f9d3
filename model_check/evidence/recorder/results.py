"""The file of a campaign that compares: a line for each recording, so that a killed campaign goes on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from msgspec import to_builtins

from kraftcheck.evidence.recorder.running import Compared
from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.evidence.recordings.typed import typed
from kraftcheck.support import codec
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import read_text, write_atomically

#: The name of the file in the folder of a campaign.
RESULTS = "compared.jsonl"
_FORMAT = {"format": "kraftcheck-compared", "version": 2}
#: The largest file that is read: the results of some hundred thousand recordings.
_MOST = 2**30


class Results:
    """The results in the file ``path``, which need not be there. made_by: the settings that they depend on.

    by_run: the last result of each recording. Raises InputError for a file that is damaged, or has the
    results of other settings.
    """

    def __init__(self, path: Path, made_by: Mapping[str, Json]) -> None:
        self.by_run: dict[str, Compared] = {}
        self._path, self._head = path, {**_FORMAT, **made_by}
        self._begun = path.is_file()
        if self._begun:
            self._read()

    def _read(self) -> None:
        text = read_text(self._path, "the results of a campaign", most=_MOST)
        # What follows the last line break was being written when the process was killed.
        head, *lines, unfinished = text.split("\n") if "\n" in text else ("", text)
        if codec.parse(head, f"{self._path}, line 1") != self._head if head else True:
            raise InputError(
                f"{self._path}: has the results of another adapter, protocol or length; choose another "
                "folder."
            )
        for number, line in enumerate(lines, 2):
            place = f"{self._path}, line {number}"
            result: Compared = typed(codec.parse(line, place), Compared, place)
            self.by_run[result.run] = result
        if unfinished:
            write_atomically(self._path, "".join(f"{line}\n" for line in (head, *lines)))

    def add(self, result: Compared) -> None:
        """Write a result. Raises InputError where the file cannot be written."""
        if not self._begun:
            write_atomically(self._path, f"{json.dumps(self._head)}\n", create_folder=True)
            self._begun = True
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps(to_builtins(result))}\n")
        except OSError as error:
            raise InputError(f"{self._path}: cannot be written ({error.strerror}).") from None
        self.by_run[result.run] = result
