"""Fetch: which answer a fetcher gets and when, and what a follower makes of it."""

from __future__ import annotations

from kraftcheck.reference.messages import FetchRequest
from kraftcheck.reference.protocol import KAFKA, Protocol
from kraftcheck.reference.voters import ReplicaKey
from tests.reference.asking import Case, ask, check, sent, table

# Epoch 5 began at offset 3 and has two records.
LEADER = "leader id=1 epoch=5 log=2@2,1@3,2@5"
KEYED = "leader id=1/A voters=1/A,2/A,3/A epoch=5 log=1@5"
FOLLOWER = "follower id=1 epoch=5 leader=3 log=2@2,2@4 hw=1"
AHEAD = "follower id=1 epoch=5 leader=3 log=2@2,2@4 hw=3"
CAUGHT_UP = f"{LEADER} hw=5 progress=2:5"
NOT_LEADER = "answer error=NOT_LEADER_OR_FOLLOWER"

CASES = [
    # The checks in their order.
    *(
        Case(f"a request with {words}", f"{LEADER} cluster=own", f"fetch-request from=2 {words}",
             f"answer {error}; answer epoch=5; unchanged")
        for words, error in (
            ("cluster=other epoch=9", "top-error=INCONSISTENT_CLUSTER_ID"),
            ("partition=other-0 epoch=9", "top-error=INVALID_REQUEST"),
            ("epoch=9 offset=-1", "error=INVALID_REQUEST"),
            ("epoch=9 last-epoch=-1", "error=INVALID_REQUEST"),
            ("epoch=9 max-wait=-1", "error=INVALID_REQUEST"),
            ("epoch=4 last-epoch=5", "error=INVALID_REQUEST"),
            ("epoch=4 last-epoch=3", "error=FENCED_LEADER_EPOCH"),
            ("epoch=6", "error=UNKNOWN_LEADER_EPOCH"),
        )
    ),
    *(
        Case(f"{state} does not serve", f"{state} id=1 epoch=5", "fetch-request from=2",
             f"{NOT_LEADER}; {leader}")
        for state, leader in (
            ("unattached", "no answer leader"), ("prospective", "no answer leader"),
            ("candidate", "no answer leader"), ("follower leader=3", "answer leader=3"),
            ("resigned", "answer leader=1"),
        )
    ),
    Case("a leader that shuts down serves no more", f"{LEADER} shutting-down", "fetch-request from=2",
         "answer error=BROKER_NOT_AVAILABLE"),
    *(
        Case(f"replica {fetcher} may fetch", LEADER, f"fetch-request from={fetcher}",
             "answer records=0:2@2,1@3,2@5")
        for fetcher in (2, 9, -1)
    ),
    Case("the leader may not", LEADER, "fetch-request from=1", "answer error=UNKNOWN_SERVER_ERROR"),
    *(
        Case(f"{fetcher} is no voter and does not count", KEYED,
             f"fetch-request from={fetcher} offset=1 last-epoch=5",
             "progress=1:1 2:? (silent) 3:? (silent); contacts=none; high watermark=none")
        for fetcher in ("9", "-1", "2/B")
    ),
    # Fetches that wait.
    *(
        Case(f"a fetch {words} waits", f"{LEADER} {hw}", f"fetch-request from=9 {words}",
             "no reply; parked=9:5")
        for words, hw in (
            ("offset=5 last-epoch=5", "hw=none"),
            ("offset=5 last-epoch=5 hw=4", "hw=4 progress=2:4,3:4"),
            ("offset=5 last-epoch=5 hw=9223372036854775807", "hw=4 progress=2:4,3:4"),
        )
    ),
    *(
        Case(f"a fetch {words} does not wait", f"{LEADER} {hw}", f"fetch-request from=9 {words}",
             "reply to 9; parked=none")
        for words, hw in (
            ("offset=5 last-epoch=5 max-wait=0", "hw=none"),
            ("offset=4 last-epoch=5", "hw=none"),
            ("offset=9 last-epoch=5", "hw=none"),
            ("offset=5 last-epoch=5 hw=3", "hw=4 progress=2:4,3:4"),
            ("offset=5 last-epoch=4", "hw=none"),
        )
    ),
    Case("a waiting fetch is answered when records are appended", f"{CAUGHT_UP} pending=7",
         "fetch-request from=2 offset=5 last-epoch=5 hw=5 correlation=8 | poll expired=linger",
         "answer records=5:1@5; parked=none; append < reply < flush"),
    Case("a waiting fetch is answered when the high watermark moves", LEADER,
         "fetch-request from=9 offset=5 last-epoch=5 | fetch-request from=2 offset=5 last-epoch=5",
         "high watermark=5; reply to 9: fetch-response epoch=5 leader=1 hw=5;"
         " reply to 2: fetch-response epoch=5 leader=1 hw=5; reply to 9 < reply to 2"),
    Case("an expired wait ends once", CAUGHT_UP,
         "fetch-request from=2 offset=5 last-epoch=5 hw=5 | append 7 | fetch-wait-expired from=3", "nothing"),
    *(
        Case(f"waiting fetches end with the leadership by {event}", f"{LEADER} parked=3:5", event,
             f"{NOT_LEADER}; parked=none")
        for event in ("vote-response from=2 epoch=9 leader=2", "poll expired=check-quorum")
    ),
    # The fetcher.
    Case("one fetch at a time", "follower id=1 epoch=5 leader=3 awaiting=2", "poll", "no send"),
    Case("without a leader it asks the given node", "unattached id=1 epoch=5", "poll discovery=2",
         "only send to 2"),
    Case("without a leader and a node it asks none", "unattached id=1 epoch=5", "poll", "no send"),
    Case("it does not ask during the back-off", "unattached id=1 epoch=5 backoff=2", "poll discovery=2",
         "no send"),
    Case("it asks another than the leader that it backs off from",
         "follower id=1 epoch=5 leader=3 backoff=3", "poll discovery=2", "only send to 2"),
    Case("an observer whose fetch timer expired still fetches", "follower id=7 epoch=5 leader=3",
         "poll expired=fetch discovery=2", "Follower 5; send"),
    # The follower.
    Case("records are appended and flushed", FOLLOWER, "fetch-response from=3 records=4:2@5 hw=5",
         "end offset=6; high watermark=5; append at offset 4; append at offset 5;"
         " append at offset 4 < append at offset 5 < flush < commit;"
         " only arm timer fetch: fetch timeout; has fetched=yes"),
    *(
        Case(f"{identity} {'flushes' if flushes else 'does not flush'}",
             f"follower {identity} epoch=5 leader=3", "fetch-response from=3 records=0:1@5",
             "flush" if flushes else "no flush")
        for identity, flushes in (
            ("id=1", True), ("id=7", True), ("id=7 broker", False), ("id=1 broker", True)
        )
    ),
    Case("the high watermark goes no further than the log", FOLLOWER, "fetch-response from=3 hw=9",
         "high watermark=4"),
    Case("an answer without a high watermark keeps it", FOLLOWER, "fetch-response from=3",
         "high watermark=1"),
    Case("the same high watermark is not committed again", FOLLOWER, "fetch-response from=3 hw=1",
         "no commit"),
    Case("a smaller high watermark ends the process", FOLLOWER, "fetch-response from=3 hw=0", "exits"),
    Case("batches of a larger epoch are left out", FOLLOWER, "fetch-response from=3 records=4:1@5,1@6",
         "end offset=5"),
    Case("offsets may be left out", FOLLOWER, "fetch-response from=3 records=5:1@5 hw=5",
         "end offset=6; high watermark=5; append at offset 5 < flush < commit"),
    Case("a batch before the end of the log ends the process", FOLLOWER,
         "fetch-response from=3 records=3:1@5", "exits; no append"),
    # The high watermark is learned only from an answer that appends.
    Case("truncation", FOLLOWER, "fetch-response from=3 diverging=3@4 hw=3",
         "only truncate to offset 3; end offset=3; high watermark=1; only arm timer fetch: fetch timeout;"
         " has fetched=yes"),
    *(
        Case(f"truncation below the high watermark ends the process: {diverging}", AHEAD,
             f"fetch-response from=3 diverging={diverging}", "exits")
        for diverging in ("0@2", "1@3")
    ),
    *(
        Case(f"an answer of the epoch ends the process of a {state}", f"{state} id=1 epoch=5",
             "fetch-response from=3", "exits")
        for state in ("candidate", "leader log=1@5", "resigned", "prospective", "unattached")
    ),
    Case("an error with another leader", FOLLOWER,
         "fetch-response from=3 error=FENCED_LEADER_EPOCH epoch=6 leader=2", "leader=2"),
    Case("an error of the leader", FOLLOWER, "fetch-response from=3 error=BROKER_NOT_AVAILABLE",
         "awaiting=none; backing off=3"),
    # Positions: the records from there on, or where the logs diverge.
    *(
        Case(f"records after {words}", LEADER, f"fetch-request from=2 {words} max-wait=0",
             f"{records}; no answer diverging; progress=1:5 2:{end} 3:? (silent)")
        for words, records, end in (
            ("offset=0 last-epoch=0", "answer records=0:2@2,1@3,2@5$", 0),
            ("offset=0 last-epoch=4", "answer records=0:2@2,1@3,2@5$", 0),
            ("offset=1 last-epoch=2", "answer records=1:1@2,1@3,2@5$", 1),
            ("offset=2 last-epoch=2", "answer records=2:1@3,2@5$", 2),
            ("offset=3 last-epoch=3", "answer records=3:2@5$", 3),
            ("offset=5 last-epoch=5", "no answer records", 5),
        )
    ),
    # There is no credit for a log that has diverged. The id of the fetcher is looked at where the fetch is
    # recorded, which only a valid one is (FETCH-18): also the leader's own id is answered so.
    *(
        Case(f"replica {fetcher} diverges after {words}", LEADER,
             f"fetch-request from={fetcher} {words} max-wait=0",
             f"answer diverging={diverging}$; no answer error; no answer records; no arm timer;"
             " contacts=none; progress=1:5 2:? (silent) 3:? (silent)")
        for fetcher in (1, 2)
        for words, diverging in (
            ("offset=3 last-epoch=2", "2@2"), ("offset=4 last-epoch=4", "3@3"),
            ("offset=3 last-epoch=1", "0@1"),  # all epochs of the leader are larger
            ("offset=9 last-epoch=5", "5@5"),
        )
    ),
    Case("an answer has at most so many batches", LEADER, "fetch-request from=2", "answer records=0:2@2$",
         Protocol(fetch_max_batches=2)),
    Case("an expired wait gets the answer of the arrival", CAUGHT_UP,
         "fetch-request from=2 offset=5 last-epoch=5 hw=5 | append 7 | fetch-wait-expired from=2",
         "reply to 2: fetch-response epoch=5 leader=1 hw=5$; parked=none"),
]  # fmt: skip


@table(CASES)
def test_fetch(case: Case) -> None:
    check(case)


def test_a_request() -> None:
    request = sent(ask("follower id=1 epoch=5 leader=3 log=2@2,1@4 hw=2", "poll"))[3]
    assert request == FetchRequest(5, ReplicaKey(1), 3, 4, 2, KAFKA.fetch_max_wait_ms)
