"""Every printed form of a state, in every release."""

# ruff: noqa: E501 - states as they are printed

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.evidence.history.facts import NOT_SHOWN, Key
from kraftcheck.evidence.logs.releases import forms, span
from kraftcheck.evidence.logs.states import LoggedState, Unreadable, fields, parse_state
from tests.evidence.logs.log_lines import RELEASES, shown, state
from tests.laboratory.logs.render import Drawn, state_text

A, B = "QEEnfdpke8usBtTa-LlFIA", "_RwxnB4GRjl4a64cB5VAzz"

#: text, releases, role, epoch, leader, vote, high watermark
SAMPLES = [
    (
        f"UnattachedState(epoch=5, leaderId=OptionalInt[2], votedKey=Optional[ReplicaKey(id=3, directoryId={A})],"
        " voters=[1, 2, 3], electionTimeoutMs=1486, highWatermark=Optional[LogOffsetMetadata(offset=40, "
        "metadata=Optional[(segmentBaseOffset=0,relativePositionInSegment=123)])])",
        ("4.0 to 4.5", "Unattached", 5, 2, Key(3, A), 40),
    ),
    (
        "UnattachedState(epoch=0, leaderId=OptionalInt.empty, votedKey=Optional.empty, voters=[],"
        " electionTimeoutMs=9223372036854775807, highWatermark=Optional.empty)",
        ("4.0 to 4.5", "Unattached", 0, None, None, None),
    ),
    (
        f"Unattached(epoch=2, votedKey=ReplicaKey(id=3, directoryId=Optional[{A}]), voters=[1, 2, 3],"
        " electionTimeoutMs=1486, highWatermark=Optional.empty)",
        ("3.9", "Unattached", 2, NOT_SHOWN, Key(3, A), None),
    ),
    (
        "Unattached(epoch=2, votedKey=null, voters=[1, 2, 3], electionTimeoutMs=1486,"
        " highWatermark=Optional.empty)",
        ("3.9", "Unattached", 2, NOT_SHOWN, None, None),
    ),
    (
        "Unattached(epoch=2, voters=[1, 2, 3], electionTimeoutMs=1486)",
        ("3.3 to 3.8", "Unattached", 2, NOT_SHOWN, NOT_SHOWN, NOT_SHOWN),
    ),
    (
        "Voted(epoch=4, votedKey=ReplicaKey(id=2, directoryId=Optional.empty), voters=[1, 2, 3],"
        " electionTimeoutMs=1, highWatermark=Optional.empty)",
        ("3.8", "Voted", 4, None, Key(2, None), None),
    ),
    (
        "Voted(epoch=4, votedId=2, voters=[1, 2, 3], electionTimeoutMs=1)",
        ("3.3 to 3.7", "Voted", 4, None, Key(2, None), NOT_SHOWN),
    ),
    (
        "ProspectiveState(epoch=1, leaderId=OptionalInt[3], votedKey=Optional.empty, epochElection=EpochElection["
        f"voterStates={{1=VoterState(replicaKey=ReplicaKey(id=1, directoryId={A}), state=GRANTED), "
        f"2=VoterState(replicaKey=ReplicaKey(id=2, directoryId={B}), state=UNRECORDED)}}], "
        "electionTimeoutMs=1113, highWatermark=Optional.empty)",
        ("4.2 to 4.5", "Prospective", 1, 3, None, None),
    ),
    (
        "ProspectiveState(epoch=1, leaderId=OptionalInt[3], retries=2, votedKey=Optional.empty, epochElection="
        f"EpochElection(voterStates={{1=VoterState(replicaKey=ReplicaKey(id=1, directoryId={A}), state=GRANTED)"
        "}), electionTimeoutMs=1113, highWatermark=Optional.empty)",
        ("4.0", "Prospective", 1, 3, None, None),
    ),
    (
        f"CandidateState(localId=1, localDirectoryId={A}, epoch=7, epochElection=EpochElection(voterStates={{"
        f"1=VoterState(replicaKey=ReplicaKey(id=1, directoryId={A}), state=GRANTED)}}), "
        "highWatermark=Optional.empty, electionTimeoutMs=1666)",
        ("4.1", "Candidate", 7, None, Key(1, A), None),
    ),
    (
        f"CandidateState(localId=1, localDirectoryId={A}, epoch=7, retries=1, epochElection=EpochElection("
        f"voterStates={{1=VoterState(replicaKey=ReplicaKey(id=1, directoryId={A}), state=REJECTED)}}), "
        "highWatermark=Optional.empty, electionTimeoutMs=1666)",
        ("4.0", "Candidate", 7, None, Key(1, A), None),
    ),
    (
        f"CandidateState(localId=1, localDirectoryId={A},epoch=7, retries=1, voteStates={{1=org.apache.kafka.raft."
        "CandidateState$VoterState@1b2c, 2=org.apache.kafka.raft.CandidateState$VoterState@ff}, "
        "highWatermark=Optional.empty, electionTimeoutMs=1666)",
        ("3.8 to 3.9", "Candidate", 7, None, Key(1, A), None),
    ),
    (
        "CandidateState(localId=1, epoch=7, retries=1, voteStates={1=GRANTED, 2=UNRECORDED, 3=REJECTED}, "
        "highWatermark=Optional.empty, electionTimeoutMs=1666)",
        ("3.5 to 3.7", "Candidate", 7, None, Key(1, None), None),
    ),
    (
        "CandidateState(localId=1, epoch=7, retries=1, electionTimeoutMs=1666)",
        ("3.3 to 3.4", "Candidate", 7, None, Key(1, None), NOT_SHOWN),
    ),
    (
        f"Leader(localVoterNode=VoterNode(voterKey=ReplicaKey(id=3, directoryId={A}), listeners=Endpoints("
        "endpoints={ListenerName(CONTROLLER)=node-3/<unresolved>:9093}), supportedKRaftVersion="
        "SupportedVersionRange[min_version:0, max_version:1]), epoch=1, epochStartOffset=0, "
        "highWatermark=Optional.empty, voterStates={1=ReplicaState(replicaKey=ReplicaKey(id=1, "
        f"directoryId={B}), endOffset=Optional.empty, lastFetchTimestamp=-1, lastCaughtUpTimestamp=-1, "
        "hasAcknowledgedLeader=false)})",
        ("4.1 to 4.5", "Leader", 1, 3, NOT_SHOWN, None),
    ),
    (
        f"Leader(localReplicaKey=ReplicaKey(id=3, directoryId=Optional[{A}]), epoch=1, epochStartOffset=8, "
        "highWatermark=Optional.empty, voterStates={})",
        ("3.9 to 4.0", "Leader", 1, 3, NOT_SHOWN, None),
    ),
    (
        "Leader(localId=3, epoch=1, epochStartOffset=8, highWatermark=Optional[LogOffsetMetadata(offset=9, "
        "metadata=Optional.empty)], voterStates={1=ReplicaState(nodeId=1, endOffset=Optional.empty, "
        "lastFetchTimestamp=-1, lastCaughtUpTimestamp=-1, hasAcknowledgedLeader=false)})",
        ("3.3 to 3.8", "Leader", 1, 3, NOT_SHOWN, 9),
    ),
    (
        "FollowerState(fetchTimeoutMs=2000, epoch=1, leader=3, leaderEndpoints=Endpoints(endpoints={ListenerName("
        f"CONTROLLER)=node-3/<unresolved>:9093}}), votedKey=Optional[ReplicaKey(id=3, directoryId={A})], "
        "voters=[1, 2, 3], highWatermark=Optional.empty, fetchingSnapshot=Optional.empty)",
        ("4.0 to 4.5", "Follower", 1, 3, Key(3, A), None),
    ),
    (
        "FollowerState(fetchTimeoutMs=2000, epoch=1, leader=3, leaderEndpoints=Endpoints(endpoints={ListenerName("
        "CONTROLLER)=node-3/10.0.0.1:9093}), voters=[1, 2, 3], highWatermark=Optional.empty, "
        "fetchingSnapshot=Optional.empty)",
        ("3.9", "Follower", 1, 3, NOT_SHOWN, None),
    ),
    (
        "FollowerState(fetchTimeoutMs=2000, epoch=1, leader=node-3:9093 (id: 3 rack: null) voters=[1, 2, 3], "
        "highWatermark=Optional.empty, fetchingSnapshot=Optional.empty)",
        ("3.8", "Follower", 1, 3, NOT_SHOWN, None),
    ),
    (
        "FollowerState(fetchTimeoutMs=2000, epoch=1, leaderId=3, voters=[1, 2, 3], highWatermark=Optional["
        "LogOffsetMetadata(offset=12, metadata=Optional.empty)], fetchingSnapshot=Optional.empty)",
        ("3.3 to 3.7", "Follower", 1, 3, NOT_SHOWN, 12),
    ),
    (
        "ResignedState(localId=1, epoch=9, voters=[1, 2, 3], electionTimeoutMs=1745, unackedVoters=[2, 3], "
        "preferredSuccessors=[2, 3])",
        ("3.3 to 4.5", "Resigned", 9, 1, NOT_SHOWN, NOT_SHOWN),
    ),
    (
        f"ResignedState(localId=1, epoch=9, voters=[1, 2], electionTimeoutMs=1745, unackedVoters=[2], "
        f"preferredSuccessors=[ReplicaKey(id=2, directoryId={A})])",
        ("3.3 to 4.5", "Resigned", 9, 1, NOT_SHOWN, NOT_SHOWN),
    ),
]


