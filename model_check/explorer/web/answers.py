"""What the page can ask, and the answers: each depends on the question alone."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field

from kraftcheck.engine.system import Limits
from kraftcheck.explorer.continuing import check_from
from kraftcheck.explorer.ground import Ground, Path
from kraftcheck.explorer.here import here, preview
from kraftcheck.explorer.saving import FORMS, save
from kraftcheck.explorer.web.guard import Guard
from kraftcheck.explorer.web.messages import Request, Response, as_json, refusal
from kraftcheck.support.errors import InputError
from kraftcheck.traces.page.document import document_of
from kraftcheck.traces.page.html import data_of, page_with
from kraftcheck.traces.page.shell import asset
from kraftcheck.traces.paths import parse_path

_PACKAGE = "kraftcheck.explorer.web"
#: The limits of a check from the page.
LIMITS = Limits(max_states=2_000_000, max_seconds=60.0, max_memory=4 * 2**30)


@dataclass(slots=True)
class Answers:
    """The answers about ``ground``, to the requests that ``guard`` lets through. Threads may ask at once."""

    ground: Ground
    guard: Guard
    limits: Limits = LIMITS
    _one: threading.Lock = field(default_factory=threading.Lock)
    _checking: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, request: Request) -> Response:
        """The answer; where there is none, a sentence that says why."""
        refused = self.guard.refused(request)
        if refused is not None:
            return refused
        kind = self._routes().get((request.method, request.path))
        if kind is None:
            return refusal(404, f"there is nothing at '{request.path[:80]}'.")
        try:
            return kind(request)
        except InputError as error:
            return refusal(400, str(error))

    def _routes(self) -> Mapping[tuple[str, str], Callable[[Request], Response]]:
        return {
            ("GET", "/"): self._page,
            ("GET", "/walk"): self._walk,
            ("GET", "/here"): self._here,
            ("GET", "/preview"): self._preview,
            ("GET", "/save"): self._save,
            ("POST", "/check"): self._check,
        }

    def _page(self, request: Request) -> Response:
        with self._one:
            document = document_of(self.ground.trace(()))
        style, program = asset(_PACKAGE, "explorer.css"), asset(_PACKAGE, "explorer.js")
        text = page_with(document, style, program, connects=True)
        return Response(200, "text/html; charset=utf-8", text.encode(), (self.guard.header,))

    def _walk(self, request: Request) -> Response:
        """The path and what there is at its end; of the steps only those after the first ``known`` ones,
        which the page has: a step costs little at the end of a long path.
        """
        path, known = _path(request.arguments), _number(request.arguments, "known", 0)
        known = min(known, len(path))
        with self._one:
            document = document_of(self.ground.trace(path), after=known)
            found = {
                "known": known,
                "document": data_of(document),
                "here": asdict(here(self.ground, path)),
            }
        return as_json(found)

    def _here(self, request: Request) -> Response:
        path = _path(request.arguments)
        with self._one:
            return as_json(asdict(here(self.ground, path)))

    def _preview(self, request: Request) -> Response:
        path = _path(request.arguments)
        option = _number(request.arguments, "option")
        with self._one:
            return as_json(asdict(preview(self.ground, path, option)))

    def _save(self, request: Request) -> Response:
        path, form = _path(request.arguments), request.arguments.get("as", "")
        if form not in FORMS:
            raise InputError(f"as: a path can be saved as {', '.join(FORMS)}.")
        with self._one:
            return as_json(asdict(save(self.ground, path, form)))

    def _check(self, request: Request) -> Response:
        """One check at a time, on a system of its own, so that the page goes on meanwhile."""
        path = _path(_body(request))
        if not self._checking.acquire(blocking=False):
            return refusal(409, "a check is under way; wait for its end.")
        try:
            return as_json(
                asdict(check_from(Ground(self.ground.scenario, self.ground.initial), path, self.limits))
            )
        finally:
            self._checking.release()


def _path(arguments: Mapping[str, str]) -> Path:
    try:
        return parse_path(arguments.get("path", ""))
    except ValueError as error:
        raise InputError(f"the path of this address: {error}.") from None


def _number(arguments: Mapping[str, str], name: str, default: int | None = None) -> int:
    """The number that the argument ``name`` is."""
    if default is not None and name not in arguments:
        return default
    found = _path({"path": arguments.get(name, "")})
    if len(found) != 1:
        raise InputError(f"{name}: give one number.")
    return found[0]


def _body(request: Request) -> dict[str, str]:
    try:
        data = json.loads(request.body)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict) or not isinstance(data.get("path"), str):
        raise InputError('the question: expected JSON such as {"path": "0,3"}.')
    return {"path": data["path"]}
