"""BeginQuorumEpoch and EndQuorumEpoch: announcing a leader, and handing over."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.reference.effects import SuccessorBackoff
from kraftcheck.reference.end_quorum_epoch import successor_backoff_ms
from kraftcheck.reference.protocol import BeginQuorumEpochResend, Protocol
from tests.reference.asking import Case, check, table

APIS = ("begin-quorum-epoch", "end-quorum-epoch")
ANY = ("unattached", "prospective", "candidate", "leader", "follower leader=3", "resigned")
LEADER = "leader id=1 epoch=5 log=1@5"
FOLLOWER = "follower id=1/A leader=2 epoch=5 fetched"
RESIGNED = "resigned id=1 epoch=5 successors=3,2"
ALL_VOTERS = Protocol(begin_quorum_epoch_resend=BeginQuorumEpochResend.ALL_VOTERS)
FETCH_AT_1000 = "fetch-request from=2 offset=1 last-epoch=5 now=1000"
FIRST, SECOND = "no time at all, as the first successor", "the back-off of successor 2 of 2"
LAST = "the back-off of a replica that is not among the successors"

CASES = [
    *(
        Case(f"{api} {words} is refused by a replica {state}", f"{state} id=1 epoch=5 cluster=own",
             f"{api}-request from=2 {words}", f"answer {error}; unchanged")
        for api in APIS
        for state in ANY
        for words, error in (
            ("epoch=4", "error=FENCED_LEADER_EPOCH"),
            ("epoch=9 cluster=other", "top-error=INCONSISTENT_CLUSTER_ID"),
            ("epoch=9 partition=other-0", "top-error=INVALID_REQUEST"),
        )
    ),
    *(
        Case(f"{api} of a larger epoch brings a new leader to a replica {state}", f"{state} id=1 epoch=5",
             f"{api}-request from=2 epoch=9",
             "Follower 9; leader=2; voted=none; answer epoch=9; answer leader=2")
        for api in APIS
        for state in ANY
    ),
    *(
        Case(f"{api} {words} ends the process of a replica {state}", f"{state} id=1 epoch=5",
             f"{api}-request {words}", "exits")
        for api in APIS
        for state, words in (
            ("follower leader=3", "from=2"),  # another leader of the same epoch
            ("leader", "from=2"),
            ("resigned", "from=2"),
            ("unattached", "from=1"),  # this replica, which does not lead
            ("unattached", "from=1 epoch=9"),
            ("unattached", "from=9 endpoints=none"),  # a leader that cannot be reached
            ("leader", "from=9 epoch=9 endpoints=none"),
        )
    ),
    *(
        Case(f"{api} of a negative leader is invalid", "unattached id=1", f"{api}-request from=-1",
             "answer error=INVALID_REQUEST")
        for api in APIS
    ),
    Case("a wrong addressee follows and returns an error", "unattached id=1/A epoch=5",
         "begin-quorum-epoch-request from=2 to=1/B", "Follower 5; answer error=INVALID_VOTER_KEY"),
    Case("a follower does not restart its timer", FOLLOWER, "begin-quorum-epoch-request from=2",
         "unchanged; no arm timer"),
    # Announcing.
    Case("voters that have not fetched receive it again", LEADER, "poll expired=begin-quorum-epoch",
         "send to 2: begin-quorum-epoch-request from=1 epoch=5 to=2$;"
         " send to 3: begin-quorum-epoch-request from=1 epoch=5 to=3$;"
         " only arm timer begin-quorum-epoch: half the fetch timeout"),
    Case("one request at a time", f"{LEADER} awaiting=2", "poll expired=begin-quorum-epoch",
         "only send to 3"),
    *(
        Case(f"a voter that fetched at 1000 at {now}{' by the documents' if protocol is ALL_VOTERS else ''}",
             LEADER, f"{FETCH_AT_1000} | poll expired=begin-quorum-epoch now={now}",
             "send to 2; send to 3" if receives or protocol is ALL_VOTERS else "only send to 3", protocol)
        for now, receives in ((1999, False), (2000, True), (5000, True))
        for protocol in (Protocol(), ALL_VOTERS)
    ),
    Case("an acknowledgement is noted", LEADER, "begin-quorum-epoch-response from=2",
         "progress=1:1 2:? 3:? (silent)"),
    Case("an acknowledgement of a replica that is no voter", LEADER, "begin-quorum-epoch-response from=9",
         "exits"),
    *(
        Case(f"an acknowledgement changes nothing of a replica {state}", f"{state} id=1 epoch=5",
             "begin-quorum-epoch-response from=2", "nothing")
        for state in ("unattached", "follower leader=3", "resigned")
    ),
    # Handing over. The follower has fetched, and goes on rejecting pre-votes.
    *(
        Case(f"the rank among the successors {successors}", FOLLOWER,
             f"end-quorum-epoch-request from=2 successors={successors}",
             f"only arm timer fetch: {back_off}; unchanged; no answer error")
        for successors, back_off in (
            ("1,3", FIRST), ("3,1", SECOND), ("3", LAST), ("none", FIRST), ("3/C,1/A", SECOND),
            ("3/C,1/B", LAST),
        )
    ),
    Case("an unattached replica follows and becomes candidate at once", "unattached leader=2 id=1 epoch=5",
         "end-quorum-epoch-request from=2 endpoints=CONTROLLER://n:1",
         f"Follower 5; arm timer fetch: {FIRST}"),
    Case("a prospective goes on", "prospective leader=2 id=1 epoch=5",
         "end-quorum-epoch-request from=2 endpoints=CONTROLLER://n:1", "Prospective 5; no arm timer"),
    Case("a replica that did not know the leader follows it first", "unattached id=1 epoch=5",
         "end-quorum-epoch-request from=2 successors=3,1", f"Follower 5; arm timer fetch: {SECOND}"),
    Case("a resigned leader names its successors to all voters", RESIGNED, "poll",
         "send to 2: end-quorum-epoch-request from=1 epoch=5 successors=3,2$; send to 3"),
    Case("a voter that has answered receives nothing more", RESIGNED,
         "end-quorum-epoch-response from=2 | poll", "Resigned 5; unacknowledged=3; only send to 3"),
    *(
        Case(f"an acknowledgement of the end ends the process of a {state}", f"{state} epoch=5",
             f"end-quorum-epoch-response from={source}", "exits")
        for state, source in (
            ("leader id=1", 2), ("follower id=1 leader=3", 2), ("unattached id=1", 2), ("resigned id=1", 9),
        )
    ),
]  # fmt: skip


@table(CASES)
def test_quorum_epoch(case: Case) -> None:
    check(case)


@pytest.mark.parametrize(
    ("count", "delays"),
    # Positions 1 to 4 of a list of five, with the default maximum: doubled from rank to rank.
    [(5, [0, 62, 124, 248, 496, 1000]), (2, [0, 500, 1000]), (1, [0, 1000])],
)
def test_back_off_numbers(count: int, delays: list[int]) -> None:
    assert [successor_backoff_ms(SuccessorBackoff(p, count), 1000) for p in range(count + 1)] == delays


@given(st.integers(1, 30), st.integers(0, 100_000))
def test_back_off_grows_with_the_rank_and_has_a_limit(count: int, max_ms: int) -> None:
    delays = [successor_backoff_ms(SuccessorBackoff(p, count), max_ms) for p in range(count + 1)]
    assert delays == sorted(delays)
    assert delays[0] == 0
    assert delays[-1] == max_ms
