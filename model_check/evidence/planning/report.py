"""A plan in words and for programs, each operation with the command that performs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kraftcheck.evidence.planning.judging import WALKS, numbers
from kraftcheck.evidence.planning.search import Plan, Step
from kraftcheck.evidence.planning.situation import Operation, Situation
from kraftcheck.reference.voters import majority
from kraftcheck.support.terminal import Console, entry, heading, say

_COLUMN: Final = 10
_QUORUM: Final = "kafka-metadata-quorum.sh --bootstrap-controller HOST:PORT"


def commands(operation: Operation, before: Situation) -> list[str]:
    """The commands of Kafka that perform ``operation`` in ``before``, for node N with its file
    N.properties.
    """
    id = operation.member.id
    start = f"kafka-server-start.sh -daemon {id}.properties"
    # Finding auto-join-undoes-removal.
    runs = operation.member in before.running
    joins = [
        f"# with controller.quorum.auto.join.enable (4.2 on) {id} joins again: restart it without, first"
    ]
    # Between two steps the leadership may have changed.
    other_leads = [f"{_QUORUM} describe --status   # {id} is not the LeaderId; otherwise restart it first"]
    others = before.needs_all and runs and id not in before.leaders
    return {
        "add": [
            f"{_QUORUM} describe --replication   # until the Lag of {id} is 0",
            f"{_QUORUM} --command-config {id}.properties add-controller",
        ],
        "remove": [
            *(joins if runs else []),
            *(other_leads if others else []),
            f"{_QUORUM} describe --replication   # the DirectoryId of {id}; until the Lag of the rest is 0",
            f"{_QUORUM} remove-controller --controller-id {id} --controller-directory-id DIRECTORY",
        ],
        "start": [start],
        "format": [
            f"kafka-storage.sh format --cluster-id CLUSTER --config {id}.properties --no-initial-controllers",
            start,
        ],
        "restart": [
            f"{_QUORUM} describe --status   # if {id} is the LeaderId:",
            f"kafka-server-stop.sh   # on node {id}",
            start,
            f"{_QUORUM} describe --status   # until another node is LeaderId",
        ],
    }[operation.verb]


def print_plan(
    out: Console, plan: Plan, start: Situation, goal: frozenset[int], preset: str, faults: tuple[str, ...]
) -> None:
    """Print the steps, what is not done and why, and the faults under which that holds."""
    heading(out, f"From voters {_named(start)} to {', '.join(map(str, sorted(goal)))}; protocol {preset}")
    for text in _beginning(start, plan):
        entry(out, "now", text, column=_COLUMN)
    if not plan.has_leader:
        lacks = len(start.running_voters) < majority(len(start.voters))
        text = "a majority of the voters does not run" if lacks else "none was within the limits"
        text = f"no leader can be elected: {text}"
        entry(out, "now", text, "red", column=_COLUMN)
    steps = plan.steps or ()
    for number, step in enumerate(steps, 1):
        entry(out, f"{number}.", str(step.operation), "bold", column=_COLUMN)
        for command in commands(step.operation, step.before):
            out.print(f"{'':{_COLUMN}}{command}")
        if step.fragile:
            lost = " or ".join(map(str, step.fragile))
            since = "until the next step" if number < len(steps) else "from here on"
            entry(out, "", f"{since}: if {lost} is lost, no leader can be elected", column=_COLUMN)
        if not step.complete:
            text = "not all states of this step were explored; nothing wrong was found in the others"
            entry(out, "open", text, "yellow", column=_COLUMN)
        for also, risk in zip(("", " and a process crashes"), step.risks, strict=False):
            if risk.refusal:
                text = f"if another leader is elected during this step{also}: {risk.refusal}"
                entry(out, "risk", text, "yellow", column=_COLUMN)
        if not all(each.complete for each in step.risks):
            text = f"elections during this step were explored in part, with {WALKS} random walks in addition"
            entry(out, "", text, "yellow", column=_COLUMN)
    for each in dict.fromkeys((each.operation, each.why) for each in plan.refused):
        entry(out, "not", f"{each[0]}: {each[1]}", "yellow", column=_COLUMN)
    if plan.steps is None:
        entry(out, "no plan", _why_none(plan), "red", column=_COLUMN)
    elif not plan.steps:
        entry(out, "nothing", "these are the voters, and all of them run", column=_COLUMN)
    out.print()
    stated = "one crash between any two effects of a step" if "crash" in faults else "no crash"
    stated += ", with loss of power" if "power-loss" in faults else ""
    kept = "; the loss of any one voter is survived after every step" if plan.tolerates else ""
    say(
        out,
        f"Each addition and removal was explored with late and lost messages and {stated}{kept}. Refused is "
        "what goes wrong without an election; what an election during the step can do is named as its risk.",
        hang=2,
    )
    if plan.steps:
        say(
            out,
            "Not explored: two faults in one step, a disk that is lost during a step, steps that overlap; "
            "wait for each to be done. Starts and restarts are not explored, apart from the election that "
            "follows. The logs of the voters that run are taken to be equally long.",
            hang=2,
        )
        _print_verdict(out, plan.steps)


def _print_verdict(out: Console, steps: Sequence[Step]) -> None:
    """How far the steps of a plan were judged."""
    left = [str(number) for number, step in enumerate(steps, 1) if not step.complete]
    if left:
        text = f"undetermined: {'step' if len(left) == 1 else 'steps'} {', '.join(left)} not explored whole"
        say(out, f"{text}; do {'it' if len(left) == 1 else 'them'} only if you accept that", "bold yellow")
        return
    count = "1 step" if len(steps) == 1 else f"{len(steps)} steps"
    partly = [str(n) for n, step in enumerate(steps, 1) if not all(each.complete for each in step.risks)]
    text = f"a plan of {count}, explored whole"
    if partly:
        text += f" but for elections during {'step' if len(partly) == 1 else 'steps'} {', '.join(partly)}"
    risks = sum(any(each.refusal for each in step.risks) for step in steps)
    say(out, text + (f"; {risks} with a risk" if risks else ""), "bold yellow" if risks else "bold green")


def _why_none(plan: Plan) -> str:
    if plan.has_leader:
        return "no order of operations leads there safely; the lines above say what is wrong with each"
    return (
        "Kafka changes voters only by a record that a majority of them commits. Start one that is down, or "
        "restore its disk. If a majority of the disks is lost, no operation brings the quorum back: what "
        "only these disks had is lost, and a new cluster has to be formatted"
    )


def _named(situation: Situation) -> str:
    return ", ".join(str(each.id) for each in sorted(situation.voters))


def _beginning(start: Situation, plan: Plan) -> list[str]:
    """What does not run, and who leads."""
    leaders = " or ".join(map(str, sorted(start.leaders)))
    found = [f"{leaders} leads"] if plan.has_leader else []
    observers = sorted(each.id for each in start.running if each.id not in {one.id for one in start.voters})
    found += [f"{id} is an observer" for id in observers]
    found += [f"{each.id} is down" for each in sorted(start.down)]
    found += [f"the disk of {id} is lost" for id in sorted(start.empty)]
    renamed = [f"{id} is {number}" for id, number in numbers(start).items() if id != number]
    return found + ([f"in scenarios {', '.join(renamed)}"] if renamed else [])


def as_json(plan: Plan, preset: str, faults: tuple[str, ...]) -> dict[str, Any]:
    """The machine-readable form."""
    steps = plan.steps or ()
    return {
        "found": plan.steps is not None,
        "protocol": preset,
        "faults": list(faults),
        "has_leader": plan.has_leader,
        "survives_loss_of_one": plan.tolerates,
        "steps": [
            {
                "operation": each.operation.verb,
                "node": each.operation.member.id,
                "text": str(each.operation),
                "commands": commands(each.operation, each.before),
                "fragile": list(each.fragile),
                "complete": each.complete,
                "risk": "; ".join(risk.refusal for risk in each.risks if risk.refusal),
                "elections_explored": all(risk.complete for risk in each.risks),
            }
            for each in steps
        ],
        "refused": [
            {
                "after": each.after,
                "operation": each.operation.verb,
                "node": each.operation.member.id,
                "why": each.why,
            }
            for each in plan.refused
        ],
    }
