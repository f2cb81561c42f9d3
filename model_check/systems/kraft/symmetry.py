"""The interchangeable replicas of a scenario, and the image of a state with each in the place of another.

Voters are interchangeable as far as nothing distinguishes them: the scenario says the same with one in the
place of the other, the replicas begin alike, and no rule decides between them by their ids. The last is true
of the rules of the reference, except those named in :func:`_ordered_by_id`; the engine compares the result of
the reference with its result for the images, and stops with an error where they differ.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import combinations, permutations

from kraftcheck.reference.events import Timer
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft import identities as identities_of
from kraftcheck.systems.kraft import rebuilding
from kraftcheck.systems.kraft.rebuilding import Ids
from kraftcheck.systems.kraft.scenario import KRaftScenario
from kraftcheck.systems.kraft.system import SUCCESSORS, KRaftSystem

#: With more replicas than this the permutations cost more than the states that they save.
MOST = 5


def refused(scenario: KRaftScenario, reason: str) -> InputError:
    """The error for a scenario to whose states symmetry does not apply."""
    return InputError(f"{scenario.file}: reduction.symmetry: {reason}; see docs/scenarios.md.")


def symmetric(system: KRaftSystem, scenario: KRaftScenario) -> tuple[KRaftSystem, tuple[int, ...]]:
    """``system``, that of ``scenario``, up to the permutations under which it stays the same, and the
    interchangeable replicas.

    Raises InputError where a scenario that asks for them has no interchangeable replicas, or where they make
    a difference.
    """
    reason = _refusal(scenario)
    if reason is not None:
        raise refused(scenario, reason)
    found, apart = _interchangeable(system, scenario)
    moved = tuple(
        replica for replica in scenario.replicas.voters if any(ids[replica] != replica for ids in found)
    )
    if not moved:
        raise refused(scenario, f"no two voters are interchangeable ({'; '.join(apart)})")
    return system.renaming(found), moved


def _refusal(scenario: KRaftScenario) -> str | None:
    """The reason why symmetry does not apply to the states of ``scenario``, for any set of voters."""
    if scenario.check.eventually:
        return "check.eventually is judged on the graph of all states; leave one of them out"
    if len(scenario.replicas.voters) < 2:
        return "there is one voter, and no other to be in its place"
    return next(_ordered_by_id(scenario), None)


def _ordered_by_id(scenario: KRaftScenario) -> Iterator[str]:
    """The rules by which Kafka, and so the reference, decides between replicas by their ids."""
    if scenario.admin.alters:
        yield "AlterQuorum exchanges voters one by one, in order of id"
    budgets, environment = scenario.budgets, scenario.environment
    if budgets.crashes and environment.boundaries and environment.sends == "listed":
        yield (
            "a crash may fall between requests that go out in order of id; let them go out in any order "
            "(environment.sends = 'any-order')"
        )
    if len(scenario.replicas.voters) < 3:
        return
    if budgets.resigns or budgets.shutdowns:
        budget = "resigns" if budgets.resigns else "shutdowns"
        yield f"{SUCCESSORS}, so it goes without budgets.{budget}"
    protocols = [
        identities_of.protocol_of(scenario, each, scenario.file) for each in scenario.replicas.voters
    ]
    if Timer.CHECK_QUORUM.value in scenario.all_timers and any(each.counts_contacts for each in protocols):
        yield f"{SUCCESSORS}, so it goes without the timer check-quorum"


def _interchangeable(system: KRaftSystem, scenario: KRaftScenario) -> tuple[list[Ids], list[str]]:
    """All permutations of voters that change nothing, the identity first; the differences between voters.

    Where there are many voters, some of those that may change places with another stay in their own.
    """
    voters = sorted(scenario.replicas.voters)
    everybody: dict[int, int] = {replica: replica for replica in scenario.replicas.everybody}
    alike: set[int] = set()
    apart: dict[str, str] = {}
    for one, other in combinations(voters, 2):
        difference = _difference(system, scenario, everybody | {one: other, other: one})
        if difference is None:
            alike |= {one, other}
        else:
            apart.setdefault(difference, f"{one} and {other} differ in {difference}")
    moved = voters if len(voters) <= MOST else sorted(alike)[:MOST]
    found = [everybody | dict(zip(moved, order, strict=True)) for order in permutations(moved)]
    return [ids for ids in found if _difference(system, scenario, ids) is None], list(apart.values())


def _difference(system: KRaftSystem, scenario: KRaftScenario, ids: Ids) -> str | None:
    """The part that differs with the replicas renamed: a key of the scenario, or a replica's initial
    state.
    """
    before, after = _said(scenario, {}), _said(scenario, ids)
    for key, value in before.items():
        if after[key] != value:
            return key
    return None if _begins_alike(system, ids) else "what they begin with"


def _said(scenario: KRaftScenario, ids: Ids) -> dict[str, Hashable]:
    """The values of the keys that name replicas, with those renamed; ``replicas.initial`` shows in the
    nodes.
    """

    def some(named: Iterable[int | str]) -> frozenset[int]:
        return frozenset(ids.get(int(each), int(each)) for each in named)

    def table(named: Mapping[str, Hashable]) -> frozenset[tuple[int, Hashable]]:
        return frozenset((ids.get(int(word), int(word)), value) for word, value in named.items())

    links = [(re.split("[->]", link), "-" in link) for link in scenario.network.cut]
    cut = [(int(one), int(other)) for (one, other), _ in links]
    cut += [(int(other), int(one)) for (one, other), both in links if both]
    timers = scenario.environment.timers_at
    known: dict[str, Hashable] = {
        key: some(words) for key, words in scenario.named.items() if key != "replicas.initial"
    }
    return known | {
        "protocol.at": table(
            {word: tuple(sorted(each.items())) for word, each in scenario.protocol.at.items()}
        ),
        "replicas.views": table({word: some(view) for word, view in scenario.replicas.views.items()}),
        "network.cut": frozenset((ids.get(one, one), ids.get(other, other)) for one, other in cut),
        "environment.timers-at": table({word: frozenset(each) for word, each in timers.items()}),
        "admin.steps": tuple(
            (step, ids.get(int(word), int(word)))
            for step in scenario.admin.steps
            for word in re.findall(r"(?<= )\d+", step)
        ),
    }


def _begins_alike(system: KRaftSystem, ids: Ids) -> bool:
    """Whether the initial state stays the same with the replicas renamed."""
    place = {identity.id: component for component, identity in enumerate(system.identities)}
    (state,) = system.initial_states()
    nodes = {place[ids[each]]: rebuilding.renamed(state.locals[place[each]], ids) for each in place}
    messages = Counter(rebuilding.renamed(message, ids) for message in state.messages)
    return (
        nodes == dict(enumerate(state.locals))
        and messages == Counter(state.messages)
        and rebuilding.renamed(state.history, ids) == state.history
    )
