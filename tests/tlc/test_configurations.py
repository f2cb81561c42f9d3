"""Each configuration of replicas in ``tla/`` has the bounds, switches and properties of its scenario."""

from __future__ import annotations

import re

import pytest

from kraftcheck.systems.kraft import identities, names
from kraftcheck.systems.scenario import Scenario, find
from kraftcheck.tlc.modules import BROKERS_MODULE, Modules

#: Judged by the checker, and not by the modules: they have no parked fetches.
WITHOUT_COUNTERPART = {names.RESIGNED_KEEPS_NOBODY_WAITING}
#: What the modules judge of voter changes.
OF_CHANGES = {
    names.ONE_CHANGE_AT_A_TIME,
    names.CHANGE_NEEDS_COMMIT,
    names.COMMITTED_SURVIVES_CHANGES,
    names.REMOVED_LEADER_DOES_NOT_COUNT,
    names.ADDED_VOTER_IS_READY,
    names.VOTER_SET_NOT_EMPTY,
    names.CHANGE_ACKNOWLEDGED_WHEN_COMMITTED,
    names.CHANGE_ANSWERED,
}
#: Timers that a configuration names for all replicas; scenarios of their own name them as they like.
TIMERS = {
    "NoTimers": set(),
    "ElectionOnly": {"election"},
    "ElectionAndFetch": {"election", "fetch"},
    "AllTimers": {"election", "fetch", "check-quorum", "begin-quorum-epoch"},
    "VoterChangeOnly": {"voter-change"},
    "ElectionFetchAndCheckQuorum": {"election", "fetch", "check-quorum"},
}
#: The scenarios of replicas that have a configuration.
NAMES = tuple(
    name for name in Modules().names() if not Modules().configuration(name).root.startswith(BROKERS_MODULE)
)
LINE = re.compile(r"^ {4}(\w+) (?:=|<-) (.+)$", re.MULTILINE)


def ids(replicas: object) -> str:
    """A set of ids as TLC reads it."""
    assert isinstance(replicas, tuple | frozenset)
    return "{" + ", ".join(map(str, sorted(replicas))) + "}"


def yes(value: bool) -> str:
    return str(value).upper()


def expected(scenario: Scenario) -> dict[str, str]:
    """The constants that follow from the scenario alone."""
    replicas, network, environment = scenario.replicas, scenario.network, scenario.environment
    budgets, switches = scenario.budgets, scenario.protocol.set
    return {
        "StateMachine": f'"{switches.get("state-machine", "kip996")}"',
        "FollowerPreVote": f'"{switches.get("follower-pre-vote", "until-fetched")}"',
        "CandidateRestart": f'"{switches.get("candidate-restart", "own-vote")}"',
        "CheckQuorum": yes(bool(switches.get("check-quorum", True))),
        "Addable": ids(identities.addable(scenario)),
        "Voters": ids(replicas.voters),
        "Observers": ids(replicas.observers),
        "Joining": ids(replicas.joining),
        "Capacity": str(network.capacity),
        "Loss": f'"{network.loss}"',
        "ForgottenStay": yes(network.forgotten == "stay"),
        "Timely": yes(environment.timely),
        "Discovery": yes(environment.discovery),
        "PowerLoss": yes(environment.power_loss),
        "WriteBack": yes(environment.write_back),
        "Boundaries": yes(environment.boundaries),
        "CrashesAt": ids(environment.crashes_at or replicas.everybody),
        "Appends": str(budgets.appends),
        "Crashes": str(budgets.crashes),
        "Timeouts": str(budgets.timeouts),
        "Resigns": str(budgets.resigns),
        "Requests": str(budgets.admin),
        "Expirations": str(budgets.timers),
        "MaxEpoch": str(scenario.bounds.max_epoch),
    }


@pytest.mark.parametrize("name", NAMES)
def test_the_constants_are_those_of_the_scenario(name: str) -> None:
    scenario = find(name)
    constants = dict(LINE.findall(Modules().configuration(name).text))
    wanted = expected(scenario)
    assert {key: constants[key] for key in wanted} == wanted
    assert scenario.protocol.preset == "kafka" and not scenario.protocol.at
    assert (constants["CutLinks"] == "{}") == (not scenario.network.cut)
    if not scenario.environment.timers_at:
        assert TIMERS[constants["TimersAt"]] == set(scenario.environment.timers)
    if scenario.replicas.dynamic:
        assert constants["VotersOf"] == "LoggedVotersOf"
        assert constants["Steps"] == "".join(step.title().replace(" ", "") for step in scenario.admin.steps)
        assert constants["InOrder"] == yes(scenario.admin.order == "listed")
        assert constants["FirstLeader"] == str(scenario.replicas.initial_leader)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_judged_is_what_the_scenario_asks_for(name: str) -> None:
    scenario = find(name)
    asked = {*(scenario.check.only or names.ALWAYS), *scenario.check.properties}
    asked |= OF_CHANGES if scenario.replicas.dynamic else set()
    asked -= {*scenario.check.without, *WITHOUT_COUNTERPART}
    configuration = Modules().configuration(name)
    assert set(configuration.invariants) == asked
    waived = re.search(r"NotJudged = \{([^}]*)\}", configuration.text)
    assert waived is not None
    assert not asked & set(re.findall(r'"(\w+)"', waived.group(1)))


def test_what_is_left_out_is_left_out() -> None:
    """The modules have no form for these; a configuration of such a scenario would be wrong."""
    for name in NAMES:
        scenario = find(name)
        assert not scenario.environment.delayed_fetches and not scenario.replicas.stopped
        assert not (scenario.budgets.shutdowns or scenario.budgets.wipes or scenario.budgets.snapshots)
        assert not scenario.network.no_pre_vote and scenario.network.idle_answers != "left-out"
