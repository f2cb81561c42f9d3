"""The source of the reference as pages for the browser, with the lines that ran in some scenarios.

The pages have no program and ask no network. A line's heat is the share of the scenarios in which it ran.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from kraftcheck import spec
from kraftcheck.checking.coverage import blocks
from kraftcheck.checking.coverage.executed import Place
from kraftcheck.checking.coverage.report import Report
from kraftcheck.support.files import write_atomically
from kraftcheck.support.places import REFERENCE, folder_of
from kraftcheck.systems.citations import looks_like_id, strings_of
from kraftcheck.systems.coverage import RULE
from kraftcheck.systems.guards import Guard
from kraftcheck.traces.page.shell import asset, html_file, text

#: The shades of lines that ran, from a few of the scenarios to all of them.
SHADES = 4
INDEX, RULES = "index.html", "rules.html"

#: The executed functions of a scenario, with the flags of their blocks.
Ran = Mapping[Place, str]


def write(runs: Mapping[str, Ran], found: Report, folder: Path) -> None:
    """Write the pages of ``runs``, by scenario, into ``folder``. Raises InputError."""
    for name, content in pages_of(runs, found, sources()).items():
        write_atomically(folder / name, content, create_folder=True)


def sources() -> dict[str, str]:
    """The sources of the reference by file: ``vote.py``, ``brokers/lives.py``."""
    folder = folder_of(REFERENCE)
    files = sorted(folder.rglob("*.py"))
    return {file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8") for file in files}


def pages_of(runs: Mapping[str, Ran], found: Report, texts: Mapping[str, str]) -> dict[str, str]:
    """The pages by the name of their file: an index, the rules, and each of the sources ``texts``."""
    style = asset("kraftcheck.traces.page", "viewer.css")
    style += asset("kraftcheck.checking.coverage", "source.css")
    counts = {file: counted(file, source, runs.values()) for file, source in texts.items()}
    shown = {file: count for file, count in counts.items() if count}
    made = {INDEX: _index(runs, shown, found), RULES: _rules(found, {file: texts[file] for file in shown})}
    made |= {page_name(file): _source(file, texts[file], shown[file], len(runs), found) for file in shown}
    titles = {INDEX: "Coverage of the reference", RULES: "Rules that the reference names"}
    return {
        name: html_file(titles.get(name, name.removesuffix(".html")), style, body)
        for name, body in made.items()
    }


def page_name(file: str) -> str:
    """The page of a source: ``brokers.lives.py.html``."""
    return f"{file.replace('/', '.')}.html"


def counted(file: str, source: str, runs: Iterable[Ran]) -> dict[int, int]:
    """By line of the statements in functions, how many of ``runs`` executed it."""
    module = ".".join((REFERENCE, *file.removesuffix(".py").split("/"))).removesuffix(".__init__")
    functions = blocks.functions_in(ast.parse(source))
    count: Counter[int] = Counter()
    for run in runs:
        for name, function in functions.items():
            for line, ran in blocks.lines_of(function, run.get(Place(module, name), "")).items():
                count[line] += ran
    return dict(count)


def _head(title: str, said: str, *, home: bool = True) -> str:
    link = f'<p><a href="{INDEX}">All modules</a> · <a href="{RULES}">Rules</a></p>'
    return f'<header><h1>{text(title)}</h1><p class="note">{said}</p>{link if home else ""}</header>'


def _index(runs: Mapping[str, Ran], counts: Mapping[str, Mapping[int, int]], found: Report) -> str:
    ran = sum(map(bool, (each for count in counts.values() for each in count.values())))
    lines = sum(map(len, counts.values()))
    names = ", ".join(list(runs)[:12]) + (f" and {len(runs) - 12} more" if len(runs) > 12 else "")
    many = "1 scenario" if len(runs) == 1 else f"{len(runs)} scenarios"
    said = f"{ran:,} of {lines:,} lines of statements ran in {many}: {text(names)}"
    rows = "\n".join(_module_row(file, count, found) for file, count in counts.items())
    return (
        _head("Coverage of the reference", said, home=False)
        + f'<main class="index"><p><a href="{RULES}">Rules that the reference names</a></p>'
        '<div class="frame"><table>'
        "<thead><tr><th>Module</th><th>Lines that ran</th><th></th><th>Share</th>"
        f"<th>Guards that went both ways</th></tr></thead><tbody>{rows}</tbody></table></div></main>"
    )


def _module_row(file: str, count: Mapping[int, int], found: Report) -> str:
    ran = sum(map(bool, count.values()))
    share = 100 * ran // len(count)
    guards = [guard for place, guard in found.guards.items() if _file_of(place) == file]
    both = sum(len(_ways(guard, found)) == 2 for guard in guards)
    went = "not watched" if found.covered.guards is None else f"{both} of {len(guards)}"
    return (
        f'<tr><th scope="row"><a href="{page_name(file)}">{text(file)}</a></th>'
        f'<td class="number">{ran:,} of {len(count):,}</td>'
        f'<td><svg class="share" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" '
        f'aria-label="{share} %"><rect class="all" width="100" height="10"/>'
        f'<rect class="part" width="{share}" height="10"/></svg></td>'
        f'<td class="number">{share} %</td><td class="number">{went if guards else ""}</td></tr>'
    )


def _file_of(place: str) -> str:
    return place.rpartition(":")[0]


def _ways(guard: Guard, found: Report) -> list[bool]:
    """The answers of a guard that were seen."""
    seen = found.covered.guards or frozenset()
    return [answer for answer in (True, False) if (guard.place, answer) in seen]


def _source(file: str, source: str, count: Mapping[int, int], runs: int, found: Report) -> str:
    guards = {guard.first: guard for place, guard in found.guards.items() if _file_of(place) == file}
    rules: dict[int, list[str]] = {}
    for word, line in strings_of(source):
        if looks_like_id(word) and word in spec.load().rules:
            rules.setdefault(line, []).append(word)
    ran = sum(map(bool, count.values()))
    said = f"{ran:,} of {len(count):,} lines of statements ran. "
    said += f"Red: in no scenario; the stronger the blue, the more of {runs}."
    rows = "\n".join(
        _row(number, line, count.get(number), runs, guards.get(number), rules.get(number, ()), found)
        for number, line in enumerate(source.splitlines(), 1)
    )
    table = f'<div class="frame"><table class="lines"><tbody>{rows}</tbody></table></div>'
    return f'{_head(file, said)}<main class="reference">{table}</main>'


def _row(
    number: int,
    line: str,
    ran: int | None,
    runs: int,
    guard: Guard | None,
    rules: Sequence[str],
    found: Report,
) -> str:
    heat = "" if ran is None else f' class="heat{-(-ran * SHADES // max(runs, 1))}"'
    said = [f'<a href="{RULES}#{text(rule)}">{text(rule)}</a>' for rule in rules]
    gap = ""
    if guard is not None and found.covered.guards is not None and ran:
        ways = _ways(guard, found)
        if len(ways) < 2:
            gap = " gap"
            said.append("guard never asked" if not ways else f"guard never {str(not ways[0]).lower()}")
    times = "" if ran is None else f"{ran}/{runs}"
    return (
        f'<tr id="L{number}"{heat}><td class="at"><a href="#L{number}">{number}</a></td>'
        f'<td class="ran">{times}</td>'
        f'<td class="code">{text(line)}</td><td class="said{gap}">{" ".join(said)}</td></tr>'
    )


def _rules(found: Report, texts: Mapping[str, str]) -> str:
    places: dict[str, list[tuple[str, int]]] = {}
    for file, source in texts.items():
        for word, line in sorted(strings_of(source), key=lambda pair: pair[1]):
            if looks_like_id(word):
                places.setdefault(word, []).append((file, line))
    decided = set(found.exercised(RULE))
    named = [rule for rule in spec.load().rules.values() if rule.id in places]
    rows = "\n".join(_rule_row(rule, places[rule.id], rule.id in decided) for rule in named)
    said = f"{sum(rule.id in decided for rule in named)} of {len(named)} decided a step of these scenarios."
    head = "<tr><th>Rule</th><th>Decided</th><th>Text</th><th>Code</th></tr>"
    table = f'<div class="frame"><table><thead>{head}</thead><tbody>{rows}</tbody></table></div>'
    return f'{_head("Rules that the reference names", said)}<main class="index">{table}</main>'


def _rule_row(rule: spec.Rule, places: Sequence[tuple[str, int]], decided: bool) -> str:
    links, went = ", ".join(_places(places)), "yes" if decided else "never"
    return (
        f'<tr id="{text(rule.id)}"><th scope="row">{text(rule.id)}</th><td>{went}</td>'
        f"<td><b>{text(rule.title)}</b><br>When {text(rule.when)}, then {text(rule.then)}</td>"
        f"<td>{links}</td></tr>"
    )


def _places(places: Iterable[tuple[str, int]]) -> Iterator[str]:
    for file, line in places:
        yield f'<a href="{page_name(file)}#L{line}">{text(file)}:{line}</a>'
