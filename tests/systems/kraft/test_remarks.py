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
    text = document_of(trace).steps[0].remarks[-1]
    assert text == "It is elected. It needs 1 vote of its voters 1 and has 1: granted by itself."
    assert summary(trace.nodes[0][1]) == "does not run"
    assert summary(trace.steps[0].nodes[0][1]) == "Leader, epoch 1; voters 1"


@pytest.mark.slow
def test_a_cycle_says_why_it_never_ends() -> None:
    trace, _ = check(find("finding-leader-of-two-removes-itself")).traces()
    document = document_of(trace)
    assert remarks_of(document, 1) == (
        "Its voters are now 2, before 1, 2: it uses the newest voter set of its log, committed or not.",
        "It is no voter by this set, and does not become candidate as long as that is so.",
    )
    assert [(each.step, each.text) for each in document.cycle] == [
        (14, "After step 14 all is as it was after step 5, so that the same can happen again."),
        (9, "Step 9, replica 2: It needs 2 pre-votes of its voters 1, 2 and has 1: granted by itself."),
        (10, "Step 10, replica 1: It does not grant the vote: its log ends at 4@1, that of replica 2 already "
             "at 3@1."),
        (11, "Step 11, replica 2: It needs 2 pre-votes of its voters 1, 2 and has 1: granted by itself; "
             "rejected by 1."),
        (None, "After each round, replica 1: Unattached, epoch 2; voters 2 (not itself)."),
        (None, "After each round, replica 2: Unattached, epoch 2; voters 1, 2."),
    ]  # fmt: skip


@pytest.mark.slow
def test_a_restart_says_what_its_disk_has() -> None:
    (trace,) = check(find("finding-second-leader-of-epoch")).traces()
    assert remarks_of(document_of(trace), 24) == (
        "The process starts with what its disk has: epoch 2, a vote for itself, leader 3. The stored vote "
        "for itself makes it Candidate of epoch 2 again.",
        "It is elected. It needs 1 vote of its voters 2 and has 1: granted by itself.",
    )


def walked(name: str, *path: int) -> Trace:
    scenario = find(name)
    return build(kind_of(scenario).build(scenario), scenario, path)


def test_a_new_disk_holds_nothing_of_the_old_one() -> None:
    document = document_of(walked("finding-wiped-leader", 1, 1, 0, 1))
    assert remarks_of(document, 1) == (
        "The process starts on a new disk, which has no epoch, no vote and no log.",
        "It has no voter set now, before 1, 2.",
    )


def test_a_process_that_exits_at_its_start_has_voted_for_itself() -> None:
    path = (2, 5, 3, 0, 1, 0, 0, 0, 4, 1, 2, 1, 1, 1, 3, 1, 1, 1, 2)
    assert remarks_of(document_of(walked("finding-removed-candidate", *path)), len(path)) == (
        "The process starts with what its disk has: epoch 2, a vote for itself, leader 3.",
    )


def test_which_contacts_restart_the_check_quorum_timer() -> None:
    document = document_of(walked("finding-parked-fetch-counts-again", 0, 1, 3, 1, 0, 0, 1))
    told = "It restarts its check-quorum timer. Since the last restart it had counted contacts of {}; this"
    assert [remarks_of(document, step) for step in (2, 3, 6, 7)] == [
        (),
        (),
        (f"{told.format(4)} message is from 2.",),
        (
            f"{told.format('none')} message is from 4.",
            "It handles a fetch again that has waited in purgatory: of 2.",
        ),
    ]


def test_few_voters_have_nothing_to_say_of_the_check_quorum() -> None:
    texts = [text for step in document_of(counterexample(UNSTABLE)).steps for text in step.remarks]
    assert texts and not any("check-quorum" in text for text in texts)
