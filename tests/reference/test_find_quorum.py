"""What KIP-595 had and later documents gave up: FindQuorum, its errors, its hand-over, its stale leaders."""

from __future__ import annotations

import pytest

from kraftcheck.reference.frozen import replace
from kraftcheck.reference.protocol import KAFKA, KIP595, KIP853, ZombieLeader
from kraftcheck.reference.voters import VoterSet
from kraftcheck.systems.kraft.text import parse_replica
from kraftcheck.systems.switches import choices
from tests.reference.asking import Case, check, table

LEADER = "leader id=1 epoch=5 log=2@4,2@5"
FOLLOWER = "follower id=2 epoch=5 leader=1 log=2@4,2@5"
DIVERGED = "follower id=2 epoch=5 leader=1 log=2@3,3@4"
UNATTACHED = "unattached id=1 epoch=5"
SILENT = replace(KIP595, zombie_leader=ZombieLeader.NONE)


def test_what_the_presets_choose() -> None:
    assert choices(KIP595) == choices(KAFKA) | {
        "V-SM": "pre996",
        "V-RECONF": "alterquorum",
        "V-DISC": "findquorum",
        "V-DIV": "offset-out-of-range",
        "V-END": "broadcast-jitter",
        "V-ZOMBIE": "findquorum",
        "V-MEMBER": "on",
        "V-CLUSTER": "required",
        "V-CLOSS": "exp-backoff",
        "V-RESTART": "without-leader",
        "V-REREAD": "read-again",
        "V-TRIM": "before-end",
        "V-DESCRIBE": "documents",
    }
    assert choices(KIP853) == choices(KAFKA) | {
        "V-SM": "pre996",
        "V-KEY": "composite",
        "V-CLOSS": "exp-backoff",
        "V-BEGIN": "all-voters",
        "V-RESTART": "without-leader",
        "V-REREAD": "read-again",
        "V-TRIM": "before-end",
        "V-CAUGHTUP": "beyond-end",
        "V-DESCRIBE": "documents",
    }


