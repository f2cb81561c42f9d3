"""Values of recordings that follow no rule, and fields that are not compared (``exceptions.toml``)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib import resources

from msgspec import Struct, convert

ELECTION_TIMEOUT = "random election timeout"
BOOTSTRAP_SERVER = "random bootstrap server"
SEND_ORDER = "order of sends"
GRANTING_VOTERS = "order of granting voters"
VOTER_ORDER = "order of voters in a voter set"
CONTENT_UNKNOWN = "content of a message never shown"
NUMBER_LEFT_OUT = "gap in the message ids"
UNRESOLVED = "request left in the queue of an ended process"
OLDER_VERSION = "message of an older version"
NO_ERROR = "text where there is no error"
UNKNOWN_FIELD = "unknown field"
UNKNOWN_TOTAL = "unknown total"
UNSEEN_MESSAGES = "total with messages never shown"
SPINNING = "poll of a spinning loop"

#: Kinds of events in ``NotCompared.events`` that are a part of the lines ``recv`` and ``api``.
CLIENT_REQUEST = "recv from the client"
DROPPED_APPEND = "api append that is not written"


class NotCompared(Struct, frozen=True):
    """Fields of some kinds of events that are not compared, or only in part, with the reason."""

    events: tuple[str, ...]
    fields: tuple[str, ...]
    reason: str

    def covers(self, path: str) -> bool:
        """Whether the dotted ``path`` is one of the fields, or inside one."""
        return any(
            path.startswith(field) if field.endswith(":") else f"{path}.".startswith(f"{field}.".lstrip("."))
            for field in self.fields
        )


class _Texts(Struct, forbid_unknown_fields=True):
    exceptions: dict[str, str]
    not_compared: tuple[NotCompared, ...]


_TEXTS = convert(
    tomllib.loads((resources.files(__package__) / "exceptions.toml").read_text(encoding="utf-8")), _Texts
)

#: The reason for each exception, and the remaining check.
EXCEPTIONS: Mapping[str, str] = _TEXTS.exceptions

#: Every field of a recording that is not compared at its line, or only in part. All others are.
NOT_COMPARED: tuple[NotCompared, ...] = _TEXTS.not_compared


def is_compared(event: str, path: str) -> bool:
    """Whether the field at the dotted ``path`` of a kind of event is compared."""
    return not any(event in each.events and each.covers(path) for each in NOT_COMPARED)
