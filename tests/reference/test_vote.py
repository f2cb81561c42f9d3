"""Vote: which requests are granted in which state, how a request is checked, and how votes count."""

from __future__ import annotations

from kraftcheck.reference.protocol import FollowerPreVote, PreVoteCompatibility, Protocol, VoterMembership
from tests.reference.asking import Case, check, table

# The local log ends at offset 4 with a record of epoch 3.
LOG = "epoch=5 log=2@2,2@3"
BEHIND, SHORTER, EQUAL, LONGER, NEWER = "9@2", "3@3", "4@3", "5@3", "1@4"

# How a state decides a pre-vote and a standard vote of the same epoch. "log": by the log.
STATES = {
    "unattached id=1": ("log", "log"),
    "unattached id=1 voted=2": ("log", "yes"),
    "unattached id=1 voted=3": ("log", "no"),
    "unattached id=1 leader=3": ("log", "no"),
    "prospective id=1": ("log", "log"),
    "prospective id=1 voted=2": ("log", "yes"),
    "prospective id=1 voted=3": ("log", "no"),
    "prospective id=1 leader=3": ("log", "no"),
    "candidate id=1": ("log", "no"),
    "follower id=1 leader=3": ("log", "no"),
    "follower id=1 leader=3 fetched": ("no", "no"),
    "leader id=1": ("no", "no"),
    "resigned id=1": ("log", "no"),
}

MEMBERS_ONLY = Protocol(voter_membership=VoterMembership.ON)
DRAFT = Protocol(pre_vote_compatibility=PreVoteCompatibility.RESPONSE_FLAG)
GRANTED, REFUSED = "answer granted", "no answer granted"
OF_2 = f"vote-request from=2 last={EQUAL}"


def decided(how: str, last: str) -> str:
    """What an answer says: granted or not."""
    return GRANTED if how == "yes" or (how == "log" and last in (EQUAL, LONGER, NEWER)) else REFUSED


