"""AlterQuorum of KIP-595: its errors in order, its steps, and what others learn from assignments."""

from __future__ import annotations

from functools import partial

from kraftcheck.reference.effects import HighWatermark
from kraftcheck.reference.events import ResponseReceived
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Batch, LeaderChange, VoterAssignment, log_of
from kraftcheck.reference.messages import FetchResponse
from kraftcheck.reference.protocol import KAFKA, KIP595
from kraftcheck.reference.replica import QuorumState, Replica
from kraftcheck.reference.step import Outcome
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.systems.kraft.text import parse_replica
from tests.reference.asking import Case, after, ask, check, role, table

kip595 = partial(Case, protocol=KIP595)


def fetch(replica: int, end: int) -> str:
    """The replica fetches from ``end`` on, and does not wait."""
    return f"fetch-request from={replica} offset={end} last-epoch=1 max-wait=0 now=1"


def fetched(end: int, *replicas: int) -> str:
    """The replicas fetch from ``end`` on, and the leader polls."""
    return " | ".join([*(fetch(each, end) for each in replicas), "poll"])


def assigned(at: int, assignment: str) -> str:
    return f"append at offset {at}, epoch 1: VoterAssignment({assignment})"


ALTER = "alter-quorum-request from=-1 target"
#: Its first record is committed.
LEADER = "leader id=1 epoch=1 log=1@1 hw=1 progress=2:1,3:1"
#: Replicas 4, 5 and 6 have everything.
WITH_OBSERVERS = after(LEADER, fetched(1, 4, 5, 6), KIP595)
ALL = (2, 3, 4, 5, 6)
DONE = "reply to -1: alter-quorum-response; no answer error"

