"""Adding, removing and updating voters, and the upgrade to voter sets in the log."""

from __future__ import annotations

from kraftcheck.reference.effects import ArmTimer
from kraftcheck.reference.events import Timer
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.messages import UpdateRaftVoterRequest, UpdateRaftVoterResponse
from kraftcheck.reference.protocol import KAFKA, KAFKA_TRUNK, KIP853
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.voters import Endpoint, ReplicaKey, Voter, VoterSet, static_voters
from kraftcheck.systems.kraft.text import parse_replica
from tests.reference.asking import Case, after, ask, check, response, sent, table


def fetch(key: str, offset: int = 3) -> str:
    """A replica fetches from ``offset`` on, and does not wait."""
    return f"fetch-request from={key} offset={offset} last-epoch=1 max-wait=0"


FETCHED_BY_BOTH = f"{fetch('2/B')} | {fetch('3/C')}"
#: A leader whose first three records are committed: LeaderChange, KRaftVersion and Voters.
LEADER = after("leader id=1/A voters=1/A,2/B,3/C kraft=1 epoch=1", f"poll | {FETCHED_BY_BOTH}")
WITH_OBSERVER = after(LEADER, fetch("4/D"))
NOT_COMMITTED = "leader id=1/A voters=1/A,2/B kraft=1 epoch=1"
ALONE = after("leader id=1/A voters=1/A kraft=1 epoch=1", "poll")
ADD, ADD_5 = (f"add-raft-voter-request from=-1 voter={key}" for key in ("4/D", "5/E"))
ADD_NEW_DISK = "add-raft-voter-request from=-1 voter=3/X"
REMOVE_1, REMOVE_2, REMOVE_3 = (
    f"remove-raft-voter-request from=-1 voter={key}" for key in ("1/A", "2/B", "3/C")
)
SUPPORTS = "api-versions-response from=4"
ADDED = f"{ADD} | {SUPPORTS}"
TIMED_OUT = "answer error=REQUEST_TIMED_OUT"
#: An update that names another endpoint than the voter had.
MOVED = "update-raft-voter-request from=2/B endpoints=CONTROLLER://elsewhere:1"
#: What the leader of Kafka's trunk waits for before it replaces the entry.
PROBED = "api-versions-response from=2"
FOLLOWER = "follower id=2/B voters=1/A,2/B,3/C kraft=1 epoch=1 leader=1"


def joining(voters: str) -> Replica:
    """Replica 2 with a new disk, which may make itself a voter."""
    observer = f"follower id=2/B voters={voters} kraft=1 epoch=1 leader=1 listens=CONTROLLER://node-2:9093"
    return replace(parse_replica(observer), auto_join=True)


#: The voters 1, 2 and 3, of which 3 votes on two disks.
TWO_DISKS = VoterSet(
    tuple(
        Voter(ReplicaKey(id, disk), static_voters([id]).endpoints(id))
        for id, disk in ((1, "A"), (2, "B"), (3, "C"), (3, "X"))
    )
)
CANDIDATE = replace(parse_replica("unattached id=1/A kraft=1 epoch=0"), bootstrap_voters=TWO_DISKS)
STATIC_1 = "leader id=1/A voters=1 max-kraft=1 epoch=1"
STATIC_2 = "leader id=1/A voters=1,2 max-kraft=1 epoch=1"

