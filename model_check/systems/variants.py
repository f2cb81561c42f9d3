"""Protocol variants by name: a preset and switches, in scenarios and on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from kraftcheck.reference.frozen import field_types, replace
from kraftcheck.reference.protocol import PRESETS, Protocol
from kraftcheck.support.closest import did_you_mean
from kraftcheck.support.errors import InputError

_LARGEST = 2**31 - 1
_SWITCHES = {name.replace("_", "-"): name for name in field_types(Protocol)}
#: The switches of the protocol by the names in scenario files.
SWITCHES = tuple(_SWITCHES)
#: Numbers are at least 1, except these.
_SMALLEST = {"fetch-max-wait-ms": 0}
#: Switches that may be left open.
_OPTIONAL = ("fetch-max-batches",)


#: The field of a protocol behind each switch of the catalogue (``spec/variants.toml``).
_CATALOGUED = {
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
    "V-ZOMBIE": "zombie_leader",
    "V-CLUSTER": "cluster_id",
    "V-CAUGHTUP": "caught_up",
    "V-DESCRIBE": "quorum_description",
}


def choices(protocol: Protocol) -> dict[str, str]:
    """The choices of ``protocol`` for the switches of the catalogue, by switch id.

    The catalogue has one switch, V-ZOMBIE, for ``check_quorum`` and ``zombie_leader``.
    """
    found = {switch: str(getattr(protocol, field).value) for switch, field in _CATALOGUED.items()}
    return found | {"V-ZOMBIE": "check-quorum"} if protocol.check_quorum else found


def with_switches(preset: str, switches: Mapping[str, Any], where: str) -> Protocol:
    """A preset with switches changed; ``where`` is the place that an error names. Raises InputError."""
    if preset not in PRESETS:
        hint = did_you_mean(preset, PRESETS) or "."
        raise InputError(
            f"{where}: there is no preset {preset!r}; expected one of {', '.join(PRESETS)}{hint}"
        )
    protocol = PRESETS[preset]
    for switch, value in switches.items():
        name = _SWITCHES.get(switch)
        if name is None:
            hint = did_you_mean(switch, _SWITCHES) or f"; there are {', '.join(_SWITCHES)}."
            raise InputError(f"{where}: {switch!r} is no protocol switch{hint}")
        protocol = replace(protocol, **{name: _value(getattr(protocol, name), switch, value, where)})
    return protocol


def switches_of(protocol: Any, preset: Any) -> dict[str, str | bool | int]:
    """The switches in which a protocol, of replicas or of brokers, differs from ``preset``, as scenarios
    write them.
    """
    found: dict[str, str | bool | int] = {}
    for name in field_types(type(protocol)):
        value = getattr(protocol, name)
        if value != getattr(preset, name):
            found[name.replace("_", "-")] = value.value if isinstance(value, Enum) else value
    return found


def _value(current: Any, switch: str, value: Any, where: str) -> Any:
    if isinstance(current, Enum):
        for choice in type(current):
            if choice.value == value:
                return choice
        allowed = ", ".join(str(choice.value) for choice in type(current))
        raise InputError(f"{where}: switch '{switch}' has no value {value!r}; there are {allowed}.")
    if value is None and switch in _OPTIONAL:
        return None
    if isinstance(current, bool):
        if isinstance(value, bool):
            return value
        raise InputError(f"{where}: switch '{switch}' takes true or false, not {value!r}.")
    smallest = _SMALLEST.get(switch, 1)
    if type(value) is not int or not smallest <= value <= _LARGEST:
        raise InputError(
            f"{where}: switch '{switch}' takes a number from {smallest} to {_LARGEST}, not {value!r}."
        )
    return value


# On the command line.


#: The preset of replicas unless another is named.
DEFAULT = "kafka"


def add_protocol_options(parser: argparse.ArgumentParser, *, brokers: Sequence[str] = ()) -> None:
    """Add ``--protocol`` and ``--set``, which :func:`read_protocol` reads.

    ``brokers`` are the forms of brokers where the command also knows them; then there is no default, as it
    depends on the request.
    """
    told = f"protocol preset: {', '.join(PRESETS)} (default: {DEFAULT})"
    if brokers:
        told += f"; of brokers: {', '.join(brokers)} (default: the form that the question is of)"
    parser.add_argument("--protocol", default=None if brokers else DEFAULT, help=told)
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="settings",
        metavar="SWITCH=VALUE",
        help="change a switch of the protocol, for example follower-pre-vote=never",
    )


def read_protocol(preset: str, settings: Sequence[str] = ()) -> Protocol:
    """The protocol of a preset with some switches set, each ``switch=value``. Raises InputError."""
    protocol = with_switches(preset, {}, "--protocol")
    switches: dict[str, Any] = {}
    for setting in settings:
        switch, value = read_switch(setting)
        switches[switch] = value
        protocol = with_switches(preset, switches, f"--set {setting!r}")
    return protocol


def read_switch(setting: str) -> tuple[str, Any]:
    """The switch and the value that ``switch=value`` names. Raises InputError."""
    switch, equals, word = setting.partition("=")
    if not equals:
        raise InputError(f"--set {setting!r}: expected switch=value, for example 'follower-pre-vote=never'.")
    return switch.replace("_", "-"), value_of(word)


def value_of(word: str) -> Any:
    """The value of a switch as it is written on the command line."""
    known = {"true": True, "false": False, "none": None}
    digits = word.removeprefix("-")
    whole = digits.isascii() and digits.isdigit() and len(digits) <= 12
    return known.get(word, int(word) if whole else word)
