"""What each ``--json`` output holds, one class an output: the source of ``docs/schemas``."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

Counts = dict[str, int]
#: Data whose form another schema or page describes.
Data = dict[str, Any]


class Output(BaseModel):
    """An output: its name, and the version of its form."""

    model_config = ConfigDict(extra="allow", strict=True)

    output: ClassVar[str]
    revision: ClassVar[int] = 1
    command: ClassVar[str]


class Violated(BaseModel):
    property: str
    steps: int


class Judged(BaseModel):
    property: str
    holds: bool | None
    stem: int
    cycle: int
    dead_end: bool
    open_states: int
    states: int
    closed: bool
    spent_budgets: list[str]
    withheld: list[str]


class Checked(Output):
    """The result of one scenario."""

    output, command = "check", "check --json; pipeline explore --json (with 'spark')"

    scenario: str
    expected: str
    verdict: str
    in_initial_prefix: bool
    misconfigured: list[Data]
    as_expected: bool
    differences: list[str]
    limit: str | None
    checkpoint: Data
    distinct_states: int
    interchangeable: list[int | str]
    states_with_renamed: int
    generated_states: int
    skipped_steps: int
    depth: int
    states_per_level: list[int]
    cut_by_constraints: Counts
    violations: list[Violated]
    goals_reached: list[str]
    goals_missing: list[str]
    reference_calls: int
    collision_probability: float
    seconds: float
    seconds_exploring: float
    visited_bytes: int
    peak_memory: int
    liveness: list[Judged]
    findings: list[Data]


class CoverageFound(Output):
    """The coverage targets that all scenarios of a run reach together."""

    output, command = "coverage", "check --coverage --json, the last line"

    coverage: Data


class Scenarios(Output):
    """Scenarios as files describe them (docs/scenarios.md)."""

    output, command = "scenarios", "check --list --json"

    scenarios: list[Data]


class Simulated(Output):
    """The result of random walks through a scenario."""

    output, command = "simulation", "simulate --json"

    scenario: str
    seed: int
    walks: int
    depth: int
    verdict: str
    limit: str | None
    unexpected: list[str]
    steps: int
    distinct_states: int
    longest_walk: int
    deadlocks: int
    goals_reached: list[str]
    goals_missing: list[str]
    eventually_not_judged: list[str]
    violations: list[Data]
    seconds: float


class MutantRun(BaseModel):
    judged: str | None
    verdict: str
    property: str | None
    steps: int | None
    states: int
    seconds: float
    limit: str | None
    trace: list[str]


class MutantJudged(Output):
    """The result of one mutant."""

    output, command = "mutant", "mutate --json"

    mutant: str
    rules: list[str]
    scenario: str
    status: str
    reason: str
    expected: list[str]
    runs: list[MutantRun]


class Mutants(Output):
    """Mutants as their catalogue describes them."""

    output, command = "mutants", "mutate --list --json"

    mutants: list[Data]


class Bug(Output):
    """A historical bug, with the results of its mutants."""

    output, command = "bug", "bugs KAFKA-… --json"

    id: str
    title: str
    mutants: list[str]
    results: list[Data]
    trace: list[str] | None
    violates: str | None


class Bugs(Output):
    """The historical bugs."""

    output, command = "bugs", "bugs --json"

    bugs: list[Data]


class Rules(Output):
    """Rules of the catalogue, with the places where they are at work."""

    output, command = "rules", "rules --json"

    rules: list[Data]


class Properties(Output):
    """Properties of the catalogue."""

    output, command = "properties", "rules --properties --json"

    properties: list[Data]


class Transitions(Output):
    """Legal transitions of the catalogue, those of brokers last."""

    output, command = "transitions", "rules --transitions --json"

    transitions: list[Data]


class Steps(Output):
    """What a replica does on one event, and in the poll round that follows."""

    output, command = "steps", "step REPLICA EVENT --json"

    protocol: Data
    steps: list[Data]


class BrokerStep(Output):
    """What a broker or the controller does on one event."""

    output, command = "broker-step", "step STATE EVENT --json"

    protocol: Data
    event: Data
    outcome: Data


class Row(BaseModel):
    model_config = ConfigDict(extra="allow")

    conditions: dict[str, str | list[str]]
    rules: list[str]


class Table(Output):
    """A decision table; a row has further fields, its columns of results."""

    output, command = "decision-table", "step --table NAME --json"

    protocol: str
    table: str
    about: str
    assumes: str
    columns: dict[str, list[str]]
    rows: list[Row]


class Tables(Output):
    """What each decision table is about, by its name."""

    output, command = "decision-tables", "step --table --json"

    tables: dict[str, str]


class TlcAnswer(BaseModel):
    verdict: str
    distinct_states: int
    generated_states: int
    depth: int | None
    violated: list[str]
    steps: int | None
    seconds: float
    limit: str | None


class TlcCompared(BaseModel):
    common: int
    only_checker: int
    only_tlc: int


class TlcComparison(Output):
    """The answers of the checker and of TLC about one scenario or mutant."""

    output, command = "tlc", "tlc --json"

    name: str
    status: str
    differences: list[str]
    notes: list[str]
    checker: TlcAnswer
    tlc: TlcAnswer
    states: TlcCompared | None


class TlcFollowed(Output):
    """How far TLC takes the steps of a trace."""

    output, command = "tlc-trace", "tlc --trace FILE --json"

    accepted: bool
    steps: int
    taken: int
    property: str | None
    violated: bool | None
    unlike: list[list[str]] | None
    limit: str | None


class Replayed(Output):
    """Whether the reference takes the steps of a trace as recorded."""

    output, command = "replay", "trace replay FILE --json"

    steps: int
    difference: Data | None


class Trace(Output):
    """A trace (docs/traces.md)."""

    output, revision, command = "trace", 3, "trace show … --json; check --traces DIR"

    scenario: Data
    steps: list[Data]


class Graph(Output):
    """A state graph, as ``networkx.node_link_graph`` reads it."""

    output, revision, command = "graph", 2, "graph --format json"

    directed: bool
    multigraph: bool
    graph: Data
    nodes: list[Data]
    edges: list[Data]


class GraphAnswer(Output):
    """The answer to a question about a state graph."""

    output, command = "graph-answer", "graph --to, --shared or --after-faults"

    question: str
    scenario: str
    found: bool


class Impact(Output):
    """The checks that a change concerns."""

    output, command = "impact", "impact --json"

    functions: list[str]
    rules: list[str]
    properties: list[str]
    mutants: list[str]
    recorded: Counts
    stale: list[str]
    left_out: list[str]
    checks: list[Data]


class ImpactCheck(Output):
    """The result of one check."""

    output, command = "impact-check", "impact --run --json; mutate --patch --json"

    check: str
    status: str
    why: list[str]
    seconds: float


class ImpactVerdict(Output):
    """Whether a check noticed the change."""

    output, command = "impact-verdict", "impact --run --json, the last line"

    noticed: bool | None
    checks: int


class EditVerdict(Output):
    """Whether a check kills an edit of the reference."""

    output, command = "edit-verdict", "mutate --patch --json, the last line"

    functions: list[str]
    verdict: str
    checks: int


class Proved(Output):
    """The result of one obligation of a proof."""

    output, command = "proof", "prove --json"

    system: str
    action: str
    conjunct: str
    verdict: str
    seconds: float


class ProofMutant(Output):
    """Whether the proof fails with a mutant."""

    output, command = "proof-mutant", "prove --mutants --json"

    system: str
    mutant: str
    rules: list[str]
    result: Data | None


class Refinement(Output):
    """Whether every explored transition of a scenario is one of the proved system."""

    output, command = "refinement", "prove --refinement --json"

    scenario: str
    system: str
    transitions: int
    states: int
    violations: list[Data]
    broken: list[Data]
    seconds: float


class RefinementMutant(Output):
    """Whether the refinement check notices a mutant."""

    output, command = "refinement-mutant", "prove --refinement --mutants --json"

    mutant: str
    scenario: str
    breaks: bool
    why: list[str]
    seconds: float


class Conform(Output):
    """Recorded runs, compared with the reference and judged (docs/conform.md)."""

    output, revision, command = "conform", 3, "conform --json"

    protocol: str
    runs: list[Data]
    rules: Counts
    rulesNeverExercised: list[str]
    goalsMissing: list[str]
    properties: Data
    exceptions: dict[str, str]
    notCompared: list[Data]


class Drive(Output):
    """The answers of an implementation, compared with the reference (docs/drive.md)."""

    output, command = "drive", "drive --json"

    adapter: str
    notShown: dict[str, list[str]]
    verdict: str
    sequences: int
    steps: int
    stepsCompared: int
    seconds: float
    rules: Counts
    differences: list[Data]


class Logs(Output):
    """Logs of nodes, judged (docs/logs.md)."""

    output, revision, command = "logs", 2, "logs --json"

    files: list[Data]
    nodes: list[Data]
    problems: list[Data]
    problemCounts: Counts
    problemsInDoubt: Counts
    verdicts: dict[str, Data]
    notJudged: list[Data]
    notes: Counts


class FleetLogs(Output):
    """Logs of a fleet of clusters, judged on Spark (docs/pipeline/logs.md)."""

    output, revision, command = "fleet-logs", 3, "pipeline logs --json"

    clusters: list[str]
    files: list[Data]
    nodes: list[Data]
    problems: list[Data]
    problemCounts: Counts
    problemsInDoubt: Counts
    notes: Counts
    missing: list[Data]
    mixed: list[Data]


class CampaignCell(Output):
    """A cell of a campaign: its coordinates."""

    output, command = "campaign-cell", "pipeline campaign --list --json"

    cell: str
    scenario: str


class Campaign(Output):
    """The report of a campaign (docs/pipeline/campaign.md)."""

    output, command = "campaign", "pipeline campaign --json"


class Bench(Output):
    """Measurements of speed."""

    output, command = "bench", "bench --json"

    machine: dict[str, str]
    measured: dict[str, str]
    figures: dict[str, Data]
