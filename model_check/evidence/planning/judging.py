"""Whether a step is safe: the checker explores the operation with faults, and what can be lost after it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from kraftcheck.checking import findings
from kraftcheck.checking.run import CheckResult, check
from kraftcheck.engine.explorer import explore
from kraftcheck.engine.shrink import shrink
from kraftcheck.engine.simulate import simulate
from kraftcheck.engine.system import Exploration, Limits, System
from kraftcheck.engine.tables import Tables
from kraftcheck.engine.watch import INTERRUPTED
from kraftcheck.evidence.planning.situation import Member, Operation, Situation
from kraftcheck.reference.voters import majority
from kraftcheck.systems.kraft.known_exits import KNOWN
from kraftcheck.systems.kraft.scenario import numbered
from kraftcheck.systems.scenario import Expected, Scenario, from_data

FAULTS: Final = ("crash", "power-loss")
#: Exits of a process that findings show; it starts again, and the step goes on.
_EXITS: Final = (
    "observer-without-voter-set",
    "restart-under-removed-leader",
    "removed-voter-acknowledges",
    "resigned-leader-unknown",
)
#: States, not seconds: what is found must not depend on what else the machine does.
_LIMITS: Final = Limits(max_states=1_000_000, max_seconds=60)
#: Of three controllers that run, and of more: these have too many states, few of which show anything.
_LIMITS_OF_ELECTIONS: Final = (
    Limits(max_states=2_000_000, max_seconds=60),
    Limits(max_states=200_000, max_seconds=60),
)
#: What is beyond these limits is looked at by so many random walks, of so many steps at most.
WALKS: Final = 300
_STEPS_OF_A_WALK: Final = 100
_MOST_IN_FLIGHT: Final = 12


@dataclass(frozen=True, slots=True)
class Judged:
    """``refusal``: why a step is unsafe or does not work, empty where it is safe; ``scenario``: the one that
    shows it; ``complete``: whether all states within the bounds were explored; ``violated``: the properties
    that are.
    """

    refusal: str = ""
    scenario: Scenario | None = None
    complete: bool = True
    violated: tuple[str, ...] = ()


@dataclass
class Judge:
    """Judges the steps of one search, and remembers what it has explored.

    ``preset``: the release; ``faults``: of ``FAULTS``; ``states``: how many were explored;
    ``limited``: whether something was refused as a limit was reached before it was seen to work.
    """

    preset: str
    faults: tuple[str, ...]
    threads: int
    states: int = 0
    limited: bool = False
    _known: dict[str, CheckResult] = field(default_factory=dict)

    def survives(self, situation: Situation, without: int | None = None) -> bool:
        """Whether the voters that run can elect a leader that commits, also if one of them stays down.

        Their logs are taken to be equally long, and elections of one of them are explored. That is enough:
        among a majority the one with the longest log can be elected, and has all that is committed.
        """
        number = numbers(situation)
        stopped = {number[each.id] for each in situation.voters - situation.running}
        stopped |= set() if without is None else {number[without]}
        voters = sorted(number[each.id] for each in situation.voters)
        running = [id for id in voters if id not in stopped]
        if not running:
            return False
        # A run of a bare majority is one of all as well, in which the others do nothing.
        stopped |= set(running[len(voters) // 2 + 1 :])
        data = self._data("survives", voters, sorted(stopped))
        first = running[0]
        data["environment"] |= {"timers": [], "timers-at": {str(first): ["election", "fetch"]}}
        data["bounds"] = {"max-epoch": 1}
        data["check"] |= {"goals": ["GoalLeaderElected", "GoalRecordCommitted"]}
        data["network"] |= {"capacity": 8, "forgotten": "lost", "idle-answers": "left-out"}
        result = self._explored(_in_order(data))
        self.limited |= result.limit is not None and bool(result.exploration.missing_goals)
        return not result.exploration.missing_goals

    def fragile(self, situation: Situation) -> list[int]:
        """The running voters after whose loss no leader can be elected."""
        return [id for id in situation.running_voters if not self.survives(situation, id)]

    def step(self, before: Situation, operation: Operation) -> Judged:
        """Whether ``operation`` works in ``before`` and violates no property, whatever faults there are and
        whichever of the possible leaders carries it out.
        """
        return _all(self._step, before, operation)

    def risks(self, before: Situation, operation: Operation) -> tuple[Judged, ...]:
        """Whether ``operation`` violates a property if another leader is elected meanwhile, while the present
        one has records that it alone has: without a crash and, if that is among the faults, with one as well.
        An operator cannot exclude that, so that it refuses no step.
        """
        without = _all(partial(self._election, 0, ()), before, operation)
        if "crash" not in self.faults:
            return (without,)
        return without, _all(partial(self._election, 1, without.violated), before, operation)

    def _step(self, leader: int, before: Situation, operation: Operation) -> Judged:
        judged = self._change(leader, before, operation)
        leaves = operation.verb == "remove" and operation.member.id == leader
        if judged.refusal or not (leaves and before.needs_all):
            return judged
        # It ends the quorum for ever, and takes no more than a restart: whatever the faults are.
        stays = self._leaves_a_leader(leader, before, operation)
        return stays if stays.refusal else replace(judged, complete=judged.complete and stays.complete)

    def _election(
        self, crashes: int, ignored: tuple[str, ...], leader: int, before: Situation, operation: Operation
    ) -> Judged:
        """What an election during the step can do, but for the properties ``ignored``: all of it within small
        bounds, and by random walks what is beyond the limits. A controller that is added has caught up.
        """
        name = "election-and-crash" if crashes else "election"
        data = self._change_data(name, leader, before, operation)
        data["replicas"].pop("fresh", None)
        followers = [id for id in before.running_voters if id != leader]
        followers += [operation.member.id] if operation.verb == "add" else []
        needed = majority(len(followers) + 1)
        data["environment"] |= {
            "timers-at": {str(id): ["fetch"] for id in followers[:needed]},
            "boundaries": crashes > 0,
            "discovery": operation.verb == "add",
            "append-size": 2,
        }
        data["network"] |= {
            "capacity": max(2, len(followers)),
            "forgotten": "lost",
            "idle-answers": "left-out",
        }
        data["budgets"] |= {"timers": needed, "appends": 1, "crashes": crashes}
        data["bounds"] = {"max-epoch": 2}
        data["check"] |= {
            "without": [*data["check"]["without"], *ignored],
            "goals": ["GoalVoterChangeReverted"],
            "ignore-fatal": [each.finding for each in KNOWN],
        }
        limits = _LIMITS_OF_ELECTIONS[len(followers) > 2]
        result = self._explored(data, limits)
        # A majority that lacks the change must elect a leader without the present one.
        voters = [id for id in before.running_voters if id != leader]
        possible = len(voters) >= majority(len(before.voters))
        complete = result.limit is None and not (possible and result.exploration.missing_goals)
        if not complete and not result.violated:
            data["about"] = "A step of a plan, with an election. Too large for 'check': 'simulate' shows it."
            data["environment"]["timers-at"] = {str(id): ["fetch"] for id in followers}
            data["network"]["capacity"] = _MOST_IN_FLIGHT
            result = self._explored(data, limits, _walks)
        if result.violated:
            return Judged(_violated(result), _expecting(result), complete, result.violated)
        return Judged(complete=complete)

    def _change_data(self, name: str, leader: int, before: Situation, operation: Operation) -> dict[str, Any]:
        """The tables of a scenario in which ``leader`` is asked for a change."""
        voters = sorted(each.id for each in before.voters)
        stopped = sorted(each.id for each in before.voters - before.running)
        id, verb = operation.member.id, operation.verb
        data = self._data(f"{name}-{verb}-{id}".lstrip("-"), voters, stopped)
        data["replicas"]["initial-leader"] = leader
        if verb == "add":
            data["replicas"] |= {"joining": [id], "fresh": [id]}
        data["admin"] = {"steps": [f"{verb} {id}"]}
        data["environment"] |= {"timers": [], "discovery": True}
        data["budgets"] = {"admin": 1}
        return data

    def _change(self, leader: int, before: Situation, operation: Operation) -> Judged:
        verb = operation.verb
        data = self._change_data("", leader, before, operation)
        data["budgets"] |= {"crashes": 1} if "crash" in self.faults else {}
        data["bounds"] = {"max-epoch": 1}
        goal = "GoalVoterAdded" if verb == "add" else "GoalVoterRemoved"
        data["check"] |= {"goals": [goal], "ignore-fatal": list(_EXITS)}
        result = self._explored(_in_order(data))
        if result.exploration.violations:
            result = self._explored(data)
            if result.exploration.violations:
                return Judged(_violated(result), _expecting(result))
        if result.exploration.missing_goals and result.limit is None:
            # With few messages in flight a change among many voters may have no room.
            data["network"] |= {"capacity": 2 * len(before.voters)}
            result = self._explored(_in_order(data))
            if result.exploration.missing_goals and result.limit is None:
                return Judged("it cannot be committed", from_data(data, data["name"]))
        if result.exploration.missing_goals:
            self.limited = True
            return Judged("a limit was reached before it was seen to be committed")
        return Judged(complete=result.limit is None)

    def _leaves_a_leader(self, leader: int, before: Situation, operation: Operation) -> Judged:
        """Whether a leader can always be elected again when a leader of a bare majority removes itself."""
        stopped = sorted(each.id for each in before.voters - before.running)
        data = self._data("leader-leaves", sorted(each.id for each in before.voters), stopped)
        data["replicas"]["initial-leader"] = leader
        data["network"] |= {"capacity": 12, "loss": "never", "forgotten": "lost"}
        data["admin"] = {"steps": [f"remove {leader}"], "at": [leader]}
        data["environment"] |= {"discovery": True, "boundaries": False, "crashes-at": [leader]}
        data["budgets"] = {"admin": 1, "crashes": 1}
        data["bounds"] = {"max-epoch": 2}
        data["check"] = {
            "ignore-fatal": list(_EXITS),
            "eventually": [{"property": "LeaderEventuallyElected", "goal": "a-leader"}],
        }
        result = self._explored(data)
        if any(each.violated for each in result.judged):
            return Judged(_violated(result), _expecting(result))
        return Judged(complete=result.limit is None)

    def _data(self, name: str, voters: list[int], stopped: Iterable[int]) -> dict[str, Any]:
        """The tables that all these scenarios share."""
        replicas: dict[str, Any] = {"voters": voters, "dynamic": True, "stopped": list(stopped)}
        return {
            "name": name,
            "about": "A step of a plan.",
            "protocol": {"preset": self.preset},
            "replicas": replicas,
            "network": {"capacity": 4},
            "environment": {"write-back": True, "power-loss": "power-loss" in self.faults},
            "check": {"without": ["CheckQuorumNeedsMajority"]},
            "expect": {"verdict": "holds"},
        }

    def _explored(
        self,
        data: dict[str, Any],
        limits: Limits | None = None,
        explorer: Callable[..., Exploration] = explore,
    ) -> CheckResult:
        scenario = from_data(data, data["name"])
        key = scenario.model_dump_json()
        if key not in self._known:
            self._known[key] = check(
                scenario, threads=self.threads, limits=limits or _LIMITS, explorer=explorer
            )
            self.states += self._known[key].exploration.distinct
        return self._known[key]


def _walks(
    system: System, *, threads: int, limits: Limits, tables: Tables | None = None, **_: object
) -> Exploration:
    """Random walks in the place of a search: all of them and the same ones each time, so without a limit on
    seconds.
    """
    limits = replace(limits, max_seconds=None)
    found = simulate(system, 0, WALKS, _STEPS_OF_A_WALK, threads=threads, limits=limits, tables=tables)
    if found.limit == INTERRUPTED:
        raise KeyboardInterrupt
    return replace(found, violations=tuple(shrink(system, each).violation for each in found.violations))


def numbers(situation: Situation) -> dict[int, int]:
    """The ids of the replicas of a scenario by those of the nodes: the same, unless one is large."""
    members = situation.voters | situation.running | situation.down
    return numbered({each.id for each in members} | situation.empty)


def _all(
    judge: Callable[[int, Situation, Operation], Judged], before: Situation, operation: Operation
) -> Judged:
    """What ``judge`` finds of ``operation``, whichever voter leads. Of those that are not to be removed one
    stands for all.
    """
    if operation.verb not in ("add", "remove"):
        return Judged()
    leaders = sorted(before.leaders)
    others = [id for id in leaders if id != operation.member.id]
    complete, number = True, numbers(before)

    def renamed(members: Iterable[Member]) -> frozenset[Member]:
        return frozenset(Member(number[each.id], each.disk) for each in members)

    short = Situation(renamed(before.voters), renamed(before.running), renamed(before.down))
    (member,) = renamed([operation.member])
    for leader in [*others[:1], *(id for id in leaders if id not in others)]:
        judged = judge(number[leader], short, Operation(operation.verb, member))
        if judged.refusal and len(leaders) > 1:
            return replace(judged, refusal=f"if {leader} leads: {judged.refusal}")
        if judged.refusal:
            return judged
        complete = complete and judged.complete
    return Judged(complete=complete)


def _in_order(data: Mapping[str, Any]) -> dict[str, Any]:
    """The scenario of ``data`` with other ids, from 1 on: scenarios that differ in their ids alone become the
    same, and are explored once.

    The reference sends to several replicas in the order of their ids, and a crash may fall in between. Here
    they go out in any order, which includes that of ``data``; a violation must be looked for there again. The
    list of successors is ordered by id, too, but no election follows in these scenarios, or there is one
    successor.
    """
    replicas, admin, environment = data["replicas"], data.get("admin", {}), data["environment"]
    verb, _, operand = admin.get("steps", [""])[0].partition(" ")
    timers = environment.get("timers-at", {})

    def place(id: int) -> tuple[bool, ...]:
        is_voter, is_stopped = id in replicas["voters"], id in replicas["stopped"]
        return (
            id != replicas.get("initial-leader"),
            str(id) != operand,
            str(id) not in timers,
            not is_voter,
            is_stopped,
        )

    ids = sorted({*replicas["voters"], *replicas.get("joining", [])}, key=place)
    new = {id: number for number, id in enumerate(ids, 1)}

    def renamed(table: Mapping[str, Any], *keys: str) -> dict[str, Any]:
        return dict(table) | {key: sorted(new[id] for id in table[key]) for key in keys if key in table}

    found = dict(data)
    found["name"] = data["name"].partition("-")[0]
    found["replicas"] = renamed(replicas, "voters", "stopped", "joining", "fresh")
    if "initial-leader" in replicas:
        found["replicas"]["initial-leader"] = new[replicas["initial-leader"]]
    found["environment"] = renamed(environment, "crashes-at") | {"sends": "any-order"}
    if timers:
        found["environment"]["timers-at"] = {str(new[int(id)]): each for id, each in timers.items()}
    if admin:
        found["admin"] = renamed(admin, "at") | {"steps": [f"{verb} {new[int(operand)]}"]}
    return found


def _expecting(result: CheckResult) -> Scenario:
    """The scenario of ``result``, which predicts what was found."""
    expect = Expected(verdict="violated", violates=result.violated)
    return result.scenario.model_copy(update={"expect": expect})


def _violated(result: CheckResult) -> str:
    """What can go wrong, with the finding that it looks like."""
    names = ", ".join(result.violated)
    known = [findings.recognised(trace) for trace in result.traces(seek=False)]
    pages = dict.fromkeys(each.place for each in known if each is not None)
    return f"{names} can be violated" + (f" ({', '.join(pages)})" if pages else "")
