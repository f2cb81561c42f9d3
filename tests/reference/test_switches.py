"""Every value of every switch (``docs/designs.md``): one step that it makes another one than production's."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import pytest

from kraftcheck.reference.frozen import field_types
from kraftcheck.reference.protocol import KAFKA, Protocol
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.step import Outcome
from kraftcheck.reference.transitions import role_name
from kraftcheck.systems.kraft.switches import SWITCHES
from kraftcheck.systems.kraft.text import describe_effect
from tests.reference.asking import ask

LEADER = "leader id=1 voters=1,2,3 epoch=5 log=2@2,1@3,2@5"
KEYED = "leader id=1/A voters=1/A,2/B,3/C kraft=1 epoch=5 log=2@2,1@5 hw=3"
FOLLOWER = "follower id=1 voters=1,2,3 epoch=5 leader=3 log=2@3"
PROSPECTIVE = "prospective id=1 voters=1,2,3 epoch=5 log=2@3"
BEFORE_PRE_VOTES = {"state-machine": "pre996", "check-quorum": False}


@dataclass(frozen=True)
class Case:
    """``replica`` is asked ``events``, of which the last one counts: ``usual`` is a part of one outcome only,
    ``switched`` of the other only. ``besides``: the switches that both have.
    """

    switch: str
    value: object
    replica: str
    events: str
    usual: str
    switched: str
    besides: tuple[str, ...] = ()


CASES = [
    Case("state-machine", "pre996", FOLLOWER, "poll expired=fetch", "Prospective 5", "Candidate 6"),
    Case("check-quorum", False, LEADER, "poll expired=check-quorum", "Resigned 5", "Leader 5"),
    Case(
        "follower-pre-vote", "never", FOLLOWER, "vote-request from=2 epoch=5 last=2@3 pre-vote",
        "vote-response epoch=5 leader=3 granted", "vote-response epoch=5 leader=3;",
    ),
    Case(
        "follower-pre-vote", "by-log", f"{FOLLOWER} fetched", "vote-request from=2 epoch=5 last=2@3 pre-vote",
        "vote-response epoch=5 leader=3;", "vote-response epoch=5 leader=3 granted",
    ),
    Case(
        "follower-vote", "refuses-while-fetching", f"{FOLLOWER} fetched",
        "vote-request from=2 epoch=6 last=2@3",
        "Unattached 6", "Follower 5", ("state-machine",),
    ),
    Case(
        "pre-vote-compatibility", "response-flag", PROSPECTIVE, "vote-response from=2 pre-vote=no",
        "Prospective 5", "Candidate 6",
    ),
    Case(
        "candidate-loss", "exp-backoff", "candidate id=1 voters=1,2,3 epoch=5 rejected=2",
        "vote-response from=3",
        "nothing", "arm timer election: random exponential election back-off",
    ),
    Case(
        "prospective-timer", "fresh-timer", PROSPECTIVE, "poll expired=election",
        "election: what is left", "election: election timeout",
    ),
    Case(
        "prospective-leader", "any", f"{PROSPECTIVE} leader=3", "vote-response from=2 leader=3",
        "Prospective 5", "Follower 5",
    ),
    Case(
        "prospective-leader", "announced", PROSPECTIVE, "vote-response from=2 leader=3",
        "Follower 5", "Prospective 5",
    ),
    Case(
        "receiver-key-check", "before-epoch", "follower id=1/A epoch=5 leader=3 log=2@3",
        "vote-request from=2 epoch=6 last=2@3 to=1/B",
        "epoch=6 error=INVALID_VOTER_KEY", "epoch=5 leader=3 error=INVALID_VOTER_KEY",
    ),
    Case(
        "begin-quorum-epoch-resend", "all-voters", LEADER,
        "fetch-request from=2 offset=5 last-epoch=5 now=4900 | poll expired=begin-quorum-epoch now=5000",
        "Leader 5: send to 3", "Leader 5: send to 2",
    ),
    Case(
        "voter-membership", "on", "follower id=1 voters=1,3 epoch=5 leader=3",
        "vote-request from=2 epoch=6 last=2@3",
        "granted", "INCONSISTENT_VOTER_SET",
    ),
    Case(
        "caught-up", "beyond-end", LEADER,
        "fetch-request from=2 offset=5 last-epoch=5 now=100 | describe-quorum-request from=-1 now=100",
        "2:5:100:100", "2:5:100:-",
    ),
    Case(
        "quorum-description", "documents", LEADER, "describe-quorum-request from=-1 now=100",
        "1:5:100:100", "1:5:-:100",
    ),
    Case(
        "voter-changes", "alterquorum", f"{LEADER} hw=5", "alter-quorum-request from=-1 target=1,2",
        "UNSUPPORTED_VERSION", "nothing",
    ),
    Case(
        "voter-keys", "composite", KEYED, "add-raft-voter-request from=-1 voter=3/X",
        "DUPLICATE_VOTER", "send to 3: api-versions-request",
    ),
    Case(
        "discovery", "findquorum", "unattached id=1 voters=2,3 epoch=5", "poll discovery=2",
        "send to 2: fetch-request", "send to 2: find-quorum-request",
    ),
    Case(
        "divergence-answer", "offset-out-of-range", LEADER, "fetch-request from=2 offset=4 last-epoch=4",
        "fetch-response epoch=5 leader=1 diverging=3@3", "error=OFFSET_OUT_OF_RANGE diverging=3@3",
    ),
    Case(
        "hand-over", "broadcast-jitter", FOLLOWER, "end-quorum-epoch-request from=3 epoch=5 successors=2,1",
        "the back-off of successor 2 of 2", "random, at most the election jitter",
    ),
    Case(
        "hand-over", "single-successor", f"{LEADER} progress=2:4,3:5 resign-requested", "poll | poll",
        "send to 2", "Resigned 5: send to 3",
    ),
    Case(
        "zombie-leader", "findquorum", LEADER, "poll expired=check-quorum",
        "nothing", "send to 2: find-quorum-request", ("state-machine", "check-quorum"),
    ),
    Case(
        "zombie-leader", "new-election", LEADER, "poll expired=check-quorum",
        "Leader 5", "Candidate 6", ("state-machine", "check-quorum"),
    ),
    Case(
        "cluster-id", "required", f"{FOLLOWER} cluster=ours", "vote-request from=2 epoch=6 last=9@5",
        "granted", "INCONSISTENT_CLUSTER_ID",
    ),
]  # fmt: skip


def shown(outcome: Outcome) -> str:
    """Role and epoch after a step, and its effects."""
    replica = outcome.replica
    effects = "; ".join(" ".join(describe_effect(effect)) for effect in outcome.effects)
    return f"{role_name(replica.role)} {replica.epoch}: {effects or 'nothing'};"


def last(case: Case, switches: dict[str, object]) -> str:
    protocol = SWITCHES.protocol("kafka", switches, "test")
    replica: str | Replica = case.replica
    for event in case.events.split(" | "):
        outcome = ask(replica, event, protocol)
        replica = outcome.replica
    return shown(outcome)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.switch}={case.value}")
def test_what_a_switch_changes(case: Case) -> None:
    besides = {name: BEFORE_PRE_VOTES[name] for name in case.besides}
    usual, switched = last(case, besides), last(case, {**besides, case.switch: case.value})
    assert case.usual in usual
    assert case.usual not in switched
    assert case.switched in switched
    assert case.switched not in usual


def test_no_value_is_forgotten() -> None:
    at_start = {("candidate-restart", "without-leader")}  # tests/reference/test_startup.py
    known = {(case.switch, case.value) for case in CASES} | at_start
    values = set()
    for field in field_types(Protocol):
        usual, name = getattr(KAFKA, field), field.replace("_", "-")
        if isinstance(usual, bool):
            values.add((name, not usual))
        elif isinstance(usual, Enum):
            values |= {(name, value.value) for value in type(usual) if value is not usual}
    assert known == values
