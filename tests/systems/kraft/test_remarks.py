"""What is said of a step about elections and voters: derived from the states, right for every step."""

from __future__ import annotations

import pytest

from kraftcheck.checking.run import check
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.kraft.remarks import summary
from kraftcheck.systems.scenario import find, parse
from kraftcheck.traces import Trace
from kraftcheck.traces.build import build
from kraftcheck.traces.page.document import Document, document_of
from tests.traces.trace_samples import UNSTABLE, counterexample


def remarks_of(document: Document, step: int) -> tuple[str, ...]:
    return document.steps[step - 1].remarks


def test_votes_needed_and_there() -> None:
    document = document_of(counterexample(UNSTABLE))
    told = [text for step in document.steps for text in step.remarks]
    assert "It needs 2 pre-votes of its voters 1, 2, 3 and has 1: granted by itself." in told
    assert (
        told[-1] == "It is elected. It needs 2 votes of its voters 1, 2, 3 and has 2: granted by itself, 3."
    )


def test_a_single_voter_elects_itself_again() -> None:
    scenario = parse(
        'name = "one"\nabout = "One voter."\nexpect = { verdict = "holds" }\nreplicas = { voters = [1] }\n'
        "budgets = { crashes = 1 }\nbounds = { max-epoch = 2 }\n"
    )
    system = kind_of(scenario).build(scenario)
    trace = build(system, scenario, [0])
    assert remarks_of(document_of(trace), 1) == (
        "The process starts; its disk has no epoch, no vote and an empty log.",
        "Within this step: Start → Unattached → Prospective → Candidate → Leader of epoch 1.",
        "It is elected. It needs 1 vote of its voters 1 and has 1: granted by itself.",
        "It is the only voter, so its own copy is a majority: the high watermark becomes 1.",
    )
    assert summary(trace.nodes[0][1]) == "does not run"
    assert summary(trace.steps[0].nodes[0][1]) == "Leader, epoch 1; voters 1"


@pytest.mark.slow
def test_a_cycle_says_why_it_never_ends() -> None:
    trace, _ = check(find("finding-leader-of-two-removes-itself")).traces()
    document = document_of(trace)
    assert remarks_of(document, 1) == (
        "The admin client asks this leader to remove voter 1/d1.",
        "Its voters: 2 (were 1, 2), by the record at offset 3, which is not committed yet.",
        "It is not a voter of this set, so it begins no election.",
    )
    assert [(each.step, each.text) for each in document.cycle] == [
        (14, "After step 14 all is as it was after step 5, so that the same can happen again."),
        (9, "Step 9, replica 2: It needs 2 pre-votes of its voters 1, 2 and has 1: granted by itself."),
        (10, "Step 10, replica 1: It does not grant the pre-vote: its log ends at offset 4 of epoch 1, that "
             "of replica 2 already at offset 3 of epoch 1."),
        (11, "Step 11, replica 2: It needs 2 pre-votes of its voters 1, 2 and has 1: granted by itself; "
             "rejected by 1."),
        (None, "After each round, replica 1: Unattached (observer), epoch 2; voters 2."),
        (None, "After each round, replica 2: Unattached, epoch 2; voters 1, 2."),
    ]  # fmt: skip


@pytest.mark.slow
def test_a_restart_says_what_its_disk_has() -> None:
    (trace,) = check(find("finding-second-leader-of-epoch")).traces()
    document = document_of(trace)
    assert document.reasons == ("Replica 2 becomes Leader of epoch 2, which replica 3 leads.",)
    assert "Its disk keeps its vote for itself in epoch 2." in remarks_of(document, 11)
    assert remarks_of(document, 24) == (
        "The process starts with what its disk has: epoch 2, a vote for itself, leader 3, and a log that "
        "ends at offset 6. The stored vote for itself makes it Candidate of epoch 2 again.",
        "Within this step: Start → Candidate → Leader of epoch 2.",
        "It is elected. It needs 1 vote of its voters 2 and has 1: granted by itself.",
        "It is the only voter, so its own copy is a majority: the high watermark becomes 7.",
    )


def test_a_restart_says_how_much_of_its_log_is_flushed_and_what_a_fetch_means() -> None:
    (trace,) = check(find("finding-restart-before-write-back")).traces()
    document = document_of(trace)
    assert remarks_of(document, 2) == (
        "The process starts with what its disk has: epoch 1, no vote, leader 1, and a log that ends at "
        "offset 1 (nothing of it is flushed).",
        "It fetches at offset 1, which the leader takes for an acknowledgement of all records before it, "
        "although none of its log is flushed.",
    )
    assert remarks_of(document, 3) == (
        "Replica 2 fetches at offset 1, which counts as an acknowledgement of all records before it. 2 of "
        "2 voters (itself, 2) have the log up to offset 1: the high watermark becomes 1.",
    )