CASES = [
    # Adding.
    Case("an observer that has caught up becomes a voter", WITH_OBSERVER, f"""
        {ADD}              => no reply; only send to 4: api-versions-request; awaiting=4
        {SUPPORTS}         => voters=1/A,2/B,3/C
        poll               => voters=1/A,2/B,3/C,4/D; append at offset 3, epoch 1: Voters
        {fetch("2/B", 4)}  => high watermark=3
        {fetch("4/D", 4)}
            => reply to -1: add-raft-voter-response; no answer error; high watermark=4; voter change=none
    """),
    Case("nothing else may change meanwhile", WITH_OBSERVER, f"""
        {ADD}
        {ADD_5}                    => reply to -1: add-raft-voter-response error=REQUEST_TIMED_OUT
        {REMOVE_3}                 => reply to -1: remove-raft-voter-response error=REQUEST_TIMED_OUT
        poll expired=voter-change  => reply to -1: add-raft-voter-response error=REQUEST_TIMED_OUT
        {REMOVE_3}                 => no reply
    """),
    *(
        Case(f"a voter that {what} is not added", state, f"{ADD} | {answer}",
             f"reply to -1: add-raft-voter-response error={error}; voter change=none; pending=none")
        for what, state, answer, error in (
            ("does not answer", WITH_OBSERVER, f"{SUPPORTS} error=BROKER_NOT_AVAILABLE", "REQUEST_TIMED_OUT"),
            ("does not know kraft.version", WITH_OBSERVER, f"{SUPPORTS} kraft=none", "INVALID_REQUEST"),
            ("supports version 0 alone", WITH_OBSERVER, f"{SUPPORTS} kraft=0-0", "INVALID_REQUEST"),
            ("never caught up", LEADER, SUPPORTS, "REQUEST_TIMED_OUT"),
        )
    ),
    Case("a client that does not wait receives the answer at once", WITH_OBSERVER, f"""
        {ADD} ack-when-appended
        {SUPPORTS}         => reply to -1: add-raft-voter-response; no answer error
        {ADD_5}            => {TIMED_OUT}
        poll | {fetch("2/B", 4)}
        {fetch("3/C", 4)}  => only reply to 3; voter change=none
    """),
    # Removing.
    Case("what has been appended blocks the next change after its time is over", WITH_OBSERVER, f"""
        {REMOVE_3}
        poll                       => observers=3:3 4:3
        poll expired=voter-change
        {REMOVE_2}                 => reply to -1: remove-raft-voter-response error=REQUEST_TIMED_OUT
        {fetch("2/B", 4)}
        {REMOVE_2}                 => no reply
    """),
    Case("a leader that removes itself remains leader until that commits", LEADER, f"""
        {REMOVE_1}             => no reply
        poll                   => voters=2/B,3/C
        {fetch("2/B", 4)}      => high watermark=3
        {fetch("3/C", 4)}      => reply to -1: remove-raft-voter-response; resign requested=yes
        poll                   => Resigned 1; unacknowledged=2,3
        poll expired=election  => Unattached 2; voters=2/B,3/C
        poll expired=election  => Unattached 2
    """),
    Case("a client that waits receives an error when the leader resigns", LEADER,
         f"{REMOVE_3} | poll | poll expired=check-quorum",
         "reply to -1: remove-raft-voter-response error=NOT_LEADER_OR_FOLLOWER"),
    Case("an acknowledgement of a voter removed meanwhile ends the leader", LEADER,  # ensureValidVoter throws
         f"poll expired=begin-quorum-epoch | {REMOVE_3} | poll | begin-quorum-epoch-response from=3 leader=1",
         "exits"),
    Case("another directory is another replica", LEADER, f"""
        {REMOVE_3} | poll | {fetch("2/B", 4)} | {fetch("3/X", 4)}
        {ADD_NEW_DISK} | api-versions-response from=3
        poll               => voters=1/A,2/B,3/X
        {fetch("3/C", 5)}  => progress=1:5 2:4 3:4
    """),
    # Refusals.
    *(
        Case(f"{request} is refused: {error}", replace(WITH_OBSERVER, cluster_id="this"), request,
             f"answer error={error}; unchanged")
        for request, error in (
            ("add-raft-voter-request from=-1 voter=-1/x", "INVALID_REQUEST"),
            ("add-raft-voter-request from=-1 voter=3/C", "DUPLICATE_VOTER"),
            ("remove-raft-voter-request from=-1 voter=4/D", "VOTER_NOT_FOUND"),
        )
    ),
    Case("the last voter stays", ALONE, REMOVE_1, "answer error=VOTER_NOT_FOUND"),
    *(
        Case(f"before a record of the epoch has committed nothing changes {number}", NOT_COMMITTED,
             f"poll | {request}", TIMED_OUT)
        for number, request in enumerate((ADD, REMOVE_2))
    ),
    # Updating.
    Case("values before a voter set leave with it, those behind it wait", LEADER, f"""
        append 7                    => arm timer linger
        {MOVED}
        append 8                    => arm timer linger
        poll
            => append at offset 3, epoch 1: 7; append at offset 4, epoch 1: Voters; pending=8
        poll expired=linger         => only append at offset 5, epoch 1: 8; pending=none
    """),
    Case("a voter moves", LEADER, f"""
        {MOVED}
            => reply to 2: update-raft-voter-response epoch=1 leader=1; no answer error; \
voter change=none; no arm timer voter-change
        poll               => append at offset 3, epoch 1: Voters
        {fetch("2/B", 4)}
        update-raft-voter-request from=9/I                 => answer error=VOTER_NOT_FOUND
    """),
    Case("a voter whose entry is right sends no update", f"{FOLLOWER} max-kraft=0",
         "poll expired=update-voter", "only send to 1: fetch-request"),
    Case("a voter whose entry is wrong updates its leader instead of fetching",
         f"{FOLLOWER} listens=CONTROLLER://elsewhere:1", """
        poll expired=update-voter           => only send to 1: update-raft-voter-request
        update-raft-voter-response from=1 leader=1  => leader has updated=yes; has fetched=yes
    """),
    # Updating in Kafka's trunk, where the leader reaches the voter first.
    Case("the leader asks at the new endpoint, and the update is pending until it commits", LEADER, f"""
        {MOVED}            => no reply; only send to 2: api-versions-request; arm timer voter-change
        {REMOVE_3}         => {TIMED_OUT}
        {PROBED}           => reply to 2: update-raft-voter-response epoch=1 leader=1; pending=Voters
        poll               => append at offset 3, epoch 1: Voters
        {REMOVE_3}         => {TIMED_OUT}
        poll expired=voter-change  => voter change=none; no reply
    """, protocol=KAFKA_TRUNK),
    Case("an update whose record commits is over", LEADER, f"""
        {MOVED} | {PROBED} | poll | {fetch("2/B", 4)} | {fetch("3/C", 4)}  => voter change=none
        {REMOVE_3}                                                         => no reply
    """, protocol=KAFKA_TRUNK),
    *(
        Case(f"the probe of a moved voter: {answer}", LEADER, f"{MOVED} | {PROBED} {answer}",
             f"reply to 2: update-raft-voter-response; answer error={error}; pending=none; voter change=none",
             KAFKA_TRUNK)
        for answer, error in (
            ("error=REQUEST_TIMED_OUT", "REQUEST_TIMED_OUT"),
            ("kraft=0-2", "INVALID_REQUEST"),
            ("kraft=none", "INVALID_REQUEST"),
        )
    ),
    Case("an answer of another voter is not that of the probe", LEADER,
         f"{MOVED} | api-versions-response from=3", "no reply; pending=none", KAFKA_TRUNK),
    Case("a probe without an answer", LEADER, f"{MOVED} | poll expired=voter-change", TIMED_OUT, KAFKA_TRUNK),
    Case("a probe that outlives its leader", LEADER, f"{MOVED} | vote-request from=3 epoch=2 last=3@1",
         "reply to 2: update-raft-voter-response epoch=1 leader=1 error=NOT_LEADER_OR_FOLLOWER", KAFKA_TRUNK),
    Case("a static voter is reached, too, and its entry kept in memory", STATIC_2, f"""
        poll | {fetch("2/B", 1)}
        update-raft-voter-request from=2/B  => no reply; only send to 2: api-versions-request
        {PROBED}                            => reported entries=2/B; voter change=none; \
reply to 2: update-raft-voter-response
    """, protocol=KAFKA_TRUNK),
    # A replica that joins by itself.
    Case("a replica that joins by itself goes on fetching", joining("1/A,3/C"), """
        poll expired=update-voter           => only send to 1: add-raft-voter-request
        add-raft-voter-response from=1
        poll                                => only send to 1: fetch-request
    """),
    *(
        Case(f"with a new disk it {does}", joining("1/A,2/old,3/C"), "poll expired=update-voter",
             f"only send to 1: {request}", protocol)
        for does, request, protocol in (
            ("removes its old key first", "remove-raft-voter-request voter=2/old", KAFKA),
            ("adds itself where keys are composite", "add-raft-voter-request voter=2/B", KIP853),
        )
    ),
    # The upgrade from static voters to voters in the log.
    Case("a single voter upgrades", STATIC_1, f"""
        poll
        {REMOVE_1}                       => answer error=UNSUPPORTED_VERSION
        upgrade-kraft-version
        poll                             => append at offset 1, epoch 1: KRaftVersion Voters; voters=1/A
        upgrade-kraft-version            => unchanged
        upgrade-kraft-version version=0  => refused
    """),
    Case("an upgrade waits until every static voter has reported", STATIC_2, f"""
        poll | {fetch("2/B", 1)}
        upgrade-kraft-version               => refused
        update-raft-voter-request from=2/B  => voters=1,2; reported entries=2/B
        upgrade-kraft-version               => no refused
        update-raft-voter-request from=2/B  => answer error=REQUEST_TIMED_OUT
        poll                                => voters=1/A,2/B; progress=1:3 2:1
    """),
    # Composite keys (KIP-853 as written): one id on two disks.
    Case("a key may be added next to the old one of its id", LEADER, f"""
        {fetch("3/X")}
        add-raft-voter-request from=-1 voter=3/C  => answer error=DUPLICATE_VOTER
        {ADD_NEW_DISK}                            => no reply
        api-versions-response from=3
        poll                                      => voters=1/A,2/B,3/C,3/X
        {fetch("2/B", 4)} | {fetch("3/C", 4)}
        {REMOVE_3}                                => no reply
        poll                                      => voters=1/A,2/B,3/X
    """, protocol=KIP853),
    Case("Kafka refuses an id that votes on another disk", LEADER, f"{fetch('3/X')} | {ADD_NEW_DISK}",
         "answer error=DUPLICATE_VOTER"),
    Case("two votes of an id are one vote", CANDIDATE, f"""
        poll expired=election | poll
        vote-response from=3 granted  => Candidate 1
        vote-response from=2 granted  => Leader 1
        poll
        {fetch("3/X", 3)}             => progress=1:3 2:? (silent) 3:? (silent) 3:3
    """, protocol=KIP853),
]  # fmt: skip


