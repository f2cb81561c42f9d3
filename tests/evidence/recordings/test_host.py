"""The process around the reference: when a leader notices that a request to a voter has timed out."""

from __future__ import annotations

import pytest

from kraftcheck.evidence.recordings.host import Host
from kraftcheck.reference.config import Times
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import ForgetRequests, Send
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.protocol import PRESETS
from kraftcheck.reference.replica import Connection, Replica
from kraftcheck.reference.voters import ReplicaKey, static_voters
from kraftcheck.systems.kraft.text import parse_event
from tests.reference.asking import after

#: A leader whose first three records are committed, the voter set among them.
LEADER = after(
    "leader id=1/A voters=1/A,2/B,3/C kraft=1 epoch=1",
    "poll | fetch-request from=2/B offset=3 last-epoch=1 max-wait=0"
    " | fetch-request from=3/C offset=3 last-epoch=1 max-wait=0",
)
CHANGING = after(LEADER, "remove-raft-voter-request from=-1 voter=3/C")
ADD = "add-raft-voter-request from=-1 voter=4/D"
UPDATE = "update-raft-voter-request from=2/B endpoints=CONTROLLER://elsewhere:1"


@pytest.mark.parametrize(
    ("preset", "leader", "request_", "voter", "notices"),
    [
        ("kafka-4.3", LEADER, ADD, 4, True),
        ("kafka-4.3", CHANGING, ADD, 4, False),
        ("kafka-4.3", LEADER, UPDATE, 2, False),
        ("kafka-trunk", LEADER, UPDATE, 2, True),
        ("kafka-trunk", CHANGING, UPDATE, 2, False),
    ],
)
def test_a_time_out_is_noticed_by_a_request_that_passes_every_check_before_the_probe(
    preset: str, leader: Replica, request_: str, voter: int, notices: bool
) -> None:
    """A late answer to the earlier request is dropped from then on, and taken before."""
    times = Times()
    host = Host(PRESETS[preset], times, {}, Replica(ReplicaKey(1, "A"), static_voters((1,))), Disk(), 0)
    host.replica = replace(leader, connections=(Connection(voter, True, 7),), next_correlation=8)
    host.clock.connect(host.replica, 0)
    host.begin()
    host.feed(parse_event(request_, host.replica), times.request_timeout)
    assert any(isinstance(effect, ForgetRequests) for effect in host.effects) == notices
    assert [effect.to for effect in host.effects if isinstance(effect, Send)] == [voter] * notices
    (connection,) = host.replica.connections
    assert connection.correlation == (8 if notices else 7)
