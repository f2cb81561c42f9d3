"""The page ``docs/findings-by-release.md``: which finding is there in which release of Kafka."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from importlib import resources

from kraftcheck.checking import by_release
from kraftcheck.checking.by_release import Checked, Reproduced, Results
from kraftcheck.spec import RELEASES

_BEGIN = """\
# Findings by release

Each scenario of a finding about replicas of Kafka, under the preset of each release (`kraftcheck check NAME
--protocol kafka-RELEASE`), and its counterexample taken by replicas of the classes of that release
(`kraftcheck reproduce NAME --kafka PATH`). Findings about brokers and documents have no such presets.

- *7* is the number of steps of a shortest counterexample; of a nightly scenario, of that of 4.3. *7
  confirmed*: replicas of the release take all of them. *7 differs at 5*: in step 5 they do something else
  than the preset. *7 (4 taken)*: step 5 cannot be taken there. The reasons are [below](#why-not).
- *7, not recognised*: the shortest counterexample there does not have the steps of the finding, for a reason
  [below](#why-not).
- *no*: the scenario holds under the preset, within its bounds. *not begun*: no replica of the release gets
  into the states in which the scenario begins. *?*: not determined.

A number without a word is of the model alone: the counterexample was not given to that release. The column
of 4.3 is of Kafka 4.3.1.

The results are made by `python -m kraftcheck.evidence.quorum.by_release PATH … --jars FOLDER -o
model_check/checking/findings_by_release.json`, and this page by `python -m kraftcheck.checking.finding_pages
docs`. `--traces FOLDER` takes counterexamples of one release first, which saves hours.
"""


def page(results: Results) -> str:
    """The text of the page."""
    head = ("scenario", *RELEASES)
    lines = [_BEGIN, _row(head), _row(["---"] * len(head))]
    for name, known in by_release.scenarios().items():
        link = f"[{name.removeprefix('finding-')}]({known.place.removeprefix('docs/')})"
        lines.append(_row([link, *(_cell(results, name, release) for release in RELEASES)]))
    reasons = [*_unlike(), *_reasons(results)]
    return "\n".join([*lines, "\n## Why not\n", *(reasons or ["Nothing differs."])]) + "\n"


def _unlike() -> Iterator[str]:
    """Where no scenario, or not this one, shows the finding in a release that has it."""
    text = (resources.files("kraftcheck.checking") / "finding_pages.toml").read_text(encoding="utf-8")
    for entry in tomllib.loads(text)["page"]:
        for release, reason in entry.get("unlike", {}).items():
            yield f"- [{entry['name']}](findings/{entry['name']}.md), {release}, is there: {reason}."
        for scenario, reasons in entry.get("not-recognised", {}).items():
            for release, reason in reasons.items():
                yield f"- `{scenario}`, {release}: {reason}."


def is_there(results: Results, name: str, release: str) -> bool:
    """Whether the scenario ``name`` shows its finding in ``release``, and not another one alone."""
    return by_release.scenarios()[name].id in _of(results, name, release).looks_like


def _of(results: Results, name: str, release: str) -> Checked:
    nothing = Checked(verdict="undetermined", reason="not checked")
    return results.checked.get(name, {}).get(release, nothing)


def _row(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(results: Results, name: str, release: str) -> str:
    found = _of(results, name, release)
    if found.verdict != "violated":
        return {"holds": "no", "undetermined": "?", "unbuilt": "not begun"}[found.verdict]
    steps = ", ".join(dict.fromkeys(map(str, found.violated.values())))
    if not is_there(results, name, release):
        return f"{steps}, not recognised"
    words = [_word(each) for each in results.reproduced.get(name, {}).get(release, ())]
    return " ".join([steps, *dict.fromkeys(words)]).strip()


def _word(found: Reproduced) -> str:
    if found.verdict == "differs":
        return f"differs at {found.taken + 1}"
    return {"confirmed": "confirmed", "undetermined": f"({found.taken} taken)", "untried": ""}[found.verdict]


def _reasons(results: Results) -> Iterator[str]:
    """Each reason once, with its scenario and the releases."""
    releases: dict[tuple[str, str], list[str]] = {}
    for name in by_release.scenarios():
        for release in RELEASES:
            for reason in _why(results, name, release):
                releases.setdefault((name, reason), []).append(release)
    for (name, reason), where in releases.items():
        yield f"- `{name}`, {', '.join(where)}: {reason.rstrip('.')}."


def _why(results: Results, name: str, release: str) -> Iterator[str]:
    found = _of(results, name, release)
    if found.reason:
        yield found.reason.replace(f"{name}.toml", "the file").removesuffix("; see docs/scenarios.md.")
    for each in dict.fromkeys(results.reproduced.get(name, {}).get(release, ())):
        if each.reason and found.verdict == "violated":
            yield f"reproduced: {each.reason}"
