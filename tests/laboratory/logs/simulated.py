"""A simulated cluster that tells what its processes do: the histories of made-up fleets.

It is the cluster of `kraftcheck.evidence.recorder.simulation`: the reference behind a network with delays,
losses and partitions, each process polling as Kafka does, on simulated time in ms. Nothing is recorded
here; a listener is told of each step instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from kraftcheck.evidence.recorder.parts import Letter, Node, Process
from kraftcheck.evidence.recorder.simulation import Simulation
from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.evidence.recordings.identity import endpoints_of
from kraftcheck.evidence.recordings.wire_records import write_quorum_state
from kraftcheck.reference import disk as disks
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import (
    ArmTimer,
    DeleteBefore,
    Effect,
    Flush,
    ForgetRequests,
    Persist,
    Reply,
    Send,
    StoreSnapshot,
    Transition,
)
from kraftcheck.reference.events import CreateSnapshot, Event, RequestReceived
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import SnapshotId
from kraftcheck.reference.messages import (
    AddRaftVoterRequest,
    RemoveRaftVoterRequest,
    Request,
    Response,
    VoteRequest,
)
from kraftcheck.reference.protocol import CandidateRestart, StateMachine
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.voters import ReplicaKey

#: The source of requests whose answers are not awaited: the admin client.
_CLIENT: Final = -1
#: So many messages are remembered; no answer is older.
_LETTERS_KEPT: Final = 5_000

#: Steps with no other effects are not told: no line that matters comes of them.
_SILENT: Final = frozenset({ArmTimer, DeleteBefore, Flush, ForgetRequests, Send, StoreSnapshot})


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a process, or its end.

    ``message`` is what it handles, ``source`` who sent that. Of ``effects``, all that it was about to do,
    ``completed`` happened, the first ones, on ``disk``. ``starts``: the process begins with this step.
    """

    node: int
    before: Replica
    after: Replica
    effects: tuple[Effect, ...]
    completed: int
    disk: Disk
    message: Request | Response | None = None
    source: int = _CLIENT
    starts: bool = False
    shuts_down: bool = False
    rules: tuple[str, ...] = ()


