"""A hunt finds a planted defect, writes a scenario that shows it, and goes on where it ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.cli.main import main
from kraftcheck.engine.system import Limits
from kraftcheck.hunt import run as hunting
from kraftcheck.hunt import store
from kraftcheck.hunt.causes import Cause, cause_of, likeness_of
from kraftcheck.hunt.past import gone_past, whole
from kraftcheck.hunt.run import Hunt, generic
from kraftcheck.hunt.search import Effort, OutOfLimits, look
from kraftcheck.hunt.step import Done, Job, Line, take
from kraftcheck.hunt.written import name_of
from kraftcheck.reference import vote
from kraftcheck.reference.replica import Prospective, Unattached
from kraftcheck.reference.work import Work
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.scenario import KRaftScenario
from kraftcheck.systems.kraft.system import KRaftSystem
from kraftcheck.systems.scenario import Scenario, find, load, parse

SMALL = """
name = "small"
about = "Three voters elect a leader."
replicas = { voters = [1, 2, 3] }
network = { capacity = 2 }
budgets = { timers = 3 }
expect = { verdict = "holds" }
"""
EFFORT = Effort(20_000, 100, 40)


def hunted(
    folder: Path, scenarios: list[Scenario], steps: int, *, seed: int = 0, threads: int = 1
) -> store.State:
    state = store.begin(folder, scenarios, seed)
    assert Hunt(scenarios, state, folder, threads=threads, max_steps=steps).run(600)
    return state


def comparable(state: store.State) -> dict[str, Any]:
    """What does not depend on time."""
    data = state.model_dump(mode="json")
    for seen in (data, *data["causes"].values(), *data["new"].values()):
        del seen["seconds"]
    return data


@pytest.fixture
def votes_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted defect: votes are granted without a look at the vote that was cast."""

    def would_grant(work: Work, request: object) -> bool:
        return isinstance(work.replica.role, Unattached | Prospective)

    monkeypatch.setattr(vote, "would_grant_vote", would_grant)


@pytest.mark.slow
@pytest.mark.usefixtures("votes_twice")
def test_a_planted_defect_is_found_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL, encoding="utf-8")
    folder = tmp_path / "hunted"
    command = ["hunt", str(file), "--steps", "3", "--threads", "1", "-o", str(folder), "--json"]
    assert main(command) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["steps"] == 3 and data["complete"]
    names = {each["name"] for each in data["new"]}
    assert names and all(each["confirmed"] and each["file"] == f"{each['name']}.toml" for each in data["new"])
    assert {path.stem for path in folder.glob("hunt-*.toml")} == names
    for name in names:
        written = load(folder / f"{name}.toml")
        assert written.name == name and written.expect.verdict == "violated"
        # With a limit nothing is kept of what the planted defect answers.
        assert main(["check", str(folder / f"{name}.toml"), "--max-states", "1000000"]) == 0
        violated = written.expect.violates[0]
        assert main(["trace", "replay", str(folder / f"{name}.{violated}.json")]) in (0, 1)


@pytest.mark.slow
@pytest.mark.usefixtures("votes_twice")
def test_walks_find_it_too_and_what_they_find_is_short() -> None:
    scenario = parse(SMALL.replace("capacity = 2", "capacity = 4").replace("timers = 3", "timers = 4"))
    by_walks = look(scenario, scenario, Effort(1, 2_000, 60), 7, explores=False)
    exhaustive = look(scenario, scenario, Effort(500_000, 1, 1), 7, explores=True)
    assert by_walks.seen and by_walks.seen[0].walked and not exhaustive.seen[0].walked
    shortest = {each.trace.property: len(each.trace.steps) for each in exhaustive.seen}
    first = by_walks.seen[0].trace
    assert len(first.steps) <= shortest.get(first.property, 99) + 4