@table(CASES)
def test_voter_changes(case: Case) -> None:
    check(case)


def test_the_entry_of_a_voter_that_moves() -> None:
    moved = after(LEADER, f"{MOVED} | poll")
    assert moved.voters.endpoints(2) == (Endpoint("CONTROLLER", "elsewhere", 1),)
    answer = response(ask(LEADER, MOVED))
    assert answer == UpdateRaftVoterResponse(1, 1, LEADER.endpoints)


def test_a_set_with_one_id_on_two_disks() -> None:
    assert TWO_DISKS.is_voter(ReplicaKey(3, "C"))
    assert TWO_DISKS.is_voter(ReplicaKey(3, "X"))
    assert not TWO_DISKS.is_voter(ReplicaKey(3, "Y"))
    assert TWO_DISKS.addressee(2) == ReplicaKey(2, "B")
    assert TWO_DISKS.addressee(3) is None
    changed = TWO_DISKS.with_entry(Voter(ReplicaKey(3, "X"), ()))
    assert changed.endpoints(3) == TWO_DISKS.voters[2].endpoints


def test_a_voter_that_does_not_support_the_finalized_version_reports_that() -> None:
    """Its range differs from its entry (UPDATE-1). A process of a release before KIP-853 reports nothing."""
    before = parse_replica(f"{FOLLOWER} fetched")
    listed = before.voters.with_entry(replace(before.own_entry, max_kraft_version=1))
    older = replace(before, bootstrap_voters=listed, max_kraft_version=0)
    (request,) = sent(ask(older, "poll expired=update-voter")).values()
    assert isinstance(request, UpdateRaftVoterRequest) and request.max_kraft_version == 0
    for version, reports in ((1, True), (0, False)):
        started = ask(replace(older, bootstrap_kraft_version=version), "start")
        armed = [each.timer for each in started.effects if isinstance(each, ArmTimer)]
        assert (Timer.UPDATE_VOTER in armed) == reports
