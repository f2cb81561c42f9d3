"""Random sequences and the pairs that they are chosen for."""

from collections import Counter

import pytest

from kraftcheck.evidence.adapters import pairs
from kraftcheck.evidence.adapters.asked import STALE, Asking
from kraftcheck.evidence.adapters.choosing import covering
from kraftcheck.evidence.adapters.random_sequences import LONG_COUNT, LONG_LENGTH, random_sequences
from kraftcheck.evidence.adapters.serving import ReferenceAdapter
from kraftcheck.evidence.adapters.session import Session
from kraftcheck.evidence.adapters.stimuli import Crash, DriveSequence, Start
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import Send, Truncate
from kraftcheck.reference.events import Poll, RequestTimedOut, ResponseReceived, Timer
from kraftcheck.reference.log import SnapshotId
from kraftcheck.reference.messages import FetchResponse, UpdateRaftVoterRequest
from kraftcheck.reference.protocol import KAFKA, KIP996, PRESETS, Protocol
from kraftcheck.reference.replica import Follower, PartialSnapshot, Replica
from kraftcheck.reference.step import step
from kraftcheck.reference.transitions import role_name
from kraftcheck.reference.voters import ReplicaKey, static_voters
from kraftcheck.systems.kraft.text import parse_replica
from tests.evidence.adapters.in_process import InProcess

STATIC = Replica(ReplicaKey(1), static_voters((1, 2, 3)))


def sequence(*stimuli: Start | Crash | Poll) -> DriveSequence:
    return DriveSequence("one", KAFKA, STATIC, Disk(), stimuli)


def test_no_late_answer_comes_before_a_time_out_can_be_noticed() -> None:
    """Kafka notices it when it would send the node another request."""
    late = 0
    for each in random_sequences(KAFKA, 1, 40, 60):
        unnoticed: set[int] = set()
        for question in Asking(each).questions():
            event = question.event
            if isinstance(event, Start):
                unnoticed = set()
            elif isinstance(event, RequestTimedOut):
                unnoticed.add(event.node)
            elif isinstance(event, ResponseReceived) and event.correlation not in (None, STALE):
                assert question.before is not None
                awaited = [c.correlation for c in question.before.connections if c.awaiting]
                if event.correlation not in awaited:
                    assert event.source not in unnoticed
                    late += 1
            outcome = question.outcome
            for effect in () if outcome is None else outcome.effects:
                if isinstance(effect, Send):
                    unnoticed.discard(effect.to)
    assert late


def test_a_pair_is_a_rule_with_an_outcome_or_a_field_with_an_event() -> None:
    found = pairs.of_sequence(sequence(Start(), Poll((Timer.ELECTION,)), Crash()))
    assert {
        "INIT-1: Start->Unattached",
        "no process, no quorum state: Start",
        "PREVOTE-2: Unattached->Prospective",
        "Unattached, leader none: poll, election",
        "Prospective, no granted: crash",
    } <= found
    assert not any("Candidate" in pair for pair in found)


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (RequestTimedOut(1), "RequestTimedOut of the leader"),
        (RequestTimedOut(3), "RequestTimedOut of another"),
        (Poll((Timer.FETCH,)), "poll, fetch"),
        (Poll((), 3), "poll, discovery"),
        (ResponseReceived(1, FetchResponse(2, 1)), "FetchResponse, late"),
        (ResponseReceived(1, FetchResponse(3, 1)), "FetchResponse newer, late"),
    ],
)
def test_an_event_is_compared_with_the_state(event: Poll, words: str) -> None:
    follower = parse_replica("follower id=2 epoch=2 leader=1 fetched")
    found = pairs.pairs(follower, Disk(), event, step(KAFKA, follower, event))
    assert f"Follower, leader another: {words}" in found


def test_the_part_of_a_snapshot_is_a_field() -> None:
    follower = parse_replica("follower id=2 epoch=2 leader=1 fetched")
    role = Follower((), fetching_snapshot=PartialSnapshot(SnapshotId(5, 2), 60))
    assert "Follower, loading nothing" in pairs.local_state(follower)
    assert "Follower, loading a part" in pairs.local_state(Replica(ReplicaKey(1), follower.voters, role=role))


def test_only_the_part_of_a_sequence_that_covers_something_new_is_kept() -> None:
    start, polls = Start(), (Poll((Timer.ELECTION,)), Poll(), Poll(), Poll())
    (first,) = covering([sequence(start, *polls)])
    # Only the last poll repeats what the one before it does.
    assert first.stimuli == (start, *polls[:3])
    found = covering([sequence(start), sequence(start, *polls), sequence(start)])
    assert [each.stimuli for each in found] == [(start,), (start, *polls[:3])]
    assert not list(covering([sequence(start, *polls)], pairs.of_sequence(first)))


def test_the_same_seed_gives_the_same_sequences_and_another_one_others() -> None:
    one, again, other = (list(random_sequences(KAFKA, seed, 3, 20)) for seed in (0, 0, 1))
    assert one == again
    assert [each.stimuli for each in one] != [each.stimuli for each in other]


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["kafka-3.9", "kafka-4.0", "kafka-trunk"])
def test_a_follower_fetches_until_it_reports_its_own_entry(preset: str) -> None:
    """After several fetch timeouts there: the fetch timer of one that does not fetch expires before."""
    sent = (
        effect.request
        for each in random_sequences(PRESETS[preset], 0, LONG_COUNT, LONG_LENGTH)
        for question in Asking(each).questions()
        for effect in (question.outcome.effects if question.outcome is not None else ())
        if isinstance(effect, Send)
    )
    assert any(isinstance(request, UpdateRaftVoterRequest) for request in sent)


@pytest.mark.slow
def test_they_come_to_every_role_with_time_outs_parts_of_snapshots_and_several_truncations() -> None:
    timed_out, truncations, loading = set(), Counter[str](), 0
    for each in random_sequences(KAFKA, 0, 300, 60):
        for question in Asking(each).questions():
            if isinstance(question.event, RequestTimedOut) and question.before is not None:
                timed_out.add(role_name(question.before.role))
            if question.outcome is not None:
                truncations[each.name] += sum(isinstance(e, Truncate) for e in question.outcome.effects)
            role = None if question.before is None else question.before.role
            loading += isinstance(role, Follower) and role.fetching_snapshot is not None
    assert timed_out == {"Unattached", "Prospective", "Candidate", "Leader", "Follower", "Resigned"}
    assert sum(count > 1 for count in truncations.values()) > 10
    assert loading > 100


@pytest.mark.slow
@pytest.mark.parametrize("protocol", [KAFKA, KIP996, PRESETS["kip853"]], ids=["kafka", "kip996", "kip853"])
def test_the_reference_agrees_with_itself(protocol: Protocol) -> None:
    session = Session(InProcess(ReferenceAdapter()))
    for each in random_sequences(protocol, 0, 30, 60):
        driven = session.drive(each)
        assert driven.failed is None, (each.name, driven.failed)
        assert driven.steps > 40