@pytest.mark.slow
def test_known_causes_are_set_aside_and_gone_past() -> None:
    scenario = whole(find("bootstrap-server-joins"))
    found = look(scenario, find("bootstrap-server-joins"), EFFORT, 0, explores=True)
    causes = [str(each.cause) for each in found.seen]
    assert causes == ["observer-without-voter-set", "helper-without-endpoints"]
    assert isinstance(found.past, KRaftScenario) and set(found.past.check.ignore_fatal) == set(causes)
    again = look(found.past, scenario, EFFORT, 0, explores=True)
    assert not again.seen and again.past == found.past


@pytest.mark.slow
def test_what_a_scenario_leaves_out_is_no_news() -> None:
    origin = find("older-voter-reports")
    found = look(whole(origin), origin, EFFORT, 0, explores=True)
    assert [each.cause for each in found.seen] == [Cause()]
    assert cause_of(found.seen[0].trace, whole(origin)) is None
    assert name_of(likeness_of(found.seen[0].trace)).startswith("hunt-no-fatal-")
    assert gone_past(whole(origin), "NoFatal", None) == found.past


@pytest.mark.slow
def test_a_hunt_goes_on_where_it_was_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenarios = [parse(SMALL), find("former-candidate-restarts"), find("single-voter")]
    without_interruption = hunted(tmp_path / "one", scenarios, 10)
    assert without_interruption.steps == 10 and "restart-as-candidate" in without_interruption.causes
    calls = 0

    def interrupted(job: Job) -> Done | None:
        nonlocal calls
        calls += 1
        if calls % 4 == 3:
            raise KeyboardInterrupt
        return take(job)

    monkeypatch.setattr(hunting, "take", interrupted)
    ended = 0
    while ended < 10:
        state = store.begin(tmp_path / "two", scenarios, 0)
        try:
            Hunt(scenarios, state, tmp_path / "two", max_steps=10).run(600)
            break
        except KeyboardInterrupt:
            ended += 1
    assert ended > 2
    assert comparable(store.begin(tmp_path / "two", scenarios, 0)) == comparable(without_interruption)


@pytest.mark.slow
def test_threads_change_nothing_and_the_seed_does(tmp_path: Path) -> None:
    scenarios = [find("former-candidate-restarts"), find("single-voter")]
    one = hunted(tmp_path / "one", scenarios, 5)
    two = hunted(tmp_path / "two", scenarios, 5, threads=2)
    other = hunted(tmp_path / "other", scenarios, 5, seed=1)
    assert comparable(one) == comparable(two)
    assert comparable(one)["lines"] != comparable(other)["lines"]


def test_a_step_without_time_does_not_count() -> None:
    scenario = find("three-voters-elect")
    with pytest.raises(OutOfLimits):
        look(whole(scenario), scenario, EFFORT, 0, explores=True, limits=Limits(max_memory=1))
    assert take(Job(scenario, Line(), 0, 0, 0.0, max_memory=1)) is None


def test_a_line_without_a_scenario_is_passed_over() -> None:
    done = take(Job(find("single-voter"), Line(), 1, 0, 0.0))
    assert done is not None and not done.searched and done.line.now is None


def test_another_hunt_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenarios = [parse(SMALL)]
    state = store.begin(tmp_path, scenarios, 3)
    store.keep_line(state, "small", Line(scenarios[0], None, False, ("budgets.crashes",)))
    store.save(tmp_path, state)
    assert store.begin(tmp_path, scenarios, 3) == state
    assert store.line_of(state, "small") == Line(scenarios[0], None, False, ("budgets.crashes",))
    assert main(["hunt", "single-voter", "--seed", "3", "-o", str(tmp_path)]) == 2
    assert "begun with other scenarios" in capsys.readouterr().err
    # A round goes on at its place: the order of the scenarios counts.
    two = [*scenarios, find("single-voter")]
    store.save(tmp_path / "two", store.begin(tmp_path / "two", two, 0))
    with pytest.raises(InputError, match="begun with other scenarios"):
        store.begin(tmp_path / "two", two[::-1], 0)
    with pytest.raises(InputError, match="two scenarios are called 'small'"):
        store.begin(tmp_path / "three", [*two, scenarios[0]], 0)
    (tmp_path / store.STATE).write_text(json.dumps({"format": "other"}), encoding="utf-8")
    assert main(["hunt", "single-voter", "-o", str(tmp_path)]) == 2
    assert "is not the state of a hunt" in capsys.readouterr().err
    (tmp_path / store.STATE).write_text("[" * 10_000, encoding="utf-8")
    assert main(["hunt", "single-voter", "-o", str(tmp_path)]) == 2


