"""The participants of a scenario: keys, endpoints, checkpoints and protocol of each replica.

The reference configures and formats the replicas and so gives their initial state
(:mod:`kraftcheck.reference.bootstrap`); the initial state that they should have (:func:`key_of`,
:func:`formatted_for`) comes from the scenario alone.
"""

from __future__ import annotations

from kraftcheck.reference import bootstrap
from kraftcheck.reference.bootstrap import FirstVoters, FormattedDirectory
from kraftcheck.reference.config import Config, Problem, ProcessRole
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.voters import (
    NO_DIRECTORY,
    Endpoint,
    ReplicaKey,
    Voter,
    VoterSet,
    static_voters,
    voter_set,
)
from kraftcheck.systems.kraft import addresses
from kraftcheck.systems.kraft.administration import AdminStep, first_directory, next_directory, parse_step
from kraftcheck.systems.kraft.membership import Origin
from kraftcheck.systems.kraft.scenario import KRaftScenario
from kraftcheck.systems.kraft.switches import SWITCHES


def listens_at(replica: int) -> tuple[Endpoint, ...]:
    """The endpoint of a replica."""
    return addresses.first_endpoints(replica)


def protocol_of(scenario: KRaftScenario, replica: int, where: str) -> Protocol:
    """The protocol variant of a replica. Raises InputError for a switch that does not exist."""
    choice = scenario.protocol
    switches = {**choice.set, **choice.at.get(str(replica), {})}
    if not scenario.environment.delayed_fetches:
        switches["fetch-max-wait-ms"] = 0
    return SWITCHES.protocol(choice.preset, switches, where)


def identity_of(scenario: KRaftScenario, replica: int) -> Replica:
    """The configuration and the disk of a replica before its first step."""
    replicas = scenario.replicas
    identity = Replica(
        key=key_of(scenario, replica),
        bootstrap_voters=bootstrap.static_voters_of(_config(scenario, replica)),
        endpoints=addresses.first_endpoints(
            replica,
            moved=replica in (*replicas.moved, *replicas.misadvertised),
            second=replica in replicas.second_listener,
        ),
        can_become_voter=replica not in replicas.observers,
        auto_join=replica in replicas.auto_join,
        max_kraft_version=int(replicas.changing and replica not in replicas.older),
    )
    return _formatted(scenario, identity) if replicas.dynamic else identity


def _formatted(scenario: KRaftScenario, identity: Replica) -> Replica:
    """``identity`` as its process is on a directory that was formatted for voters in the log."""
    config = _config(scenario, identity.id)
    formatted = _directory(scenario, config)
    assert isinstance(formatted, FormattedDirectory), formatted
    started = bootstrap.replica_of(config, formatted, identity.endpoints, identity.max_kraft_version)
    assert isinstance(started, Replica), started
    # There is one cluster, so that requests need not name it; the endpoints of an observer are never read.
    return replace(started, endpoints=identity.endpoints, cluster_id=None)


def _directory(scenario: KRaftScenario, config: Config) -> FormattedDirectory | Problem:
    """The contents of a replica's directory after formatting; a standalone controller is the only voter."""
    replicas, replica = scenario.replicas, config.node_id
    own, cluster = _own_directory(scenario, replica), scenario.name
    if replicas.voters == (replica,):
        first = FirstVoters.STANDALONE
        return bootstrap.format_directory(config, cluster, own, first, endpoints=listens_at(replica))
    if replica not in (*replicas.voters, *replicas.with_checkpoint):
        return bootstrap.format_directory(config, cluster, own, FirstVoters.NO_INITIAL_CONTROLLERS)
    # The list has the directory ids of the voters, not those that formatting draws.
    fresh = next_directory(own) if replica in replicas.voters else own
    first = FirstVoters.INITIAL_CONTROLLERS
    return bootstrap.format_directory(config, cluster, fresh, first, _checkpoint(scenario))


def _config(scenario: KRaftScenario, replica: int) -> Config:
    """The configuration of a replica: with static voters, or with servers that lead to the voters."""
    replicas = scenario.replicas
    role = ProcessRole.BROKER if replica in replicas.observers else ProcessRole.CONTROLLER
    if replicas.dynamic:
        servers = tuple(f"node-{one}:9093" for one in replicas.bootstrap_servers or replicas.voters)
        return Config(replica, (role,), (), servers, replica in replicas.auto_join)
    known = replicas.views.get(str(replica), replicas.voters)
    return Config(replica, (role,), tuple(f"{one}@node-{one}:9093" for one in known))


def key_of(scenario: KRaftScenario, replica: int) -> ReplicaKey:
    """The key with which a replica should begin: with a directory id where anything depends on it."""
    directories = scenario.replicas.changing or scenario.budgets.wipes
    return ReplicaKey(replica, _own_directory(scenario, replica) if directories else None)


def _own_directory(scenario: KRaftScenario, replica: int) -> str:
    """The id of the directory with which a replica begins."""
    return NO_DIRECTORY if replica in scenario.replicas.zero_directory else first_directory(replica)


def formatted_for(scenario: KRaftScenario, replica: int) -> Origin:
    """The voter set and version that a replica should find before any record, by the scenario alone."""
    replicas = scenario.replicas
    if not replicas.dynamic:
        return Origin(static_voters(replicas.views.get(str(replica), replicas.voters)), 0)
    if replica in (*replicas.voters, *replicas.with_checkpoint):
        return Origin(_checkpoint(scenario), 1)
    return Origin(VoterSet(), 0)


def _checkpoint(scenario: KRaftScenario) -> VoterSet:
    """The voter set of the checkpoint 0-0 of a cluster that was formatted with kraft.version 1."""
    return voter_set(
        Voter(ReplicaKey(voter, first_directory(voter)), listens_at(voter), 0, 1)
        for voter in scenario.replicas.voters
    )


def voters_of(scenario: KRaftScenario) -> VoterSet:
    """The true voter set before any record."""
    return _checkpoint(scenario) if scenario.replicas.dynamic else static_voters(scenario.replicas.voters)


def origin_of(scenario: KRaftScenario) -> Origin | None:
    """The effective voter set and version before any record, or ``None`` where neither can change."""
    changing = scenario.replicas.changing or scenario.admin.alters
    if not changing and not scenario.budgets.snapshots and not scenario.budgets.wipes:
        return None
    return Origin(voters_of(scenario), int(scenario.replicas.dynamic))


def admin_steps(scenario: KRaftScenario) -> tuple[AdminStep, ...]:
    """The requests of the admin client. Raises InputError for a replica that does not exist."""
    endpoints = {replica: listens_at(replica) for replica in scenario.replicas.everybody}
    return tuple(parse_step(text, endpoints, scenario.file) for text in scenario.admin.steps)


def addable(scenario: KRaftScenario) -> frozenset[int]:
    """The ids of the replicas that may be added to the voter set."""
    steps = admin_steps(scenario)
    asked = {step.key.id for step in steps if step.verb == "add" and step.key is not None}
    wanted = {replica for step in steps for replica in step.target or ()}
    return frozenset(asked | wanted | set(scenario.replicas.auto_join))
