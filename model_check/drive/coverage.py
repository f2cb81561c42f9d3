"""Which rules of the reference were exercised, and why the others were not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum

import spec
from model_check.consult.citations import in_steps
from reference.protocol import Protocol

#: The switches of the catalogue that a protocol decides, by its field.
_SWITCHES = {
    "V-SM": "state_machine",
    "V-MEMBER": "voter_membership",
    "V-PVCOMPAT": "pre_vote_compatibility",
    "V-CLOSS": "candidate_loss",
    "V-PVTIMEOUT": "prospective_timer",
    "V-PVFOLLOWER": "follower_pre_vote",
    "V-PVLEADER": "prospective_leader",
    "V-VOTE": "follower_vote",
    "V-KEYCHECK": "receiver_key_check",
    "V-BEGIN": "begin_quorum_epoch_resend",
    "V-RESTART": "candidate_restart",
    "V-RECONF": "voter_changes",
    "V-KEY": "voter_keys",
    "V-DISC": "discovery",
    "V-DIV": "divergence_answer",
    "V-END": "hand_over",
    "V-ZOMBIE": "stale_leader",
    "V-CLUSTER": "cluster_id",
    "V-CAUGHTUP": "caught_up",
    "V-DESCRIBE": "quorum_description",
}

OTHER_VARIANT = "of another variant of the protocol"
BEHIND_OTHERS = "as guards behind other guards, to which no event is known to lead"
OTHER_SWITCH = "as they decide only where a switch of the protocol has another value"

#: Rules without a variant of their own of which production never shows anything, and why.
_SILENT: Mapping[str, str] = {
    **dict.fromkeys(("PREVOTE-6", "STATE-5", "VOTE-22"), BEHIND_OTHERS),
    **dict.fromkeys((f"TRANS-Forbid-{number}" for number in range(1, 6)), BEHIND_OTHERS),
    "DESCRIBE-8": "as it takes minutes without anything happening",
    **dict.fromkeys(("PREVOTE-23", "PREVOTE-24", "TIMER-6", "VOTE-6"), OTHER_SWITCH),
}
NOT_REACHED = "reached by none of these sequences"


def reason_of_silence(rule: str) -> str | None:
    """Why production never shows that ``rule`` decides anything, where that is known."""
    return _SILENT.get(rule)


def choices(protocol: Protocol) -> Mapping[str, str]:
    """What ``protocol`` says on the switches of the catalogue."""
    found: dict[str, str] = {}
    for switch, field in _SWITCHES.items():
        value = getattr(protocol, field)
        found[switch] = str(value.value) if isinstance(value, Enum) else str(value)
    return found


def carried_out() -> tuple[str, ...]:
    """The rules that steps of the reference carry out, in the order of the catalogue."""
    cited = in_steps()
    return tuple(rule for rule in spec.load().rules if rule in cited)


def not_exercised(exercised: Iterable[str], protocol: Protocol) -> Mapping[str, tuple[str, ...]]:
    """The rules of the reference that are not among ``exercised``, by the reason why."""
    known, rules, in_force = frozenset(exercised), spec.load().rules, choices(protocol)
    found: dict[str, tuple[str, ...]] = {}
    for rule in carried_out():
        if rule in known:
            continue
        catalogued = rules[rule]
        reason = _SILENT.get(rule, NOT_REACHED) if catalogued.belongs_to(in_force) else OTHER_VARIANT
        if catalogued.uncovered is not None:
            reason = catalogued.uncovered
        found[reason] = (*found.get(reason, ()), rule)
    return found
