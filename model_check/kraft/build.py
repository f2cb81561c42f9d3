"""From a scenario to the system that the engine explores."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from model_check import shortform
from model_check.engine.system import Loss, Network, Outcome
from model_check.errors import InputError
from model_check.kraft import identities as identities_of
from model_check.kraft import judged, names
from model_check.kraft.environment import Environment
from model_check.kraft.history import Committed, Elected, History, Label, Voted, record
from model_check.kraft.network import InFlight
from model_check.kraft.node import Node, execute
from model_check.kraft.outcomes import steps
from model_check.kraft.prelude import Prelude
from model_check.kraft.starts import crash_matters, restart
from model_check.kraft.step import Action
from model_check.kraft.system import Bounds, KRaftSystem
from model_check.kraft.unread import without_unread_fields
from model_check.kraft.wiring import Wiring
from model_check.scenario import Scenario
from reference.disk import Disk
from reference.events import Poll, Timer
from reference.protocol import PreVoteCompatibility, Protocol, VoterChanges
from reference.replica import Leader, Replica

#: The engine keeps no more counters in a state.
MAX_BUDGETS = 7


def build(scenario: Scenario, where: str | None = None, *, absorbs: bool = False) -> KRaftSystem:
    """The system of ``scenario``; ``absorbs``: see :class:`~model_check.kraft.system.KRaftSystem`.

    Raises InputError where the scenario contradicts itself.
    """
    return _Builder(scenario, where or scenario.file, absorbs).build()


class _Builder:
    def __init__(self, scenario: Scenario, where: str, absorbs: bool) -> None:
        self.scenario = scenario
        self.absorbs = absorbs
        self.where = where
        self.ids = scenario.replicas.everybody

    def build(self) -> KRaftSystem:
        scenario = self.scenario
        self._check_ids()
        budgets = self._budgets()
        index = {name: number for number, name in enumerate(budgets)}
        protocols = [identities_of.protocol_of(scenario, replica, self.where) for replica in self.ids]
        identities = [identities_of.identity_of(scenario, replica) for replica in self.ids]
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
            crashes=scenario.budgets.crashes,
            duplicate=index.get("duplicates"),
            wipe=index.get("wipes"),
            restore=index.get("restores"),
            crashes_at=frozenset(scenario.environment.crashes_at or self.ids),
            wipes_at=frozenset(scenario.environment.wipes_at or self.ids),
            origin=identities_of.origin_of(scenario),
            addable=identities_of.addable(scenario),
            targets=tuple(step.target for step in identities_of.admin_steps(scenario))
            if scenario.admin.alters
            else None,
            known_deaths=scenario.check.known_deaths,
        )
        begun = [
            self._begin(wiring, protocol, identity)
            for protocol, identity in zip(protocols, identities, strict=True)
        ]
        history, reached, broken = self._after_first_polls(self._history(identities), begun)
        network = Network(scenario.network.capacity, Loss(scenario.network.loss))
        system = KRaftSystem(
            scenario.name,
            identities,
            [cast(Node, outcome.local) for outcome in begun],
            protocols,
            self._environment(index, cut),
            wiring,
            network,
            Bounds(scenario.bounds.max_epoch),
            budgets,
            judged.properties(scenario, cut, self._error),
            tuple(goal for goal in judged.goals(scenario, self._error) if goal not in reached),
            identities_of.voters_of(scenario).keys,
            initial_messages=tuple(cast(InFlight, sent) for outcome in begun for sent in outcome.sends),
            initial_history=history,
            broken_at_start=broken,
            absorbs=self.absorbs,
        )
        if scenario.replicas.led_by is not None:
            self._run_prelude(system, scenario.replicas.led_by)
        return system

    def _run_prelude(self, system: KRaftSystem, leader: int) -> None:
        """Let ``system`` begin where a run without faults has brought all replicas but the fresh ones."""
        replicas = self.scenario.replicas
        idle = (*replicas.fresh, *replicas.stopped)
        prelude = Prelude(system, [n for n, replica in enumerate(self.ids) if replica not in idle])
        if leader not in replicas.voters or leader in idle or not prelude.run(self.ids.index(leader)):
            raise self._error(f"replicas.led-by: {leader} does not come to lead all the others in epoch 1")
        if len(prelude.messages) > self.scenario.network.capacity:
            raise self._error(
                f"replicas.led-by: {len(prelude.messages)} fetches are in flight in the beginning; "
                "network.capacity must allow them"
            )
        # What speaks of a leader in office speaks of it from here on.
        passed_over = (*self.scenario.expect.violates, *judged.FROM_LEADER_ON)
        violated = [name for name in prelude.violations if name not in passed_over]
        if violated:
            raise self._error(f"replicas.led-by: the way to that state violates {', '.join(violated)}")
        system.begin(prelude.state())

    def _error(self, message: str) -> InputError:
        return InputError(f"{self.where}: {message}; see docs/scenarios.md.")

    def _check_ids(self) -> None:
        replicas = self.scenario.replicas
        if len(set(self.ids)) != len(self.ids):
            raise self._error("replicas: a replica is listed twice")
        if replicas.dynamic and (replicas.views or replicas.initial):
            raise self._error("replicas.dynamic: views and initial are for a static voter set")
        self._check_changes()
        named = [*replicas.views, *replicas.initial, *self.scenario.environment.timers_at]
        named += self.scenario.protocol.at
        for word in [*named, *map(str, self.scenario.network.no_pre_vote), *map(str, replicas.stopped)]:
            self._replica(word)

    def _check_changes(self) -> None:
        """What goes with a voter set that may change, and only with that."""
        replicas, budgets = self.scenario.replicas, self.scenario.budgets
        if replicas.dynamic and replicas.upgradable:
            raise self._error("replicas: dynamic is kraft.version 1 and upgradable 0; choose one")
        self._check_alterations()
        alters = self.scenario.admin.alters
        if self.scenario.admin.steps and not ((replicas.changing or alters) and budgets.admin):
            raise self._error("admin.steps: needs replicas.dynamic or upgradable, and budgets.admin")
        if budgets.admin and not self.scenario.admin.steps:
            raise self._error("budgets.admin: there are no admin.steps to spend it on")
        if budgets.restores and budgets.wipes != 1:
            raise self._error("budgets.restores: goes with budgets.wipes = 1")
        if ((replicas.joining and not alters) or replicas.auto_join) and not replicas.changing:
            raise self._error("replicas.joining, auto-join: the voter set of this scenario never changes")
        if replicas.led_by is not None and (replicas.initial or replicas.views):
            raise self._error("replicas.led-by: the states in which replicas begin are given twice")
        listed = (
            *self.scenario.environment.crashes_at,
            *self.scenario.environment.wipes_at,
            *self.scenario.admin.at,
            *replicas.with_checkpoint,
            *replicas.auto_join,
            *replicas.older,
            *replicas.moved,
            *replicas.fresh,
            *replicas.bootstrap_servers,
        )
        for replica in (*listed, *(() if replicas.led_by is None else (replicas.led_by,))):
            self._replica(str(replica))

    def _check_alterations(self) -> None:
        """AlterQuorum is for static voters that all replicas take for the same, and for nothing else."""
        replicas, admin = self.scenario.replicas, self.scenario.admin
        if not admin.alters:
            return
        if replicas.changing or replicas.views or replicas.initial or self.scenario.budgets.wipes:
            raise self._error(
                "admin.steps: alter goes without replicas.dynamic, upgradable, views and initial, and "
                "without budgets.wipes"
            )
        if admin.order != "any" or not all(step.startswith("alter ") for step in admin.steps):
            raise self._error("admin.steps: alter goes with no other step, and with admin.order = 'any'")
        for replica in self.ids:
            protocol = identities_of.protocol_of(self.scenario, replica, self.where)
            if protocol.voter_changes is not VoterChanges.ALTER_QUORUM:
                raise self._error("admin.steps: alter needs protocol.preset = 'kip595'")

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
            "admin": wanted.admin,
            "wipes": wanted.wipes,
            "restores": wanted.restores,
            "snapshots": wanted.snapshots,
        }
        budgets = {name: value for name, value in offered.items() if value}
        budgets = budgets if wanted.timers is None else {**budgets, "timers": wanted.timers}
        if len(budgets) > MAX_BUDGETS:
            raise self._error(f"budgets: at most {MAX_BUDGETS} of them can be given, found {len(budgets)}")
        return budgets

    def _begin(self, wiring: Wiring, protocol: Protocol, identity: Replica) -> Outcome:
        """What the replica does first: it starts on an empty disk, or polls in the state that is given.

        Where a crash within the first start leaves something behind the replica has yet to start.
        """
        text = self.scenario.replicas.initial.get(str(identity.id))
        if identity.id in self.scenario.replicas.stopped:
            disk = Disk(directory=identity.key.directory)
            if text is not None:
                given = self._given(identity, text)
                disk = Disk(given.quorum_state, given.log, given.log.end_offset, identity.key.directory)
            return Outcome("stopped", Node(None, disk, "stopped for the whole run"))
        if text is None:
            node = Node(None, Disk(directory=identity.key.directory))
            taken = None if self.scenario.replicas.led_by is None else self.scenario.replicas.fresh
            if (taken is None or identity.id in taken) and crash_matters(wiring, protocol, node, identity):
                return Outcome("not started", node)
            outcome = next(restart(wiring, protocol, node, identity)).outcome
        else:
            replica = self._given(identity, text)
            directory = identity.key.directory
            disk = Disk(replica.quorum_state, replica.log, replica.log.end_offset, directory)
            node = Node(replica, disk)
            event = Poll()
            execution = execute(protocol, replica, event, wiring.addable)
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
            servers=self._servers(),
            steps=identities_of.admin_steps(self.scenario),
            listed=self.scenario.admin.order == "listed",
            asked=frozenset(self.scenario.admin.at or self.ids),
            admin=index.get("admin"),
            snapshots=index.get("snapshots"),
            snapshot_size=choice.snapshot_size,
            snapshots_anywhere=choice.snapshots == "any",
            appends=index.get("appends"),
            resigns=index.get("resigns"),
            shutdowns=index.get("shutdowns"),
            timeouts=index.get("timeouts"),
            timer_cost=index.get("timers"),
        )

    def _servers(self) -> tuple[int, ...]:
        """The bootstrap servers; none where the configuration names the voters themselves."""
        replicas = self.scenario.replicas
        if replicas.bootstrap_servers:
            return replicas.bootstrap_servers
        return replicas.voters if replicas.dynamic else ()

    def _history(self, identities: list[Replica]) -> History:
        """What must have happened before the initial states that are given: reigns, votes and commits."""
        history = History(origin=identities_of.origin_of(self.scenario))
        for identity in identities:
            text = self.scenario.replicas.initial.get(str(identity.id))
            if text is None:
                continue
            replica = self._given(identity, text)
            leads = isinstance(replica.role, Leader)
            labels: list[Label] = [Elected(replica.id, replica.epoch)] if leads else []
            if replica.high_watermark is not None:
                prefix = tuple(b for b in replica.log.batches if b.end_offset <= replica.high_watermark)
                epoch = replica.epoch if leads else None
                keys = identity.bootstrap_voters.keys if history.origin else ()
                labels.append(Committed(replica.id, prefix, epoch, voters=keys))
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
        file; what its first poll then shows is no violation of the protocol, and reaches no goal. Nor do
        first starts whose result is given as well, by ``led-by``.
        """
        goals: set[str] = set()
        violations: set[str] = set()
        for outcome in begun:
            starts = isinstance(outcome.action, Action) and outcome.action.kind == "start"
            counts = starts and self.scenario.replicas.led_by is None
            goals.update(outcome.goals if counts else ())
            violations.update(outcome.violations if starts else ())
            for label in outcome.labels:
                recorded = record(history, cast(Label, label))
                goals.update(recorded.goals if counts else ())
                violations.update(recorded.violations)
                history = cast(History, recorded.history)
        return history, frozenset(goals), frozenset(violations)