CASES = [
    # Errors, in the order of the checks.
    kip595("Kafka does not know it", LEADER, f"{ALTER}=1,2", "answer error=UNSUPPORTED_VERSION",
           protocol=KAFKA),
    kip595("nor do voter sets in the log", f"{LEADER} kraft=1", f"{ALTER}=1,2",
           "answer error=UNSUPPORTED_VERSION"),
    *(
        kip595(f"the cluster id comes first {cluster}", "unattached id=1 cluster=ours", f"{ALTER}=9{cluster}",
             f"answer error={error}")
        for cluster, error in (
            ("", "INCONSISTENT_CLUSTER_ID"), (" cluster=other", "INCONSISTENT_CLUSTER_ID"),
            (" cluster=ours", "NOT_LEADER_OR_FOLLOWER"),
        )
    ),
    kip595("only the leader serves it", "unattached id=1", f"{ALTER}=1",
         "answer error=NOT_LEADER_OR_FOLLOWER; ALTER-2"),
    kip595("which does not shut down", LEADER, f"shutdown | {ALTER}=1,2",
           "answer error=NOT_LEADER_OR_FOLLOWER"),
    *(
        kip595(f"the target {target} is invalid", LEADER, f"{ALTER}={target}",
             "answer error=INVALID_REQUEST; ALTER-1")
        for target in ("1,1", "-2,1", "[]")
    ),
    kip595("voters that never fetched are unknown", LEADER, f"""
        {ALTER}=1,2,4 => answer error=VOTER_NOT_FOUND; ALTER-3
        {fetched(1, 4)}
        {ALTER}=1,2,4 => no reply
    """),
    # Targets.
    *(
        kip595(f"the current voters are a target that is reached: {target}", LEADER, f"{ALTER}={target}",
             f"{DONE}; ALTER-4; no alterations")
        for target in ("3,2,1", "none")
    ),
    kip595("success waits for the commit of the target", LEADER, f"""
        {ALTER}=1,2     => no reply; alterations=1,2 (waits)
        poll            => {assigned(1, "1,2,3 -> 1,2")}; no reply; voters=1,2,3
        {fetch(2, 2)}   => {DONE}; no alterations
        poll            => {assigned(2, "1,2 -> 1,2")}; voters=1,2,3
    """),
    kip595("the same target again waits for the same commit", LEADER, f"""
        {ALTER}=1,2 | poll
        {ALTER}=2,1     => no reply; alterations=1,2 (appended at 1) 1,2 (waits)
        {fetch(2, 2)}   => {DONE}; alterations=1,2 (waits)
        poll            => {DONE}; no alterations; {assigned(2, "1,2 -> 1,2")}
    """),
    kip595("nothing is appended before a record of the epoch is committed", "leader id=1 epoch=1", f"""
        {ALTER}=1,2
        poll            => append at offset 0, epoch 1: LeaderChange(1); no {assigned(1, "1,2,3 -> 1,2")}
        {fetched(1, 2)} => {assigned(1, "1,2,3 -> 1,2")}
    """),
    kip595("clients that wait receive an error when the leader is gone", LEADER,
         f"{ALTER}=1,2 | poll | shutdown | poll", "answer error=NOT_LEADER_OR_FOLLOWER"),
    # Steps.
    kip595("all voters are replaced one at a time", WITH_OBSERVERS, f"""
        {ALTER}=4,5,6        => no reply
        poll                 => {assigned(1, "1,2,3 -> 4,5,6")}
        {fetched(2, *ALL)}   => {assigned(2, "1,2,3,4 -> 4,5,6")}
        {fetched(3, *ALL)}   => {assigned(3, "1,2,3,4,5 -> 4,5,6")}
        {fetched(4, *ALL)}   => {assigned(4, "1,2,3,4,5,6 -> 4,5,6")}
        {fetched(5, *ALL)}   => {assigned(5, "1,3,4,5,6 -> 4,5,6")}
        {fetched(6, *ALL)}   => {assigned(6, "1,4,5,6 -> 4,5,6")}
        {fetched(7, *ALL)}   => {assigned(7, "4,5,6 -> 4,5,6")}
        {fetched(8, *ALL)}   => Resigned 1; unacknowledged=4,5,6
    """),
    # A replica that has failed must go while the others can commit its removal.
    *(
        kip595(f"the voter that lags most is removed first: silent {silent or 'none'}", LEADER,
             f"{ALTER}=1 | poll | {fetched(2, *({2, 3} - {silent}))}", assigned(2, f"{left} -> 1"))
        for silent, left in ((2, "1,3"), (3, "1,2"), (0, "1,3"))
    ),
    kip595("a missing voter is added once it has caught up", LEADER, f"""
        fetch-request from=4 max-wait=0 now=1
        {ALTER}=1,2,4      => no reply
        poll               => {assigned(1, "1,2,3 -> 1,2,4")}
        {fetched(2, 2, 3)} => no append
        {fetched(2, 2, 3)} => no append
        {fetched(2, 4)}    => {assigned(2, "1,2,3,4 -> 1,2,4")}
    """),
    kip595("a voter counts from the commit on", WITH_OBSERVERS, f"""
        {ALTER}=1,2,3,4 | poll
        {fetched(2, 2)}    => {assigned(2, "1,2,3,4 -> 1,2,3,4")}; voters=1,2,3
        {fetched(3, 4)}    => voters=1,2,3
        {fetched(3, 3)}    => voters=1,2,3,4; {assigned(3, "1,2,3,4")}
    """),
    kip595("null cancels and keeps the voters of the moment", WITH_OBSERVERS, f"""
        {ALTER}=4,5 | poll
        {fetched(2, *ALL)} => {assigned(2, "1,2,3,4 -> 4,5")}
        {ALTER}=none       => no reply; ALTER-7
        {fetched(3, *ALL)} => {assigned(3, "1,2,3,4")}
        {fetch(2, 4)}      => alterations=cancel (appended at 3)
        {fetch(3, 4)}      => {DONE}; no alterations; voters=1,2,3,4
    """),
    kip595("the old voters as target go back", WITH_OBSERVERS, f"""
        {ALTER}=4,5,6 | poll
        {fetched(2, *ALL)} | {fetched(3, *ALL)}
        {ALTER}=1,2,3      => no reply
        {fetched(4, *ALL)} => {assigned(4, "1,2,3,4,5 -> 1,2,3")}
        {fetch(2, 5)}      => no reply to -1
        {fetch(3, 5)}      => {DONE}
        poll               => {assigned(5, "1,2,3,5 -> 1,2,3")}
        {fetched(6, *ALL)} => {assigned(6, "1,2,3 -> 1,2,3")}
        {fetched(7, *ALL)} => {assigned(7, "1,2,3")}; voters=1,2,3
    """),
    kip595("an answer of a voter removed meanwhile counts for nothing", LEADER, f"""
        {ALTER}=1,2 | poll expired=begin-quorum-epoch
        {fetched(2, 2)}
        {fetched(3, 2)} => voters=1,2
        begin-quorum-epoch-response from=3 leader=1 => ALTER-10
    """),
    kip595("no snapshot stands for assignments", LEADER,
         f"{ALTER}=1,2 | poll | {fetched(2, 2, 3)} | create-snapshot at=1@1", "refused"),
]  # fmt: skip