@pytest.mark.parametrize(("text", "expected"), SAMPLES, ids=lambda value: str(value)[:40])
def test_a_printed_state_is_read(text: str, expected: tuple[object, ...]) -> None:
    found = parse_state(text.encode())
    what = (found.role, found.epoch, found.leader, found.voted, found.high_watermark)
    assert (span(found.releases), *what) == expected


@pytest.mark.parametrize(("text", "expected"), SAMPLES, ids=lambda value: str(value)[:40])
def test_every_cut_of_a_printed_state_is_unreadable(text: str, expected: object) -> None:
    for end in range(len(text)):
        with pytest.raises(Unreadable):
            parse_state(text[:end].encode())


def test_every_form_has_a_sample() -> None:
    words = {text.partition("(")[0] for text, _ in SAMPLES}
    read = set()
    for text, _ in SAMPLES:
        word, _, rest = text.partition("(")
        read.add((word, tuple(name.decode() for name in fields(rest[:-1].encode()))))
    missing = set(forms().states) - read
    # 4.1 prints no `retries` and the round brackets of 4.0: the form is that of 4.2 but for the brackets.
    assert not missing
    assert words == {word for word, _ in forms().states}


def test_granted_votes_are_read() -> None:
    found = parse_state(
        b"CandidateState(localId=1, epoch=7, retries=1, voteStates={1=GRANTED, 2=UNRECORDED, 3=REJECTED}, "
        b"highWatermark=Optional.empty, electionTimeoutMs=1666)"
    )
    assert (found.granted, found.electorate) == (frozenset({1}), frozenset({1, 2, 3}))


