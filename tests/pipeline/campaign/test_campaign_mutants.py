"""What the report says of mutants: each is compared with the unchanged reference in the same cell."""

from __future__ import annotations

from typing import Any

from kraftcheck.checking.mutation import catalogue
from kraftcheck.pipeline.campaign import mutants
from kraftcheck.pipeline.campaign.store import CELLS, PLAN

Row = dict[str, Any]
HOLDS: Row = {"verdict": "holds"}
WALKED: Row = {"verdict": "undetermined", "limit": "walks"}


def violates(*kinds: tuple[str, str, int | None], judged_to: int | None = None) -> Row:
    """A cell that violates what ``kinds`` say: property, kind and steps."""
    violated = [
        {"property": name, "kind": kind, "steps": steps, "trace": None} for name, kind, steps in kinds
    ]
    return {"verdict": "violated", "violated": violated, "judged_to": judged_to}


def ends(name: str, steps: int) -> Row:
    """A cell whose exploration ends at a violation."""
    return violates((name, "safety", steps), judged_to=steps)


def walks(name: str, ended: int) -> Row:
    """A cell whose walks end at a violation, which is shown by 2 steps, after those that have ``ended``."""
    return violates((name, "safety", 2), judged_to=ended) | {"engine": "simulate"}


OPEN = {"verdict": "undetermined", "limit": "max_states"}
FAILED, INVALID = {"verdict": "failed", "error": "broken"}, {"verdict": "invalid", "error": "contradicts"}
NOT_JUDGED = {"eventually_judged": False}
SAFETY = ("P", "safety", 4)
UNKNOWN = "violates Q; that the unchanged reference does not is not known, as it violates P there"
SAME = "ends at P there, which the unchanged reference violates too"

PLANNED, FINISHED = dict.fromkeys(PLAN.names), dict.fromkeys(CELLS.names)

#: By the name of the scenario: the control, the mutant, and what became of it. ``None``: is not finished.
CASES: dict[str, tuple[Row | None, Row | None, str, str | None]] = {
    "killed": (HOLDS, ends("Q", 9), "killed", None),
    "survives": (HOLDS, HOLDS, "survived", None),
    "no-control": (None, ends("Q", 4), "undetermined", "the unchanged reference has not run there"),
    "no-control-holds": (None, HOLDS, "undetermined", "the unchanged reference has not run there"),
    "control-fails": (FAILED, ends("Q", 4), "undetermined", "the unchanged reference has failed there"),
    "control-invalid": (INVALID, ends("Q", 4), "undetermined", "the unchanged reference is invalid there"),
    "control-open": (OPEN, ends("Q", 4), "undetermined", "the unchanged reference: max_states reached there"),
    "same": (ends("P", 4), ends("P", 4), "undetermined", SAME),
    "same-whole": (violates(SAFETY), violates(SAFETY), "survived", None),
    "in-time": (ends("P", 4), ends("Q", 4), "killed", None),
    "too-late": (ends("P", 4), ends("Q", 5), "undetermined", UNKNOWN),
    "late-and-whole": (violates(SAFETY), ends("Q", 5), "killed", None),
    "in-a-run-before": (violates(SAFETY, judged_to=-1), ends("Q", 0), "undetermined", UNKNOWN),
    "cut": (violates(SAFETY, judged_to=6) | {"limit": "max_states"}, ends("Q", 7), "undetermined", UNKNOWN),
    "eventually": (HOLDS, violates(("Q", "eventually", 3)), "killed", None),
    "eventually-ends": (ends("P", 4), violates(("Q", "eventually", 3)), "undetermined", UNKNOWN),
    "eventually-whole": (
        violates(SAFETY) | NOT_JUDGED,
        violates(("Q", "eventually", 3)),
        "undetermined",
        UNKNOWN,
    ),
    "eventually-cut": (
        violates(("P", "goal", None)) | NOT_JUDGED | {"limit": "max_states"},
        violates(("Q", "eventually", 3)),
        "undetermined",
        UNKNOWN,
    ),
    "same-not-judged": (
        violates(SAFETY) | NOT_JUDGED,
        violates(SAFETY) | NOT_JUDGED,
        "undetermined",
        "eventually properties were not judged there: it violates P, as the unchanged reference does",
    ),
    "goal-not-judged": (
        violates(("P", "goal", None)),
        violates(("P", "goal", None)) | NOT_JUDGED | {"limit": "max_states"},
        "undetermined",
        "eventually properties were not judged there: max_states reached",
    ),
    "goal": (HOLDS, violates(("Q", "goal", None)), "killed", None),
    "goal-ends": (ends("P", 4), violates(("Q", "goal", None)), "undetermined", UNKNOWN),
    "goal-whole": (violates(SAFETY), violates(("Q", "goal", None)), "killed", None),
    "walks": (WALKED, walks("Q", 7), "killed", None),
    "walks-nothing": (WALKED, WALKED, "survived", None),
    "walks-in-time": (walks("P", 64), walks("Q", 0), "killed", None),
    "walks-too-late": (walks("P", 64), walks("Q", 64), "undetermined", UNKNOWN),
    "fails": (HOLDS, FAILED, "failed", "failed: broken"),
    "invalid": (INVALID, INVALID, "undetermined", "invalid: contradicts"),
    "limit": (HOLDS, OPEN, "undetermined", "max_states reached"),
    "unfinished": (HOLDS, None, "undetermined", "not finished"),
}