class ToldSimulation(Simulation):
    """A simulated cluster of ``voters`` that tells ``listen`` of each step.

    ``old``: with the state machine before KIP-996, as releases before 4.0 have it. ``dynamic``: the voter set
    is in the log (kraft.version 1).
    """

    def __init__(
        self,
        seed: int,
        listen: Callable[[Step], None],
        *,
        voters: int,
        old: bool,
        dynamic: bool,
        drop: float,
    ) -> None:
        super().__init__(seed, voters=voters, kraft_version=1 if dynamic else 0, drop=drop)
        self._listen = listen
        self._message: tuple[Request | Response, int] | None = None
        if old:
            self.protocol = replace(
                self.protocol,
                state_machine=StateMachine.PRE_KIP996,
                candidate_restart=CandidateRestart.WITHOUT_LEADER,
            )

    # --- what is told -------------------------------------------------------------------------------------

    def _line(self, kind: str, node: int | None, fields: Json) -> None:
        """Nothing is recorded."""

    def _shown(self, content: Request | Response) -> Json:
        return {}

    def _second_half(self, process: Process, letter: Letter | None) -> None:
        self._message = None if letter is None else (letter.content, letter.source)
        super()._second_half(process, letter)
        self._message = None

    def _show(
        self,
        process: Process,
        kind: str,
        fields: Json,
        before: Replica,
        calls: list[Json],
        *,
        always: bool = False,
    ) -> None:
        node, host = process.node, process.host
        if host.effects or kind in ("start", "api"):
            if kind in ("start", "api") or not _SILENT.issuperset(map(type, host.effects)):
                self._tell(process, before, len(host.effects), kind, fields)
            self._apply(node, host.effects, before)
            self._send(node, host.effects)

    def _end(
        self,
        process: Process,
        reason: str,
        effects: Sequence[Effect],
        calls: list[Json],
        *,
        power_loss: bool | None,
        before: Replica | None = None,
        during: Json = None,
    ) -> None:
        if before is not None:
            self._tell(process, before, len(effects) + (reason == "fatal"), "end", {})
            self._apply(process.node, effects, before)
            self._send(process.node, effects)
        self._take_away(process.node, power_loss=power_loss)

    def _sleep(self, process: Process) -> None:
        """A poll that has changed the role is followed by another at once, as KafkaRaftClient.poll does."""
        if not any(isinstance(effect, Transition) for effect in process.host.effects):
            super()._sleep(process)
            return
        process.wake += 1
        wake = process.wake
        self.at(self.time, lambda: self._awake(process, wake))

    def _tell(self, process: Process, before: Replica, completed: int, kind: str, fields: Json) -> None:
        node, host = process.node, process.host
        message, source = self._message or (None, _CLIENT)
        self._listen(
            Step(
                node.id,
                before,
                host.replica,
                tuple(host.effects),
                completed,
                node.disk,
                message,
                source,
                starts=kind == "start",
                shuts_down=fields.get("call") == "shutdown",
                rules=tuple(host.rules),
            )
        )

    def _apply(self, node: Node, effects: Sequence[Effect], before: Replica) -> None:
        for effect in effects:
            node.disk = disks.apply(node.disk, effect)
            if isinstance(effect, Persist):
                node.file = write_quorum_state(effect.quorum_state, before)

    def _send(self, node: Node, effects: Sequence[Effect]) -> list[Json]:
        return super()._send(
            node, [one for one in effects if not (isinstance(one, Reply) and one.to == _CLIENT)]
        )

    # --- the script ---------------------------------------------------------------------------------------

    def running(self, node: int) -> Replica | None:
        """The process of ``node``; None if none runs or it stands still."""
        process = self.nodes[node].process
        return None if process is None or self._is_paused(process) else process.host.replica

    def add_voter(self, id: int) -> None:
        """An admin client asks each leader to make ``id`` a voter."""
        node = self.nodes[id]
        key = ReplicaKey(id, node.directory)
        for leader in self._leaders():
            self._ask(leader, AddRaftVoterRequest(key, endpoints_of(id), cluster_id=self.config.cluster_id))

    def remove_voter(self, id: int) -> None:
        """An admin client asks each leader to make ``id`` an observer."""
        key = ReplicaKey(id, self.nodes[id].directory)
        for leader in self._leaders():
            self._ask(leader, RemoveRaftVoterRequest(key, self.config.cluster_id))

    def snapshot(self, id: int) -> None:
        """The state machine of ``id`` writes down what is committed, and the log before it is deleted."""
        replica = self.running(id)
        if replica is None or not replica.high_watermark:
            return
        committed = [one for one in replica.log.batches if one.end_offset <= replica.high_watermark]
        if committed:
            at = SnapshotId(committed[-1].end_offset, committed[-1].epoch)
            self._take(self._process(id), CreateSnapshot(at, size=300, delete_prefix=True))

    def learn_epoch(self, id: int, epoch: int, source: int) -> None:
        """A pre-vote request of ``source`` shows ``id`` the larger ``epoch``; its answer is not awaited."""
        request = VoteRequest(
            epoch,
            ReplicaKey(source, self.nodes[source].directory),
            ReplicaKey(id, self.nodes[id].directory),
            last_epoch=0,
            end_offset=0,
            pre_vote=True,
            cluster_id=self.config.cluster_id,
        )
        self._ask(self._process(id), request)

    def put_epoch(self, id: int, epoch: int) -> None:
        """The file of ``id``, on which no process runs, has ``epoch`` now, and neither vote nor leader."""
        node = self.nodes[id]
        assert node.process is None
        node.file |= {"leaderId": -1, "leaderEpoch": epoch, "votedId": -1}

    def forget_letters(self) -> None:
        """Forget messages to which no answer comes any more."""
        for known in (self.requests, self.open):
            if len(known) > 2 * _LETTERS_KEPT:
                for mid in list(known)[:-_LETTERS_KEPT]:
                    del known[mid]

    def _process(self, id: int) -> Process:
        process = self.nodes[id].process
        assert process is not None
        return process

    def _ask(self, process: Process, request: Request) -> None:
        self._take(process, RequestReceived(_CLIENT, request, None, process.node.clock(self.time)))

    def _take(self, process: Process, event: Event) -> None:
        host = process.host
        before = host.replica
        host.begin()
        host.feed(event, process.node.clock(self.time))
        if isinstance(event, RequestReceived):
            self._message = event.request, event.source
        crashes = self._crashes(process, before, None)
        if not crashes:
            self._show(process, "api", {}, before, [], always=True)
        self._message = None
        if crashes:
            return
        self.at(self.time, lambda: self._poll(process, None))
