"""Verdicts: proved, failed with a small counterexample, or undetermined; never proved for want of time."""

import pytest

from kraftcheck.proof import report
from kraftcheck.proof.logic import Axiom, System, every, some
from kraftcheck.proof.mutants import Mutant, mutants, refute
from kraftcheck.proof.obligations import INITIALLY, Obligation, obligations
from kraftcheck.proof.solve import Verdict, prove
from kraftcheck.proof.system import FIXED_VOTERS, SYSTEMS
from kraftcheck.proof.vocabulary import Epoch, at_most

MUTANTS = {mutant.name: mutant for mutant in mutants(FIXED_VOTERS)}


def obligation(name: str) -> Obligation:
    return next(
        each for each in obligations(FIXED_VOTERS) if isinstance(each, Obligation) and each.name == name
    )


@pytest.mark.slow
def test_what_holds_is_proved() -> None:
    assert prove(FIXED_VOTERS, obligation("become-leader:SingleLeaderPerEpoch"), 60).verdict is Verdict.PROVED


@pytest.mark.slow
def test_what_no_small_state_refutes_is_not_proved_for_that() -> None:
    """There is a last epoch: true of every finite order, hence no counterexample is found, but not of all."""
    last = some((Epoch,), lambda e: every((Epoch,), lambda f: at_most(f, e)))
    state = FIXED_VOTERS.state()
    claim = Obligation(INITIALLY, "LastEpoch", "", (), last, (), state, None)
    assert prove(FIXED_VOTERS, claim, 2).verdict is Verdict.UNDETERMINED


@pytest.mark.slow
def test_without_the_axiom_on_majorities_two_leaders_are_possible() -> None:
    orders: tuple[Axiom, ...] = tuple(each for each in FIXED_VOTERS.axioms if "ordered" in each.name)
    system = System(
        "no-majorities",
        FIXED_VOTERS.symbols,
        orders,
        FIXED_VOTERS.initial,
        FIXED_VOTERS.actions,
        FIXED_VOTERS.conjuncts,
    )
    result = prove(system, obligation("become-leader:LeadersHaveMajorities"), 60)
    assert result.verdict is Verdict.FAILED


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "conjunct"),
    [
        ("grant-vote: without has not voted", "VotedOncePerEpoch"),
        ("grant-vote: without the log is not behind", "CandidateHasWhatVotersTold"),
        ("commit: without a record of its own epoch", "CommitNeedsOwnEpoch"),
    ],
)
def test_a_guard_left_out_makes_a_conjunct_fail(name: str, conjunct: str) -> None:
    result = refute(FIXED_VOTERS, MUTANTS[name], 60, 0)
    assert result is not None
    assert (result.verdict, result.conjunct) == (Verdict.FAILED, conjunct)


@pytest.mark.slow
def test_a_counterexample_is_small_and_can_be_read() -> None:
    mutant = MUTANTS["grant-vote: without has not voted"]
    result = refute(FIXED_VOTERS, mutant, 60)
    assert result is not None and result.found is not None
    gone, new = report.differences(result.found)
    before = report.lines_of(result.found.before)
    assert sum(line.startswith("replica ") for line in before) == 2
    assert len(before) <= 10
    assert any("votes in epoch" in line for line in new)
    assert gone
    assert "votes for" in report.described(mutant.action, result.found.before)


@pytest.mark.one_in(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("system", "mutant"),
    [(system, mutant) for system in SYSTEMS for mutant in mutants(system)],
    ids=lambda value: value.name,
)
def test_every_needed_part_is_needed(system: System, mutant: Mutant) -> None:
    result = refute(system, mutant, 60, minimising=0)
    assert result is not None and result.verdict is Verdict.FAILED


@pytest.mark.nightly
def test_a_mutant_that_changes_nothing_survives() -> None:
    """A guard of which the proof makes no use: everything is proved without it."""
    action = next(each for each in FIXED_VOTERS.actions if each.name == "tell-leader")
    assert refute(FIXED_VOTERS, Mutant(action, "no such guard", (), True), 60) is None
