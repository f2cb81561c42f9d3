"""Scenarios that contradict themselves are refused, each with its reason."""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck.checking.run import check
from kraftcheck.support.errors import InputError
from tests.systems.kraft.small import ALTERING, alone, changed

#: Scenarios of these tables alone; the others are shipped ones with keys changed.
ALONE = {"small": {"environment": {"timers": [], "power-loss": False}}, "altering": ALTERING}

_ONE = {"voters": [1], "dynamic": True}
_MANY = ("appends", "crashes", "timeouts", "resigns", "shutdowns", "admin", "wipes", "timers")
_UNIFORM = "three-voters-crash-symmetry"
_STABLE = {"property": "LeadershipEventuallyStable", "goal": "a-leader"}
_FAST = {"property": "GracefulHandOverIsFast", "goal": "a-leader"}

REFUSED: dict[str, list[tuple[dict[str, Any], str]]] = {
    "small": [
        ({"replicas": {"voters": [1], "dynamic": True, "upgradable": True}}, "choose one"),
        ({"replicas": {**_ONE, "observers": [2], "auto-join": [2]}}, "an observer is none"),
        ({"replicas": {"voters": [1]}, "admin": {"steps": ["remove 1"]}}, "admin.steps"),
        ({"replicas": _ONE, "budgets": {"admin": 1}}, "budgets.admin"),
        ({"replicas": {"voters": [1], "joining": [2]}}, "never changes"),
        ({"replicas": {**_ONE, "initial-leader": 2}}, "'2' is not one"),
        ({"replicas": {"voters": [1, 2], "stopped": [2], "initial-leader": 1}}, "does not come to lead"),
        (
            {"replicas": _ONE, "admin": {"steps": ["add 7"]}, "budgets": {"admin": 1}},
            "names a replica that the scenario does not have",
        ),
        ({"replicas": {"voters": [1, 2, 3], "initial-leader": 1}, "network": {"capacity": 1}}, "in flight"),
        (
            {"replicas": _ONE, "admin": {"steps": ["remove 1"]}, "budgets": dict.fromkeys(_MANY, 1)},
            "at most 7",
        ),
    ],
    "altering": [
        ({"protocol": {"preset": "kafka"}}, "kip595"),
        ({"admin": {"steps": ["alter 2,3"]}}, "order"),
        ({"admin": {"steps": ["alter 2,9"], "order": "any"}}, "does not have"),
        ({"admin": {"steps": ["alter 2,3", "remove 1"], "order": "any"}}, "no other step"),
        ({"replicas": {"voters": [1, 2], "joining": [3], "dynamic": True}}, "dynamic"),
    ],
    "replace-disk": [
        ({"budgets": {"admin": 2, "restores": 1}, "environment__wipes_at": []}, "restores"),
    ],
    "describe-quorum": [
        ({"replicas__upgradable": True}, "budgets.ticks: goes without"),
        ({"budgets__wipes": 1}, "budgets.ticks: goes without"),
        ({"admin": {}, "check": {"properties": ["DescribeTimesMonotone"]}}, "need admin.describes"),
        (
            {
                "protocol": {"preset": "kip595"},
                "admin": {"describes": True, "steps": ["alter 1"], "order": "any"},
                "budgets__admin": 1,
            },
            "go without the step alter",
        ),
    ],
    "split-votes": [
        ({"check": {"eventually": [{**_STABLE, "when": "a-leader"}]}}, r"check\.eventually"),
        ({"check": {"eventually": [{**_STABLE, "form": "leads-to"}]}}, r"check\.eventually"),
        (
            {"check": {"eventually": [{**_STABLE, "goal": "leadership-stays", "form": "recoverable"}]}},
            r"check\.eventually",
        ),
        ({"budgets__snapshots": 1}, r"reduction\.epochs"),
        ({"budgets__wipes": 1}, r"reduction\.epochs"),
        ({"budgets__ticks": 1}, r"reduction\.epochs"),
        ({"check__eventually": []}, r"reduction\.epochs"),
    ],
    "hand-over-at-shutdown": [
        ({"check": {"eventually": [_FAST]}, "environment__timers": ["fetch"]}, "leave 'fetch' out"),
        ({"check": {"eventually": [{**_FAST, "goal": "all-caught-up"}]}}, "that is 'a-leader'"),
        (
            {"check": {"eventually": [{**_FAST, "property": "BrokerLivenessEventuallyKnown"}]}},
            "of this kind judges",
        ),
    ],
    "finding-removed-voter-acknowledges": [
        (
            {"check": {"ignore-fatal": ["removed-voter-acknowledge"]}},
            r"check.ignore-fatal.0: 'removed-voter-acknowledge' is no finding in which a process exits; did "
            r"you mean 'removed-voter-acknowledges'\?",
        ),
        (
            {"check": {"ignore-fatal": ["fetch-response-at-non-follower"]}},
            "check.ignore-fatal.0: 'fetch-response-at-non-follower' is a reason, which findings share; give "
            "the finding: 'restart-under-removed-leader' or 'observer-without-voter-set'",
        ),
        (
            {"check": {"ignore-fatal": ["a process exits"]}},
            "check.ignore-fatal.0: 'a process exits' is no finding in which a process exits; the findings "
            "are restart-as-candidate, ",
        ),
    ],
    _UNIFORM: [
        ({"replicas__voters": [1]}, "reduction.symmetry: .*there is one voter"),
        ({"environment__sends": "listed"}, "reduction.symmetry: .*go out in order of id"),
        ({"budgets__resigns": 1}, "reduction.symmetry: .*names its successors .* without budgets.resigns"),
        ({"budgets__shutdowns": 1}, "names its successors .* without budgets.shutdowns"),
        ({"environment__timers": ["election", "check-quorum"]}, "without the timer check-quorum"),
        ({"environment__timers-at": {"1": ["check-quorum"]}}, "without the timer check-quorum"),
        (
            {"replicas__initial": {"1": "unattached epoch=1", "2": "unattached epoch=1 voted=2"}},
            "reduction.symmetry: .*begin with",
        ),
        ({"replicas__stopped": [1], "network__cut": ["2>3"]}, "1 and 2 differ in replicas.stopped; 2 and 3"),
        (
            {"environment__crashes-at": [1], "network__no-pre-vote": [2]},
            "1 and 2 differ in network.no-pre-vote",
        ),
        (
            {"environment__crashes-at": [1], "environment__timers-at": {"2": ["fetch"]}},
            "reduction.symmetry: .*(crashes-at|timers-at)",
        ),
        (
            {"check__eventually": [{"property": "LeaderEventuallyElected", "goal": "a-leader"}]},
            "reduction.symmetry: .*the graph of all states",
        ),
    ],
}


@pytest.mark.parametrize(
    ("base", "changes", "said"), [(base, *each) for base, rows in REFUSED.items() for each in rows]
)
def test_a_scenario_that_contradicts_itself_is_refused(base: str, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        check(alone(**{**ALONE[base], **changes}) if base in ALONE else changed(base, **changes))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("network", "said"),
    [
        ({"capacity": 1}, r"make it larger \(at most 12\), or set network.forgotten = \"lost\""),
        ({"capacity": 12}, r"needs them all; set network.forgotten = \"lost\""),
        ({"capacity": 1, "forgotten": "lost"}, r"make it larger \(at most 12\); see"),
    ],
)
def test_a_network_without_room_is_refused_at_the_first_step(network: dict[str, Any], said: str) -> None:
    changes = {f"network__{key}": value for key, value in ({"forgotten": "stay"} | network).items()}
    scenario = changed("ping-pong", bounds__max_epoch=3, check__goals=[], **changes)
    with pytest.raises(InputError, match=rf"ping-pong.*: network\.capacity = \d+ has no room.*{said}"):
        check(scenario)
