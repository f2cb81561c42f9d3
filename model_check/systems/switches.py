"""The variants of a protocol: a preset and switches, in scenarios, in files and on the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Generic, TypeVar

from kraftcheck import spec
from kraftcheck.reference.frozen import Frozen, field_types, options_of, replace
from kraftcheck.support.closest import did_you_mean
from kraftcheck.support.errors import InputError

P = TypeVar("P", bound=Frozen)


class Switches(Generic[P]):
    """The variants of one class of protocols; every field of the class is a switch, with "-" for "_".

    ``presets``: the protocols by name; ``key``: the key of the preset in scenarios; ``numbers``: the smallest
    and largest value of numbers, and ``ranges`` those of single switches. ``incoherent``: the fault of a
    protocol that was made of a preset, both given, or ``None``.
    """

    def __init__(
        self,
        presets: Mapping[str, P],
        key: str,
        numbers: tuple[int, int],
        ranges: Mapping[str, tuple[int, int]],
        incoherent: Callable[[P, P], str | None] = lambda preset, protocol: None,
    ) -> None:
        self.presets = presets
        self._key, self._numbers, self._ranges, self._incoherent = key, numbers, ranges, incoherent
        fields = field_types(type(next(iter(presets.values()))))
        self._types = {name.replace("_", "-"): options_of(declared) for name, declared in fields.items()}

    @property
    def switches(self) -> tuple[str, ...]:
        """The names of all switches."""
        return tuple(self._types)

    def protocol(self, preset: str, switches: Mapping[str, Any], where: str) -> P:
        """A preset with switches changed; ``where`` is the place that an error names. Raises InputError."""
        self._require_preset(preset, where)
        return self._made(preset, dict(self._change(*each, where) for each in switches.items()), where)

    def read(self, preset: str, settings: Sequence[str]) -> P:
        """The protocol that ``--protocol`` and ``--set`` name, each setting ``switch=value``. Raises
        InputError.
        """
        self._require_preset(preset, "--protocol")
        changes = dict(self._change(*read_switch(each), f"--set {each!r}") for each in settings)
        return self._made(preset, changes, "--set")

    def chosen(
        self, scenario: Any, preset: str | None, switches: Mapping[str, Any], where: str
    ) -> dict[str, Any]:
        """The table ``protocol`` of ``scenario`` with another preset (``None``: its own, with the switches
        that it has) and more switches. Raises InputError, which names ``where``.
        """
        before = scenario.protocol.model_dump(by_alias=True)
        given = {**(before["set"] if preset is None else {}), **switches}
        name = before[self._key] if preset is None else preset
        self.protocol(name, given, where)
        return {**before, self._key: name, "set": given}

    def _require_preset(self, preset: str, where: str) -> None:
        if preset not in self.presets:
            hint = did_you_mean(preset, self.presets) or "."
            known = ", ".join(self.presets)
            raise InputError(f"{where}: there is no preset '{preset[:40]}'; expected one of {known}{hint}")

    def _made(self, preset: str, changes: Mapping[str, Any], where: str) -> P:
        protocol = replace(self.presets[preset], **changes)
        if (problem := self._incoherent(self.presets[preset], protocol)) is not None:
            raise InputError(f"{where}: {problem}.")
        return protocol

    def _change(self, switch: str, value: Any, where: str) -> tuple[str, Any]:
        """The field that a switch changes, and its new value."""
        if switch not in self._types:
            hint = did_you_mean(switch, self._types) or f"; there are {', '.join(self._types)}."
            raise InputError(f"{where}: there is no switch '{switch[:40]}'{hint}")
        options = self._types[switch]
        field, kind = switch.replace("-", "_"), options[0]
        if value is None and type(None) in options:
            return field, None
        if issubclass(kind, Enum):
            members = {member.value: member for member in kind}
            if isinstance(value, str) and value in members:
                return field, members[value]
            raise InputError(
                f"{where}: switch '{switch}' has no value {value!r}; there are {', '.join(members)}."
            )
        low, high = self._ranges.get(switch, self._numbers)
        if type(value) is not kind or (kind is int and not low <= value <= high):
            wanted = "true or false" if kind is bool else f"a number from {low} to {high}"
            raise InputError(f"{where}: switch '{switch}' takes {wanted}, not {value!r}.")
        return field, value


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


def choices(protocol: Any) -> dict[str, str]:
    """The choices of a protocol, of replicas or of brokers, for the switches of the catalogue, by their id.

    The catalogue has one switch, V-ZOMBIE, for ``check_quorum`` and ``zombie_leader``.
    """
    fields = {id: (each.switch or "").replace("-", "_") for id, each in spec.load().variants.items()}
    found = {id: str(getattr(protocol, name).value) for id, name in fields.items() if hasattr(protocol, name)}
    return found | {"V-ZOMBIE": "check-quorum"} if getattr(protocol, "check_quorum", False) else found


# On the command line.


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
