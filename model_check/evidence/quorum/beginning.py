"""A quorum of members in the state in which a behaviour begins, whichever that is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kraftcheck.evidence.adapters.opening import Prefix, opening, prefix_of
from kraftcheck.evidence.adapters.session import Session
from kraftcheck.evidence.adapters.stimuli import DriveSequence
from kraftcheck.evidence.quorum.member import Member, NotTaken, Sent
from kraftcheck.evidence.quorum.network import Flight, pick
from kraftcheck.evidence.quorum.quorum import Quorum
from kraftcheck.reference.replica import Leader
from kraftcheck.systems.kraft.network import InFlight
from kraftcheck.systems.kraft.scenario import KRaftScenario
from kraftcheck.systems.kraft.system import KRaftSystem

#: The field of a state that a leader without it may learn at once.
HIGH_WATERMARK = "high watermark"

#: A session with the adapter of the replica with this number.
Sessions = Callable[[int], Session]


def begin(system: KRaftSystem, scenario: KRaftScenario, sessions: Sessions) -> Quorum:
    """The quorum in the initial state of ``system``.

    Raises NotTaken where no ordinary events lead there, Differs and AdapterError as its steps do.
    """
    quorum, everybody = Quorum(), range(len(system.hosts))
    prefix = prefix_of(scenario)
    if prefix is None:
        _enter(quorum, system, scenario, everybody, sessions)
    else:
        _be_led(quorum, system, scenario, prefix, sessions)
    if any(_is_unaware(quorum, system, component) for component in everybody):
        quorum.overlooked = frozenset({HIGH_WATERMARK})
    (state,) = system.initial_states()
    quorum.require(system, state, everybody)
    return quorum


def _is_unaware(quorum: Quorum, system: KRaftSystem, component: int) -> bool:
    """Whether a scenario gives a leader that does not know yet what the fetches of its voters commit.

    No leader is ever in that state; what it knows more reaches the other replicas.
    """
    node, live = system.nodes[component], quorum.members[component].replica
    leads = node.replica is not None and isinstance(node.replica.role, Leader)
    unknown = node.replica is not None and node.replica.high_watermark is None
    return leads and unknown and live is not None and live.high_watermark is not None


def _be_led(
    quorum: Quorum, system: KRaftSystem, scenario: KRaftScenario, prefix: Prefix, sessions: Sessions
) -> None:
    """Let all replicas but the fresh ones take the run to their leader; then the fresh ones enter."""
    fresh = [c for c, identity in enumerate(system.identities) if identity.id in scenario.replicas.fresh]
    others = [component for component in range(len(system.hosts)) if component not in fresh]
    _enter(quorum, prefix.system, prefix.scenario, others, sessions)
    for taken in prefix.taken:
        quorum.step(prefix.system, taken)
    _enter(quorum, system, scenario, fresh, sessions)


def _enter(
    quorum: Quorum,
    system: KRaftSystem,
    scenario: KRaftScenario,
    components: Iterable[int],
    sessions: Sessions,
) -> None:
    """Let replicas take the events that lead them into their initial states."""
    for component in components:
        member, sent = _entered(system, scenario, component, sessions)
        quorum.members[component] = member
        for model in system.initial_messages:
            if model.source == member.id:
                quorum.network.flights.append(_flight(model, sent))


def _entered(
    system: KRaftSystem, scenario: KRaftScenario, component: int, sessions: Sessions
) -> tuple[Member, list[Sent]]:
    identity = system.identities[component]
    disk, stimuli = opening(system, scenario, component)
    if stimuli is None:
        raise NotTaken(f"no events are known that lead replica {identity.id} into its initial state")
    sequence = DriveSequence(
        name=f"replica {identity.id}",
        protocol=system.protocols[component],
        identity=identity,
        disk=disk,
        stimuli=(),
        written_back=system.wiring.written_back,
    )
    member = Member(sessions(component), sequence)
    return member, [each for stimulus in stimuli for each in member.take(stimulus)]


def _flight(model: InFlight, sent: Sequence[Sent]) -> Flight:
    found = pick(model, list(sent))
    if found is None:
        raise NotTaken(f"replica {model.source} has not sent the {model} before the behaviour begins")
    return Flight(model, found.message, found.data)
