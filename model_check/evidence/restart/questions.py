"""What an operator asks of disks, and the answers that the checker finds.

Each question is a scenario of its own: all nodes start, all but one, or one of them on an empty disk. What
the disks do not show is answered both ways. A small network, no crash and one epoch more than the disks have
are explored; within these bounds every order of messages, losses and timers. Where no leader is elected, up
to two more epochs are tried: a leader that restarts leaves its epoch before it can be a candidate. No step
leads on from a violated property, so that what lies behind it is explored without judging this property.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, cast

from kraftcheck.checking import findings
from kraftcheck.checking.run import CheckResult, check
from kraftcheck.engine.system import Limits
from kraftcheck.evidence.disks.disk import StoredDisk
from kraftcheck.evidence.disks.quorum import Quorum, agreed
from kraftcheck.evidence.disks.records import LeaderChange, VoterKey
from kraftcheck.evidence.restart.beginning import GOALS, Assumed, Beginning, LostVote
from kraftcheck.reference.types import INT32
from kraftcheck.reference.voters import majority
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft.known_exits import KNOWN
from kraftcheck.systems.kraft.scenario import KRaftScenario
from kraftcheck.systems.scenario import Expected

#: So many more epochs are explored, one after another, where a goal is not reached.
MORE_EPOCHS: Final = 2
#: The finding in which a process exits on an empty disk since it led on the lost one; its counterexamples are
#: recognised by a step that takes the disk away, which is none here.
_WIPED_LEADER: Final = "wiped-leader"
#: A committed record is not in the log of a leader, or another one is in its place.
LOSES: Final = frozenset(
    {
        "LeaderCompleteness",
        "CommittedSurvivesVoterChanges",
        "StateMachineSafety",
        "TruncationKeepsCommonPrefix",
        "NoTruncationBelowHighWatermark",
        "SnapshotIsCommittedPrefix",
    }
)


@dataclass(frozen=True, slots=True)
class Question:
    """``kind``: ``all``, ``without`` or ``lost``; ``node``: which one; ``assumption``: what is assumed beyond
    the disks, empty where nothing is; ``only_copy``: whether no other disk that was given has all committed
    records; ``scenario``: what is explored.
    """

    kind: str
    node: int | None
    assumption: str
    only_copy: bool
    scenario: KRaftScenario

    @property
    def words(self) -> str:
        """The question, as the beginning of a sentence about its answer."""
        return _words(self.kind, self.node, self.assumption)


@dataclass(frozen=True, slots=True)
class Answer:
    """``elects``, ``commits``: whether a leader can be elected and commit, None where the search reached a
    limit first. ``violated``: the properties that can be violated, with the steps to it; ``looks_like``: the
    findings that these resemble; ``unexplained``: those of ``violated`` that resemble none. ``complete``:
    whether all states within the bounds were explored. ``shown``: the scenario with the worst of
    ``violated``, which it expects.
    """

    question: Question
    elects: bool | None
    commits: bool | None
    violated: tuple[tuple[str, int], ...]
    looks_like: tuple[str, ...]
    unexplained: frozenset[str]
    complete: bool
    states: int
    seconds: float
    shown: KRaftScenario

    @property
    def loses(self) -> bool:
        """Whether a committed record can be lost."""
        gone = self.question.kind == "lost" and self.question.only_copy
        return gone or any(name in LOSES for name, _ in self.violated)

    @property
    def is_bad(self) -> bool:
        """Whether a committed record can be lost, a property be violated, or nothing works although all nodes
        start. An exit of a process that a finding shows is not: it can be started again.
        """
        stuck = self.question.kind == "all" and not (self.elects and self.commits)
        serious = [name for name, _ in self.violated if name != "NoFatal" or name in self.unexplained]
        return self.loses or bool(serious) or (stuck and self.complete)


def questions(beginning: Beginning) -> Iterator[Question]:
    """The questions about the nodes of ``beginning``, those about all nodes first."""
    started = [
        each for each in beginning.current_voters if each in beginning.disks and each not in beginning.unable
    ]
    for assumption, assumed in assumptions(beginning):
        name = "" if not assumption else f"-if-{number_of(beginning, assumption)}"
        make = partial(_question, beginning, assumption, assumed)
        yield make("all", None, f"all-nodes{name}")
        for node in started:
            yield make("without", node, f"without-{beginning.ids[node]}{name}")
        for node in started:
            yield make("lost", node, f"lost-{beginning.ids[node]}{name}")


def number_of(beginning: Beginning, assumption: str) -> int:
    """The place of ``assumption`` among those that are explored; 0 for what the disks show."""
    return [each for each, _ in assumptions(beginning)].index(assumption)


def _question(
    beginning: Beginning, assumption: str, assumed: Assumed, kind: str, node: int | None, name: str
) -> Question:
    scenario = beginning.scenario(
        name,
        f"{_words(kind, node, assumption)}, from disks that were read.",
        assumed,
        stopped=(node,) if kind == "without" and node is not None else (),
        lost=(node,) if kind == "lost" and node is not None else (),
    )
    return Question(kind, node, assumption, _only_copy(beginning, assumed, node), scenario)


def _only_copy(beginning: Beginning, assumed: Assumed, node: int | None) -> bool:
    """Whether the disk of ``node`` alone has all committed records."""
    others = [disk for id, disk in beginning.disks.items() if id != node and disk.has_prefix]
    if node is None or assumed.disk is None or not assumed.below:
        return False
    return not any(agreed(assumed.disk, other)[0] >= assumed.below for other in others)


def _words(kind: str, node: int | None, assumption: str) -> str:
    said = {
        "all": "All nodes start",
        "without": f"Node {node} stays down",
        "lost": f"Node {node} starts on an empty disk",
    }[kind]
    return f"{said}, if {assumption}" if assumption else said


# What the disks do not show.


def assumptions(beginning: Beginning) -> list[tuple[str, Assumed]]:
    """What is explored: what the disks show, and each thing that they may hide, in words."""
    quorum = beginning.quorum
    votes = tuple(lost_votes(beginning))
    certain = tuple(each for each in votes if each.certain)
    sure = Assumed(quorum.committed.below, quorum.committed.disk, certain)
    found = [("", sure)]
    for disk, below in possible_commits(quorum, tuple(beginning.disks.values())):
        text = f"the records of {disk.label} up to offset {below - 1:,} are committed"
        found.append((text, replace(sure, below=below, disk=disk)))
    for vote in votes:
        if not vote.certain:
            text = f"node {vote.voter} has voted for {vote.candidate.id} in epoch {vote.epoch}"
            found.append((text, replace(sure, votes=(*certain, vote))))
    return found


def lost_votes(beginning: Beginning) -> Iterator[LostVote]:
    """The votes that nodes without a quorum-state have given, or may have given to the node of another
    disk. A disk that no voter set names has replaced the one on which its node voted.
    """
    voters = {key for keys in beginning.sets for key in keys}
    for node, disk in beginning.disks.items():
        replaced = not beginning.is_static and disk.key not in voters
        if disk.state is not None or node in beginning.unable or replaced:
            continue
        known = dict(_granted(beginning.quorum, node))
        for epoch, candidate in sorted(known.items()):
            yield LostVote(node, epoch, _key_of(beginning, candidate), True)
        for other, theirs in beginning.disks.items():
            state = theirs.state
            if state is None or state.vote is None or state.vote.id != other or other == node:
                continue
            if state.epoch >= disk.last_epoch and state.epoch not in known:
                yield LostVote(node, state.epoch, _key_of(beginning, other), False)


def _granted(quorum: Quorum, node: int) -> Iterator[tuple[int, int]]:
    """Epochs and candidates for which ``node`` has voted, by the LeaderChange records of the disks."""
    for disk in quorum.disks:
        for batch in disk.batches:
            for each in batch.control:
                if isinstance(each, LeaderChange) and node in each.granting and node != each.leader:
                    yield batch.epoch, each.leader


def _key_of(beginning: Beginning, node: int) -> VoterKey:
    disk = beginning.disks.get(node)
    key = None if disk is None else disk.key
    return VoterKey(node, None) if key is None else key


def possible_commits(quorum: Quorum, disks: tuple[StoredDisk, ...]) -> list[tuple[StoredDisk, int]]:
    """Logs with the largest offset below which everything may be committed, where that is more than is known:
    voters whose disks are not given, or have lost records, may have had the rest.
    """
    found: list[tuple[StoredDisk, int]] = []
    for log in sorted(disks, key=lambda each: each.position, reverse=True):
        for batch in reversed(log.batches):
            if batch.end <= quorum.committed.below:
                break
            if _may_be_committed(quorum, log, batch.end):
                if all(agreed(log, other)[0] < min(batch.end, below) for other, below in found):
                    found.append((log, batch.end))
                break
    return found[:2]


def _may_be_committed(quorum: Quorum, log: StoredDisk, end: int) -> bool:
    sets = [each.voters.keys for each in log.voter_sets if each.offset < end]
    voters = sets[-1] if sets else log.voters
    have = 0
    for voter in voters:
        disk = quorum.disk_of(voter)
        unknown = disk is None or disk.log_is_damaged or disk.state is None
        have += unknown or (disk is not None and agreed(log, disk)[0] >= end)
    return len(voters) > 0 and have >= majority(len(voters))


# Answers.

#: Receives what is being explored, for a line of progress.
Tell = Callable[[str], None]


def answer(question: Question, beginning: Beginning, limits: Limits, threads: int, tell: Tell) -> Answer:
    """Explore ``question``. Where a limit is reached before a goal, elections that one node alone begins are
    explored, too: they show what is possible.
    """
    tell(question.words)
    runs = _explored(question.scenario, limits, threads, tell)
    for _ in range(MORE_EPOCHS):
        if not _complete(runs) or not _missing(runs):
            break
        question = replace(question, scenario=_with_one_more_epoch(question.scenario))
        runs = _explored(question.scenario, limits, threads, tell)
    complete = _complete(runs)
    if not complete and _missing(runs):
        for node in beginning.current_voters:
            if beginning.ids[node] in question.scenario.replicas.stopped:
                continue
            tell(f"{question.words}; elections of node {node}")
            alone = _only_elections_of(question.scenario, beginning.ids[node])
            runs += _explored(alone, limits, threads, tell)
    answered = _answer(question, runs, complete=complete)
    if question.kind == "lost" and "NoFatal" in answered.unexplained:
        past = _check(_with_ignored(question.scenario, (_WIPED_LEADER,)), limits, threads)
        left = {each.property: each.depth for each in past.exploration.violations}
        if left.get("NoFatal", INT32) > dict(answered.violated)["NoFatal"]:
            looks_like = (*answered.looks_like, _WIPED_LEADER)
            unexplained = answered.unexplained - ({"NoFatal"} if _only_known_exits(runs) else set())
            answered = replace(answered, looks_like=looks_like, unexplained=unexplained)
    return answered


def _explored(scenario: KRaftScenario, limits: Limits, threads: int, tell: Tell) -> list[CheckResult]:
    """The exploration of ``scenario``, and of what lies behind the properties that it violates: without
    these, and past the known exits of processes.
    """
    runs = [_check(scenario, limits, threads)]
    while (behind := _behind(runs)) is not None:
        tell(f"{scenario.about.partition(',')[0]}; what comes after {', '.join(runs[-1].violated)}")
        runs.append(_check(behind, limits, threads))
    return runs


def _behind(runs: list[CheckResult]) -> KRaftScenario | None:
    """The scenario past what the last run violates; None where nothing worse can lie behind it."""
    last = runs[-1]
    violated = {each.property for each in last.exploration.violations}
    if not violated or (violated & LOSES and not _missing(runs)):
        return None
    scenario = cast(KRaftScenario, last.scenario)
    if "NoFatal" in violated and not scenario.check.ignore_fatal:
        violated.discard("NoFatal")
        scenario = _with_ignored(scenario, tuple(each.finding for each in KNOWN))
    without = (*scenario.check.without, *sorted(violated))
    return scenario.model_copy(update={"check": scenario.check.model_copy(update={"without": without})})


def _missing(runs: list[CheckResult]) -> set[str]:
    """The goals that none of ``runs`` reaches."""
    return set(GOALS).intersection(*(run.exploration.missing_goals for run in runs))


def _complete(runs: list[CheckResult]) -> bool:
    return all(run.limit is None for run in runs)


def _only_known_exits(runs: list[CheckResult]) -> bool:
    """Whether no process exits where the exits that findings show are passed."""
    past = [run for run in runs if cast(KRaftScenario, run.scenario).check.ignore_fatal]
    return not any("NoFatal" in run.violated for run in past)


def _answer(question: Question, runs: list[CheckResult], *, complete: bool) -> Answer:
    violated: dict[str, int] = {}
    looks_like: dict[str, None] = {}
    unexplained = set[str]()
    for result in runs:
        for each in result.exploration.violations:
            violated[each.property] = min(each.depth, violated.get(each.property, each.depth))
        for trace in result.traces(seek=False):
            known = findings.recognised(trace)
            looks_like |= {} if known is None else {known.id: None}
            unexplained |= {trace.property} if known is None and trace.property is not None else set()
    missing = _missing(runs)

    def reached(goal: str) -> bool | None:
        return True if goal not in missing else False if complete else None

    return Answer(
        question,
        reached("GoalLeaderElected"),
        reached("GoalRecordCommitted"),
        tuple(sorted(violated.items(), key=lambda each: each[1])),
        tuple(looks_like),
        frozenset(unexplained),
        complete,
        sum(result.exploration.distinct for result in runs),
        sum(result.seconds for result in runs),
        _shown(question.scenario, runs),
    )


def _shown(scenario: KRaftScenario, runs: list[CheckResult]) -> KRaftScenario:
    """The scenario of the run with the worst violation, which expects those that a search finds first."""
    bad = [run for run in runs if run.violated]
    if not bad:
        return scenario
    worst = next((run for run in bad if LOSES.intersection(run.violated)), bad[0])
    first = min(each.depth for each in worst.exploration.violations)
    names = tuple(each.property for each in worst.exploration.violations if each.depth == first)
    expect = Expected(verdict="violated", violates=names)
    return cast(KRaftScenario, worst.scenario).model_copy(update={"expect": expect})


def _check(scenario: KRaftScenario, limits: Limits, threads: int) -> CheckResult:
    return check(scenario, threads=threads, limits=limits, keep_going=True)


def _with_ignored(scenario: KRaftScenario, exits: tuple[str, ...]) -> KRaftScenario:
    check_ = scenario.check.model_copy(update={"ignore_fatal": exits})
    return scenario.model_copy(update={"check": check_})


def _with_one_more_epoch(scenario: KRaftScenario) -> KRaftScenario:
    bounds = scenario.bounds.model_copy(update={"max_epoch": scenario.bounds.max_epoch + 1})
    return scenario.model_copy(update={"bounds": bounds})


def _only_elections_of(scenario: KRaftScenario, replica: int) -> KRaftScenario:
    """``scenario`` in which the timers of one replica alone expire."""
    timers = {"timers": (), "timers_at": {str(replica): scenario.environment.timers}}
    return scenario.model_copy(update={"environment": scenario.environment.model_copy(update=timers)})


def with_verdict(answered: Answer) -> KRaftScenario:
    """The scenario of an answer, which expects what was found; without the goals that cannot be reached."""
    scenario = answered.shown
    reached = {"GoalLeaderElected": answered.elects, "GoalRecordCommitted": answered.commits}
    goals = tuple(goal for goal in scenario.check.goals if reached.get(goal) is not False)
    check_ = scenario.check.model_copy(update={"goals": goals})
    return scenario.model_copy(update={"check": check_})


def beginning_of(quorum: Quorum, preset: str) -> Beginning:
    """The nodes of ``quorum``, with offsets apart where what is committed may end. Raises InputError."""
    if not quorum.disks:
        raise InputError("there is no disk; give the metadata log directories of controllers.")
    marks = (quorum.committed.below, *(below for _, below in possible_commits(quorum, quorum.disks)))
    return Beginning(quorum, marks, preset)
