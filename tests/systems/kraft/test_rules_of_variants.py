"""The rules that a step names belong to the protocol variant in which it happens."""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck import spec
from kraftcheck.checking.run import check
from kraftcheck.reference.protocol import PRESETS, Protocol
from kraftcheck.systems.kraft.host import Host
from kraftcheck.systems.kraft.node import Execution
from kraftcheck.systems.scenario import Scenario, shipped
from kraftcheck.systems.switches import choices
from tests.systems.kraft.small import changed

RULES = spec.load().rules


def strangers(fired: dict[Protocol, set[str]]) -> set[tuple[str, str]]:
    """Rules that decided a step of a protocol to which they do not belong, with their choices."""
    return {
        (rule, str(RULES[rule].variants))
        for protocol, rules in fired.items()
        for rule in rules
        if not RULES[rule].belongs_to(choices(protocol))
    }


def fired_in(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> dict[Protocol, set[str]]:
    """The rules that decided a step of the scenario, by the protocol of the replica."""
    fired: dict[Protocol, set[str]] = {}
    poll_on = Host._poll_on

    def noting(host: Host, *arguments: Any, **named: Any) -> Execution:
        execution = poll_on(host, *arguments, **named)
        fired.setdefault(host.protocol, set()).update(execution.rules)
        return execution

    monkeypatch.setattr(Host, "_poll_on", noting)
    check(scenario, threads=1)
    return fired


@pytest.mark.slow
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", ["ping-pong", "scenario-a"])
def test_rules_that_decide_belong_to_the_preset(
    preset: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fired = fired_in(changed(name, protocol={"preset": preset}), monkeypatch)
    assert sum(map(len, fired.values())) > 20
    assert strangers(fired) == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["removed-voter-disturbs-nobody", "single-voter", "zombie-leader"])
def test_rules_that_decide_belong_to_the_protocol(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert strangers(fired_in(shipped()[name], monkeypatch)) == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["alter-quorum-crash", "kip595-elections", "removed-voter-wins"])
def test_rules_that_decide_belong_to_the_protocol_of_larger_models(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert strangers(fired_in(shipped()[name], monkeypatch)) == set()


def test_a_stranger_is_found() -> None:
    assert strangers({PRESETS["kip595"]: {"PREVOTE-1"}}) == {("PREVOTE-1", str(RULES["PREVOTE-1"].variants))}
