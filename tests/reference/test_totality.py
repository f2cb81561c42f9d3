"""Whatever a peer, a timer or a disk may do to a replica, a step answers; it never raises."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kraftcheck.query.ask import expecting_answer
from kraftcheck.query.replica_tables import EPOCHS
from kraftcheck.reference.disk import Disk, apply, as_found, lose_power
from kraftcheck.reference.effects import Fatal
from kraftcheck.reference.events import Event
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.protocol import KAFKA, KIP996, Protocol, StateMachine
from kraftcheck.reference.replica import QuorumState, Replica
from kraftcheck.reference.step import start, step
from kraftcheck.reference.voters import ReplicaKey, matches
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft.possible import problems
from kraftcheck.systems.kraft.text import parse_event, parse_replica
from tests.examples import examples

PROTOCOLS = [KAFKA, KIP996, Protocol(state_machine=StateMachine.PRE_KIP996)]

LOGS = ["none", "2@2,2@3", "1@2,[2]@3", "2@2,0@4"]


#: The words of a replica, by the roles that they are for; ``None``: all.
WORDS_OF_REPLICAS: list[tuple[str | None, list[str]]] = [
    (None, ["id=1", "id=1/A", "id=7"]),
    (None, [f"voters={voters}" for voters in ("1,2,3", "1", "1/A,2/B,3/C", "1,2", "2,3,4")]),
    (None, [f"log={log}" for log in (*LOGS, "2@2,1@3,1@5")]),
    ("unattached prospective follower", [f"leader={leader}" for leader in ("none", "2", "3", "9")]),
    ("unattached prospective follower", [f"voted={voted}" for voted in ("none", "1", "2", "2/B")]),
    ("prospective candidate", ["", "rejected=2", "rejected=2,3"]),
    ("leader", ["", "progress=2:1", "progress=2:4,3:4", "resign-requested"]),
    (None, ["", "awaiting=2,3", "backoff=2", "awaiting=3 backoff=2"]),
    (None, ["", "parked=2:1", "parked=2:1,9:0:4"]),
    (None, ["", "shutting-down", "broker", "next-correlation=3"]),
    (None, ["", "hw=0", "hw=1", "hw=3"]),
    (None, ["", "kraft=1"]),
]


@st.composite
def replicas(draw: st.DrawFn) -> Replica:
    head = draw(st.sampled_from(["unattached", "prospective", "candidate", "leader", "follower", "resigned"]))
    words = [draw(st.sampled_from(each)) for of, each in WORDS_OF_REPLICAS if of is None or head in of]
    try:
        replica = parse_replica(" ".join([head, "epoch=5", *words]))
    except InputError:
        assume(False)
        raise
    assume(not any(problems(replica)))
    return replica


_COMMON = "from={source} epoch={epoch} {now} {correlation}"
EVENTS = [
    f"vote-request {_COMMON} last={{position}} {{pre_vote}} to={{key}}",
    f"vote-response {_COMMON} leader={{leader}} {{granted}} {{error}}",
    f"begin-quorum-epoch-request {_COMMON} to={{key}} {{endpoints}}",
    f"begin-quorum-epoch-response {_COMMON} leader={{leader}} {{error}}",
    f"end-quorum-epoch-request {_COMMON} successors={{keys}} {{endpoints}}",
    f"end-quorum-epoch-response {_COMMON} leader={{leader}} {{error}}",
    f"fetch-request {_COMMON} offset={{offset}} last-epoch={{last}} hw={{hw}} max-wait={{wait}}",
    f"fetch-response {_COMMON} leader={{leader}} {{records}} hw={{hw}} {{error}}",
    "describe-quorum-request from=-1 {now} {partition}",
    "poll expired={timers} {now}",
    "poll discovery=2 expired={timers}",
    "timeout node=2",
    "backoff-expired node=2",
    "fetch-wait-expired from=2",
    "append 7,8 epoch={epoch}",
    "resign epoch={epoch}",
    "shutdown",
]
WORDS: dict[str, list[str]] = {
    "source": ["2", "3", "9", "1", "-1"],
    "epoch": [str(epoch) for epoch in EPOCHS.values()] + ["0", "-1"],
    "now": ["", "now=100"],
    "correlation": ["", "correlation=4"],
    "position": ["0@0", "4@3", "9@4", "4@5", "-1@0"],
    "pre_vote": ["", "pre-vote"],
    "key": ["none", "1", "1/A", "2"],
    "keys": ["none", "1,3", "3,1/A", "3"],
    "leader": ["none", "1", "2", "3", "9"],
    "granted": ["", "granted"],
    "error": [
        "",
        "error=FENCED_LEADER_EPOCH",
        "error=INVALID_VOTER_KEY",
        "error=BROKER_NOT_AVAILABLE",
        "error=NOT_LEADER_OR_FOLLOWER",
        "error=UNKNOWN_SERVER_ERROR",
        "top-error=UNSUPPORTED_VERSION",
    ],
    "endpoints": ["", "endpoints=none", "endpoints=A://a:1,B://b:2"],
    "offset": ["0", "1", "4", "9", "-1"],
    "last": ["0", "2", "3", "5", "9"],
    "hw": ["none", "0", "3", "9"],
    "wait": ["0", "500", "-1"],
    "records": ["", "records=1@5", "records=0:2@5", "diverging=1@2", "diverging=0@0", "diverging=9@9"],
    "partition": ["", "partition=other-0"],
    "timers": ["none", "election", "fetch", "check-quorum,begin-quorum-epoch,linger"],
}


@st.composite
def happenings(draw: st.DrawFn) -> tuple[Replica, Event]:
    replica = draw(replicas())
    template = draw(st.sampled_from(EVENTS))
    words = {name: draw(st.sampled_from(WORDS[name])) for name in re.findall(r"{(\w+)}", template)}
    event = parse_event(template.format(**words), replica)
    return expecting_answer(replica, event), event


@pytest.mark.slow
@examples(600)
@given(happenings(), st.sampled_from(PROTOCOLS))
def test_a_step_never_raises_and_leaves_a_replica_that_can_be(
    happening: tuple[Replica, Event], protocol: Protocol
) -> None:
    replica, event = happening
    outcome = step(protocol, replica, event)
    assert outcome == step(protocol, replica, event)
    assert sum(isinstance(effect, Fatal) for effect in outcome.effects) <= 1
    if outcome.fatal is None:
        assert list(problems(outcome.replica)) == []
        assert outcome.replica.epoch >= replica.epoch
        assert len(outcome.rules) == len(set(outcome.rules))


@pytest.mark.slow
@examples(400)
@given(happenings(), st.sampled_from(PROTOCOLS))
def test_the_disk_holds_what_the_replica_shows(happening: tuple[Replica, Event], protocol: Protocol) -> None:
    """Once every effect has happened, a restart finds the epoch, the vote and the records of the replica."""
    replica, event = happening
    disk = Disk(replica.quorum_state, replica.log, replica.log.end_offset)
    outcome = step(protocol, replica, event)
    for effect in outcome.effects:
        disk = apply(disk, effect)
    stored, shown = disk.quorum_state, outcome.replica.quorum_state
    assert stored is not None
    if stored.voted is not None and shown.voted is not None and outcome.replica.kraft_version < 1:
        assert matches(stored.voted, shown.voted)  # the directory may not be written down (PERSIST-8)
        stored = replace(stored, voted=shown.voted)
    assert stored == shown
    assert disk.log.batches == outcome.replica.log.batches
    if outcome.fatal is None and (replica.can_become_voter or replica.is_voter):
        assert lose_power(disk).log.batches == disk.log.batches


@pytest.mark.slow
@examples(200)
@given(
    st.sampled_from(["1", "1/A", "7"]),
    st.sampled_from(LOGS),
    st.none()
    | st.builds(
        QuorumState,
        st.integers(0, 6),
        st.sampled_from([None, 1, 2, 9]),
        st.sampled_from([None, ReplicaKey(1), ReplicaKey(1, "A"), ReplicaKey(2), ReplicaKey(7)]),
    ),
    st.sampled_from(PROTOCOLS),
)
def test_a_start_never_raises(key: str, log: str, stored: QuorumState | None, protocol: Protocol) -> None:
    identity = parse_replica(f"unattached id={key}")
    found = as_found(Disk(stored, parse_replica(f"unattached log={log}").log, 0))
    outcome = start(protocol, identity, found)
    if outcome.fatal is None:
        assert list(problems(outcome.replica)) == []
    else:
        assert key == "7"


def test_an_unknown_event_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(TypeError):
        step(KAFKA, parse_replica("unattached"), "poll")  # type: ignore[arg-type]