@pytest.mark.parametrize("text", ["0", "1d", "-3", "", "1.5h", "9" * 12])
def test_a_bad_time_is_refused(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hunt", "single-voter", f"--for={text}", "-o", str(tmp_path)]) == 2
    assert "expected a time such as 90s, 30m or 1h" in capsys.readouterr().err


def test_a_hunt_begins_with_scenarios_that_are_about_no_finding() -> None:
    chosen = {each.name: each for each in generic()}
    assert len(chosen) > 150
    assert not [
        name for name in chosen if name.startswith(("finding-", "fixed-", "mutants-", "parity-", "nightly-"))
    ]
    assert all(each.expect.verdict == "holds" for each in chosen.values())


@pytest.mark.slow
def test_the_report_names_causes_and_where_they_were_seen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["hunt", "former-candidate-restarts", "--steps", "1", "--threads", "1", "-o", str(tmp_path)]
    assert main(command) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "known causes, set aside: 1 restart-as-candidate: NoFatal in 4 steps" in said
    assert said.endswith("new: nothing")
    # The same command has nothing left to do.
    before = (tmp_path / store.STATE).read_text(encoding="utf-8")
    assert main(command) == 0
    assert comparable(store.State.model_validate_json(before)) == comparable(
        store.State.model_validate_json((tmp_path / store.STATE).read_text(encoding="utf-8"))
    )


@pytest.mark.parametrize(
    ("ending", "said"), [(KeyboardInterrupt, "interrupted"), (None, "stopped by --max-memory")]
)
def test_a_hunt_that_ends_early_says_so(
    ending: type[KeyboardInterrupt] | None,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def ended(hunt: Hunt, seconds: float) -> bool:
        if ending is not None:
            raise ending
        return False

    monkeypatch.setattr(Hunt, "run", ended)
    assert main(["hunt", "single-voter", "-o", str(tmp_path)]) == 3
    assert said in capsys.readouterr().err


def test_a_step_asks_the_reference_no_more_than_its_effort(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a step of few states, but of costly ones, would take as long as it likes."""
    scenario, counted = whole(find("three-voters-elect")), 0
    actions = KRaftSystem.actions

    def counting(system: KRaftSystem, component: int, local: Node) -> Any:
        nonlocal counted
        counted += 1
        return actions(system, component, local)

    monkeypatch.setattr(KRaftSystem, "actions", counting)
    found = look(scenario, scenario, Effort(40, 1, 1), 0, explores=True)
    assert not found.whole and not found.seen and 10 < counted <= 60


@pytest.mark.parametrize(("name", "value"), [("done", 2), ("done", -1), ("round", -1)])
def test_a_place_that_no_hunt_comes_to_is_refused(name: str, value: int, tmp_path: Path) -> None:
    scenarios = [find("two-voters-restart")]
    store.save(tmp_path, store.begin(tmp_path, scenarios, 0).model_copy(update={name: value}))
    with pytest.raises(InputError, match="is not the state of a hunt"):
        store.begin(tmp_path, scenarios, 0)


def test_a_hunt_that_was_killed_at_the_end_of_a_round_goes_on(tmp_path: Path) -> None:
    scenarios = [find("two-voters-restart")]
    state = store.begin(tmp_path, scenarios, 0).model_copy(update={"done": 1})
    store.save(tmp_path, state)
    assert store.begin(tmp_path, scenarios, 0) == state
