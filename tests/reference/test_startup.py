"""Start-up: the first row that matches decides the role, and the decision is written down."""

from __future__ import annotations

from kraftcheck.reference.disk import Disk
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.protocol import KAFKA
from kraftcheck.reference.replica import QuorumState
from kraftcheck.reference.step import start
from kraftcheck.systems.kraft.text import parse_replica
from tests.reference.asking import Case, ask, check, persisted, role, table

NONE = "epoch=4 leader=none"

CASES = [
    *(
        Case(f"{stored} → {becomes}", f"unattached id=1/A {stored}", "start",
             f"{becomes} 4; {'; '.join(state.split())}; only persist {written or state};"
             f" persist < transition; transition Start → {becomes}, epoch 4; high watermark=none;"
             f" awaiting=none; only arm timer {'fetch' if becomes == 'Follower' else 'election'}")
        # The state afterwards; as it is written, if that is another one: without a directory.
        for stored, becomes, state, written in (
            ("epoch=3 leader=2 voted=2 log=2@4", "Unattached", f"{NONE} voted=none", ""),
            ("epoch=3 leader=1 log=2@4", "Unattached", f"{NONE} voted=none", ""),
            ("epoch=4 leader=1 log=2@4", "Resigned", "epoch=4 leader=1 voted=none", ""),
            ("epoch=4 leader=1 voted=2", "Resigned", "epoch=4 leader=1 voted=none", ""),
            ("epoch=4 voted=1/A", "Candidate", f"{NONE} voted=1/A", f"{NONE} voted=1"),
            ("epoch=4 voted=1", "Candidate", f"{NONE} voted=1/A", f"{NONE} voted=1"),
            ("epoch=4 leader=2 voted=1/A", "Candidate", f"{NONE} voted=1/A", f"{NONE} voted=1"),
            ("epoch=4 voted=1/B", "Unattached", f"{NONE} voted=1/B", f"{NONE} voted=1"),
            ("epoch=4 leader=2 voted=3", "Follower", "epoch=4 leader=2 voted=3", ""),
            ("epoch=4 leader=2 log=1@4", "Follower", "epoch=4 leader=2 voted=none", ""),
            ("epoch=4 leader=9 voted=2", "Unattached", "epoch=4 leader=9 voted=2", ""),
            ("epoch=4 voted=2", "Unattached", f"{NONE} voted=2", ""),
            ("epoch=4", "Unattached", f"{NONE} voted=none", ""),
        )
    ),
    Case("a resigned leader informs all", "unattached id=1/A epoch=4 leader=1", "start",
         "unacknowledged=2,3; preferred successors=none"),
    *(
        Case(f"no voter: {stored}", f"unattached id=1 voters=2,3 {stored}", "start", becomes)
        for stored, becomes in (
            ("epoch=4 leader=1", "Resigned 4; arm timer election: election timeout plus a random part of it"),
            ("epoch=4", "Unattached 4; arm timer election: never expires"),
        )
    ),
    Case("a follower has not fetched", "unattached id=1/A epoch=4 leader=2", "start",
         "leader endpoints=CONTROLLER://node-2:9093; has fetched=no"),
    *(
        Case(f"an only voter leads at once: {stored}", f"unattached id=1 voters=1 {stored}", "start", becomes)
        for stored, becomes in (
            ("epoch=4", "Leader 5"), ("epoch=4 leader=1", "Leader 5"), ("epoch=4 voted=1", "Leader 4"),
        )
    ),
    Case("an observer has no election", "unattached id=7/A epoch=4", "start",
         "only arm timer election: never expires"),
    Case("an observer follows", "unattached id=7/A epoch=4 leader=2", "start", "Follower 4"),
    Case("an observer cannot have voted for itself", "unattached id=7/A epoch=4 voted=7/A", "start", "exits"),
    # A hole that Kafka leaves open (PERSIST-8, PERSIST-9): the file names the disk of the candidate only with
    # voters in the log.
    *(
        Case(f"a candidate with another disk after a restart at kraft.version {version}",
             f"unattached id=1/A epoch=5 kraft={version}", f"""
            vote-request from=3/C last=0@0 to=1/A  => answer granted; voted=3/C; PERSIST-8
            vote-request from=3/D last=0@0 to=1/A  => no answer granted
            start                                  => voted=3/C; persist epoch=5 leader=none voted={written}
        """)
        for version, written in ((0, "3"), (1, "3/C"))
    ),
    *(
        Case(f"a stored vote for {voted} at kraft.version {version}",
             f"unattached id=1/A epoch=5 kraft={version} voted={voted}", f"""
            start                                  => {"no " * version}PERSIST-9
            vote-request from=3/C last=0@0 to=1/A  => answer granted
            vote-request from=3/D last=0@0 to=1/A  => {"no " * version}answer granted
        """)
        for version, voted in ((0, "3"), (1, "3/C"))
    ),
]  # fmt: skip


@table(CASES)
def test_start(case: Case) -> None:
    check(case)


def test_the_first_start() -> None:
    for identity, becomes in (("unattached id=1/A", "Unattached"), ("unattached id=1 voters=1", "Leader")):
        outcome = start(KAFKA, parse_replica(identity), Disk())
        assert role(outcome) == becomes
        assert persisted(outcome)[0] == QuorumState()


def test_nothing_volatile_survives() -> None:
    busy = parse_replica("leader id=1/A log=2@1 awaiting=2 parked=3:2 hw=2 shutting-down")
    resigned = parse_replica("resigned id=1/A log=2@1 epoch=1 successors=none")
    assert ask(busy, "start").replica == replace(resigned, log=busy.log)
