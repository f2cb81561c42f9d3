"""Every value of every switch (``docs/designs.md``): one step that it makes another one than production's."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

import pytest

from kraftcheck.reference.frozen import field_types
from kraftcheck.reference.protocol import KAFKA, Protocol
from kraftcheck.systems.kraft.switches import SWITCHES
from kraftcheck.systems.kraft.text import parse_replica
from tests.reference.asking import after, ask, is_true, pieces

LEADER = "leader id=1 voters=1,2,3 epoch=5 log=2@2,1@3,2@5"
KEYED = "leader id=1/A voters=1/A,2/B,3/C kraft=1 epoch=5 log=2@2,1@5 hw=3"
FOLLOWER = "follower id=1 voters=1,2,3 epoch=5 leader=3 log=2@3"
PROSPECTIVE = "prospective id=1 voters=1,2,3 epoch=5 log=2@3"
PRE_996 = {"state-machine": "pre996"}
BEFORE_PRE_VOTES = {"state-machine": "pre996", "check-quorum": False}


class Case(NamedTuple):
    """A replica takes events, of which the last one counts: an item (see :func:`is_true`) is true of the
    usual outcome alone, another one of the outcome with the switch alone. ``besides``: switches of both.
    """

    switch: str
    value: object
    replica: str
    events: str
    usual: str
    switched: str
    besides: Mapping[str, object] = {}


CASES = [
    Case("state-machine", "pre996", FOLLOWER, "poll expired=fetch", "Prospective 5", "Candidate 6"),
    Case("check-quorum", False, LEADER, "poll expired=check-quorum", "Resigned 5", "Leader 5"),
    Case("follower-pre-vote", "never", FOLLOWER, "vote-request from=2 epoch=5 last=2@3 pre-vote",
         "answer granted", "no answer granted"),
    Case("follower-pre-vote", "by-log", f"{FOLLOWER} fetched",
         "vote-request from=2 epoch=5 last=2@3 pre-vote", "no answer granted", "answer granted"),
    Case("follower-vote", "refuses-while-fetching", f"{FOLLOWER} fetched",
         "vote-request from=2 epoch=6 last=2@3", "Unattached 6", "Follower 5", PRE_996),
    Case("pre-vote-compatibility", "response-flag", PROSPECTIVE, "vote-response from=2 pre-vote=no",
         "Prospective 5", "Candidate 6"),
    Case("candidate-loss", "exp-backoff", "candidate id=1 voters=1,2,3 epoch=5 rejected=2",
         "vote-response from=3", "nothing", "arm timer election: random exponential election back-off"),
    Case("prospective-timer", "fresh-timer", PROSPECTIVE, "poll expired=election",
         "arm timer election: what is left", "arm timer election: election timeout"),
    Case("prospective-leader", "any", f"{PROSPECTIVE} leader=3", "vote-response from=2 leader=3",
         "Prospective 5", "Follower 5"),
    Case("prospective-leader", "announced", PROSPECTIVE, "vote-response from=2 leader=3",
         "Follower 5", "Prospective 5"),
    Case("receiver-key-check", "before-epoch", "follower id=1/A epoch=5 leader=3 log=2@3",
         "vote-request from=2 epoch=6 last=2@3 to=1/B", "answer epoch=6", "answer epoch=5"),
    Case("begin-quorum-epoch-resend", "all-voters", LEADER,
         "fetch-request from=2 offset=5 last-epoch=5 now=4900 | poll expired=begin-quorum-epoch now=5000",
         "no send to 2", "send to 2"),
    Case("voter-membership", "on", "follower id=1 voters=1,3 epoch=5 leader=3",
         "vote-request from=2 epoch=6 last=2@3", "answer granted", "answer error=INCONSISTENT_VOTER_SET"),
    Case("caught-up", "beyond-end", LEADER,
         "fetch-request from=2 offset=5 last-epoch=5 now=100 | describe-quorum-request from=-1 now=100",
         "answer voters=1:5:100:100,2:5:100:100,3:-:-:-", "answer voters=1:5:100:100,2:5:100:-,3:-:-:-"),
    Case("quorum-description", "documents", LEADER, "describe-quorum-request from=-1 now=100",
         "answer voters=1:5:100:100,2:-:-:-,3:-:-:-", "answer voters=1:5:-:100,2:-:-:-,3:-:-:-"),
    Case("voter-changes", "alterquorum", f"{LEADER} hw=5", "alter-quorum-request from=-1 target=1,2",
         "answer error=UNSUPPORTED_VERSION", "nothing"),
    Case("voter-keys", "composite", KEYED, "add-raft-voter-request from=-1 voter=3/X",
         "answer error=DUPLICATE_VOTER", "send to 3: api-versions-request"),
    Case("automatic-rejoin", "refused", "leader id=1/A voters=1/A,2/B kraft=1 epoch=5 log=2@2,1@5 hw=3",
         "remove-raft-voter-request from=-1 voter=2/B | poll | "
         "add-raft-voter-request from=2 voter=2/B ack-when-appended",
         "send to 2: api-versions-request", "answer error=DUPLICATE_VOTER"),
    Case("discovery", "findquorum", "unattached id=1 voters=2,3 epoch=5", "poll discovery=2",
         "send to 2: fetch-request", "send to 2: find-quorum-request"),
    Case("divergence-answer", "offset-out-of-range", LEADER, "fetch-request from=2 offset=4 last-epoch=4",
         "no answer error", "answer error=OFFSET_OUT_OF_RANGE"),
    Case("hand-over", "broadcast-jitter", FOLLOWER, "end-quorum-epoch-request from=3 epoch=5 successors=2,1",
         "arm timer fetch: the back-off of successor 2 of 2",
         "arm timer fetch: random, at most the election jitter"),
    Case("hand-over", "single-successor", f"{LEADER} progress=2:4,3:5 resign-requested", "poll | poll",
         "send to 2", "only send to 3"),
    Case("zombie-leader", "findquorum", LEADER, "poll expired=check-quorum",
         "nothing", "send to 2: find-quorum-request", BEFORE_PRE_VOTES),
    Case("zombie-leader", "new-election", LEADER, "poll expired=check-quorum",
         "Leader 5", "Candidate 6", BEFORE_PRE_VOTES),
    Case("cluster-id", "required", f"{FOLLOWER} cluster=ours", "vote-request from=2 epoch=6 last=9@5",
         "answer granted", "answer top-error=INCONSISTENT_CLUSTER_ID"),
    Case("candidate-restart", "without-leader", "follower id=1/A epoch=4 leader=2 voted=1/A", "start",
         "Candidate 4", "Follower 4"),
    Case("control-records", "read-again", "follower id=1/A voters=1/A,3/C kraft=1 epoch=5 leader=3 log=4@3",
         "fetch-response from=3 diverging=2@3", "control records read to=4", "no control records read to"),
    Case("history-trim", "before-end",
         "leader id=1/A voters=1/A,2/B,3/C kraft=1 max-kraft=1 epoch=5 log=3@5 hw=3 progress=2:3,3:3",
         "remove-raft-voter-request from=-1 voter=3/C | poll | create-snapshot at=3@5",
         "earlier voter sets=forgotten", "no earlier voter sets"),
    Case("candidate-loss", "separate-backoff", "candidate id=1 voters=1,2,3 epoch=5 rejected=2",
         "vote-response from=3", "nothing", "waits for the next election=yes"),
    Case("vote-memory", "until-leader", "unattached id=1 voters=1,2,3 epoch=5 voted=2",
         "begin-quorum-epoch-request from=2 epoch=5", "voted=2", "voted=none"),
    Case("only-voter-restart", "exits", "candidate id=1/A voters=1/A epoch=5", "start",
         "no exits", "exits"),
    Case("fetch-high-watermark", "not-reported", f"{LEADER} hw=5",
         "fetch-request from=2 offset=5 last-epoch=5 hw=4", "answer", "parked=2:5"),
    Case("observer-after-fetch-timeout", "bootstrap-only", "follower id=4 voters=1,2,3 epoch=5 leader=3",
         "poll expired=fetch discovery=2", "send to 3: fetch-request", "send to 2: fetch-request"),
    Case("update-voter", "appended", "follower id=1/A voters=1,2,3 epoch=5 leader=3 max-kraft=1",
         "poll expired=update-voter", "send to 3: update-raft-voter-request", "send to 3: fetch-request"),
    Case("update-voter", "probed", KEYED,
         "update-raft-voter-request from=2/B endpoints=CONTROLLER://elsewhere:1",
         "answer leader=1", "send to 2: api-versions-request"),
    Case("fetch-snapshot-error", "read-as-data", FOLLOWER,
         "fetch-response from=3 snapshot=9@5 | "
         "fetch-snapshot-response from=3 snapshot=0@0 error=POSITION_OUT_OF_RANGE",
         "backing off=3", "exits"),
    Case("snapshot-boundary", "any-offset", LEADER,
         "append 7,8 epoch=5 | poll expired=linger | fetch-request from=2 offset=7 last-epoch=5 | "
         "create-snapshot at=6@5", "refused", "snapshots=6@5"),
    Case("flush-before-counting", True, "leader id=1 voters=1 epoch=5 log=2@5 pending=7",
         "poll expired=linger",
         "commit < flush", "flush < commit"),
    Case("flush-at-start", True, FOLLOWER, "start", "no flush", "flush"),
    Case("hand-over-before-removal", True, KEYED, "remove-raft-voter-request from=-1 voter=1/A",
         "no answer", "answer error=NOT_LEADER_OR_FOLLOWER"),
    Case("ignore-removed-voters", True, LEADER, "begin-quorum-epoch-response from=4 leader=1", "exits",
         "nothing"),
    Case("follow-known-leader", True, "unattached id=4 voters=1,2,3 epoch=5 leader=3",
         "fetch-response from=3 leader=3", "exits", "Follower 5"),
    Case("adopt-epoch-without-endpoints", True, FOLLOWER,
         "fetch-response from=2 epoch=6 leader=7 endpoints=none",
         "exits", "Unattached 6"),
    Case("take-other-endpoints", True, FOLLOWER,
         "begin-quorum-epoch-request from=3 epoch=5 endpoints=CONTROLLER://elsewhere:1",
         "unchanged", "leader endpoints=CONTROLLER://elsewhere:1"),
    Case("ignore-lost-leadership", True, "unattached id=1 voters=1,2,3",
         "fetch-response from=2 epoch=5 leader=1",
         "exits", "backing off=2"),
    Case("removed-leader-resigns", True, "leader id=1/A voters=2/B kraft=1 epoch=5 log=2@5 hw=1 progress=2:1",
         "fetch-request from=2/B offset=2 last-epoch=5", "resign requested=none", "resign requested=yes"),
    Case("successor-skips-pre-vote", True, FOLLOWER, "end-quorum-epoch-request from=3 epoch=5 successors=1,2",
         "Follower 5", "Candidate 6"),
    Case("forget-removed-contacts", True, f"{LEADER} contacts=4",
         "fetch-request from=5 offset=5 last-epoch=5", "arm timer check-quorum", "no arm timer check-quorum"),
    Case("count-fetch-once", True, "leader id=1 voters=1,2,3,4 epoch=5 log=2@5 hw=1 progress=2:1,3:1,4:1",
         "fetch-request from=2 offset=2 last-epoch=5 hw=1 | fetch-request from=3 offset=2 last-epoch=5 hw=1",
         "contacts=2", "contacts=none"),
]  # fmt: skip


def last(case: Case, switches: Mapping[str, object]) -> list[str]:
    """The outcome of the last event, in pieces."""
    protocol = SWITCHES.protocol("kafka", switches, "test")
    *first, event = case.events.split(" | ")
    before = after(parse_replica(case.replica), " | ".join(first), protocol)
    return pieces(before, ask(before, event, protocol))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.switch}={case.value}")
def test_what_a_switch_changes(case: Case) -> None:
    usual, switched = last(case, case.besides), last(case, {**case.besides, case.switch: case.value})
    assert [is_true(case.usual, found) for found in (usual, switched)] == [True, False]
    assert [is_true(case.switched, found) for found in (usual, switched)] == [False, True]


def test_with_other_endpoints_a_prospective_returns_to_the_leader_that_it_knows() -> None:
    prospective = parse_replica(f"{PROSPECTIVE} leader=3")
    for switches in ({}, {"take-other-endpoints": True}):
        protocol = SWITCHES.protocol("kafka", switches, "test")
        assert is_true("Follower 5", pieces(prospective, ask(prospective, "poll expired=election", protocol)))


def test_no_value_is_forgotten() -> None:
    known = {(case.switch, case.value) for case in CASES}
    values = set()
    for field in field_types(Protocol):
        usual, name = getattr(KAFKA, field), field.replace("_", "-")
        if isinstance(usual, bool):
            values.add((name, not usual))
        elif isinstance(usual, Enum):
            values |= {(name, value.value) for value in type(usual) if value is not usual}
    assert known == values
