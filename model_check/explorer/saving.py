"""A path as a file: a trace, a page, a test, a diagram, or a scenario that begins at its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kraftcheck.evidence.junit import program as kafka_test
from kraftcheck.explorer.ground import Ground, Path
from kraftcheck.explorer.start_here import scenario_here
from kraftcheck.support.toml_form import toml_text
from kraftcheck.traces import Trace, json_form, mermaid, program
from kraftcheck.traces.json_form import scenario_data
from kraftcheck.traces.page import page_of


@dataclass(frozen=True, slots=True)
class Saved:
    """A file: its name and its text."""

    name: str
    text: str


#: By the word of the page the suffix of the file and what makes its text from the trace of a path.
_OF_TRACES: Mapping[str, tuple[str, Callable[[Trace], str]]] = {
    "trace": (".json", json_form.dumps),
    "page": (".html", page_of),
    "pytest": (".py", program.source),
    "kafka-test": (".java", kafka_test.source),
    "mermaid": (".mmd", mermaid.render),
}

#: What a path can be saved as.
FORMS = (*_OF_TRACES, "scenario")


def save(ground: Ground, path: Path, form: str) -> Saved:
    """The file that ``path`` is in one of :data:`FORMS`. Raises InputError where it cannot be one."""
    name = ground.scenario.name
    if form == "scenario":
        found = scenario_here(ground, path)
        note = "".join(f"# {line}\n" for line in found.notes)
        return Saved(f"{found.scenario.name}.toml", note + toml_text(scenario_data(found.scenario)))
    suffix, render = _OF_TRACES[form]
    trace = ground.trace(path)
    stems = {"pytest": f"test_{name.replace('-', '_')}", "kafka-test": kafka_test.class_name(trace)}
    return Saved(f"{stems.get(form, name)}{suffix}", render(trace))