@table(CASES)
def test_alter_quorum(case: Case) -> None:
    check(case)


# What others learn.

OPENING = Batch(0, 1, (LeaderChange(1, (1, 2, 3), (1, 2)),))
ADDED = Batch(1, 1, (VoterAssignment((1, 2, 3, 4), (1, 2, 3, 4)),))
FINAL = Batch(2, 1, (VoterAssignment((1, 2, 3, 4)),))


def follower(number: int, *batches: Batch) -> Replica:
    return replace(parse_replica(f"follower id={number} epoch=1 leader=1"), log=log_of((OPENING, *batches)))


def fetches(replica: Replica, high_watermark: int | None, *batches: Batch) -> Outcome:
    return ask(replica, ResponseReceived(1, FetchResponse(1, 1, high_watermark, batches)), KIP595)


def test_an_observer_is_a_voter_once_it_knows_the_commit() -> None:
    observer = fetches(follower(4), 1, ADDED).replica
    assert not observer.is_voter
    outcome = fetches(observer, 2)
    assert outcome.replica.is_voter
    assert "ALTER-16" in outcome.rules
    assert isinstance(outcome.effects[0], HighWatermark)


def test_a_later_assignment_shows_that_the_one_before_is_committed() -> None:
    observer = fetches(follower(4), None, ADDED, FINAL).replica
    assert observer.is_voter
    assert observer.assignment_offset == 1
    assert ask(observer, "start", KIP595).replica.is_voter


def test_a_removed_voter_is_an_observer() -> None:
    removed = fetches(follower(3), 2, Batch(1, 1, (VoterAssignment((1, 2), (1, 2)),))).replica
    assert not removed.is_voter
    assert role(ask(removed, "poll expired=fetch", KIP595)) == "Follower"


def test_the_removed_leader_is_still_listened_to() -> None:
    remaining = fetches(follower(2), 2, Batch(1, 1, (VoterAssignment((2, 3), (2, 3)),))).replica
    end = "end-quorum-epoch-request from="
    check(kip595("of the leader", remaining, f"{end}1", "ALTER-15; END-8"))
    check(kip595("of another", remaining, f"{end}4", "answer error=INCONSISTENT_VOTER_SET"))


def test_a_candidate_that_lost_its_membership_starts_unattached() -> None:
    candidate = replace(follower(4, ADDED), quorum_state=QuorumState(2, None, ReplicaKey(4)))
    check(kip595("restart", candidate, "start", "Unattached 2; voted=4; no exits"))


def test_the_next_leader_ends_what_the_removed_one_began() -> None:
    opening = Batch(0, 1, (LeaderChange(4, (1, 2, 3, 4), (1, 2, 3)),))
    log = log_of((opening, ADDED, Batch(2, 1, (VoterAssignment((1, 2, 3), (1, 2, 3)),))))
    fetch = "offset=4 last-epoch=2 max-wait=0"
    check(kip595("led by 4 before", replace(parse_replica("follower id=1 leader=4"), log=log), f"""
        start               => voters=1,2,3,4
        poll expired=fetch  => Candidate 2
        vote-response from=2 granted | vote-response from=3 granted
        poll
        fetch-request from=2 {fetch} | fetch-request from=3 {fetch}
        poll                => voters=1,2,3; append at offset 4, epoch 2: VoterAssignment(1,2,3)
                            => ALTER-14
    """))  # fmt: skip
