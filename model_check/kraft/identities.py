"""Who takes part in a scenario: keys, endpoints, checkpoints and protocol of each replica."""

from __future__ import annotations

from dataclasses import replace

from model_check.kraft.administration import AdminStep, first_directory, parse_step
from model_check.kraft.membership import Origin
from model_check.scenario import Scenario
from model_check.variants import with_switches
from reference.protocol import Protocol
from reference.replica import Replica
from reference.voters import Endpoint, ReplicaKey, Voter, VoterSet, static_voters, voter_set


def listens_at(replica: int) -> tuple[Endpoint, ...]:
    """Where a replica listens."""
    return (Endpoint("CONTROLLER", f"node-{replica}", 9093),)


def protocol_of(scenario: Scenario, replica: int, where: str) -> Protocol:
    """The protocol variant of a replica. Raises InputError for a switch that does not exist."""
    choice = scenario.protocol
    switches = {**choice.set, **choice.at.get(str(replica), {})}
    if not scenario.environment.parking:
        switches["fetch-max-wait-ms"] = 0
    return with_switches(choice.preset, switches, where)


def identity_of(scenario: Scenario, replica: int) -> Replica:
    """What configuration and disk say of a replica before it has done anything."""
    replicas = scenario.replicas
    directory = first_directory(replica) if replicas.changing or scenario.budgets.wipes else None
    identity = Replica(
        key=ReplicaKey(replica, directory),
        bootstrap_voters=static_voters(replicas.views.get(str(replica), replicas.voters)),
        endpoints=(Endpoint("CONTROLLER", f"new-node-{replica}", 9093),)
        if replica in replicas.moved
        else listens_at(replica),
        can_become_voter=replica not in replicas.observers,
        auto_join=replica in replicas.auto_join,
        max_kraft_version=int(replicas.changing and replica not in replicas.older),
    )
    if not replicas.dynamic:
        return identity
    if replica in replicas.voters or replica in replicas.with_checkpoint:
        return replace(identity, bootstrap_voters=_checkpoint(scenario), bootstrap_kraft_version=1)
    return replace(identity, bootstrap_voters=VoterSet())


def _checkpoint(scenario: Scenario) -> VoterSet:
    """The voter set of the checkpoint 0-0 of a cluster that was formatted with kraft.version 1."""
    return voter_set(
        Voter(ReplicaKey(voter, first_directory(voter)), listens_at(voter), 0, 1)
        for voter in scenario.replicas.voters
    )


def voters_of(scenario: Scenario) -> VoterSet:
    """The true voter set before any record."""
    return _checkpoint(scenario) if scenario.replicas.dynamic else static_voters(scenario.replicas.voters)


def origin_of(scenario: Scenario) -> Origin | None:
    """What is in force before any record, or ``None`` where nothing of it can change."""
    changing = scenario.replicas.changing or scenario.admin.alters
    if not changing and not scenario.budgets.snapshots and not scenario.budgets.wipes:
        return None
    return Origin(voters_of(scenario), int(scenario.replicas.dynamic))


def admin_steps(scenario: Scenario) -> tuple[AdminStep, ...]:
    """What the administrator asks for. Raises InputError for a replica that there is not."""
    endpoints = {replica: listens_at(replica) for replica in scenario.replicas.everybody}
    return tuple(parse_step(text, endpoints) for text in scenario.admin.steps)


def addable(scenario: Scenario) -> frozenset[int]:
    """The ids of the replicas that may be added to the voter set."""
    steps = admin_steps(scenario)
    asked = {step.key.id for step in steps if step.verb == "add" and step.key is not None}
    wanted = {replica for step in steps for replica in step.target or ()}
    return frozenset(asked | wanted | set(scenario.replicas.auto_join))
