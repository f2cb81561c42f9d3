"""The rules of the reference that were exercised, and the reasons why the others were not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kraftcheck import spec
from kraftcheck.reference.protocol import Protocol
from kraftcheck.systems.citations import in_steps
from kraftcheck.systems.switches import choices

OTHER_VARIANT = "of another variant of the protocol"
BEHIND_OTHERS = "as guards behind other guards, to which no event is known to lead"
OTHER_SWITCH = "as they decide only where a switch of the protocol has another value"

#: Rules without a variant of their own that recorded runs of Kafka cannot show, with the reasons.
_SILENT: Mapping[str, str] = {
    **dict.fromkeys(("PREVOTE-6", "STATE-5", "VOTE-22"), BEHIND_OTHERS),
    **dict.fromkeys((f"TRANS-Forbid-{number}" for number in (1, 3, 4)), BEHIND_OTHERS),
    "DESCRIBE-8": "as it takes minutes without anything happening",
    "TRANS-Forbid-5": "as no peer has the id of the replica that it asks",
    "TIMER-6": OTHER_SWITCH,
    **dict.fromkeys(
        ("UPDATE-10", "UPDATE-11"), "as no recording has a leader of trunk that waits for its probe"
    ),
    **dict.fromkeys(("PERSIST-12", "ID-9"), "as the driver's disks are those that the release writes"),
}
#: Rules of the sender's network client, which a replica sees only where another rule is in force.
_SEEN_WITH: Mapping[str, str] = {"RESP-9": "PREVOTE-18"}
NOT_REACHED = "reached by none of these sequences"


def reason_of_silence(rule: str) -> str | None:
    """The reason why recorded runs of Kafka cannot show a decision of ``rule``, where it is known."""
    return _SILENT.get(rule)


def carried_out() -> tuple[str, ...]:
    """The rules that steps of the reference carry out, in the order of the catalogue."""
    cited = in_steps()
    return tuple(rule for rule in spec.load().rules if rule in cited)


def not_exercised(exercised: Iterable[str], protocol: Protocol) -> Mapping[str, tuple[str, ...]]:
    """The rules of the reference that are not among ``exercised``, by the reason."""
    known, rules, in_force = frozenset(exercised), spec.load().rules, choices(protocol)
    found: dict[str, tuple[str, ...]] = {}
    for rule in carried_out():
        if rule in known:
            continue
        catalogued = rules[rule]
        shown = rules[_SEEN_WITH.get(rule, rule)].belongs_to(in_force) and catalogued.belongs_to(in_force)
        reason = _SILENT.get(rule, NOT_REACHED) if shown else OTHER_VARIANT
        if catalogued.uncovered is not None:
            reason = catalogued.uncovered
        found[reason] = (*found.get(reason, ()), rule)
    return found
