"""The generated pages, a function for each kind: it returns the Markdown of the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import PurePosixPath
from typing import Any, Final

from jinja2 import Environment
from markupsafe import Markup

from kraftcheck import spec
from kraftcheck.checking.coverage import rule_evidence
from kraftcheck.checking.finding_pages import Page
from kraftcheck.checking.mutation import catalogue
from kraftcheck.query import releases, rule_table
from kraftcheck.site import facts, names
from kraftcheck.site.counterexamples import Counterexample
from kraftcheck.site.markdown import escaped, templates
from kraftcheck.site.picture import scene_of, svg
from kraftcheck.spec import Property, Rule
from kraftcheck.systems.scenario import Scenario, shipped, shipped_files

#: What each kind of evidence for a rule means.
FOUNDED: Final = {
    "document": "a KIP states it",
    "document+kafka": "a KIP states it and Apache Kafka does it",
    "kafka": "Apache Kafka does it; no KIP says so",
    "memory": "known from practice, not checked against a text again",
    "decision": "the texts leave it open; this is how it is decided here",
}
#: The folders of the shipped scenarios, in the order of the site.
FOLDERS: Final = {
    "findings": "Defects of Apache Kafka and of documents, each shown by a counterexample.",
    "elections": "Elections, votes, pre-votes, resignations and hand-overs.",
    "replication": "Fetching, committing, truncating and describing the log.",
    "snapshots": "Snapshots, and logs that begin after one.",
    "timers": "Timers that run only when the replica has armed them.",
    "voters": "Voter sets that change, replaced disks, upgrades of kraft.version.",
    "brokers": "Brokers and their controller: registration, heartbeats, fencing, ISR.",
    "mutants": "Small scenarios in which removed rules show.",
    "parity": "Scenarios that TLC explores too.",
    "nightly": "Large scenarios, explored at night.",
}
#: So many names are listed before the rest is folded.
MOST_LISTED: Final = 12


@dataclass(frozen=True, slots=True)
class Titled:
    """A page: its title in navigation, and its Markdown."""

    title: str
    text: str


@cache
def _templates() -> Environment:
    return templates(
        prose=names.prose, links=names.links, founded=FOUNDED.__getitem__, released=releases.in_words
    )


def _page(template: str, at: str, title: str, **values: Any) -> Titled:
    bound: dict[str, Callable[..., Any]] = {
        "prose": partial(names.prose, at=at),
        "links": partial(names.links, at=at),
        "to": lambda target, label: names.link(escaped(label), target, at),
    }
    text = _templates().get_template(template).render(title=title, most=MOST_LISTED, **bound, **values)
    return Titled(title, text)


def rule(each: Rule) -> Titled:
    """The page of a rule."""
    recorded = rule_evidence.in_recorded_runs()
    return _page(
        "rule.md",
        names.rules()[each.id],
        f"{each.id} {each.title}",
        rule=each,
        row=facts.row_of()[each.id],
        kips=[source for source in each.source if not source.startswith("Kafka: ")],
        kafka=[source.removeprefix("Kafka: ") for source in each.source if source.startswith("Kafka: ")],
        changes=releases.changes_of(each),
        properties=[spec.load().properties[name] for name in each.protects],
        mutants=[catalogue.shipped()[name] for name in catalogue.by_rule().get(each.id, ())],
        scenarios=facts.scenarios_of_rules().get(each.id, ()),
        excerpts=facts.excerpts_of_rules().get(each.id, ()),
        recorded=recorded.rules.get(each.id, 0),
        runs=len(recorded.runs),
    )


def area(name: str, rules: Sequence[Rule]) -> Titled:
    """The page of an area of rules."""
    rows = [facts.row_of()[each.id] for each in rules]
    return _page("area.md", f"rules/{name}.md", name, rows=rows, file=f"spec/{rules[0].file}")


def rules_overview() -> Titled:
    """All areas, and what shows the rules at work."""
    table = rule_table.rows()
    areas = [
        (name, f"rules/{name}.md", rules, [facts.row_of()[each.id] for each in rules])
        for name, rules in spec.load().areas.items()
    ]
    overview = Markup(names.linked(rule_table.overview(table), "rules/index.md"))
    return _page("rules.md", "rules/index.md", "Rules", areas=areas, rules=len(table), overview=overview)


def property_(
    each: Property, judged: Mapping[str, tuple[str, str]], shown: Sequence[Counterexample]
) -> Titled:
    """The page of a property; ``judged``: by id how it is judged; ``shown``: all counterexamples."""
    killed = [mutant for mutant in facts.mutants() if each.name in mutant.expect]
    how, statement = judged.get(each.id, ("", each.statement))
    at = names.properties()[each.id]
    return _page(
        "property.md",
        at,
        f"{each.id} {each.name}",
        property=each,
        how=how,
        remarks=Markup(names.linked(statement.removeprefix(each.statement).strip(), at)),
        rules=[spec.load().rules[name] for name in each.rules],
        mutants=killed,
        bugs=facts.bugs_of(mutant.id for mutant in killed),
        violating=facts.violating(each.name),
        shown=[found for found in shown if each.name in found.violated],
    )


def properties_overview() -> Titled:
    """All properties, by what they say: always, eventually, sometimes."""
    every = spec.load().properties.values()
    return _page("properties.md", "properties/index.md", "Properties", properties=every)


def scenario(each: Scenario, shown: Sequence[Counterexample]) -> Titled:
    """The page of a scenario; ``shown``: its counterexamples."""
    at = names.scenarios()[each.name]
    tables = each.model_dump(by_alias=True, exclude_defaults=True)
    decided = facts.rules_of_scenarios().get(each.name)
    return _page(
        "scenario.md",
        at,
        each.name,
        scenario=each,
        picture=Markup(svg(scene_of(each), "The beginning. All may send to all, unless a link is cut.")),
        settings=[(key, _flat(tables[key])) for key in ("budgets", "bounds", "network") if key in tables],
        file=shipped_files()[each.name].read_text(encoding="utf-8"),
        rules=None if decided is None else [name for name in spec.load().rules if name in decided],
        mutants=[mutant for mutant in facts.mutants() if mutant.scenario == each.name],
        findings=facts.pages_of_scenarios().get(each.name, ()),
        trace=trace_frames(shown, at),
    )


def _flat(table: Mapping[str, Any]) -> str:
    """A table of a scenario file in words: "crashes 1, timers 4"."""
    values = ((key, ", ".join(map(str, x)) if isinstance(x, tuple) else str(x)) for key, x in table.items())
    return "; ".join(f"{key} {value}" for key, value in values)


def folder_of(name: str) -> str:
    """The folder of a shipped scenario, which names its subject."""
    return PurePosixPath(str(shipped_files()[name])).parent.name


def scenarios_of(folder: str) -> list[Scenario]:
    """The shipped scenarios of a folder."""
    return [each for name, each in shipped().items() if folder_of(name) == folder]


def scenarios_overview() -> Titled:
    """The folders of scenarios."""
    folders = [(name, about, scenarios_of(name)) for name, about in FOLDERS.items()]
    return _page("scenarios.md", "scenarios/index.md", "Scenarios", folders=folders)


def scenario_folder(folder: str) -> Titled:
    """The page of a folder of scenarios."""
    at = f"scenarios/{folder}.md"
    return _page("folder.md", at, folder, about=FOLDERS[folder], scenarios=scenarios_of(folder))


def trace_frames(shown: Sequence[Counterexample], at: str) -> Markup:
    """The section with the pages of counterexamples, embedded: the first one open, the others folded."""
    if not shown:
        return Markup("")
    depth = at.count("/")
    text = _templates().get_template("trace.md").render(shown=shown, up="../" * depth)
    return Markup(text)


def finding(page: Page, text: str, shown: Sequence[Counterexample]) -> str:
    """The Markdown ``text`` of a finding with its counterexamples after its steps."""
    section = trace_frames(shown, f"findings/{page.name}.md")
    before, heading, after = text.partition("\n## Steps\n")
    steps, following, rest = after.partition("\n## ")
    return f"{before}{heading}{steps}\n{section}{following}{rest}"


def schemas(files: Sequence[str]) -> Titled:
    """The list of the JSON Schemas, ``files`` of one folder."""
    titles = [(file, file.removesuffix(".json")) for file in files]
    return _page("schemas.md", "schemas/index.md", "Schemas of JSON", titles=titles)


def home(things: str, counts: Mapping[str, int]) -> Titled:
    """The first page; ``things``: the table of what is where, as Markdown."""
    return _page("home.md", "index.md", "kraftcheck", things=Markup(things), counts=counts)
