"""VSET-15 and VSET-16: what a replica does that has forgotten the committed voter set."""

from __future__ import annotations

import pytest

from kraftcheck.reference.disk import Disk, as_found
from kraftcheck.reference.effects import Fatal, Persist, StoreSnapshot
from kraftcheck.reference.fatal import FatalReason
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Batch, KRaftVersion, LeaderChange, Voters, append, log_of, truncate
from kraftcheck.reference.protocol import DOCUMENTS, KAFKA, RELEASES, HistoryTrim
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.step import start
from kraftcheck.reference.voters import VoterSet
from kraftcheck.systems.kraft.text import parse_replica
from tests.reference.asking import after, ask, of_kind

FORMATTED = parse_replica("follower id=1/A voters=1/A,2/B,3/C kraft=1 max-kraft=1 epoch=2 leader=3 hw=3")
THREE = FORMATTED.bootstrap_voters
TWO = VoterSet(THREE.voters[:2])
#: A committed voter set, and an uncommitted one at offset 3.
LOG = log_of(
    (
        Batch(0, 1, (LeaderChange(1, (1, 2, 3), (1,)), KRaftVersion(1), Voters(THREE))),
        Batch(3, 1, (Voters(TWO),)),
    )
)
DIVERGES = "fetch-response from=3 diverging=3@1"
STORY = f"create-snapshot at=3@1 | {DIVERGES}"
#: What opens epoch 2, fetched and committed.
NEXT = "poll | fetch-response from=3 records=3:1@2 hw=4"


def upgraded() -> Replica:
    """The same replica, whose configuration names it as the only voter."""
    alone = parse_replica("follower id=1/A voters=1 max-kraft=1 epoch=2 leader=3 hw=3")
    return replace(alone, log=LOG)


def formatted() -> Replica:
    return replace(FORMATTED, log=LOG)


def test_releases_forget_it_and_documents_do_not() -> None:
    assert {each.history_trim for each in RELEASES.values()} == {HistoryTrim.THROUGH_END}
    assert {each.history_trim for each in DOCUMENTS.values()} == {HistoryTrim.BEFORE_END}


@pytest.mark.parametrize("trim", HistoryTrim)
def test_what_is_effective_after_the_truncation(trim: HistoryTrim) -> None:
    protocol = replace(KAFKA, history_trim=trim)
    kept = trim is HistoryTrim.BEFORE_END
    by_checkpoint, by_configuration = (after(each(), STORY, protocol) for each in (formatted, upgraded))
    assert by_checkpoint.voters == (THREE if kept else VoterSet())
    assert by_configuration.voters == (THREE if kept else upgraded().bootstrap_voters)
    for replica in (by_checkpoint, by_configuration):
        assert (replica.kraft_version, replica.voters_offset) == (1, 2 if kept else -1)
        assert replica.knows_voter_set == kept


def test_a_snapshot_elsewhere_or_later_takes_nothing() -> None:
    later = replace(formatted(), high_watermark=4)
    assert after(later, "create-snapshot at=4@1").voters == TWO
    assert "VSET-15" not in ask(later, "create-snapshot at=4@1").rules
    assert "VSET-15" in ask(later, "create-snapshot at=3@1").rules


@pytest.mark.parametrize("replica", [formatted(), upgraded()], ids=["formatted", "upgraded"])
def test_the_next_snapshot_has_no_voter_set(replica: Replica) -> None:
    outcome = ask(after(replica, f"{STORY} | {NEXT}"), "create-snapshot at=4@2")
    [stored] = of_kind(outcome, StoreSnapshot)
    assert (stored.snapshot.voters, stored.snapshot.kraft_version) == (None, 1)
    # Nor has the next process, whose log begins with it.
    started = start(KAFKA, replica, as_found(Disk(replica.quorum_state, outcome.replica.log)))
    found = started.replica
    # An only static voter exits at every start.
    exits = [each.reason for each in of_kind(started, Fatal)]
    assert exits == ([] if replica.has_checkpoint else [FatalReason.LEADER_WITHOUT_VOTER_SET])
    assert found.voters == (VoterSet() if replica.has_checkpoint else replica.bootstrap_voters)
    assert not found.knows_voter_set
    # With the snapshot from before the truncation it has.
    found = start(KAFKA, replica, as_found(Disk(replica.quorum_state, after(replica, STORY).log))).replica
    assert found.voters == THREE


def test_the_next_voter_set_is_read() -> None:
    replica = after(formatted(), f"{STORY} | {NEXT}")
    log = append(replica.log, Batch(4, 2, (Voters(TWO),)))
    assert (replica.voters, replace(replica, log=log).voters) == (VoterSet(), TWO)
    # But it is forgotten, too, when it is truncated.
    assert replace(replica, log=truncate(log, 4)).voters == VoterSet()


def test_an_observer_of_no_voters_begins_no_election() -> None:
    outcome = ask(after(formatted(), STORY), "poll expired=fetch")
    assert not of_kind(outcome, Persist)
    assert outcome.replica.epoch == 2


def test_the_only_static_voter_elects_itself_and_exits() -> None:
    outcome = ask(after(upgraded(), STORY), "poll expired=fetch")
    assert outcome.effects[-1] == Fatal(FatalReason.LEADER_WITHOUT_VOTER_SET)
    written = of_kind(outcome, Persist)[-1].quorum_state
    assert (written.epoch, written.leader) == (3, 1)
    assert "VSET-16" in outcome.rules
    assert "LOG-4" not in outcome.rules