def test_announcements_and_requests_of_the_admin_client_are_told() -> None:
    (trace,) = check(find("finding-removed-voter-acknowledges")).traces()
    document = document_of(trace)
    assert [remarks_of(document, step) for step in (1, 2, 3, 4)] == [
        ("It announces again to 2 that it leads epoch 1 (BeginQuorumEpoch).",),
        ("It acknowledges replica 1 as leader of epoch 1.",),
        (
            "The admin client asks this leader to remove voter 2/d2.",
            "Its voters: 1 (were 1, 2).",
            "It is the only voter, so its own copy is a majority: the high watermark becomes 4.",
            "It reports success to the admin client.",
        ),
        ("The acknowledgement is from replica 2, which is no longer among the voters 1 of the leader.",),
    ]
    assert document.steps[2].asked and document.steps[2].head == "admin: remove voter 2/d2"


def test_a_leader_accepts_a_replica_that_adds_itself_and_was_removed() -> None:
    (trace,) = check(find("finding-auto-join-undoes-removal")).traces()
    document = document_of(trace)
    assert remarks_of(document, 14) == (
        "Replica 2 asks this leader to add it as voter 2/d2.",
        "It was a voter before: the voter set at offset 4 of this log removed it.",
        "It accepts: it asks the new voter which kraft.version it supports, and changes the voter set "
        "when the answer arrives.",
    )
    assert remarks_of(document, 16) == (
        "It adds 2/d2, as 2 itself has asked.",
        "Its voters: 1, 2 (were 1), by the record at offset 5, which is not committed yet.",
        "It reports success to replica 2.",
    )
    assert document.reasons == (
        "Leader 1 makes 2/d2 a voter again because that replica asks for it, although the voter set at "
        "offset 4 had removed it.",
    )


@pytest.mark.slow
def test_a_snapshot_forgets_voter_sets_and_the_configuration_takes_their_place() -> None:
    (trace,) = check(find("finding-elected-by-static-voters"), threads=2).traces()
    document = document_of(trace)
    assert remarks_of(document, 3)[1] == (
        "Its voters: 1/d1 (were 1). Their directory ids are new, and not the replicas."
    )
    assert [remarks_of(document, step) for step in (24, 25, 26, 27)] == [
        (
            "Replica 1 fetches at offset 6, after a record of epoch 1. In this log epoch 1 ends at offset "
            "5: by the answer the replica truncates its log.",
        ),
        (
            "It creates a snapshot that ends at offset 5, and forgets voters 1, 2, 3 at offset 4 and all "
            "before; voters 1, 2 at offset 5 stay, which are not committed.",
        ),
        (
            "It truncates its log from offset 6 to 5, and with it the voter set at offset 5.",
            "No voter set is left in its log, so it takes the voters of its configuration "
            "(controller.quorum.voters).",
            "Its voters: 1 (were 1, 2).",
        ),
        (
            "Within this step: Follower → Prospective → Candidate → Leader of epoch 3.",
            "It is elected. It needs 1 vote of its voters 1 and has 1: granted by itself.",
        ),
    ]


def walked(name: str, *path: int) -> Trace:
    scenario = find(name)
    return build(kind_of(scenario).build(scenario), scenario, path)


def test_a_new_disk_holds_nothing_of_the_old_one() -> None:
    document = document_of(walked("finding-wiped-leader", 1, 1, 0, 1))
    assert remarks_of(document, 1) == (
        "The process starts on a new disk, which has no epoch, no vote and no log.",
        "It has no voter set now (had 1, 2).",
    )


def test_a_process_that_exits_at_its_start_has_voted_for_itself() -> None:
    path = (2, 5, 3, 0, 1, 0, 0, 0, 4, 1, 2, 1, 1, 1, 3, 1, 1, 1, 2)
    assert remarks_of(document_of(walked("finding-removed-candidate", *path)), len(path)) == (
        "The process starts with what its disk has: epoch 2, a vote for itself, leader 3, and a log that "
        "ends at offset 5.",
    )


def test_which_contacts_restart_the_check_quorum_timer() -> None:
    document = document_of(walked("finding-parked-fetch-counts-again", 0, 1, 3, 1, 0, 0, 1))
    told = "It restarts its check-quorum timer. Since the last restart it had counted contacts of {}; this"
    assert [remarks_of(document, step) for step in (2, 3, 6, 7)] == [
        ("It counts a contact of 4; since its check-quorum timer last restarted it has counted 4.",),
        (),
        (f"{told.format(4)} message is from 2.",),
        (
            "Replica 4 fetches at offset 2, which counts as an acknowledgement of all records before it. "
            "3 of 4 voters (itself, 2, 4) have the log up to offset 2: the high watermark becomes 2.",
            f"{told.format('none')} message is from 4; a fetch of 2 that has waited in purgatory is handled "
            "again now.",
        ),
    ]


def test_few_voters_have_nothing_to_say_of_the_check_quorum() -> None:
    texts = [text for step in document_of(counterexample(UNSTABLE)).steps for text in step.remarks]
    assert texts and not any("check-quorum" in text for text in texts)
