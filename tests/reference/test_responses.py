"""What every response is put through first, whatever its API; and requests that time out."""

from __future__ import annotations

import pytest

from kraftcheck.reference.effects import ForgetRequests
from kraftcheck.reference.protocol import KAFKA, KIP996, Protocol
from kraftcheck.reference.replica import Connection, QuorumState
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.systems.kraft.text import parse_replica
from tests.reference.asking import ask, role

# Each API's response, to a state that sends its request, in epoch 5.
APIS = {
    "vote-response": "candidate id=1 epoch=5 voted=none".replace(" voted=none", ""),
    "begin-quorum-epoch-response": "leader id=1 epoch=5 log=1@5",
    "end-quorum-epoch-response": "resigned id=1 epoch=5",
    "fetch-response": "follower id=1 epoch=5 leader=2",
}
ALL = pytest.mark.parametrize("api", sorted(APIS))


def backing_off(api: str, words: str) -> bool:
    outcome = ask(APIS[api], f"{api} from=2 {words}")
    assert outcome.fatal is None
    return outcome.replica.connections == (Connection(2, False),)


@ALL
def test_an_answer_that_is_not_awaited_is_dropped(api: str) -> None:
    replica = parse_replica(f"{APIS[api]} awaiting=2:7")
    for words in ("from=2 correlation=6 epoch=9", "from=2 epoch=9"):
        outcome = ask(replica, f"{api} {words}")
        assert outcome.replica == replica
        assert outcome.effects == ()
    assert ask(replica, f"{api} from=2 correlation=7 epoch=9").replica.epoch == 9


@ALL
@pytest.mark.parametrize("error", ["BROKER_NOT_AVAILABLE", "INCONSISTENT_CLUSTER_ID", "UNKNOWN_SERVER_ERROR"])
def test_top_level_errors_back_off(api: str, error: str) -> None:
    assert backing_off(api, f"epoch=9 top-error={error}")


@ALL
def test_a_refused_authorization_kills(api: str) -> None:
    assert ask(APIS[api], f"{api} from=2 top-error=CLUSTER_AUTHORIZATION_FAILED").fatal is not None


@ALL
@pytest.mark.parametrize(
    "words", ["epoch=4", "epoch=4 error=INVALID_REQUEST", "epoch=9 error=UNKNOWN_LEADER_EPOCH"]
)
def test_old_news_is_ignored(api: str, words: str) -> None:
    before = parse_replica(APIS[api])
    outcome = ask(before, f"{api} from=2 {words}")
    assert outcome.replica == before
    assert outcome.effects == ()


@ALL
@pytest.mark.parametrize(
    "error", ["NONE", "FENCED_LEADER_EPOCH", "NOT_LEADER_OR_FOLLOWER", "INVALID_REQUEST"]
)
def test_a_larger_epoch_is_adopted(api: str, error: str) -> None:
    alone = ask(APIS[api], f"{api} from=2 epoch=9 leader=none error={error}")
    assert (role(alone), alone.replica.quorum_state) == ("Unattached", QuorumState(9))
    named = ask(APIS[api], f"{api} from=2 epoch=9 leader=3 error={error}")
    assert (role(named), named.replica.quorum_state) == ("Follower", QuorumState(9, 3))


@ALL
def test_endpoints_that_are_missing_come_from_the_voter_set(api: str) -> None:
    found = ask(APIS[api], f"{api} from=2 epoch=9 leader=3 endpoints=none")
    assert found.replica.leader_endpoints == found.replica.voters.endpoints(3)
    assert ask(APIS[api], f"{api} from=2 epoch=9 leader=9 endpoints=none").fatal is not None


@ALL
def test_a_leader_that_this_replica_is_not_kills(api: str) -> None:
    assert ask(APIS[api], f"{api} from=2 epoch=9 leader=1").fatal is not None


@ALL
def test_errors_of_the_same_epoch(api: str) -> None:
    leader = {"fetch-response": "leader=2"}.get(api, "leader=none")
    assert backing_off(api, f"{leader} error=BROKER_NOT_AVAILABLE")
    assert backing_off(api, f"{leader} error=UNKNOWN_SERVER_ERROR")
    assert ask(APIS[api], f"{api} from=2 {leader} error=INVALID_REQUEST").fatal is not None
    before = parse_replica(APIS[api])
    assert ask(before, f"{api} from=2 {leader} error=INVALID_VOTER_KEY").replica == before


def test_a_leader_that_was_not_known_is_followed_and_the_answer_goes_on() -> None:
    outcome = ask("unattached id=1 epoch=5 voted=3", "fetch-response from=2 leader=2 records=0:1@5 hw=1")
    assert role(outcome) == "Follower"
    assert outcome.replica.quorum_state == QuorumState(5, 2, ReplicaKey(3))
    assert outcome.replica.log.end_offset == 1
    assert outcome.replica.high_watermark == 1
    refused = ask("unattached id=1 epoch=5", "fetch-response from=2 leader=3 error=NOT_LEADER_OR_FOLLOWER")
    assert role(refused) == "Follower"
    assert refused.replica.log.end_offset == 0


@pytest.mark.parametrize(("protocol", "becomes"), [(KAFKA, "Prospective"), (KIP996, "Follower")])
def test_a_prospective_and_a_leader_it_knows(protocol: Protocol, becomes: str) -> None:
    replica = "prospective id=1 epoch=5 leader=3 voters=1,2,3,4,5"
    pre_vote = "pre-vote=yes" if protocol is KIP996 else ""
    assert role(ask(replica, f"vote-response from=2 leader=3 {pre_vote}", protocol)) == becomes


def test_time_outs_make_a_node_ready_again() -> None:
    replica = parse_replica("candidate id=1 epoch=5 awaiting=2 backoff=3")
    outcome = ask(replica, "timeout node=2")
    assert outcome.replica.connections == (Connection(3, False),)
    assert outcome.effects == (ForgetRequests(2),)
    assert ask(outcome.replica, "backoff-expired node=3").replica.connections == ()
