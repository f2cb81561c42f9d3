"""Answers of TLC, recorded in ``tla/answers.json``: it need not run again on what it has read before."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Literal

import msgspec

from kraftcheck.support.errors import InputError
from kraftcheck.support.files import read_text, write_atomically
from kraftcheck.tlc.modules import Configuration, Modules

FILE = "answers.json"
_MOST_BYTES = 1_000_000


class Recorded(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """TLC's answer to one question.

    question: the digest of what it read (:meth:`RecordedAnswers.question`); states: that of its distinct
    states (:func:`kraftcheck.tlc.states.digest_of`), where these were compared; the rest as in
    :class:`kraftcheck.tlc.compare.Answer`.
    """

    question: str
    distinct_states: int
    generated_states: int
    depth: int | None
    violated: tuple[str, ...]
    steps: int | None
    states: str | None


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: Literal["kraftcheck-tlc-answers-1"]
    answers: dict[str, Recorded]


class RecordedAnswers:
    """The recorded answers of a folder of modules, by the names of scenarios and mutants."""

    def __init__(self, modules: Modules) -> None:
        """Raises InputError for a file that is none of these."""
        self._path = modules.folder / FILE
        self._sources = json.dumps(modules.sources())
        self.answers = self._read() if self._path.exists() else {}

    def _read(self) -> dict[str, Recorded]:
        content = read_text(self._path, "a file of TLC's answers", most=_MOST_BYTES)
        try:
            return msgspec.json.decode(content, type=_File).answers
        except msgspec.MsgspecError as error:
            raise InputError(
                f"{self._path}: {error}; write it anew with 'kraftcheck tlc --small --record'."
            ) from None

    def question(self, configuration: Configuration) -> str:
        """The digest of all that TLC reads: every module, the root and the configuration."""
        read = json.dumps([self._sources, configuration.root, configuration.text])
        return hashlib.sha256(read.encode()).hexdigest()

    def of(self, name: str, configuration: Configuration) -> Recorded | None:
        """The answer about ``name``, if TLC read then what it would read now."""
        found = self.answers.get(name)
        return found if found is not None and found.question == self.question(configuration) else None

    def write(self, made: Mapping[str, Recorded]) -> None:
        """Replace or add the answers ``made``. Raises InputError where the file cannot be written."""
        answers = dict(sorted({**self.answers, **made}.items()))
        data = msgspec.to_builtins(_File("kraftcheck-tlc-answers-1", answers))
        write_atomically(self._path, json.dumps(data, indent=1) + "\n")
