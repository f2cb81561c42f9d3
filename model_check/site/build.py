"""Make the site: ``python -m kraftcheck.site.build FOLDER``.

The Markdown of all pages goes to a folder next to ``FOLDER``, from which Zensical makes the HTML. The pages
of counterexamples are files of their own, which the site embeds.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

from kraftcheck import spec
from kraftcheck.checking import finding_pages, findings
from kraftcheck.site import architecture, facts, names, pages, written
from kraftcheck.site.counterexamples import Counterexample, of_scenario, violated
from kraftcheck.site.navigation import navigation
from kraftcheck.support.errors import InputError
from kraftcheck.support.places import root
from kraftcheck.systems.scenario import shipped
from kraftcheck.traces.page import page_of

#: Files of ``docs/`` that are no pages, and of ``tests/vectors``, to which pages link.
_FILES = ("docs/schemas/*.json", "docs/*.svg", "tests/vectors/schema.json")

#: The search of Zensical writes paths in a grey of too little contrast (WCAG: 4.5 to 1).
#: Styles of the site do not reach it in its shadow tree.
_SEARCH_CONTRAST = ("rgb(var(--color-foreground)/.45)", "rgb(var(--color-foreground)/.62)")

Say: TypeAlias = Callable[[str], None]


def build(out: Path, say: Say = print) -> None:
    """Make the site in ``out``, which is replaced. Raises InputError where that is not possible."""
    _require_checkout_and_generator()
    source = out.parent / f"{out.name}-source"
    texts = page_texts(shown := counterexamples(say))
    _write(source / "docs", texts)
    _write_traces(source / "docs", shown)
    _write_assets(source, texts)
    say(f"{len(texts)} pages and {len(shown)} counterexamples")
    _generate(source, out)


def _require_checkout_and_generator() -> None:
    if not (root() / "docs" / "index.md").is_file():
        raise InputError(
            "the site is made from the folder docs, which a wheel does not have; run this in a checkout."
        )
    if find_spec("zensical") is None:
        raise InputError("the site needs Zensical; run: pip install 'kraftcheck[docs]'.")


def counterexamples(say: Say = print) -> tuple[Counterexample, ...]:
    """The counterexamples of the shipped scenarios."""
    return tuple(found for scenario in violated() for found in of_scenario(scenario, say))


def page_texts(shown: Sequence[Counterexample]) -> dict[str, str]:
    """The Markdown of every page, by its path on the site; ``shown``: all counterexamples."""
    return {**_written(shown), **{at: page.text for at, page in _generated(shown).items()}}


def _written(shown: Sequence[Counterexample]) -> dict[str, str]:
    """The pages that are written by hand, those of findings with their counterexamples."""
    files = {**written.sources(root()), **{path: path.removeprefix("docs/") for path in _other_files()}}
    texts = {}
    for path, at in written.sources(root()).items():
        texts[at] = written.page((root() / path).read_text(encoding="utf-8"), path, at, files)
    # The drawing comes before the text that stands for it where no SVG is shown.
    texts["architecture.md"] = texts["architecture.md"].replace(
        "\n```\n", f"\n{architecture.svg()}\n\n```\n", 1
    )
    for page in finding_pages.pages():
        at = f"findings/{page.name}.md"
        named = [scenario.name for scenario in page.scenarios]
        of_page = sorted(
            (each for each in shown if each.scenario in named), key=lambda each: named.index(each.scenario)
        )
        texts[at] = pages.finding(page, texts[at], of_page)
    return texts


def _generated(shown: Sequence[Counterexample]) -> dict[str, pages.Titled]:
    """The pages that are made from catalogues."""
    catalogue = spec.load()
    judged = facts.how_judged((root() / "docs" / "properties.md").read_text(encoding="utf-8"))
    of = {
        scenario.name: [each for each in shown if each.scenario == scenario.name] for scenario in violated()
    }
    return {
        "index.md": _home(),
        "schemas/index.md": pages.schemas(
            [path.name for path in sorted((root() / "docs/schemas").iterdir())]
        ),
        "rules/index.md": pages.rules_overview(),
        **{f"rules/{area}.md": pages.area(area, rules) for area, rules in catalogue.areas.items()},
        **{names.rules()[each.id]: pages.rule(each) for each in catalogue.rules.values()},
        "properties/index.md": pages.properties_overview(),
        **{
            names.properties()[each.id]: pages.property_(each, judged, shown)
            for each in catalogue.properties.values()
        },
        "scenarios/index.md": pages.scenarios_overview(),
        **{f"scenarios/{name}.md": pages.scenario_folder(name) for name in pages.FOLDERS},
        **{
            names.scenarios()[name]: pages.scenario(each, of.get(name, ()))
            for name, each in shipped().items()
        },
    }


def _home() -> pages.Titled:
    files = {**written.sources(root()), **{path: path.removeprefix("docs/") for path in _other_files()}}
    text = (root() / "docs" / "index.md").read_text(encoding="utf-8")
    things = written.page(re.sub(r"^# ", "## ", text), "docs/index.md", "index.md", files)
    counts = {
        "rules": len(spec.load().rules),
        "properties": len(spec.load().properties),
        "scenarios": len(shipped()),
        "mutants": len(facts.mutants()),
        "findings": len(finding_pages.pages()),
    }
    return pages.home(things, counts)


def _other_files() -> list[str]:
    return [path.relative_to(root()).as_posix() for each in _FILES for path in sorted(root().glob(each))]


def _write(folder: Path, texts: Mapping[str, str]) -> None:
    """Write the pages; files that are the same stay, so that Zensical need not read them again."""
    wanted = {folder / at for at in texts}
    for path in folder.rglob("*.md") if folder.is_dir() else ():
        if path not in wanted:
            path.unlink()
    for at, text in texts.items():
        path = folder / at
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _write_traces(folder: Path, shown: Sequence[Counterexample]) -> None:
    for each in shown:
        path = folder / each.page
        path.parent.mkdir(exist_ok=True)
        known = findings.recognised(each.trace)
        about = [] if known is None else [findings.in_words(known, each.trace.property or "")]
        path.write_text(page_of(each.trace, about, findings.faults(each.trace)), encoding="utf-8")


def _write_assets(source: Path, texts: Mapping[str, str]) -> None:
    assets = resources.files("kraftcheck.site") / "assets"
    (source / "docs" / "assets").mkdir(parents=True, exist_ok=True)
    for name in ("site.css", "iframe-worker.js", "icon.svg"):
        (source / "docs" / "assets" / name).write_text(
            (assets / name).read_text(encoding="utf-8"), encoding="utf-8"
        )
    for path in _other_files():
        target = source / "docs" / path.removeprefix("docs/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root() / path, target)
    settings = (assets / "zensical.toml").read_text(encoding="utf-8")
    head = f"[project]\nnav = {_toml(navigation(texts))}\n"
    (source / "zensical.toml").write_text(settings.replace("[project]\n", head, 1), encoding="utf-8")


def _toml(value: object) -> str:
    """Nested lists, tables and texts as TOML on one line."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False)


def _generate(source: Path, out: Path) -> None:
    """Let Zensical make the HTML. Raises InputError where it finds a mistake, for example a dead link."""
    command = [sys.executable, "-m", "zensical", "build", "--strict", "-f", str(source / "zensical.toml")]
    made = source / "html"
    shutil.rmtree(made, ignore_errors=True)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not (made / "index.html").is_file():
        raise InputError(f"Zensical could not make the site:\n{done.stdout}{done.stderr}")
    for program in (made / "assets" / "javascripts").glob("bundle.*.js"):
        text = program.read_text(encoding="utf-8")
        program.write_text(text.replace(*_SEARCH_CONTRAST), encoding="utf-8")
    shutil.rmtree(out, ignore_errors=True)
    made.rename(out)


def main(words: Sequence[str]) -> int:
    """The command: the folder to make, ``build/site`` if none is given."""
    out = Path(words[0] if words else "build/site")
    try:
        build(out)
    except InputError as error:
        print(f"kraftcheck: {error}", file=sys.stderr)
        return 2
    print(f"{out}/index.html: open it in a browser")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
