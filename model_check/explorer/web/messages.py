"""A request and a response of HTTP, as far as the explorer needs them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kraftcheck.support.printable import json_text


@dataclass(frozen=True, slots=True)
class Request:
    """``headers`` by their names in small letters, each once; ``arguments`` of the query, each once."""

    method: str
    path: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Response:
    """``content_type`` is that of ``body``; ``headers`` come besides those that every response has."""

    status: int
    content_type: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


def as_json(data: Any, status: int = 200) -> Response:
    """``data`` as a response."""
    return Response(status, "application/json", json_text(data).encode("utf-8", "replace"))


def refusal(status: int, sentence: str) -> Response:
    """A response that says in one sentence why there is no answer."""
    return as_json({"error": sentence}, status)
