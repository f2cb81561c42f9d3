"""The pages of ``docs/`` that are written by hand, as pages of the site: names in them become links."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from kraftcheck.site import names

#: Pages outside ``docs/``, by their path in the checkout: their place on the site.
ELSEWHERE: Mapping[str, str] = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "tests/vectors/README.md": "vectors-format.md",
    "tla/README.md": "tla-modules.md",
}
#: Pages and folders of ``docs/`` in whose place the site has others.
REPLACED: Mapping[str, str] = {
    "docs/index.md": "index.md",
    "docs/rule-table.md": "rules/index.md",
    "docs/schemas": "schemas/index.md",
}

_FENCED = re.compile(r"^(?P<ticks>```+)[^\n]*\n.*?^(?P=ticks)[ \t]*$", re.M | re.S)
_LINK = re.compile(r"(?<=\]\()(?!\w+:)([^)\s#]+)(#[^)\s]*)?(?=\))")
_HEADING = re.compile(r"^#{1,6} .*$", re.M)


def sources(checkout: Path) -> dict[str, str]:
    """The path of each page on the site, by its path in the checkout."""
    docs = checkout / "docs"
    pages = {f"docs/{path.relative_to(docs).as_posix()}" for path in docs.rglob("*.md")}
    own = {path: path.removeprefix("docs/") for path in sorted(pages - {*REPLACED})}
    more = {path: at for path, at in ELSEWHERE.items() if at != "index.md"}
    return {**own, **{path: at for path, at in more.items() if (checkout / path).is_file()}}


def page(text: str, path: str, at: str, files: Mapping[str, str]) -> str:
    """The Markdown ``text`` of the file ``path`` of the checkout, for the page ``at`` of the site.

    ``files``: the place on the site of each file of the checkout that is there. Raises ValueError
    for a link to another file.
    """
    return _outside(text, lambda part: names.linked(_moved(part, path, at, files), at))


def _outside(text: str, change: Callable[[str], str]) -> str:
    """``text`` with ``change`` made in everything but blocks of code and headings."""
    parts: list[str] = []
    end = 0
    for block in sorted([*_FENCED.finditer(text), *_HEADING.finditer(text)], key=re.Match.start):
        if block.start() >= end:
            parts += [change(text[end : block.start()]), block[0]]
            end = block.end()
    return "".join([*parts, change(text[end:])])


def _moved(text: str, path: str, at: str, files: Mapping[str, str]) -> str:
    """``text`` with the targets of its links where they are on the site."""

    def target(found: re.Match[str]) -> str:
        named = posixpath.normpath(posixpath.join(posixpath.dirname(path), found[1]))
        place = files.get(named) or REPLACED.get(named) or ELSEWHERE.get(named)
        if place is None:
            raise ValueError(f"{path}: {found[1]} is not on the site")
        return posixpath.relpath(place, posixpath.dirname(at) or ".") + (found[2] or "")

    return _LINK.sub(target, text)
