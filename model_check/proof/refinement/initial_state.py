"""The past of the initial state.

It is a run of the reference from empty disks, which is judged like all others. Of states that a scenario
gives (``replicas.initial``) no run is known: any past that they may have had satisfied the invariant, so the
check constructs one. It judges all conjuncts in this state as in all others: if one fails, the reference does
not refine the proved system.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from kraftcheck.engine.steps import apply_outcome
from kraftcheck.engine.steps import initial_states as initial_states_of
from kraftcheck.engine.system import PathStep
from kraftcheck.proof.refinement.abstraction import START, ProofReplica, Record, abstraction_of
from kraftcheck.proof.refinement.actions import KNOWN
from kraftcheck.proof.refinement.expected import NAMES
from kraftcheck.proof.refinement.formulas import Fact
from kraftcheck.proof.refinement.transitions import OUTSIDE, reasons_of
from kraftcheck.proof.refinement.translation import Translator
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.replica import Candidate, Leader
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft import initial_prefix, initial_states
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.initial_prefix import InitialPrefix
from kraftcheck.systems.kraft.network import InFlight
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.scenario import KRaftScenario
from kraftcheck.systems.kraft.step import Step
from kraftcheck.systems.kraft.system import KRaftSystem


@dataclass(frozen=True)
class Beginning:
    """The facts in the initial state, by the run that leads there; ``lacks`` are the parts of that run that
    the proof does not have, except listed differences, and ``outside`` the number of its steps in which these
    occur, by name.
    """

    facts: frozenset[Fact]
    lacks: tuple[str, ...]
    outside: dict[str, int]


#: A step before the initial state: the component, its state, the message that it receives, and the step.
Before = tuple[int, Node, InFlight | None, Step]


def check_beginning(scenario: KRaftScenario) -> None:
    """Raises InputError where a scenario is about features that the proof does not know."""
    stopped = set(scenario.replicas.stopped)
    budgets = scenario.budgets
    moves = budgets.moves or scenario.network.addresses == "known"
    if budgets.wipes or budgets.restores or budgets.snapshots or stopped or moves:
        raise InputError(
            f"{scenario.file}: the proof knows of no snapshots, lost disks, addresses or stopped replicas; "
            "choose a scenario without them."
        )


def given_nodes(scenario: KRaftScenario, system: KRaftSystem) -> dict[int, Node]:
    """The nodes that the scenario gives, before their first step, by component."""
    found = {}
    for component, identity in enumerate(system.identities):
        text = scenario.replicas.initial.get(str(identity.id))
        if text is not None:
            found[component] = initial_states.given_node(scenario, identity, text)
    return found


def steps_before(scenario: KRaftScenario, system: KRaftSystem, given: Mapping[int, Node]) -> Iterator[Before]:
    """The steps by which ``system`` has reached its initial state, first starts before all others, from empty
    disks and the nodes that are ``given``.
    """
    leader = scenario.replicas.initial_leader
    if leader is None:
        yield from _first_starts(system, [each for each in range(system.components) if each not in given])
        for component, node in given.items():
            yield component, node, None, initial_states.first_poll(system.hosts[component], node)
        return
    replicas = scenario.replicas
    fresh = [replicas.everybody.index(each) for each in replicas.fresh]
    prefix = build(initial_prefix.scenario_of(scenario))
    others = [component for component in range(prefix.components) if component not in fresh]
    yield from _first_starts(prefix, others)
    run = InitialPrefix(prefix, others, judged=False)
    run.run(replicas.everybody.index(leader))
    yield from _along(prefix, run.path)
    (begins,) = initial_states_of(system)
    assert all(begins.locals[each] == run.state.locals[each] for each in others), "the run leads elsewhere"
    yield from _first_starts(system, fresh)


def _first_starts(system: KRaftSystem, components: list[int]) -> Iterator[Before]:
    """The starts on empty disks that are over in the initial state of ``system``."""
    for component in components:
        host = system.hosts[component]
        empty = Node(None, Disk(directory=host.identity.key.directory))
        if system.nodes[component] != empty:
            yield component, empty, None, next(host.restart(empty))


def _along(system: KRaftSystem, path: tuple[PathStep, ...]) -> Iterator[Before]:
    (state,) = initial_states_of(system)
    for each in path:
        node, message = cast(Node, state.locals[each.component]), cast(InFlight | None, each.message)
        if message is None:
            offered = system.action_steps(each.component, node)
        else:
            offered = system.deliver_steps(each.component, node, message)
        step = offered[each.choice]
        yield each.component, node, message, step
        done = apply_outcome(system, state, each, step.outcome, step.outcome.costs)
        assert done is not None
        state = done.target


def first_facts(voters: frozenset[int], *, changing: bool) -> frozenset[Fact]:
    """The facts about messages and history before the first step, with these ``voters``."""
    facts: set[Fact] = {("record", 0, 0, 0)}
    if changing:
        facts |= {("config", 0, 0), ("set_of", 0, 0, voters)}
    return frozenset(facts)


def beginning(scenario: KRaftScenario, translator: Translator) -> Beginning:
    """The run to the initial state, judged step by step."""
    voters = translator.actions.domain.voters
    facts, lacks = set(first_facts(voters, changing=translator.changing)), list[str]()
    outside: Counter[str] = Counter()
    given = given_nodes(scenario, translator.system)
    facts |= _past_of(given, translator)
    for component, node, message, step in steps_before(scenario, translator.system, given):
        sequence = translator.sequence(component, node, message, step)
        reasons = reasons_of(sequence)
        outside.update(NAMES.intersection(reasons))
        lacks += [f"{step.outcome.action}: {reason}" for reason in reasons if reason not in NAMES]
        for needed in sequence.needs:
            if (needed.need.fact in facts) != needed.need.holds:
                lacks.append(f"{step.outcome.action}: {needed.need.guard}")
        if sequence.forgets:
            facts = {fact for fact in facts if fact[0] != KNOWN or fact[1] != component}
        facts |= sequence.adds | sequence.knows
        facts |= {OUTSIDE} if reasons else set()
    return Beginning(frozenset(facts), tuple(lacks), dict(outside))


def _past_of(given: Mapping[int, Node], translator: Translator) -> frozenset[Fact]:
    """The past that is constructed for given nodes; the others are empty."""
    component_of, components = translator.component_of, range(translator.system.components)
    replicas = []
    for component in components:
        node = given.get(component, Node(None, Disk()))
        replicas.append(given_of(node, abstraction_of(node, component_of), component_of))
    return past_of(replicas, translator.actions.domain.voters) if given else frozenset()


def with_votes(scenario: KRaftScenario) -> KRaftScenario:
    """``scenario``, in which every replica given with a leader and without a vote has voted for this leader.

    A vote stays in the file as long as its epoch, so that a leader would have no majority otherwise. That
    vote has no other effect: a replica that knows the leader of its epoch votes for no other.
    """
    replicas = scenario.replicas
    texts = {replica: _with_vote(text) for replica, text in replicas.initial.items()}
    changed = replicas.model_copy(update={"initial": texts})
    return scenario.model_copy(update={"replicas": changed})


def _with_vote(text: str) -> str:
    words = dict(word.split("=", 1) for word in text.split() if "=" in word)
    leader = words.get("leader")
    return text if leader is None or "voted" in words else f"{text} voted={leader}"


@dataclass(frozen=True)
class Given:
    """A given replica: ``replica``, and its knowledge of others (components): ``votes``, the voters of this
    Candidate, and ``ends``, the ends of their logs as this Leader knows them.
    """

    replica: ProofReplica
    votes: frozenset[int] = frozenset()
    ends: tuple[tuple[int, int], ...] = ()


def given_of(node: Node, replica: ProofReplica, component_of: dict[int, int]) -> Given:
    """The knowledge of ``node``, whose abstraction is ``replica``."""
    role = None if node.replica is None else node.replica.role
    if isinstance(role, Candidate):
        return Given(replica, frozenset(component_of[each] for each in role.election.granted))
    if isinstance(role, Leader):
        ends = ((component_of[each.id], each.end_offset or 0) for each in role.progress)
        return Given(replica, ends=tuple(ends))
    return Given(replica)


def past_of(given: Sequence[Given], voters: frozenset[int]) -> frozenset[Fact]:
    """Facts by which the replicas that are ``given`` may have reached their states."""
    replicas = [each.replica for each in given]
    epochs = {each.epoch for each in replicas} | {epoch for each in replicas for _, epoch in each.holds}
    facts: set[Fact] = set()
    for epoch in sorted(epochs - {0}):
        facts.add(("opened", epoch))
        leader = _leader(epoch, replicas, voters)
        if leader is not None:
            facts |= set(_reign(epoch, leader, replicas, voters))
    for number, each in enumerate(given):
        facts |= set(_of_replica(number, each, replicas))
    return frozenset(facts)


def _leader(epoch: int, replicas: Sequence[ProofReplica], voters: frozenset[int]) -> int | None:
    """The leader of ``epoch``: one that a file names, or a possible one if there are records of the epoch."""
    named = [leader for replica in replicas if replica.epoch == epoch for leader in replica.leader]
    if named:
        return named[0]
    if not any(held == epoch for replica in replicas for _, held in replica.holds):
        return None
    left = [voter for voter in sorted(voters) if replicas[voter].epoch > epoch]
    return max(left, key=lambda voter: len(_log(epoch, [replicas[voter]])), default=None)


def _log(epoch: int, replicas: Sequence[ProofReplica]) -> frozenset[Record]:
    """The longest log up to the records of ``epoch``."""
    logs = [frozenset(record for record in replica.holds if record[1] <= epoch) for replica in replicas]
    return max(logs, key=lambda log: (max(held for _, held in log), len(log)))


def _reign(
    epoch: int, leader: int, replicas: Sequence[ProofReplica], voters: frozenset[int]
) -> Iterator[Fact]:
    """``leader`` was elected by a majority, and has or had the longest log of its epoch."""
    able = [voter for voter in sorted(voters) if _may_have_voted(voter, leader, epoch, replicas)]
    able.sort(key=lambda voter: (voter != leader, replicas[voter].epoch > epoch))
    for voter in able[: len(voters) // 2 + 1]:
        yield "votes", voter, epoch, leader
    yield "led", epoch, leader
    yield "claimed", epoch, leader
    with_records = [replica for replica in replicas if any(held == epoch for _, held in replica.holds)]
    for record in _log(epoch, with_records or [replicas[leader]]):
        yield "record", epoch, *record


def _may_have_voted(voter: int, leader: int, epoch: int, replicas: Sequence[ProofReplica]) -> bool:
    replica = replicas[voter]
    return replica.epoch > epoch or (replica.epoch == epoch and (voter == leader or leader in replica.voted))


def _of_replica(number: int, given: Given, replicas: Sequence[ProofReplica]) -> Iterator[Fact]:
    replica = given.replica
    for candidate in replica.voted:
        yield "votes", number, replica.epoch, candidate
        yield "votes", candidate, replica.epoch, candidate
    for voter in given.votes:
        yield "votes", voter, replica.epoch, number
    if replica.covered:
        yield from _commitment(number, replica.covered, replicas)
    for voter, end in given.ends:
        counted = [record for record in replica.holds if record[0] <= end]
        yield from (("counted", replica.epoch, voter, *record) for record in counted)
        yield from _told(voter, replica.epoch, counted)


def _commitment(number: int, covered: int, replicas: Sequence[ProofReplica]) -> Iterator[Fact]:
    """A replica that knows ``covered`` to be committed has learned it from the leader of that record. All
    replicas that hold the record have acknowledged it to that leader.
    """
    epoch = next(epoch for offset, epoch in replicas[number].holds if offset == covered)
    yield "committed", epoch, covered
    yield from (("known", number, epoch, covered, offset) for offset in range(covered + 1))
    for voter, replica in enumerate(replicas):
        if (covered, epoch) in replica.holds:
            yield from _told(voter, epoch, [record for record in replica.holds if record[0] <= covered])


def _told(voter: int, epoch: int, records: Iterable[Record]) -> Iterator[Fact]:
    """``voter`` has acknowledged the records of ``epoch`` to its leader."""
    for record in records:
        if record[1] == epoch and record != START:
            yield "assured", voter, epoch, record[0]
