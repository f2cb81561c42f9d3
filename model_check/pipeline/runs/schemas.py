"""The data sets that holding recorded runs against the reference gives."""

from __future__ import annotations

from kraftcheck.pipeline.datasets import Column, Dataset

_RUN = Column("folder", "string", "the folder of the run")
_COUNTS = "map<string,bigint>"

RUNS = Dataset(
    "conform-runs",
    1,
    "A row for each recorded run.",
    (
        _RUN,
        Column("run", "string", "the run's name"),
        Column("error", "string", "why it is no recording; then nothing else is known"),
        Column("recorded", "bigint", "events"),
        Column("compared", _COUNTS, "steps that were compared, by kind of event"),
        Column("world", _COUNTS, "events that are no step of a node, by kind"),
        Column("not_covered", _COUNTS, "steps that the reference does not know, by kind"),
        Column("skipped", _COUNTS, "steps after such a step or a difference, by reason"),
        Column("unknown", _COUNTS, "lines with a field that is not known, by kind and field"),
        Column("exceptions", _COUNTS, "how often each exception was used"),
        Column("goals", "map<string,boolean>", "whether the run reaches each goal"),
        Column("seconds", "double", "time to read, compare and judge it"),
    ),
)

DIFFERENCES = Dataset(
    "conform-differences",
    1,
    "A row for each difference between production and the reference.",
    (
        _RUN,
        Column("number", "int", "its place among the run's differences, from 0 on"),
        Column("seq", "bigint", "number of the event"),
        Column("node", "int", "the node; null: the run as a whole"),
        Column("event", "string", "kind of event"),
        Column("field", "string", "what differs"),
        Column("reference", "string", "the reference's value as JSON"),
        Column("production", "string", "production's value as JSON"),
        Column("rules", "array<string>", "the rules that decided the step"),
        Column("before", "array<string>", "the node's steps before it, in words"),
        Column("shown_at", "bigint", "number of the event that shows the value, where that is another"),
    ),
)

FINDINGS = Dataset(
    "conform-findings",
    1,
    "A row for each property that a run violates, each hazard, and each unexplained note of the recorder.",
    (
        _RUN,
        Column("number", "int", "its place among the run's findings, or notes, from 0 on"),
        Column("kind", "string", "'finding', 'hazard', or 'note': of the recorder, that no finding explains"),
        Column("seq", "bigint", "number of the event; null: a note in run.json"),
        Column("time", "bigint", "simulated time in ms"),
        Column("nodes", "array<int>", "the node that took the step, then others involved"),
        Column("property", "string", "the property's name"),
        Column("evidence", "string", "what was seen; the note"),
        Column("cause", "string", "the known cause"),
        Column("scenario", "string", "the scenario in which the checker finds the same"),
    ),
)

RULES = Dataset(
    "conform-rules",
    1,
    "How many steps that agree each rule decided, by run.",
    (
        _RUN,
        Column("rule", "string", "the rule's id"),
        Column("steps", "bigint", "steps that agree and that it decided"),
    ),
)

#: What a task yields: a run, and all that belongs to it.
NESTED = (
    f"{RUNS.ddl}, differences array<struct<{{differences}}>>, findings array<struct<{{findings}}>>, "
    "rules map<string,bigint>"
).format(
    **{
        name: ", ".join(f"{column.name}:{column.type}" for column in dataset.columns[1:])
        for name, dataset in (("differences", DIFFERENCES), ("findings", FINDINGS))
    }
)
