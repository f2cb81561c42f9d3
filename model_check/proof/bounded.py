"""Questions about runs with so many replicas, put to the transition system with changing voters.

In a run one replica after the other stands for election, is voted for, appends records and voter sets,
replicates them and commits. Who does what, in which epoch, with which voter sets and majorities is left open,
and so is which of the actions are taken at all; their order is that of :func:`_offer`. Like the proofs, runs
keep to the guards that are needed; those that are to be shown keep to all but those on pre-votes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import z3

from kraftcheck.proof.circuit import TRUE, Literal
from kraftcheck.proof.finite import Scope, Value, cases
from kraftcheck.proof.logic import Action, Formula, Guard, State, Step, every
from kraftcheck.proof.report import element
from kraftcheck.proof.runs import Bounds, Runs, Taken
from kraftcheck.proof.structures import Structure
from kraftcheck.proof.system import CHANGING_VOTERS
from kraftcheck.proof.vocabulary import (
    ZERO,
    Epoch,
    Offset,
    Quorum,
    Replica,
    Voters,
    before,
    majorities_meet,
    majority_of,
    member,
)

#: How many replicas there are at most.
MOST_REPLICAS = 9
#: How long a run is made shorter, and one attempt at that may take, in seconds.
_SHORTENING, _ATTEMPT = 5.0, 2.0
#: The start, and what leaders append at most.
_OFFSETS = 5
_ACTIONS = frozenset(
    (
        "become-candidate",
        "ask-for-votes",
        "hear-of-epoch",
        "grant-vote",
        "become-leader",
        "tell-leader",
        "follow",
        "append",
        "append-voters",
        "flush",
        "count-own-log",
        "take-records",
        "fetch",
        "count-fetch",
        "commit",
    )
)
_UNREACHED, _NEIGHBOURS, _ONE_LEADER, _KEPT = (
    "NoLeaderAfterCommittedVoterChange",
    "NeighbouringSetsShareMajorities",
    "SingleLeaderPerEpoch",
    "CommittedRecordIsInLaterLogs",
)
#: Two majorities that are compared.
_ONE, _OTHER = z3.Const("one", Quorum), z3.Const("other", Quorum)


@dataclass(frozen=True)
class Question:
    """Whether runs keep ``asked``; unless that ``holds``, a run that does not is to be found. ``without`` are
    names of guards of ``append-voters`` to leave out. ``everybody``: all replicas are voters at first.
    """

    name: str
    says: str
    rules: tuple[str, ...]
    replicas: int
    leaders: int
    asked: tuple[str, ...]
    holds: bool = True
    without: tuple[str, ...] = ()
    everybody: bool = False

    def guards(self, action: Action, step: Step) -> tuple[Guard, ...]:
        """The guards that runs keep to."""
        if self.holds or action.name == "become-candidate":
            return step.needed
        return tuple(each for each in step.guards if each.name not in self.without)


@dataclass(frozen=True)
class Answer:
    """``found``: whether there is a run that breaks what was asked, ``None`` if that is not known; if so, how
    the run begins and goes on.
    """

    found: bool | None
    lines: tuple[str, ...] = ()


def _neighbours_meet(s: State) -> Formula:
    """A majority of a voter set and one of the set before it in its log have a replica in common."""
    apart = every((Replica,), lambda r: z3.Not(z3.And(member(r, _ONE), member(r, _OTHER))))

    def meet(x: z3.ExprRef, g: z3.ExprRef) -> Formula:
        old = s.set_of(s.old_offset(x, g), s.old_epoch(x, g))
        return majorities_meet(
            majority_of(_ONE, s.set_of(x, g)),
            majority_of(_OTHER, old),
            z3.And(s.config(x, g), g != ZERO),
            z3.Not(apart),
        )

    return every((Offset, Epoch), meet)


def _unreached(s: State) -> Formula:
    """No leader of a larger epoch follows one that has committed by a voter set that it brought itself."""
    return every(
        (Epoch, Offset, Epoch, Replica),
        lambda d, x, f, n: z3.Not(
            z3.And(s.committed(d, x), s.by_epoch(d, x) == d, s.led(f, n), before(d, f), d != ZERO)
        ),
    )


def _formula(name: str) -> Formula:
    """What is asked of the last state of a run under this name; what has happened is part of a state."""
    state = CHANGING_VOTERS.state()
    if name == _UNREACHED:
        return _unreached(state)
    if name == _NEIGHBOURS:
        return _neighbours_meet(state)
    return next(each for each in CHANGING_VOTERS.conjuncts if each.name == name).formula(state)


def _offer(runs: Runs, bounds: Bounds, leaders: int) -> list[Value]:
    """Offer the actions of so many leaders, and say who they are; the last one does no more than win."""
    candidates: list[Value] = []
    for number in range(leaders):
        candidate, epoch = runs.any_of(Replica), runs.any_of(Epoch)
        _elect(runs, bounds, candidate, epoch)
        candidates.append(candidate)
        if number < leaders - 1:
            for action in ("append-voters", "append"):
                runs.offer(action, {"r": candidate})
            _replicate(runs, bounds, candidate, epoch)
            for _ in range(2):
                runs.offer("append-voters", {"r": candidate})
            _replicate(runs, bounds, candidate, epoch)
    for candidate in candidates[:-1]:
        # A leader that was replaced may go on with what it was told.
        runs.offer("commit", {"r": candidate})
    _demand_order(runs, bounds, candidates)
    return candidates


def _elect(runs: Runs, bounds: Bounds, candidate: Value, epoch: Value) -> None:
    log = {"offset": runs.any_of(Offset), "last": runs.any_of(Epoch)}
    runs.offer("become-candidate", {"r": candidate, "epoch": epoch})
    runs.offer("ask-for-votes", {"r": candidate, **log})
    for replica in range(bounds.replicas):
        runs.offer("hear-of-epoch", {"r": replica, "epoch": epoch})
        runs.offer("grant-vote", {"r": replica, "candidate": candidate, "epoch": epoch, **log})
    runs.offer("become-leader", {"r": candidate})
    runs.offer("tell-leader", {"r": candidate, "leader": candidate})


def _replicate(runs: Runs, bounds: Bounds, leader: Value, epoch: Value) -> None:
    runs.offer("flush", {"r": leader})
    runs.offer("count-own-log", {"r": leader})
    for replica in range(bounds.replicas):
        log = {"offset": runs.any_of(Offset), "last": runs.any_of(Epoch)}
        runs.offer("follow", {"r": replica, "epoch": epoch, "leader": leader})
        runs.offer("take-records", {"r": replica, "epoch": epoch})
        runs.offer("flush", {"r": replica})
        runs.offer("fetch", {"r": replica, **log})
        runs.offer("count-fetch", {"r": leader, "voter": replica, **log})
    runs.offer("commit", {"r": leader})


def _demand_order(runs: Runs, bounds: Bounds, candidates: list[Value]) -> None:
    """Replicas have no order: number those that stand in the order in which they do, and the others by the
    sets that they are in. What others do in one round has no order either, each acts on itself alone: so each
    run is one of those that are left, with its replicas renamed.
    """
    circuit = runs.circuit
    for number, candidate in enumerate(candidates):
        circuit.demand(*(literal for element, literal in cases(candidate) if element <= number))
    sets = [runs.members(sort, number) for sort in (Voters, Quorum) for number in range(runs.sets(sort))]
    rows = [[members[replica] for members in sets] for replica in range(bounds.replicas)]
    for replica in range(len(candidates), bounds.replicas - 1):
        circuit.demand_order(rows[replica], rows[replica + 1])


def _demand_usual(runs: Runs, candidates: list[Value]) -> None:
    """No voter set is empty (REMOVE-4), and who stands was a voter at first: runs that are easier to read."""
    for number in range(runs.sets(Voters)):
        runs.circuit.demand(*runs.members(Voters, number))
    first = runs.members(Voters, runs.first_voters)
    for candidate in candidates:
        for replica, literal in cases(candidate):
            runs.circuit.demand(-literal, first[replica])


def ask(question: Question, seconds: float) -> Answer:
    """Look for a run that breaks what is asked, for about so many seconds; a short one if there is any."""
    deadline = time.monotonic() + seconds
    bounds = Bounds(question.replicas, question.leaders + 1, _OFFSETS)
    asked = {name: _formula(name) for name in question.asked}
    runs = Runs(CHANGING_VOTERS, bounds, _ACTIONS, z3.And(*asked.values()), question.guards)
    majorities: Mapping[str, Value] = {str(term): runs.new_set(Quorum) for term in (_ONE, _OTHER)}
    candidates = _offer(runs, bounds, question.leaders)
    if not question.holds:
        _demand_usual(runs, candidates)
    if question.everybody:
        for literal in runs.members(Voters, runs.first_voters):
            runs.circuit.demand(literal)
    scope = Scope(majorities, runs.tables)
    kept = {name: runs.compiler.formula(formula)(scope, ()) for name, formula in asked.items()}
    runs.circuit.demand(*(-literal for literal in kept.values()))
    found = runs.circuit.solve(deadline - time.monotonic())
    if not isinstance(found, frozenset):
        return Answer(found)
    shortest = _shortened(runs, found, min(deadline, time.monotonic() + _SHORTENING))
    broken = [name for name, literal in kept.items() if not _is_true(literal, shortest)]
    return Answer(True, (*_lines(runs, shortest), f"breaks {', '.join(broken)}"))


def _is_true(literal: Literal, found: frozenset[Literal]) -> bool:
    return literal == TRUE or (literal in found if literal > 0 else -literal not in found)


def _shortened(runs: Runs, found: frozenset[Literal], deadline: float) -> frozenset[Literal]:
    """A run with few actions, as found in time, by halving."""
    counts = runs.circuit.at_least([each.literal for each in runs.taken])
    least, most = 0, sum(_is_true(each.literal, found) for each in runs.taken)
    while least < most and (left := deadline - time.monotonic()) > 0:
        middle = (least + most) // 2
        shorter = runs.circuit.solve(min(left, _ATTEMPT), (-counts[middle + 1],))
        if isinstance(shorter, frozenset):
            found, most = shorter, sum(_is_true(each.literal, shorter) for each in runs.taken)
        else:
            least = middle + 1
    return found


def _lines(runs: Runs, found: frozenset[Literal]) -> tuple[str, ...]:
    """A run as it is read."""
    steps = (each for each in runs.taken if _is_true(each.literal, found))
    return (
        f"the voters are {_named(runs, Voters, runs.first_voters, found)}",
        *(f"{number}. {_described(runs, each, found)}" for number, each in enumerate(steps, 1)),
    )


def _described(runs: Runs, taken: Taken, found: frozenset[Literal]) -> str:
    names = {name: _named(runs, sort, value, found) for name, sort, value in taken.parameters}
    return taken.action.says.format(**names).replace("@epoch ", "@")


def _named(runs: Runs, sort: z3.SortRef, value: Value, found: frozenset[Literal]) -> str:
    number = next(each for each, literal in cases(value) if _is_true(literal, found))
    if sort not in (Quorum, Voters):
        return element(sort.name(), number, Structure((), (), ()))
    members = [at for at, literal in enumerate(runs.members(sort, number), 1) if _is_true(literal, found)]
    return "{" + ",".join(map(str, members)) + "}"


def _up_to(replicas: int) -> Question:
    return Question(
        f"two-elections-{replicas}",
        f"of {replicas} replicas: neighbouring voter sets share majorities, an epoch has one leader, and the "
        "second leader has what the first has committed",
        ("VSET-7", "VSET-8", "VSET-9"),
        replicas,
        2,
        (_NEIGHBOURS, _ONE_LEADER, _KEPT),
    )


def _three(replicas: int) -> Question:
    return Question(
        f"three-elections-{replicas}",
        f"of {replicas} replicas: an epoch has one leader, also after a third has changed the voters",
        ("VSET-7", "VSET-8", "VSET-9"),
        replicas,
        3,
        (_ONE_LEADER,),
    )


def _without(
    name: str, says: str, rule: str, guard: str, asked: str, replicas: int = 3, leaders: int = 2
) -> Question:
    return Question(name, says, (rule,), replicas, leaders, (asked,), False, (guard,))


_LOST = "what a leader has committed a later one may lack, if a voter set may be appended"
QUESTIONS = (
    # Replicas need not be voters: what holds of nine of them holds of fewer. Few are answered sooner.
    *(_up_to(replicas) for replicas in range(3, MOST_REPLICAS + 1, 2)),
    *(_three(replicas) for replicas in range(2, 5)),
    Question(
        f"reached-{MOST_REPLICAS}",
        f"of {MOST_REPLICAS} voters: a changed voter set commits by itself, and another leader follows",
        ("VSET-2", "VSET-7"),
        MOST_REPLICAS,
        2,
        (_UNREACHED,),
        holds=False,
        everybody=True,
    ),
    _without(
        "without-VSET-7",
        "majorities of neighbouring voter sets need not meet if they may be any sets",
        "VSET-7",
        "one voter more or less",
        _NEIGHBOURS,
    ),
    _without(
        "without-VSET-8",
        f"{_LOST} before the one before it is committed",
        "VSET-8",
        "and the last voter set with it",
        _KEPT,
    ),
    _without(
        "without-VSET-9",
        f"{_LOST} before a record of the own epoch is committed",
        "VSET-9",
        "a record of its own epoch is committed",
        _KEPT,
    ),
    _without(
        "two-leaders-without-VSET-8",
        "an epoch may have two leaders if a voter set may be appended before the one before it is committed",
        "VSET-8",
        "and the last voter set with it",
        _ONE_LEADER,
        leaders=3,
    ),
)
