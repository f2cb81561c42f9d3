"""The answers of the checker about disks, in words and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kraftcheck.evidence.disks.observations import Observation
from kraftcheck.evidence.restart.beginning import Beginning
from kraftcheck.evidence.restart.questions import LOSES, Answer, assumptions
from kraftcheck.support.exit_codes import EXIT_DIFFERS, EXIT_EXPECTED, EXIT_UNDETERMINED
from kraftcheck.support.terminal import Console, entry, heading, say
from kraftcheck.systems.kraft.scenario import KRaftScenario

_COLUMN = 13
#: What a violated property means to an operator, where it is no loss of records.
_MEANS = {
    "SingleLeaderPerEpoch": "one epoch can have two leaders",
    "SingleKnownLeaderPerEpoch": "one epoch can have two leaders",
    "VotedOncePerEpoch": "a node can vote twice in one epoch",
    "SelfVoteSurvivesRestart": "a node can vote twice in one epoch",
    "NoReturnAfterLeading": "a node can vote again in an epoch that it led",
    "WipedReplicaIsAnother": "the node on the empty disk counts as the voter that it was",
    "NoFatal": "a process can exit, and has to be started again",
}


def print_beginning(out: Console, beginning: Beginning, observed: Sequence[Observation]) -> None:
    """Print from which disks the checker explores, and what they do not show."""
    nodes = ", ".join(map(str, beginning.disks))
    heading(out, f"The nodes {nodes} start on these disks; protocol {beginning.preset}")
    committed = beginning.quorum.committed
    text = "nothing is known to be committed"
    if committed.below:
        text = f"at least all records below offset {committed.below:,}: {committed.why}"
    entry(out, "committed", text, column=_COLUMN)
    for text in _not_started(beginning):
        entry(out, "down", text, column=_COLUMN)
    for text in beginning.left_out:
        entry(out, "left out", text, column=_COLUMN)
    for text, _ in assumptions(beginning)[1:]:
        entry(out, "not shown", f"whether {text}; both are explored", column=_COLUMN)
    count = sum(each.is_problem for each in observed)
    if count:
        noun = "problem" if count == 1 else "problems"
        entry(out, "disks", f"kraftcheck inspect names {count} {noun} of them", "red", column=_COLUMN)
    renamed = [f"{id} is {number}" for id, number in beginning.ids.items() if id != number]
    if renamed:
        entry(out, "ids", f"in scenarios node {', '.join(renamed)}", column=_COLUMN)


def _not_started(beginning: Beginning) -> list[str]:
    """The nodes that stay down in every answer, with the reason."""
    found = [f"node {id}: {why}" for id, why in beginning.unable.items()]
    missing = [id for id in beginning.current_voters if id not in beginning.disks]
    return found + [f"node {id}: it is a voter, and its disk was not given" for id in missing]


def print_answer(out: Console, answer: Answer, saved: str = "") -> None:
    """Print one answer; ``saved``: the file with its scenario."""
    style = "red" if answer.is_bad else "" if answer.elects and answer.commits else "yellow"
    heading(out, answer.question.words)
    entry(out, "leader", _leader(answer), style if not answer.violated else "", column=_COLUMN)
    entry(out, "records", _records(answer), "red" if answer.loses else "", column=_COLUMN)
    for name, steps in answer.violated:
        if name not in LOSES:
            text = _MEANS.get(name, "a property can be violated")
            entry(out, "problem", f"{text} ({name} in {steps} steps)", "red", column=_COLUMN)
    if answer.looks_like:
        pages = ", ".join(f"docs/findings/{each}.md" for each in answer.looks_like)
        entry(out, "looks like", pages, column=_COLUMN)
    if saved:
        again = "kraftcheck check" + (" -v" if answer.violated else "")
        entry(out, "scenario", f"{again} {saved}", column=_COLUMN)
    entry(out, "explored", _explored(answer), column=_COLUMN)


def _leader(answer: Answer) -> str:
    if answer.elects and answer.commits:
        return "one can be elected, and commits records"
    if answer.elects:
        return (
            "one can be elected, and can commit nothing" if answer.commits is False else "one can be elected"
        )
    return "none can be elected" if answer.elects is False else "none was elected within the limits"


def _records(answer: Answer) -> str:
    loses = [f"{name} in {steps} steps" for name, steps in answer.violated if name in LOSES]
    if loses:
        return f"committed records can be lost ({', '.join(loses)})"
    if answer.question.only_copy and answer.question.kind == "lost":
        return "committed records are lost: no other disk that was given has them all"
    if answer.question.only_copy:
        return "what is committed stays committed; keep this disk: no other one has it all"
    return "what is committed stays committed" + ("" if answer.complete else ", as far as was explored")


def _explored(answer: Answer) -> str:
    how = "all" if answer.complete else "not all; a limit was reached after"
    return f"{how} {answer.states:,} states within the bounds, {answer.seconds:.1f} s"


def print_end(out: Console, scenario: KRaftScenario, answers: Sequence[Answer]) -> None:
    """Print what the answers cover, and how many are bad."""
    out.print()
    say(
        out,
        f"Explored: every order and loss of messages, {scenario.network.capacity} in flight at most, and "
        "every timer, up to one epoch more than the disks have, and up to three where no leader was "
        "elected; no crash and no other fault.",
        hang=2,
    )
    bad = sum(each.is_bad for each in answers)
    text = f"{len(answers)} questions, {bad} with a problem"
    say(out, text, "bold red" if bad else "bold green")


def exit_status(answers: Sequence[Answer]) -> int:
    """1 where an answer is bad, otherwise 3 where a limit left one open, otherwise 0."""
    if any(each.is_bad for each in answers):
        return EXIT_DIFFERS
    return EXIT_EXPECTED if all(each.complete for each in answers) else EXIT_UNDETERMINED


def as_json(beginning: Beginning, answers: Sequence[Answer]) -> dict[str, Any]:
    """The machine-readable form."""
    return {
        "nodes": list(beginning.disks),
        "protocol": beginning.preset,
        "committed": {"below": beginning.quorum.committed.below, "why": beginning.quorum.committed.why},
        "down": _not_started(beginning),
        "left_out": list(beginning.left_out),
        "offsets": {str(short): offset for offset, short in beginning.shortened.offsets.items()},
        "answers": [_answer(each) for each in answers],
    }


def _answer(answer: Answer) -> dict[str, Any]:
    question = answer.question
    return {
        "question": question.kind,
        "node": question.node,
        "assumption": question.assumption,
        "elects": answer.elects,
        "commits": answer.commits,
        "loses_committed": answer.loses,
        "violations": [{"property": name, "steps": steps} for name, steps in answer.violated],
        "looks_like": list(answer.looks_like),
        "complete": answer.complete,
        "states": answer.states,
        "seconds": round(answer.seconds, 3),
        "scenario": question.scenario.name,
    }
