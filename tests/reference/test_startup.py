"""Start-up: the first row that matches decides the role, and the decision is written down."""

from __future__ import annotations

import pytest

from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import Duration, Persist, Transition
from kraftcheck.reference.events import RequestReceived, Timer
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Log
from kraftcheck.reference.messages import VoteRequest
from kraftcheck.reference.protocol import KAFKA, CandidateRestart, Protocol
from kraftcheck.reference.replica import Follower, QuorumState, Replica, Resigned
from kraftcheck.reference.step import Outcome, start, step
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.systems.kraft.text import parse_replica
from tests.reference.asking import armed, granted, persisted, role

VOTER = parse_replica("unattached id=1/A")
ONLY = parse_replica("unattached id=1 voters=1")
OBSERVER = parse_replica("unattached id=7/A")
OWN, OTHER = ReplicaKey(1, "A"), ReplicaKey(2)


def without_directory(state: QuorumState) -> QuorumState:
    """``state`` as version 0 of the file holds it."""
    return state if state.voted is None else replace(state, voted=ReplicaKey(state.voted.id))


def started(
    stored: QuorumState | None, log: str = "none", identity: Replica = VOTER, protocol: Protocol = KAFKA
) -> Outcome:
    found: Log = parse_replica(f"unattached log={log}").log
    return start(protocol, identity, Disk(stored, found, found.end_offset))


ROWS = [
    # stored state, log, role, state afterwards
    (None, "none", "Unattached", QuorumState()),
    (QuorumState(3, 2, OTHER), "2@4", "Unattached", QuorumState(4)),
    (QuorumState(3, 1), "2@4", "Unattached", QuorumState(4)),
    (QuorumState(4, 1), "2@4", "Resigned", QuorumState(4, 1)),
    (QuorumState(4, 1, OTHER), "none", "Resigned", QuorumState(4, 1)),
    (QuorumState(4, None, OWN), "none", "Candidate", QuorumState(4, None, OWN)),
    (QuorumState(4, None, ReplicaKey(1)), "none", "Candidate", QuorumState(4, None, OWN)),
    (QuorumState(4, 2, OWN), "none", "Candidate", QuorumState(4, None, OWN)),
    (
        QuorumState(4, None, ReplicaKey(1, "B")),
        "none",
        "Unattached",
        QuorumState(4, None, ReplicaKey(1, "B")),
    ),
    (QuorumState(4, 2, ReplicaKey(3)), "none", "Follower", QuorumState(4, 2, ReplicaKey(3))),
    (QuorumState(4, 2), "1@4", "Follower", QuorumState(4, 2)),
    (QuorumState(4, 9, OTHER), "none", "Unattached", QuorumState(4, 9, OTHER)),
    (QuorumState(4, None, OTHER), "none", "Unattached", QuorumState(4, None, OTHER)),
    (QuorumState(4), "none", "Unattached", QuorumState(4)),
]


@pytest.mark.parametrize(("stored", "log", "becomes", "afterwards"), ROWS)
def test_the_first_row_that_matches(
    stored: QuorumState | None, log: str, becomes: str, afterwards: QuorumState
) -> None:
    outcome = started(stored, log)
    assert role(outcome) == becomes
    assert outcome.replica.quorum_state == afterwards
    assert persisted(outcome) == (without_directory(afterwards),)
    assert isinstance(outcome.effects[0], Persist)
    assert outcome.effects[1] == Transition("Start", becomes, afterwards.epoch)
    assert outcome.replica.high_watermark is None
    assert outcome.replica.connections == ()
    timer = Timer.FETCH if becomes == "Follower" else Timer.ELECTION
    assert list(armed(outcome)) == [timer]


def test_details_of_the_roles() -> None:
    resigned = started(QuorumState(4, 1)).replica.role
    assert resigned == Resigned((2, 3), ())
    follower = started(QuorumState(4, 2)).replica.role
    assert follower == Follower(VOTER.voters.endpoints(2), has_fetched=False)


def test_a_candidacy_is_resumed_beside_a_leader_only_by_production() -> None:
    documents = Protocol(candidate_restart=CandidateRestart.WITHOUT_LEADER)
    assert role(started(QuorumState(4, 2, OWN), protocol=documents)) == "Follower"
    assert role(started(QuorumState(4, None, OWN), protocol=documents)) == "Candidate"


@pytest.mark.parametrize(
    "stored", [None, QuorumState(4), QuorumState(4, 1), QuorumState(4, None, ReplicaKey(1))]
)
def test_an_only_voter_leads_at_once(stored: QuorumState | None) -> None:
    outcome = started(stored, identity=ONLY)
    assert role(outcome) == "Leader"
    before = stored or QuorumState()
    resumed = before.voted is not None
    assert outcome.replica.epoch == before.epoch + (0 if resumed else 1)


def test_observers() -> None:
    unattached = started(QuorumState(4), identity=OBSERVER)
    assert armed(unattached) == {Timer.ELECTION: Duration.FOREVER}
    follower = started(QuorumState(4, 2), identity=OBSERVER)
    assert role(follower) == "Follower"
    own_vote = started(QuorumState(4, None, ReplicaKey(7, "A")), identity=OBSERVER)
    assert own_vote.fatal is not None


def test_nothing_volatile_survives() -> None:
    busy = parse_replica("leader id=1/A log=2@1 awaiting=2 parked=3:2 hw=2 shutting-down")
    outcome = start(KAFKA, busy, Disk(QuorumState(1, 1), busy.log, 2))
    assert outcome.replica == replace(
        VOTER,
        key=busy.key,
        log=busy.log,
        quorum_state=QuorumState(1, 1),
        role=Resigned((2, 3), ()),
    )


@pytest.mark.parametrize(("kraft_version", "granted_again"), [(0, True), (1, False)])
def test_only_with_dynamic_voters_the_file_says_on_which_disk_the_candidate_was(
    kraft_version: int, granted_again: bool
) -> None:
    """A hole that production leaves open (PERSIST-8, PERSIST-9)."""
    first, second = ReplicaKey(3, "C"), ReplicaKey(3, "D")
    identity = replace(VOTER, bootstrap_kraft_version=kraft_version)
    request = VoteRequest(5, first, OWN, 0, 0, False)
    voted = step(KAFKA, start(KAFKA, identity, Disk()).replica, RequestReceived(3, request))
    assert voted.replica.quorum_state.voted == first
    assert "PERSIST-8" in voted.rules
    (*_, stored) = persisted(voted)
    again = start(KAFKA, identity, Disk(stored))
    assert ("PERSIST-9" in again.rules) == granted_again
    answer = step(KAFKA, again.replica, RequestReceived(3, replace(request, candidate=second)))
    assert granted(answer) == granted_again
    assert granted(step(KAFKA, again.replica, RequestReceived(3, request)))
    assert not granted(step(KAFKA, voted.replica, RequestReceived(3, replace(request, candidate=second))))