def place(scenario: str, mutant: str, control: Row | None, found: Row | None) -> tuple[list[Row], list[Row]]:
    """Plan and finished cells of a mutant and its control, with all their columns."""
    rows = [
        (f"{scenario} none", "none", None, control),
        (f"{scenario} mutant", mutant, f"{scenario} none", found),
    ]
    plan, cells = [], []
    for cell, name, beside, row in rows:
        where = {
            "cell": cell,
            "scenario": scenario,
            "mutant": name,
            "engine": (row or {}).get("engine", "check"),
        }
        plan.append(PLANNED | where | {"control": beside})
        cells += [] if row is None else [FINISHED | where | {"eventually_judged": True} | row]
    return plan, cells


def became(plan: list[Row], cells: list[Row]) -> tuple[dict[str, Any], list[Row]]:
    return mutants.found(plan, {cell["cell"]: cell for cell in cells})


def test_a_mutant_is_killed_by_what_the_reference_was_judged_by() -> None:
    plan, cells = [], []
    for name, (control, row, _, _) in CASES.items():
        planned, finished = place(name, f"m-{name}", control, row)
        plan += planned
        cells += finished
    found, kills = became(plan, cells)
    assert found["status"] == {f"m-{name}": status for name, (_, _, status, _) in CASES.items()}
    assert found["reasons"] == {
        f"m-{name}": f"{name}: {why}" for name, (_, _, _, why) in CASES.items() if why is not None
    }
    killed = {f"m-{name}" for name, (_, _, status, _) in CASES.items() if status == "killed"}
    assert {each["mutant"] for each in kills} == killed and {each["property"] for each in kills} == {"Q"}


def test_what_became_of_a_mutant_in_several_places() -> None:
    parts = [
        *(
            place(f"{one}-{number}", "killed", *CASES[one][:2])
            for number, one in enumerate(("same", "killed"))
        ),
        *(place(f"{one}-2", "open", *CASES[one][:2]) for one in ("same", "survives", "too-late")),
        *(place(f"{one}-3", "survivor", *CASES[one][:2]) for one in ("survives", "invalid")),
    ]
    found, _ = became(
        [row for plan, _ in parts for row in plan], [row for _, cells in parts for row in cells]
    )
    assert found["status"] == {"killed": "killed", "open": "undetermined", "survivor": "survived"}
    assert found["reasons"] == {"open": f"same-2: {SAME} (one of 2 cells)"}


def test_a_mutant_in_its_own_scenario_is_not_killed_before_all_of_it_is_finished() -> None:
    mutant = next(each for each in catalogue.shipped().values() if len(each.expect) == 2)
    first, second = mutant.expect
    where = {"scenario": mutant.scenario, "engine": "check"}
    cells = [{**FINISHED, **where, "cell": "none", "mutant": "none"} | HOLDS]
    plan = [{**PLANNED, **where, "cell": "none", "mutant": "none"}]
    for name in (first, second):
        own = {**where, "cell": name, "mutant": mutant.id, "judged": name, "expected": f"violated: {name}"}
        plan.append(PLANNED | own | {"control": "none"})
        cells.append(FINISHED | own | ends(name, 3))
    found, kills = became(plan, cells[:2])
    assert found["status"] == {mutant.id: "undetermined"} and len(kills) == 1
    assert found["reasons"] == {mutant.id: f"{mutant.scenario}: not finished"}
    assert became(plan, cells[1:])[0]["status"] == {mutant.id: "undetermined"}
    full = [cell | {"distinct": 1, "explored_seconds": 0.1, "differences": []} for cell in cells]
    assert became(plan, full)[0] == {"status": {mutant.id: "killed"}, "reasons": {}}