DRAWN = [
    state("Unattached", 5, leader=2, voted=3, high=4),
    state("Prospective", 5, leader=2, voted=3, high=4, granted=frozenset({1, 3})),
    state("Candidate", 5, voted=1, granted=frozenset({1, 3})),
    state("Leader", 5, start=7),
    state("Follower", 5, leader=2, voted=3, high=4),
    state("Resigned", 5),
    state("Voted", 5, voted=2),
]

#: The releases that have a state, where not all do.
HAVE = {"Prospective": RELEASES[7:], "Voted": RELEASES[:6]}


@pytest.mark.parametrize(
    ("drawn", "release"),
    [(drawn, release) for drawn in DRAWN for release in HAVE.get(drawn.role, RELEASES)],
    ids=lambda value: value if isinstance(value, str) else value.role,
)
def test_what_a_release_prints_is_read_back(drawn: Drawn, release: str) -> None:
    found = parse_state(state_text(drawn, release).encode())
    voted = found.voted.id if isinstance(found.voted, Key) else found.voted
    what = (found.role, found.epoch, found.leader, voted)
    assert release in found.releases
    assert tuple("hidden" if one is NOT_SHOWN else one for one in what) == shown(drawn, release)


@given(st.binary(max_size=200))
def test_bytes_that_are_no_state_are_unreadable(noise: bytes) -> None:
    follower = b"FollowerState(" + noise + b")"
    leader = b"Leader(epoch=1, epochStartOffset=" + noise + b")"
    for text in (noise, follower, leader):
        try:
            found = parse_state(text)
        except Unreadable:
            continue
        assert isinstance(found, LoggedState)
