"""The result of driving an adapter, for people and programs; steps as `kraftcheck trace show` prints them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kraftcheck import spec
from kraftcheck.checking.coverage.not_exercised import carried_out, not_exercised
from kraftcheck.evidence.adapters import files, wire
from kraftcheck.evidence.adapters.answers import Capabilities
from kraftcheck.evidence.adapters.asked import Question
from kraftcheck.evidence.adapters.compare import NOT_COMPARED
from kraftcheck.evidence.adapters.session import Counts, Driven
from kraftcheck.evidence.adapters.stimuli import Crash, Start
from kraftcheck.reference.effects import Effect, Reply, Send
from kraftcheck.reference.events import Poll, RequestReceived, ResponseReceived
from kraftcheck.reference.protocol import Protocol
from kraftcheck.support.printable import printable
from kraftcheck.support.terminal import console, entry, heading, say
from kraftcheck.systems.kraft.network import InFlight
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.text import describe_effect, describe_event
from kraftcheck.systems.kraft.words import FOLLOWING
from kraftcheck.traces.view import describe
from kraftcheck.traces.words import compare_nodes, label

#: The version of the JSON form.
FORMAT, VERSION = "kraftcheck-drive", 1

#: The parts that are never compared, for any adapter.
NEVER_COMPARED = (
    "the order of messages that leave together",
    "the texts of failures",
    f"fields that say nothing about the quorum: {', '.join(sorted(NOT_COMPARED))}",
)


_RANDOM_TIMES = "the exact value of random times, only their range"


@dataclass(slots=True, kw_only=True)
class Report(Counts):
    """The outcome of all sequences.

    failed: the first difference of each sequence that has one; shortened: the same, after the search for a
    shorter sequence. not_driven: the number of sequences left when a limit or the first difference was
    reached. incomplete, left_out: see :class:`kraftcheck.evidence.adapters.generate.Generated`.
    """

    capabilities: Capabilities
    protocol: Protocol
    sequences: int = 0
    not_driven: int = 0
    seconds: float = 0.0
    failed: list[Driven] = field(default_factory=list)
    shortened: list[Driven] = field(default_factory=list)
    incomplete: Sequence[str] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)

    def add(self, driven: Driven) -> None:
        """Count a sequence in."""
        self.sequences += 1
        self.count(driven)
        if driven.failed is not None:
            self.failed.append(driven)

    @property
    def never_compared(self) -> tuple[str, ...]:
        """The parts of a step that are not compared, whatever the adapter shows."""
        return NEVER_COMPARED if self.capabilities.draws else (*NEVER_COMPARED, _RANDOM_TIMES)

    @property
    def unseen(self) -> tuple[str, ...]:
        """Rules that decided only steps that the adapter does not show."""
        return tuple(rule for rule in carried_out() if rule in self.decided and rule not in self.rules)

    @property
    def verdict(self) -> str:
        """``differs``, ``undetermined`` (a limit was reached first, or nothing was compared) or
        ``agrees``.
        """
        if self.failed:
            return "differs"
        return "undetermined" if self.limited or not self.compared else "agrees"


# For programs.


def as_json(report: Report) -> dict[str, Any]:
    """The machine-readable form."""
    covered = [rule for rule in carried_out() if rule in report.rules]
    return {
        "format": FORMAT,
        "version": VERSION,
        "adapter": report.capabilities.name,
        "notShown": {kind: list(names) for kind, names in report.capabilities.missing().items()},
        "verdict": report.verdict,
        "sequences": report.sequences,
        "notDriven": report.not_driven,
        "steps": report.steps,
        "stepsCompared": report.compared,
        "skipped": dict(report.skipped),
        "seconds": round(report.seconds, 3),
        "rules": {rule: report.rules[rule] for rule in covered},
        "rulesUnseen": list(report.unseen),
        "rulesNotExercised": {
            reason: list(rules) for reason, rules in not_exercised(report.decided, report.protocol).items()
        },
        "neverCompared": list(report.never_compared),
        "fieldsPassedOver": sorted(report.not_known),
        "capabilitiesPassedOver": list(report.capabilities.not_known),
        "scenariosNotExploredWhole": list(report.incomplete),
        "leftOut": dict(report.left_out),
        "differences": [
            _difference(one, short) for one, short in zip(report.failed, report.shortened, strict=True)
        ],
    }


def _difference(driven: Driven, shortened: Driven) -> dict[str, Any]:
    failed = driven.failed
    assert failed is not None and failed.question.outcome is not None
    return {
        "sequence": driven.sequence.name,
        "step": _number(driven),
        "event": wire.kind_of(failed.question.event),
        "differences": [
            {"field": each.field, "expected": each.expected, "got": each.found} for each in failed.differences
        ],
        "rules": list(failed.question.outcome.rules),
        "shortened": files.encode(shortened.sequence) if shortened.sequence.stimuli else None,
    }


def _number(driven: Driven) -> int:
    return len(driven.questions)


# For people.


def print_report(report: Report, *, verbose: bool) -> None:
    """Print all of it, the verdict last."""
    for driven, shortened in zip(report.failed, report.shortened, strict=True):
        _print_difference(driven, shortened, verbose=verbose)
    if report.steps > report.compared:
        _note(f"taken, but not compared: {report.steps - report.compared:,} steps, crashes among them")
    if report.not_driven:
        _note(f"not driven: {report.not_driven:,} sequences")
    for reason, count in sorted(report.skipped.items()):
        _note(f"not taken: {count:,} steps {reason}")
    _print_coverage(report, verbose=verbose)
    say(
        console(),
        f"{printable(report.capabilities.name)[:60]}: {report.compared:,} steps of {report.sequences:,} "
        f"sequences compared in {report.seconds:.1f} s: {_verdict(report)}",
        "bold",
        hang=2,
    )


def _note(text: str) -> None:
    say(console(), printable(text), hang=2)


def _verdict(report: Report) -> str:
    if report.failed:
        return f"{len(report.failed)} sequence{'' if len(report.failed) == 1 else 's'} with a difference"
    if report.limited:
        return "no difference up to the limit, UNDETERMINED"
    if report.compared:
        return "no difference"
    if not report.sequences:
        return "there was nothing to drive along, UNDETERMINED"
    return "nothing could be compared, UNDETERMINED: let the adapter take steps and show effects or state"


def _print_coverage(report: Report, *, verbose: bool) -> None:
    covered = [rule for rule in carried_out() if rule in report.rules]
    whole = not report.failed or verbose
    hint = "" if whole else " (-v lists the others)"
    _note(f"rules exercised: {len(covered)} of {len(carried_out())} of the reference{hint}")
    for reason, rules in not_exercised(report.decided, report.protocol).items() if whole else ():
        _note(f"not exercised, {reason}: {' '.join(rules)}")
    if report.unseen:
        _note(f"not exercised, in steps of which the adapter shows nothing: {' '.join(report.unseen)}")
    shown = report.capabilities
    for kind, names in shown.missing().items():
        _note(f"not compared, as the adapter does not have them: {kind} {', '.join(names)}")
    if not shown.ordered:
        _note("not compared, as the adapter does not know it: the order of effects")
    _note(f"never compared: {'; '.join(report.never_compared)}")
    if report.not_known:
        _note(f"unknown fields of the adapter that were ignored: {_listed(sorted(report.not_known))}")
    if shown.not_known:
        _note(f"unknown capabilities of the adapter that were ignored: {_listed(shown.not_known)}")
    for why, left_out in _by_reason(report.left_out).items():
        which = (
            ", ".join(left_out)
            if verbose or len(left_out) == 1
            else f"{len(left_out)} scenarios (-v lists them)"
        )
        _note(f"left out: {which}: {why}")
    if report.incomplete:
        listed = f": {', '.join(report.incomplete)}" if verbose else " (-v lists them)"
        _note(f"explored in part, nearest states first: {len(report.incomplete)} scenarios{listed}")


def _by_reason(left_out: Mapping[str, str]) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, why in left_out.items():
        # A reason may begin with the place in the scenario's own file.
        alike = re.sub(rf"{re.escape(name)}\.toml:\d+: ", "", why)
        found.setdefault(alike, []).append(name)
    return found


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(name[:40] for name in names[:20])
    return shown if len(names) <= 20 else f"{shown} and {len(names) - 20} more"


def _print_difference(driven: Driven, shortened: Driven, *, verbose: bool) -> None:
    out = console()
    failed = driven.failed
    assert failed is not None and failed.question.outcome is not None
    say(out, printable(f"Difference in step {_number(driven)} of {driven.sequence.name}"), "bold red")
    print_differences(failed.differences)
    heading(out, "Rules that decided in the reference")
    print_rules(failed.question.outcome.rules, verbose=verbose)
    shown = driven if verbose else shortened
    replica = shown.sequence.identity.id
    count, whole = _number(shown), _number(driven)
    text = f"What happens to replica {replica}, and what the reference does"
    if count < whole:
        text += f"; shortened from {whole} steps to {count}"
    heading(out, text)
    assert shown.failed is not None
    for number, question in enumerate(shown.questions, 1):
        last = question.position == shown.failed.question.position
        say(out, printable(f"{number}. {head(question, replica)}"), "bold", indent=2, hang=3)
        for line in lines(question, replica, verbose=verbose or last):
            say(out, printable(line), indent=5, hang=2)
    origin = driven.sequence.origin
    if origin is not None:
        step = origin.steps[failed.question.position]
        heading(
            out, f"It happens in step {step} of a behaviour of scenario {origin.scenario.name}; -o writes it."
        )
    say(out, "")


def print_rules(decided: Sequence[str], *, verbose: bool) -> None:
    """The ids of rules; ``verbose``: with their sentences."""
    out = console()
    if not verbose:
        say(out, " ".join(decided) or "none", indent=2)
        return
    for rule in decided:
        catalogued = spec.load().rules.get(rule)
        say(out, rule, "bold", indent=2)
        say(out, "not in the catalogue" if catalogued is None else catalogued.sentence, indent=4)


def print_differences(differences: Iterable[Any]) -> None:
    """Fields with both values."""
    out = console()
    for each in differences:
        entry(out, "field", printable(each.field), column=12)
        entry(out, "expected", _json(each.expected), column=12)
        entry(out, "got", _json(each.found), "bold red", column=12)


def _json(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=True)
    return text if len(text) < 2000 else text[:1997] + "..."


#: Fields that follow from other shown fields, or are known to the driver only.
_LEFT_OUT = FOLLOWING | {"voters", "process", "next correlation"}


def head(question: Question, replica: int) -> str:
    """The event, in a few words."""
    event = question.event
    if isinstance(event, Start):
        return "the process starts"
    if isinstance(event, Crash):
        return "the process is killed" + (" and power is lost" if event.loses_power else "")
    if isinstance(event, RequestReceived):
        return f"←{event.source} {label(InFlight(event.source, replica, event.request))}"
    if isinstance(event, ResponseReceived):
        return f"←{event.source} {label(InFlight(event.source, replica, event.response))}"
    if isinstance(event, Poll):
        found = f"poll, looks for the leader at {event.discovery}" if event.discovery is not None else "poll"
        timers = ", ".join(timer.value for timer in event.expired)
        return f"{found}; expired: {timers}" if timers else found
    assert question.before is not None
    return describe_event(event, question.before)


def lines(question: Question, replica: int, *, verbose: bool = False) -> Iterator[str]:
    """The result of the reference in a step: changed fields, messages, the rules that decide."""
    outcome = question.outcome
    if outcome is None:
        return
    if verbose:
        for number, effect in enumerate(outcome.effects, 1):
            yield f"{number}. {' '.join(describe_effect(effect))}"
    before, after = Node(question.before, question.disk), Node(outcome.replica, question.disk)
    for change in compare_nodes(replica, before, after):
        if verbose or change.field not in _LEFT_OUT:
            yield describe(change)
    yield from _messages(outcome.effects, replica)
    if outcome.fatal is not None:
        yield f"exits: {outcome.fatal.sentence}"
    if outcome.rules:
        yield f"by {', '.join(outcome.rules)}"


def _messages(effects: tuple[Effect, ...], replica: int) -> Iterator[str]:
    texts: dict[str, list[int]] = {}
    for effect in effects:
        if isinstance(effect, Send | Reply):
            content = effect.request if isinstance(effect, Send) else effect.response
            texts.setdefault(label(InFlight(replica, effect.to, content)), []).append(effect.to)
    for text, destinations in texts.items():
        yield f"→{','.join(map(str, destinations))} {text}"
