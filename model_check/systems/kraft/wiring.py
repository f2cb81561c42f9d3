"""The inputs of a step apart from the replica itself: links, budgets, the environment and the voters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from kraftcheck.reference.disk import Disk
from kraftcheck.reference.events import Event, Timer
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.step import Outcome, start, step
from kraftcheck.reference.voters import Endpoint
from kraftcheck.systems.kraft.administration import AdminStep
from kraftcheck.systems.kraft.membership import Origin
from kraftcheck.systems.kraft.scenario import Admin, EnvironmentChoice, NetworkChoice

#: Receives every question to the reference: the replica before it (of a start: its configuration), the event
#: (of a start: the disk that it finds), and the outcome.
Listener = Callable[[Protocol, Replica, Event | Disk, Outcome], None]


@dataclass(frozen=True, slots=True)
class Wiring:
    """The inputs of a step apart from the replica itself.

    choice, network, admin: these tables of the scenario; costs: the budgets that there are, by name, with
    their index; crashes: how many there may be in all. component: index of a replica id; cut: directed links
    (from, to) that carry nothing; flag_ignored: senders whose pre-vote flag a replica without pre-vote does
    not see, so that it takes the request for a standard one. timers: for each replica id the timers that may
    expire there; servers: the addressees where bootstrap servers are configured; steps: the requests of the
    admin client.

    origin: the effective voter set and version before any record, where voter sets may change or snapshots
    are taken; addable: the ids of the replicas that may be added to the voter set; targets: those of the
    AlterQuorum requests (KIP-595), in the order of the admin client's steps, ``None`` where voters do not
    change that way; ignored_exits: findings whose exits of a process are not judged; the process restarts;
    listener: receives every question to the reference; listening: where each replica listens in the
    beginning, as the configurations of the others have it; misadvertised: the replicas that advertise another
    address.
    """

    choice: EnvironmentChoice = EnvironmentChoice()
    network: NetworkChoice = NetworkChoice()
    admin: Admin = Admin()
    costs: Mapping[str, int] = field(default_factory=dict)
    crashes: int = 0
    component: Callable[[int], int] = int
    cut: frozenset[tuple[int, int]] = frozenset()
    flag_ignored: frozenset[int] = frozenset()
    timers: Mapping[int, frozenset[Timer]] = field(default_factory=dict)
    servers: tuple[int, ...] = ()
    steps: tuple[AdminStep, ...] = ()
    origin: Origin | None = None
    addable: frozenset[int] = frozenset()
    targets: tuple[tuple[int, ...] | None, ...] | None = None
    ignored_exits: tuple[str, ...] = ()
    listener: Listener | None = None
    listening: Mapping[int, tuple[Endpoint, ...]] = field(default_factory=dict)
    misadvertised: frozenset[int] = frozenset()

    def listens_at(self, replica: Replica) -> tuple[Endpoint, ...]:
        """Where ``replica`` listens now, which it may advertise otherwise."""
        return self.listening[replica.id] if replica.id in self.misadvertised else replica.endpoints

    def price(self, budget: str) -> tuple[int, ...] | None:
        """The budgets that one use of ``budget`` spends; ``None`` where there is no such budget."""
        return (self.costs[budget],) if budget in self.costs else None

    def price_at(self, budget: str, replica: int, at: Collection[int]) -> tuple[int, ...] | None:
        """The same for a use at ``replica``; ``None`` also where the budget is for the replicas ``at`` alone
        (none are named: for all), and it is none of them.
        """
        return self.price(budget) if not at or replica in at else None

    @property
    def forgotten_stay(self) -> bool:
        """Whether forgotten requests stay in flight."""
        return self.network.forgotten == "stay"

    @property
    def idle_left_out(self) -> bool:
        """Whether answers without new information are left out of the model."""
        return self.network.idle_answers == "left-out"

    @property
    def written_back(self) -> bool:
        """Whether unflushed data of a crashed process is durable when the next one starts."""
        return self.choice.write_back

    @property
    def arms_timers(self) -> bool:
        """Whether a timer expires only if it was armed."""
        return self.choice.expiry == "armed"

    def ask(self, protocol: Protocol, replica: Replica, happened: Event | Disk) -> Outcome:
        """The step of the reference by an event, or the start of the process that ``replica`` configures on a
        disk.
        """
        if isinstance(happened, Disk):
            outcome = start(protocol, replica, happened)
        else:
            outcome = step(protocol, replica, happened)
        if self.listener is not None:
            self.listener(protocol, replica, happened, outcome)
        return outcome
