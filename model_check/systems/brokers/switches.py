"""The variants of the broker layer: a form with its switches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from kraftcheck.reference.brokers.protocol import KIP343, SHIPPED, BrokerProtocol
from kraftcheck.reference.frozen import field_types, replace
from kraftcheck.support.closest import did_you_mean
from kraftcheck.support.errors import InputError
from kraftcheck.systems.brokers.scenario import BrokerScenario

#: The draft of KIP-343, and the form that Apache Kafka shipped (KIP-631).
FORMS: Mapping[str, BrokerProtocol] = {"draft": KIP343, "shipped": SHIPPED}
#: The names of the switches of the protocol.
SWITCHES = tuple(name.replace("_", "-") for name in field_types(BrokerProtocol))
#: Numbers are within this range: time-outs are at least one tick (CONFIG-12, CONFIG-13).
_RANGE = (1, 9)
_RANGES = {"alter-partition-version": (0, 3)}


def with_switches(
    form: str, switches: Mapping[str, Any], error: Callable[[str], InputError]
) -> BrokerProtocol:
    """A form with some switches changed. Raises the error that ``error`` makes of a sentence."""
    types = field_types(BrokerProtocol)
    given = {
        name.replace("-", "_"): _value(name, types.get(name.replace("-", "_")), value, error)
        for name, value in switches.items()
    }
    protocol = replace(FORMS[form], **given)
    if protocol.liveness is not FORMS[form].liveness:
        raise error("liveness: the form decides on it; choose another form")
    if protocol.broker_timeout is not None and protocol.controller_timeout is None:
        raise error("broker-timeout needs controller-timeout, or clocks would not run")
    return protocol


class BrokerVariants:
    """See :class:`kraftcheck.systems.kind.Variants`: the forms are the presets."""

    presets = tuple(FORMS)
    switches = SWITCHES

    def chosen(
        self, scenario: BrokerScenario, preset: str | None, switches: Mapping[str, Any], where: str
    ) -> dict[str, Any]:
        before = scenario.protocol
        form = before.form if preset is None else preset
        if form not in FORMS:
            raise InputError(
                f"{where}: there is no preset '{form[:40]}'; expected one of {', '.join(FORMS)}."
            )
        given = {**(before.set if preset is None else {}), **switches}
        with_switches(form, given, lambda said: InputError(f"{where}: {said}."))
        return {"form": form, "set": given}


def _value(name: str, kind: Any, value: Any, error: Callable[[str], InputError]) -> Any:
    if kind is None:
        hint = did_you_mean(name, SWITCHES) or f", only {', '.join(SWITCHES)}"
        raise error(f"there is no switch '{name[:40]}'{hint}")
    if isinstance(kind, type) and issubclass(kind, Enum):
        words = {member.value: member for member in kind}
        if value not in words:
            raise error(f"{name}: expected one of {', '.join(words)}")
        return words[value]
    wanted = bool if kind is bool else int
    low, high = _RANGES.get(name.replace("_", "-"), _RANGE)
    if type(value) is not wanted or (wanted is int and not low <= value <= high):
        expected = "true or false" if wanted is bool else f"a number from {low} to {high}"
        raise error(f"{name}: expected {expected}")
    return value
