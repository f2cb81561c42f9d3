"""What every response is put through first, whatever its API; and requests that time out."""

from __future__ import annotations

from kraftcheck.reference.protocol import KIP996
from tests.reference.asking import Case, check, table

# Each API's response, to a state that sends its request, in epoch 5.
APIS = {
    "vote-response": "candidate id=1 epoch=5",
    "begin-quorum-epoch-response": "leader id=1 epoch=5 log=1@5",
    "end-quorum-epoch-response": "resigned id=1 epoch=5",
    "fetch-response": "follower id=1 epoch=5 leader=2",
}
BACKS_OFF = "no exits; awaiting=none; backing off=2"
IGNORED = "unchanged; nothing"
STALE = "awaiting=none; otherwise unchanged; nothing"
#: By the words of a response what it leads to.
OF_ALL = {
    "epoch=9 top-error=BROKER_NOT_AVAILABLE": BACKS_OFF,
    "epoch=9 top-error=INCONSISTENT_CLUSTER_ID": BACKS_OFF,
    "epoch=9 top-error=UNKNOWN_SERVER_ERROR": BACKS_OFF,
    "top-error=CLUSTER_AUTHORIZATION_FAILED": "exits",
    # Answers that are stale.
    "epoch=4": STALE,
    "epoch=4 error=INVALID_REQUEST": STALE,
    "epoch=9 error=UNKNOWN_LEADER_EPOCH": STALE,
    # A larger epoch is adopted, whatever the error.
    **{
        f"epoch=9 leader={leader} error={error}": f"{role} 9; leader={leader}; voted=none"
        for error in ("NONE", "FENCED_LEADER_EPOCH", "NOT_LEADER_OR_FOLLOWER", "INVALID_REQUEST")
        for leader, role in (("none", "Unattached"), ("3", "Follower"))
    },
    # Endpoints that are missing come from the voter set.
    "epoch=9 leader=3 endpoints=none": "leader endpoints=CONTROLLER://node-3:9093",
    "epoch=9 leader=9 endpoints=none": "exits",
    "epoch=9 leader=1": "exits",  # this replica, which does not lead
}
#: The same for the epoch of the replica; of a fetch response also the leader is known.
OF_THE_EPOCH = {
    "error=BROKER_NOT_AVAILABLE": BACKS_OFF,
    "error=UNKNOWN_SERVER_ERROR": BACKS_OFF,
    "error=INVALID_REQUEST": "exits",
    "error=INVALID_VOTER_KEY": STALE,
}

CASES = [
    *(
        Case(f"{api} {words}", state, f"{api} from=2 {words}", then)
        for api, state in APIS.items()
        for words, then in OF_ALL.items()
    ),
    *(
        Case(f"{api} {words}", state,
             f"{api} from=2 leader={'2' if api == 'fetch-response' else 'none'} {words}", then)
        for api, state in APIS.items()
        for words, then in OF_THE_EPOCH.items()
    ),
    *(
        Case(f"{api} {words} is awaited: {then}", f"{state} awaiting=2:7",
             f"{api} from=2 {words} epoch=9", then)
        for api, state in APIS.items()
        for words, then in (("correlation=6", IGNORED), ("", IGNORED), ("correlation=7", "epoch=9"))
    ),
    Case("a leader that was not known is followed and the answer goes on", "unattached id=1 epoch=5 voted=3",
         "fetch-response from=2 leader=2 records=0:1@5 hw=1",
         "Follower 5; leader=2; voted=3; end offset=1; high watermark=1"),
    Case("a leader that an error names is followed", "unattached id=1 epoch=5",
         "fetch-response from=2 leader=3 error=NOT_LEADER_OR_FOLLOWER", "Follower 5; leader=3; end offset=0"),
    Case("a prospective and a leader that it knows", "prospective id=1 epoch=5 leader=3 voters=1,2,3,4,5",
         "vote-response from=2 leader=3", "Prospective 5"),
    Case("by the documents it follows", "prospective id=1 epoch=5 leader=3 voters=1,2,3,4,5",
         "vote-response from=2 leader=3 pre-vote=yes", "Follower 5", KIP996),
    Case("a request that timed out", "candidate id=1 epoch=5 awaiting=2 backoff=3", "timeout node=2",
         "awaiting=none; backing off=3; forget answers of node 2; no send; no persist"),
    Case("a back-off that is over", "candidate id=1 epoch=5 awaiting=2 backoff=3",
         "timeout node=2 | backoff-expired node=3", "awaiting=none; backing off=none"),
]  # fmt: skip


@table(CASES)
def test_response(case: Case) -> None:
    check(case)
