"""The data sets of a campaign."""

from __future__ import annotations

from kraftcheck.pipeline.datasets import Column, Dataset

_COORDINATES = (
    Column("cell", "string", "the cell's id: a digest of all that defines it"),
    Column("scenario", "string", "the scenario's name"),
    Column("protocol", "string", "the protocol variant; 'scenario': as the scenario says"),
    Column("bounds", "string", "what differs from the scenario's bounds; 'scenario': nothing"),
    Column("mutant", "string", "the mutant's id; 'none': the reference as it is"),
    Column("judged", "string", "the property that is judged alone; null: all that the scenario judges"),
    Column("engine", "string", "'check' or 'simulate'"),
    Column("seed", "bigint", "seed of the walks; null for 'check'"),
    Column("expected", "string", "what is expected to be found; null: nobody knows"),
)

PLAN = Dataset(
    "campaign-plan",
    2,
    "The cells of the campaign that ran last.",
    (
        *_COORDINATES,
        Column(
            "control",
            "string",
            "of a mutant: id of the cell of the reference as it is in the same place; null: it is none",
        ),
        Column("content", "string", "id of the scenario that is explored, in 'campaign-scenarios'"),
        Column("coverage", "boolean", "whether it is noted what the steps exercise"),
        Column("sources", "string", "digest of the sources of kraftcheck that are to run it"),
        Column("campaign", "string", "the campaign's name"),
    ),
    sealed=True,
)

SCENARIOS = Dataset(
    "campaign-scenarios",
    1,
    "The scenarios that cells explore.",
    (
        Column("content", "string", "id of the scenario: a digest of its text"),
        Column("text", "string", "the scenario as JSON, with the protocol variant and the bounds applied"),
    ),
    sealed=True,
)

CELLS = Dataset(
    "campaign-cells",
    3,
    "What finished cells found, a row each.",
    (
        *_COORDINATES,
        Column("verdict", "string", "'holds', 'violated', 'undetermined', 'invalid' or 'failed'"),
        Column("as_expected", "boolean", "null where nothing is expected or the verdict is undetermined"),
        Column("differences", "array<string>", "where it is not as expected, in words"),
        Column(
            "violated",
            "array<struct<property:string,kind:string,steps:int,trace:string>>",
            "violated properties and goals never reached: of which kind ('safety', 'eventually', 'goal'), "
            "steps of the counterexample (null: there is none) "
            "and the counterexample as `kraftcheck trace` reads it (null: none, no time was left, or a state "
            "of a mutant cannot be shown)",
        ),
        Column(
            "judged_to",
            "int",
            "of 'check' the last level, of 'simulate' the walk, up to which every violation of a safety "
            "property would have been found; -1: none, null: the whole was explored",
        ),
        Column(
            "eventually_judged",
            "boolean",
            "whether all *eventually* properties that are asked for were judged, if there are any",
        ),
        Column("distinct", "bigint", "distinct states"),
        Column("states", "bigint", "those and their images under renaming of interchangeable replicas"),
        Column("generated", "bigint", "successors generated; steps taken by walks"),
        Column("depth", "int", "number of the last level; length of the longest walk"),
        Column(
            "covered",
            "array<string>",
            "what steps that were taken exercise: 'rule VOTE-10', 'guard vote.py:40 true'; null: not noted",
        ),
        Column(
            "limit", "string", "the limit that was hit: 'max_seconds', 'max_memory', 'max_states', 'walks'"
        ),
        Column("error", "string", "why the cell is invalid or failed"),
        Column("seconds", "double", "wall time of the cell, with building the system and telling traces"),
        Column("explored_seconds", "double", "wall time of the exploration alone"),
        Column("peak_memory", "bigint", "resident bytes of its process at most, shared ones included"),
        Column("finished", "timestamp", "when it ended"),
        Column("host", "string", "where it ran"),
    ),
    sealed=True,
)
