"""The run that leads to ``replicas.initial-leader``: judged and shown like any other."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from kraftcheck.checking.run import CheckResult, check
from kraftcheck.checking.violations import more_data
from kraftcheck.cli.main import main
from kraftcheck.engine.steps import initial_states
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.initial_prefix import SUFFIX, scenario_of
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.other_protocol import under
from kraftcheck.systems.scenario import Scenario, find, shipped_files
from kraftcheck.traces.json_form import dumps, loads
from kraftcheck.traces.replay import replay
from kraftcheck.traces.view import permalink
from tests.systems.kraft.small import alone, changed

_PARKED = "finding-parked-fetch-counts-again"


def _parked(**keys: Any) -> Scenario:
    """A leader that comes into office by a fetch that counts twice: the run violates what is judged."""
    check = {"only": ["CheckQuorumNeedsMajority"], **keys}
    expect = {"verdict": "violated", "violates": ["CheckQuorumNeedsMajority"]}
    return changed(_PARKED, check=check, expect=expect)


@pytest.fixture(scope="module")
def broken() -> CheckResult:
    return check(_parked())


def test_a_violation_on_the_way_is_a_counterexample(broken: CheckResult) -> None:
    assert broken.as_expected, broken.differences
    assert broken.initial_prefix is not None
    assert broken.simplest == {}
    assert more_data(broken, 1, True) == {"causes": {}, "smallest_bounds": {}}
    (violation,) = broken.exploration.violations
    assert violation.property == "CheckQuorumNeedsMajority"
    assert len(violation.path) == violation.depth == broken.exploration.distinct - 1 > 7


@pytest.mark.slow
def test_it_is_told_from_the_first_start_on_and_replayed(broken: CheckResult) -> None:
    (trace,) = broken.traces()
    assert trace.steps[0].action == "timer at 1 (election)"
    assert trace.scenario.name == _PARKED + SUFFIX
    assert all(step.rules for step in trace.steps)
    assert trace.steps[-1].violations == ("CheckQuorumNeedsMajority",)
    assert replay(loads(dumps(trace))) is None


@pytest.mark.slow
def test_its_permalink_shows_it_again(broken: CheckResult, capsys: Any) -> None:
    (trace,) = broken.traces()
    *_, path = permalink(trace).split()
    assert f"{_PARKED}.toml --initial-prefix --path" in permalink(trace)
    assert main(["trace", "show", _PARKED, "--initial-prefix", "--path", path, "--json"]) == 0
    again = loads(capsys.readouterr().out)
    assert [step.action for step in again.steps] == [step.action for step in trace.steps]


def test_the_command_says_where(tmp_path: Path, capsys: Any) -> None:
    shipped = shipped_files()[_PARKED].read_text()
    file = tmp_path / "parked.toml"
    file.write_text(shipped.replace(", initial-prefix = false", ""))
    assert main(["check", str(file)]) == 0
    assert "in the run that leads to replicas.initial-leader" in " ".join(capsys.readouterr().out.split())


def test_what_nothing_comes_after_cannot_be_simulated() -> None:
    with pytest.raises(InputError, match="violates CheckQuorumNeedsMajority in step 25, which"):
        build(_parked())


def test_what_was_not_expected_on_the_way_differs() -> None:
    scenario = _parked().model_copy(update={"expect": alone(replicas={"voters": [1]}).expect})
    assert check(scenario).differences == ("CheckQuorumNeedsMajority is violated",)


def test_the_run_is_not_judged_where_the_scenario_says_so() -> None:
    result = check(_parked(**{"initial-prefix": False}))
    assert result.initial_prefix is None
    assert [violation.depth for violation in result.exploration.violations] == [7]


def test_the_run_has_no_faults() -> None:
    run = scenario_of(changed("replace-disk-and-crash"))
    assert run.budgets.crashes == run.budgets.timeouts == run.budgets.shutdowns == 0
    assert run.replicas.initial_leader is None


def test_observers_find_the_leader_through_any_server() -> None:
    replicas = {
        "voters": [1, 2],
        "joining": [3],
        "dynamic": True,
        "initial-leader": 1,
        "bootstrap-servers": [2],
    }
    system = build(alone(replicas=replicas))
    observer = cast(Node, system.initial_states()[0].locals[2]).replica
    assert observer is not None and observer.quorum_state.leader == 1


def test_a_run_belongs_to_a_leader(capsys: Any) -> None:
    assert main(["trace", "show", "single-voter", "--initial-prefix", "--path", "none"]) == 2
    assert "no replicas.initial-leader" in capsys.readouterr().err
    assert main(["trace", "show", "trace.json", "--initial-prefix"]) == 2


@pytest.mark.parametrize("preset", ["kafka-3.9", "kafka-4.0", "kafka-4.1"])
def test_followers_that_are_not_told_of_commits_are_led_too(preset: str) -> None:
    """Before Kafka 4.1 a fetch that waits is not answered when the high watermark moves."""
    system = build(under(find(_PARKED), preset))  # type: ignore[arg-type]
    (begin,) = initial_states(system)
    known = [cast(Node, local).replica.high_watermark for local in begin.locals]  # type: ignore[union-attr]
    assert known[0] == 1 and set(known[1:]) == ({1} if preset == "kafka-4.1" else {None})