CASES = [
    *(
        Case(f"{state}: last={last} {kind}", f"{state} {LOG}",
             f"vote-request from=2 last={last} {kind}",
             f"answer epoch=5; {decided(how, last)}; no answer error; no exits")
        for state, of_kinds in STATES.items()
        for kind, how in zip(("pre-vote", ""), of_kinds, strict=True)
        for last in (BEHIND, SHORTER, EQUAL, LONGER, NEWER)
    ),
    *(
        Case(f"a pre-vote changes nothing of {state}", f"{state} {LOG}",
             f"timeout node=9 | vote-request from=2 last={LONGER} pre-vote",
             "unchanged; reply; no persist; no arm timer; no transition; no forget; no send")
        for state in STATES
    ),
    # Grants.
    Case("a first grant is persisted before the answer and restarts the timer",
         f"unattached id=1 {LOG}", OF_2,
         f"{GRANTED}; only persist epoch=5 leader=none voted=2; persist < reply; transition < reply;"
         " only arm timer election: election timeout; arm timer < reply"),
    Case("a repeated grant is not written again", f"unattached id=1 voted=2 {LOG}",
         f"vote-request from=2 last={BEHIND}", f"{GRANTED}; no persist; no arm timer"),
    *(
        Case(f"a stored vote for {stored} and {candidate}", f"unattached id=1 voted={stored} {LOG}",
             f"vote-request from={candidate} last={EQUAL}", GRANTED if grants else REFUSED)
        for stored, candidate, grants in (
            ("2", "2/A", True), ("2/A", "2/A", True), ("2/A", "2/B", False), ("2/A", "2", False),
        )
    ),
    # Granting a vote forgets no request.
    Case("a prospective that votes starts its pre-vote over",
         f"prospective id=1 granted=1 rejected=3 awaiting=2 {LOG}", OF_2,
         "Prospective 5; rejected=none; granted=1; awaiting=2"),
    *(
        Case(f"a larger epoch is adopted first by {state} {kind}", f"{state} {LOG} hw=none",
             f"vote-request from=2 epoch=7 last={BEHIND} {kind}",
             f"Unattached 7; leader=none; voted=none; {REFUSED}")
        for state in STATES
        for kind in ("pre-vote", "")
    ),
    *(
        Case(f"a larger epoch is adopted first by {state}, which grants {kind}", f"{state} epoch=5 log=1@3",
             f"vote-request from=2 epoch=7 last=9@5 {kind}",
             f"{GRANTED}; epoch=7; leader=none; voted={'none' if kind else 2};"
             " persist epoch=7 leader=none voted=none")
        for state in STATES
        for kind in ("pre-vote", "")
    ),
    # The checks of a request in their order.
    *(
        Case(f"a request {words}", f"unattached id=1/A cluster=own {LOG}", f"vote-request from=2 {words}",
             f"answer {error}; {REFUSED}; epoch=5; no persist")
        for words, error in (
            ("epoch=9 cluster=other", "top-error=INCONSISTENT_CLUSTER_ID"),
            ("epoch=9 partition=other-0", "top-error=INVALID_REQUEST"),
            ("epoch=9 last=-1@0", "error=INVALID_REQUEST"),
            ("epoch=9 last=0@-1", "error=INVALID_REQUEST"),
            ("epoch=9 last=4@9", "error=INVALID_REQUEST"),
            ("epoch=9 last=4@10 pre-vote", "error=INVALID_REQUEST"),
            ("epoch=4 last=4@3", "error=FENCED_LEADER_EPOCH"),
            ("epoch=4 last=4@4", "error=INVALID_REQUEST"),  # malformed comes before stale
            ("epoch=5 last=4@3 to=3", "error=INVALID_VOTER_KEY"),
            ("epoch=5 last=4@3 to=1/B", "error=INVALID_VOTER_KEY"),
        )
    ),
    Case("a pre-vote may come from a log that knows its epoch", f"unattached id=1 {LOG}",
         "vote-request from=2 last=4@5 pre-vote", GRANTED),
    *(
        Case(f"the addressee may be named as {key}", f"unattached id=1/A {LOG}", f"{OF_2} to={key}", GRANTED)
        for key in ("none", "1", "1/A")
    ),
    Case("a negative sender is invalid", f"unattached id=1 {LOG}", "vote-request from=-1 epoch=6 last=4@3",
         "answer error=INVALID_REQUEST; epoch=5"),
    Case("a wrong addressee still raises the epoch", f"unattached id=1 {LOG}",
         "vote-request from=2 epoch=6 last=4@3 to=3", "answer error=INVALID_VOTER_KEY; epoch=6"),
    # Membership is checked only where the protocol says so; an observer votes as well.
    *(
        Case(f"{receiver} receives a request of a replica that is no voter {number}",
             f"unattached id={receiver} {LOG}",
             f"vote-request from=9 last={EQUAL}", then, protocol)
        for receiver in (1, 7)
        for number, (protocol, then) in enumerate(
            ((Protocol(), GRANTED), (MEMBERS_ONLY, "answer error=INCONSISTENT_VOTER_SET"))
        )
    ),
    *(
        Case(f"a follower {fetched} by {policy.value}: last={last}",
             f"follower id=1 leader=3 {fetched} {LOG}",
             f"vote-request from=2 last={last} pre-vote", GRANTED if grants else REFUSED,
             Protocol(follower_pre_vote=policy))
        for policy, not_fetched, has_fetched in (
            (FollowerPreVote.UNTIL_FETCHED, True, False),
            (FollowerPreVote.NEVER, False, False),
            (FollowerPreVote.BY_LOG, True, True),
        )
        for fetched, last, grants in (
            ("", EQUAL, not_fetched), ("fetched", EQUAL, has_fetched), ("fetched", BEHIND, False),
        )
    ),
    Case("a replica that shuts down still votes", f"unattached id=1 shutting-down {LOG}", OF_2, GRANTED),
    # Responses.
    *(
        Case(f"{granting} of {voters} make a {nominee} a {becomes}",
             f"{nominee} id=1 epoch=5 voters={voters}",
             " | ".join(f"vote-response from={voter} granted" for voter in granting), f"{becomes} {epoch}")
        for nominee, wins, won in (("prospective", "Candidate", 6), ("candidate", "Leader", 5))
        for voters, granting, becomes, epoch in (
            ("1,2,3", (2,), wins, won),
            ("1,2,3,4,5", (2,), nominee.capitalize(), 5),
            ("1,2,3,4,5", (2, 4), wins, won),
        )
    ),
    *(
        Case(f"{nominee} is rejected once", f"{nominee} epoch=5", "vote-response from=2", "rejected=2")
        for nominee in ("prospective id=1", "candidate id=1")
    ),
    *(
        Case(f"{nominee} is rejected by a majority", f"{nominee} epoch=5",
             "vote-response from=2 | vote-response from=3", f"{becomes} 5; leader={leader}")
        for nominee, becomes, leader in (
            ("prospective id=1", "Unattached", "none"),
            ("prospective id=1 leader=3", "Follower", "3"),
            ("prospective id=1 leader=3 endpoints=none", "Unattached", "3"),
            ("candidate id=1", "Candidate", "none"),
        )
    ),
    Case("answers to pre-votes that come later are dropped", "prospective id=1 epoch=5 awaiting=2,3",
         "vote-response from=2 granted", "Candidate 6; awaiting=none; PREVOTE-20"),
    Case("an answer to a pre-vote may change", "prospective id=1 epoch=5 voters=1,2,3,4,5 rejected=2",
         "vote-response from=2 granted", "Prospective 5; granted=1,2; rejected=none"),
    Case("a rejection of a vote may not", "candidate id=1 epoch=5 voters=1,2,3,4,5 rejected=2",
         "vote-response from=2 granted", "exits"),
    Case("nor a grant", "candidate id=1 epoch=5 voters=1,2,3,4,5 granted=1,2", "vote-response from=2",
         "exits"),
    Case("an answer of a replica that is no voter ends the process", "candidate id=1 epoch=5",
         "vote-response from=9 granted", "exits"),
    *(
        Case(f"{state} ignores the answer", f"{state} id=1 epoch=5", "vote-response from=2 granted",
             "nothing")
        for state in ("unattached", "follower leader=3", "leader", "resigned")
    ),
    Case("a voter without pre-votes makes a prospective candidate at once", "prospective id=1 epoch=5",
         "vote-response from=2 top-error=UNSUPPORTED_VERSION", "Candidate 6"),
    Case("a candidate backs off, as after any top-level error", "candidate id=1 epoch=5",
         "vote-response from=2 top-error=UNSUPPORTED_VERSION", "Candidate 5; awaiting=none; backing off=2"),
    # The response flag of the draft.
    Case("an answer to no pre-vote makes a prospective candidate", "prospective id=1 epoch=5",
         "vote-response from=2 granted pre-vote=no", "Candidate 6", DRAFT),
    Case("an answer says that it is to a pre-vote", f"unattached id=1 {LOG}", f"{OF_2} pre-vote",
         "answer pre-vote=yes", DRAFT),
    Case("Kafka has no such flag", f"unattached id=1 {LOG}", OF_2, "no answer pre-vote"),
]  # fmt: skip


@table(CASES)
def test_vote(case: Case) -> None:
    check(case)
