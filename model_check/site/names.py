"""The pages that names stand for: a rule, a property, a scenario, and links from one page to another."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from functools import cache

from markupsafe import Markup

from kraftcheck import spec
from kraftcheck.checking import finding_pages
from kraftcheck.site.markdown import code, escaped
from kraftcheck.systems.scenario import shipped_files

_NAME = re.compile(r"(?<![\w/.`-])[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*(?![\w-])")
#: Inline code, links and images, HTML, and names: what is left alone comes first.
_PROSE = re.compile(
    r"(?P<code>(?P<ticks>`+)(?P<inner>.+?)(?P=ticks)(?!`))|(?P<kept>!?\[[^\]]*\]\([^)]*\)|<[^>\n]+>)"
    rf"|(?P<name>{_NAME.pattern})",
    re.DOTALL,
)
#: In a command these words are no names: "kraftcheck check -v NAME".
_WORD = re.compile(r"[A-Za-z0-9-]+")


@cache
def rules() -> dict[str, str]:
    """Rule id → its page."""
    return {name: f"rules/{name}.md" for name in spec.load().rules}


@cache
def properties() -> dict[str, str]:
    """Id and name of each property → its page."""
    every = spec.load().properties.values()
    return {word: f"properties/{each.name}.md" for each in every for word in (each.id, each.name)}


@cache
def scenarios() -> dict[str, str]:
    """The name of each shipped scenario → its page."""
    return {name: f"scenarios/{name}.md" for name in shipped_files()}


@cache
def findings() -> dict[str, str]:
    """The id of each finding → its page."""
    return {known: f"findings/{page.name}.md" for page in finding_pages.pages() for known in page.findings}


@cache
def _in_prose() -> dict[str, str]:
    """The names that are links wherever they stand; a scenario may be called like an English word."""
    speaking = {name: page for name, page in scenarios().items() if name.startswith("finding-")}
    return {**rules(), **properties(), **speaking}


@cache
def _in_code() -> dict[str, str]:
    return {**_in_prose(), **scenarios()}


def link(label: Markup, target: str, at: str) -> Markup:
    """A link from page ``at`` to page ``target``; both are paths from the root of the site."""
    return Markup(f"[{label}]({_address(target, at)})")


def prose(text: str, at: str) -> Markup:
    """``text`` of a catalogue on page ``at``, with links from the names in it."""
    found, end = [], 0
    for match in _NAME.finditer(text):
        target = _in_prose().get(match[0])
        if target is not None and target != at:
            found += [_inner(text[end : match.start()]), link(escaped(match[0]), target, at)]
            end = match.end()
    return Markup("").join([*found, _inner(text[end:])])


def _inner(text: str) -> Markup:
    """The escaped ``text`` with a space where it begins or ends with one."""
    before, after = (" " if text[at : at + 1 or None].isspace() else "" for at in (0, -1))
    return Markup(f"{before}{escaped(text)}{after}") if text.strip() else Markup(before)


def linked(text: str, at: str) -> str:
    """Markdown of page ``at``, not within a block of code, with links from the names in it."""
    return _PROSE.sub(lambda found: _linked(found, at), text)


def _linked(found: re.Match[str], at: str) -> str:
    if found["kept"]:
        return found[0]
    if found["name"]:
        target = _in_prose().get(found[0])
        return found[0] if target in (None, at) else f"[{found[0]}]({_address(target, at)})"
    words = _WORD.findall(found["inner"]) if found["inner"].startswith("kraftcheck ") else [found["inner"]]
    targets = {_in_code()[word] for word in words if word in _in_code()} - {at}
    return found[0] if len(targets) != 1 else f"[{found[0]}]({_address(targets.pop(), at)})"


def _address(target: str | None, at: str) -> str:
    assert target is not None
    return _relative(target, posixpath.dirname(at) or ".")


#: Pages of a folder have most of their links in common.
_relative = cache(posixpath.relpath)


def links(names: Iterable[str], at: str) -> Markup:
    """``names``, each as a link to its page where it has one, with commas."""
    return Markup(", ").join(_one(name, at) for name in names)


def _one(name: str, at: str) -> Markup:
    target = _in_code().get(name)
    shown = code(name) if name in scenarios() else escaped(name)
    return shown if target in (None, at) else link(shown, target or "", at)


def lines(names: Iterable[str], at: str) -> Iterator[Markup]:
    """An item of a list for each name."""
    for name in names:
        yield Markup(f"- {_one(name, at)}")
