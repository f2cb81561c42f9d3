"""From a scenario to the system that the engine explores."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import cast

from model_check import shortform
from model_check.engine.system import Loss, Network, Outcome
from model_check.errors import InputError
from model_check.kraft import names
from model_check.kraft.environment import Environment
from model_check.kraft.history import Committed, Elected, History, Label, Voted, record
from model_check.kraft.network import InFlight
from model_check.kraft.node import Node, execute, without_unread_fields
from model_check.kraft.outcomes import Action, Wiring, restart, steps
from model_check.kraft.system import Bounds, KRaftSystem
from model_check.scenario import Scenario
from model_check.variants import with_switches
from reference.disk import Disk
from reference.events import Poll, Timer
from reference.protocol import PreVoteCompatibility, Protocol
from reference.replica import Leader, Replica
from reference.voters import (
    Endpoint,
    ReplicaKey,
    Voter,
    VoterSet,
    majority,
    static_voters,
    voter_set,
)
from spec import load

#: The goals by which an *eventually* property may be judged.
EVENTUALLY = {
    "LeaderEventuallyElected": ("a-leader", "all-follow-one-leader"),
    "ProspectiveEventuallyLeaves": ("all-follow-one-leader",),
    "LeaderWithoutMajorityStepsDown": ("no-leader-of-epoch-1",),
    "VotersEventuallyLearnLeader": ("all-follow-one-leader",),
    "MixedVersionsElect": ("a-leader",),
}


def build(scenario: Scenario, where: str | None = None, *, absorbs: bool = False) -> KRaftSystem:
    """The system of ``scenario``; ``absorbs``: see :class:`~model_check.kraft.system.KRaftSystem`.

    Raises InputError where the scenario contradicts itself.
    """
    return _Builder(scenario, where or scenario.file, absorbs).build()


@cache
def _transition_goals() -> frozenset[str]:
    return frozenset(names.transition_goal(row.from_state, row.to_state) for row in load().transitions)


def _listens_at(replica: int) -> tuple[Endpoint, ...]:
    return (Endpoint("CONTROLLER", f"node-{replica}", 9093),)


class _Builder:
    def __init__(self, scenario: Scenario, where: str, absorbs: bool) -> None:
        self.scenario = scenario
        self.absorbs = absorbs
        self.where = where
        self.ids = (*scenario.replicas.voters, *scenario.replicas.observers)

    def build(self) -> KRaftSystem:
        scenario = self.scenario
        self._check_ids()
        budgets = self._budgets()
        index = {name: number for number, name in enumerate(budgets)}
        protocols = [self._protocol(replica) for replica in self.ids]
        identities = [self._identity(replica) for replica in self.ids]
        cut = self._cut()
        wiring = Wiring(
            component={replica: number for number, replica in enumerate(self.ids)}.__getitem__,
            cut=cut,
            no_pre_vote=frozenset(scenario.network.no_pre_vote),
            flag_ignored=frozenset(
                replica
                for replica, protocol in zip(self.ids, protocols, strict=True)
                if protocol.pre_vote_compatibility is PreVoteCompatibility.RESPONSE_FLAG
            ),
            forgotten_stay=scenario.network.forgotten == "stay",
            crash=index.get("crashes"),
            power_loss=scenario.environment.power_loss,
            written_back=scenario.environment.write_back,
            boundaries=scenario.environment.boundaries,
            duplicate=index.get("duplicates"),
        )
        begun = [
            self._begin(wiring, protocol, identity)
            for protocol, identity in zip(protocols, identities, strict=True)
        ]
        history, reached, broken = self._after_first_polls(self._history(identities), begun)
        network = Network(scenario.network.capacity, Loss(scenario.network.loss))
        return KRaftSystem(
            scenario.name,
            identities,
            [cast(Node, outcome.local) for outcome in begun],
            protocols,
            self._environment(index, cut),
            wiring,
            network,
            Bounds(scenario.bounds.max_epoch),
            budgets,
            self._properties(),
            tuple(goal for goal in self._goals() if goal not in reached),
            frozenset(scenario.replicas.voters),
            initial_messages=tuple(cast(InFlight, sent) for outcome in begun for sent in outcome.sends),
            initial_history=history,
            broken_at_start=broken,
            absorbs=self.absorbs,
        )

    def _error(self, message: str) -> InputError:
        return InputError(f"{self.where}: {message}; see docs/scenarios.md.")

    def _check_ids(self) -> None:
        replicas = self.scenario.replicas
        if len(set(self.ids)) != len(self.ids):
            raise self._error("replicas: a replica is listed twice")
        if replicas.dynamic and (replicas.views or replicas.initial):
            raise self._error("replicas.dynamic: views and initial are for a static voter set")
        named = [*replicas.views, *replicas.initial, *self.scenario.environment.timers_at]
        named += self.scenario.protocol.at
        for word in [*named, *map(str, self.scenario.network.no_pre_vote), *map(str, replicas.stopped)]:
            self._replica(word)

    def _replica(self, word: str) -> int:
        if not word.isdigit() or int(word) not in self.ids:
            raise self._error(f"'{word}' is not one of the replicas {', '.join(map(str, self.ids))}")
        return int(word)

    def _budgets(self) -> dict[str, int]:
        wanted = self.scenario.budgets
        offered = {
            "appends": wanted.appends,
            "crashes": wanted.crashes,
            "timeouts": wanted.timeouts,
            "resigns": wanted.resigns,
            "shutdowns": wanted.shutdowns,
            "duplicates": wanted.duplicates,
        }
        budgets = {name: value for name, value in offered.items() if value}
        return budgets if wanted.timers is None else {**budgets, "timers": wanted.timers}

    def _protocol(self, replica: int) -> Protocol:
        choice = self.scenario.protocol
        switches = {**choice.set, **choice.at.get(str(replica), {})}
        if not self.scenario.environment.parking:
            switches["fetch-max-wait-ms"] = 0
        return with_switches(choice.preset, switches, self.where)

    def _identity(self, replica: int) -> Replica:
        replicas = self.scenario.replicas
        view = replicas.views.get(str(replica), replicas.voters)
        identity = Replica(
            key=ReplicaKey(replica),
            bootstrap_voters=static_voters(view),
            endpoints=_listens_at(replica),
            can_become_voter=replica not in replicas.observers,
        )
        return self._with_checkpoint(identity) if replicas.dynamic else identity

    def _with_checkpoint(self, identity: Replica) -> Replica:
        """A replica of a cluster formatted with kraft.version 1: only voters have the checkpoint 0-0."""
        replicas = self.scenario.replicas
        if identity.id in replicas.observers:
            return replace(identity, bootstrap_voters=VoterSet(), max_kraft_version=1)
        voters = voter_set(Voter(ReplicaKey(each), _listens_at(each), 0, 1) for each in replicas.voters)
        return replace(identity, bootstrap_voters=voters, bootstrap_kraft_version=1, max_kraft_version=1)

    def _begin(self, wiring: Wiring, protocol: Protocol, identity: Replica) -> Outcome:
        """What the replica does first: it starts on an empty disk, or polls in the state that is given."""
        text = self.scenario.replicas.initial.get(str(identity.id))
        if identity.id in self.scenario.replicas.stopped:
            disk = Disk()
            if text is not None:
                given = self._given(identity, text)
                disk = Disk(given.quorum_state, given.log, given.log.end_offset)
            return Outcome("stopped", Node(None, disk, "stopped for the whole run"))
        if text is None:
            outcome = next(restart(wiring, protocol, Node(None, Disk()), identity)).outcome
        else:
            replica = self._given(identity, text)
            node = Node(replica, Disk(replica.quorum_state, replica.log, replica.log.end_offset))
            event = Poll()
            execution = execute(protocol, replica, event)
            action = Action("poll", identity.id)
            outcome = next(steps(wiring, protocol, node, event, execution, action)).outcome
        begun = cast(Node, outcome.local)
        if begun.died is not None:
            raise self._error(f"replica {identity.id} cannot be in the state that is given: {begun.died}")
        if begun.replica is not None and begun.replica.epoch > self.scenario.bounds.max_epoch:
            raise self._error(
                f"replica {identity.id} begins in epoch {begun.replica.epoch}, beyond bounds.max-epoch "
                f"{self.scenario.bounds.max_epoch}"
            )
        return outcome

    def _given(self, identity: Replica, text: str) -> Replica:
        """The state that is given. Its role knows the replica's own voters; its log was written by others."""
        written = self._parsed(identity, text, self.scenario.replicas.voters)
        given = self._parsed(identity, text, identity.bootstrap_voters.ids)
        carried = ("quorum_state", "role", "high_watermark", "connections")
        ours = {name: getattr(given, name) for name in carried}
        replica = replace(identity, log=written.log, **ours)
        expected = replace(
            replica,
            key=given.key,
            endpoints=given.endpoints,
            bootstrap_voters=given.bootstrap_voters,
            log=given.log,
        )
        if replace(expected, can_become_voter=given.can_become_voter) != given:
            raise self._error(
                f"replicas.initial.{identity.id}: a scenario gives role, epoch, leader, vote, log, high "
                "watermark and requests under way, and nothing else"
            )
        return without_unread_fields(replica)

    def _parsed(self, identity: Replica, text: str, voters: tuple[int, ...]) -> Replica:
        try:
            return shortform.parse_replica(f"{text} id={identity.id} voters={','.join(map(str, voters))}")
        except InputError as error:
            raise self._error(f"replicas.initial.{identity.id}: {str(error).rstrip('.')}") from None

    def _cut(self) -> frozenset[tuple[int, int]]:
        links = set()
        for link in self.scenario.network.cut:
            one, other = (self._replica(word) for word in link.replace(">", "-").split("-"))
            if one == other:
                raise self._error(f"network.cut: '{link}' is no link between two replicas")
            links.add((one, other))
            if "-" in link:
                links.add((other, one))
        for stopped in self.scenario.replicas.stopped:
            links |= {(stopped, other) for other in self.ids} | {(other, stopped) for other in self.ids}
        return frozenset(links)

    def _environment(self, index: dict[str, int], cut: frozenset[tuple[int, int]]) -> Environment:
        choice = self.scenario.environment
        timers = {replica: frozenset(map(Timer, choice.timers)) for replica in self.ids}
        for word, allowed in choice.timers_at.items():
            timers[int(word)] = frozenset(map(Timer, allowed))
        return Environment(
            timers=timers,
            timely=choice.timely,
            cut=cut,
            discovery=choice.discovery,
            servers=self.scenario.replicas.voters if self.scenario.replicas.dynamic else (),
            appends=index.get("appends"),
            resigns=index.get("resigns"),
            shutdowns=index.get("shutdowns"),
            timeouts=index.get("timeouts"),
            timer_cost=index.get("timers"),
        )

    def _properties(self) -> tuple[str, ...]:
        check = self.scenario.check
        known_names = {entry.name for entry in load().properties.values()}
        for wanted in (*(entry.property for entry in check.eventually), *self.scenario.expect.violates):
            if wanted not in known_names:
                raise self._error(
                    f"'{wanted}' is no property of the catalogue ('kraftcheck rules --properties')"
                )
        for entry in check.eventually:
            if entry.goal not in EVENTUALLY.get(entry.property, ()):
                known = "; ".join(f"{name}: {', '.join(goals)}" for name, goals in EVENTUALLY.items())
                raise self._error(
                    f"check.eventually: goal '{entry.goal}' does not say what {entry.property} means; "
                    f"goals are {known}"
                )
        for name in (*check.only, *check.properties):
            if name not in names.ALWAYS + names.ON_REQUEST:
                known = ", ".join(names.ALWAYS + names.ON_REQUEST)
                raise self._error(f"check: '{name}' is no property of the checker; there are {known}")
        judged = tuple(dict.fromkeys((*(check.only or names.ALWAYS), *check.properties)))
        self._check_premises(judged)
        return judged

    def _check_premises(self, judged: tuple[str, ...]) -> None:
        """S-36 and L-5 speak of a leader in good health, which must then be there from the beginning."""
        for name in (names.STABLE_LEADERSHIP, names.REMOVED_VOTER_DISTURBS_NOBODY):
            if name in judged and not self._begins_with_healthy_leader():
                raise self._error(
                    f"check: '{name}' speaks of a leader from which a majority fetches; replicas.initial "
                    "must give such a leader"
                )
        removed = [
            word
            for word, view in self.scenario.replicas.views.items()
            if int(word) in view and int(word) not in self.scenario.replicas.voters
        ]
        if names.REMOVED_VOTER_DISTURBS_NOBODY in judged and not removed:
            raise self._error(
                f"check: '{names.REMOVED_VOTER_DISTURBS_NOBODY}' speaks of a removed voter; replicas.views "
                "must give an observer that still believes to be a voter"
            )

    def _begins_with_healthy_leader(self) -> bool:
        """Whether a leader is given and a majority of the voters, itself included, can fetch from it."""
        cut, voters = self._cut(), self.scenario.replicas.voters
        for word, text in self.scenario.replicas.initial.items():
            leader = int(word)
            reached = [voter for voter in voters if (voter, leader) not in cut and (leader, voter) not in cut]
            if text.split()[:1] == ["leader"] and len(reached) >= majority(len(voters)):
                return True
        return False

    def _goals(self) -> tuple[str, ...]:
        for name in self.scenario.check.goals:
            if name not in names.GOALS and name not in _transition_goals():
                known = ", ".join(names.GOALS)
                raise self._error(f"check.goals: '{name}' is no goal; there are {known}, and From->To")
        return self.scenario.check.goals

    def _history(self, identities: list[Replica]) -> History:
        """What must have happened before the initial states that are given: reigns, votes and commits."""
        history = History()
        for identity in identities:
            text = self.scenario.replicas.initial.get(str(identity.id))
            if text is None:
                continue
            replica = self._given(identity, text)
            leads = isinstance(replica.role, Leader)
            labels: list[Label] = [Elected(replica.id, replica.epoch)] if leads else []
            if replica.high_watermark is not None:
                prefix = tuple(b for b in replica.log.batches if b.end_offset <= replica.high_watermark)
                labels.append(Committed(replica.id, prefix, replica.epoch if leads else None))
            voted = replica.quorum_state.voted
            if voted is not None:
                labels.append(Voted(replica.id, replica.epoch, voted.id))
            for label in labels:
                recorded = record(history, label)
                if set(recorded.violations) & set(names.ALWAYS):
                    raise self._error(f"the initial states contradict {', '.join(recorded.violations)}")
                history = cast(History, recorded.history)
        return history

    def _after_first_polls(
        self, history: History, begun: list[Outcome]
    ) -> tuple[History, frozenset[str], frozenset[str]]:
        """The history after what the replicas did first, and the goals and violations of it.

        A state that is given may be one that no replica reaches, such as a log ahead of its quorum-state
        file; what its first poll then shows is no violation of the protocol.
        """
        goals: set[str] = set()
        violations: set[str] = set()
        for outcome in begun:
            goals.update(outcome.goals)
            if isinstance(outcome.action, Action) and outcome.action.kind == "start":
                violations.update(outcome.violations)
            for label in outcome.labels:
                recorded = record(history, cast(Label, label))
                goals.update(recorded.goals)
                violations.update(recorded.violations)
                history = cast(History, recorded.history)
        return history, frozenset(goals), frozenset(violations)