CASES = [
    # The answer.
    *(
        Case(f"the request is unknown to others {number}", LEADER, "find-quorum-request from=4",
             "answer epoch=5; answer top-error=UNSUPPORTED_VERSION; no answer leader", protocol)
        for number, protocol in enumerate((KAFKA, KIP853))
    ),
    *(
        Case(f"the leader that it knows is reported by {state}", state, "find-quorum-request from=4",
             f"answer epoch=5; {leader}; answer voters=1,2,3; no answer endpoints; unchanged; FINDQ-2",
             KIP595)
        for leader, states in (
            ("answer leader=1", (LEADER, FOLLOWER, "resigned epoch=5")),
            ("no answer leader", ("unattached epoch=5", "candidate epoch=5")),
        )
        for state in states
    ),
    # The sender.
    Case("a replica that knows no leader asks", UNATTACHED, "poll discovery=2",
         "send to 2: find-quorum-request; FINDQ-1", KIP595),
    Case("a replica that cannot reach the leader asks another", f"{FOLLOWER} backoff=1", "poll discovery=3",
         "send to 3: find-quorum-request; FINDQ-4", KIP595),
    *(
        Case(f"an answer {answer}", UNATTACHED, f"find-quorum-response from=2 {answer}", after, KIP595)
        for answer, after in (
            ("leader=3 epoch=5", "Follower 5"),
            ("leader=3 epoch=6", "Follower 6"),
            ("epoch=6", "Unattached 6"),
            ("leader=3 epoch=4", "Unattached 5"),
            ("epoch=5 leader=3 top-error=UNSUPPORTED_VERSION", "Unattached 5"),
            ("epoch=5", "Unattached 5; backing off=2; FINDQ-5"),
            ("error=INVALID_VOTER_KEY", "no exits"),
            ("error=VOTER_NOT_FOUND", "awaiting=none; backing off=2"),
        )
    ),
    Case("a replica that knows its voters does not learn them", "unattached id=2 epoch=0 voters=1,2",
         "find-quorum-response from=1 voters=3", "voters=1,2", KIP595),
    # A leader from which no majority fetches.
    Case("it asks and remains leader", LEADER, "poll expired=check-quorum",
         "Leader 5; send to 2: find-quorum-request; send to 3: find-quorum-request; ZOMBIE-2;"
         " only arm timer check-quorum: 1.5 times the fetch timeout", KIP595),
    Case("an answer ends a stale leader", LEADER, "find-quorum-response from=2 epoch=7 leader=3",
         "Follower 7; leader=3; CHECKQ-6", KIP595),
    Case("an answer that it leads changes nothing", LEADER, "find-quorum-response from=2 epoch=5 leader=1",
         "Leader 5", KIP595),
    Case("fetches of a majority postpone the question", LEADER, "fetch-request from=2 offset=4 last-epoch=5",
         "only arm timer check-quorum: 1.5 times the fetch timeout", KIP595),
    Case("an only voter does not ask", "leader id=1 voters=1 epoch=5 log=2@5", "poll expired=check-quorum",
         "no send", KIP595),
    Case("a leader does not ask without the rule", LEADER, "poll expired=check-quorum", "no send", SILENT),
    Case("with check-quorum it resigns", LEADER, "poll expired=check-quorum", "Resigned 5",
         replace(KIP595, check_quorum=True)),
    # Divergence as an error.
    Case("a divergence is an error with a position", LEADER, "fetch-request from=2 offset=5 last-epoch=4",
         "answer error=OFFSET_OUT_OF_RANGE; answer diverging=2@4; FETCH-10; no FETCH-9", KIP595),
    Case("or a position alone", LEADER, "fetch-request from=2 offset=5 last-epoch=4",
         "no answer error; answer diverging=2@4"),
    Case("the fetcher truncates by offset and epoch", DIVERGED,
         "fetch-response from=1 error=OFFSET_OUT_OF_RANGE diverging=3@3",
         "only truncate to offset 2; only arm timer fetch: fetch timeout", KIP595),
    *(
        Case(f"the error alone means a back-off {number}", DIVERGED, f"fetch-response from=1 {event}",
             "no truncate; awaiting=none; backing off=1", protocol)
        for number, protocol, event in (
            (1, KAFKA, "error=OFFSET_OUT_OF_RANGE diverging=3@3"), (2, KIP595, "error=OFFSET_OUT_OF_RANGE"),
        )
    ),
    # The hand-over.
    Case("followers wait a random time", FOLLOWER, "end-quorum-epoch-request from=1 successors=2,3",
         "only arm timer fetch: random, at most the election jitter; END-8; no END-7", KIP595),
    Case("a broadcast names no successors", "resigned id=1 epoch=5", "poll",
         "send to 2: end-quorum-epoch-request from=1 epoch=5$; send to 3: end-quorum-epoch-request", KIP595),
    # The cluster id.
    *(
        Case(f"cluster id {number}", f"unattached id=1 epoch=5{own}",
             f"vote-request from=2 epoch=6 last=4@5 {cluster}", then, protocol)
        for number, (protocol, own, cluster, then) in enumerate((
            (KIP595, " cluster=ours", "", "answer top-error=INCONSISTENT_CLUSTER_ID"),
            (KIP595, " cluster=ours", "cluster=other", "answer top-error=INCONSISTENT_CLUSTER_ID"),
            (KIP595, " cluster=ours", "cluster=ours", "no answer top-error"),
            (KAFKA, " cluster=ours", "", "no answer top-error"),
            (KIP595, "", "", "no answer top-error"),
            (KIP595, "", "cluster=other", "no answer top-error"),
        ))
    ),
]  # fmt: skip


@table(CASES)
def test_find_quorum(case: Case) -> None:
    check(case)


@pytest.mark.parametrize(("own", "then"), [(2, "arm timer election: election timeout"), (4, "no arm timer")])
def test_a_replica_without_voters_learns_them(own: int, then: str) -> None:
    replica = replace(parse_replica(f"unattached id={own} epoch=0"), bootstrap_voters=VoterSet())
    learned = "find-quorum-response from=1 epoch=0 voters=1,2,3"
    check(Case("it learns", replica, learned, f"voters=1,2,3; {then}; FINDQ-6", KIP595))
