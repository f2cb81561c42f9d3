"""``kraftcheck inspect``: what is on each disk, what disks say together, and what it says of that."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from kraftcheck.cli.main import main
from kraftcheck.evidence.disks.disk import (
    EPOCHS,
    LOG_FOLDER,
    META_PROPERTIES,
    QUORUM_STATE,
    find_disks,
    read_disk,
)
from kraftcheck.evidence.disks.observations import Observation, observations
from kraftcheck.evidence.disks.quorum import Quorum
from kraftcheck.support.errors import InputError
from tests.laboratory.disks.written import (
    BEGIN,
    DATA,
    Batch,
    Disk,
    Footer,
    Header,
    Leader,
    Version,
    VoterSet,
    directory,
    write_disk,
)

THREE = (Disk(1, state=(1, 1, 1)), Disk(2, state=(1, 1, 1)), Disk(3))
ADDED = Batch(1, (VoterSet((1, 2, 3, 4)),))
REMOVED = Batch(1, (VoterSet((1, 2)),))
SECOND = Batch(2, (Leader(2),))
ADDED_AGAIN = Batch(1, (VoterSet((1, 2, 3), 7),))
SNAPSHOT = (Batch(0, (Header(), Version(), VoterSet((1, 2, 3)))), DATA, Batch(0, (Footer(),)))


def change(*disks: Disk, **changes: Disk) -> tuple[Disk, ...]:
    """The three disks, some of them changed (``n2=``), and more."""
    return (*(changes.get(f"n{each.id}", each) for each in THREE), *disks)


def static(id: int, voters: tuple[int, ...], batches: int) -> Disk:
    """A disk of kraft.version 0 with so many batches."""
    log = (Batch(1, (Leader(1),)), DATA, DATA)[:batches]
    return Disk(id, log=log, state=(1, 1, -1), snapshots={}, configured=voters)


def cut_to(place: Path, size: int) -> None:
    """So many bytes of the log are left."""
    segment = place / LOG_FOLDER / f"{0:020}.log"
    segment.write_bytes(segment.read_bytes()[:size])


def cut(place: Path) -> None:
    """The last batch of the log lacks its end."""
    segment = place / LOG_FOLDER / f"{0:020}.log"
    segment.write_bytes(segment.read_bytes()[:-5])


def flip(place: Path) -> None:
    """A byte in the second batch is wrong."""
    segment = place / LOG_FOLDER / f"{0:020}.log"
    content = bytearray(segment.read_bytes())
    content[-100] ^= 1
    segment.write_bytes(content)


def write(name: str, content: str) -> Callable[[Path], None]:
    def change(place: Path) -> None:
        folder = place if name == META_PROPERTIES else place / LOG_FOLDER
        (folder / name).write_text(content)

    return change


def voted(epoch: int, id: int, directory: str) -> Callable[[Path], None]:
    """The quorum-state has this vote."""
    state = {"leaderId": -1, "leaderEpoch": epoch, "votedId": id, "votedDirectoryId": directory}
    return write(QUORUM_STATE, json.dumps(state | {"data_version": 1}))


@dataclass(frozen=True)
class Case:
    """Disks, damage to the last one, the offset below which all is surely committed, and what is observed."""

    disks: tuple[Disk, ...]
    committed: int
    kinds: frozenset[str]
    damage: Callable[[Path], None] | None = None


def case(
    disks: tuple[Disk, ...], committed: int, *kinds: str, damage: Callable[[Path], None] | None = None
) -> Case:
    return Case(disks, committed, frozenset(kinds), damage)


SHORT = replace(THREE[2], log=(BEGIN,))
#: ``!`` marks a problem.
CASES = {
    "healthy": case(THREE, 5),
    "only one disk of three": case(THREE[:1], 0, "not-given"),
    "a majority of the disks": case(THREE[:2], 5, "not-given"),
    "a voter lags": case(change(n3=SHORT), 5, "lagging"),
    "only the leader has the end": case(
        change(n1=replace(THREE[0], log=(BEGIN, DATA, DATA, DATA))), 5, "lagging"
    ),
    "an older epoch on a majority, a later one on another": case(
        change(
            n2=replace(THREE[1], state=(3, 3, 3)),
            n3=replace(SHORT, log=(BEGIN, Batch(3, (Leader(3),))), state=(3, 3, 3)),
        ),
        3,
        "diverged-tail",
    ),
    "an older epoch on a majority that has voted since": case(
        (*(replace(each, state=(2, -1, -1)) for each in THREE[:2]),), 0, "not-given"
    ),
    "a leader that no majority has elected": case(
        change(n3=replace(SHORT, log=(BEGIN, Batch(3, (Leader(3),))), state=(3, 3, 3))),
        5,
        "diverged-tail",
        "!election-forgotten",
    ),
    "a leader that has forgotten its election": case(
        change(n1=replace(THREE[0], state=(2, 2, -1)), n3=replace(THREE[2], state=(2, 2, -1))),
        5,
        "!election-forgotten",
    ),
    "a candidate that has forgotten its candidacy": case(
        change(n1=replace(THREE[0], state=(2, -1, 2))), 5, "!election-forgotten"
    ),
    "a tail that was not committed": case(
        (
            replace(THREE[0], log=(BEGIN, DATA, DATA)),
            *(replace(each, log=(BEGIN, DATA, SECOND), state=(2, 2, 2)) for each in THREE[1:]),
        ),
        5,
        "diverged-tail",
    ),
    "two histories of one epoch": case(
        change(n3=replace(THREE[2], log=(BEGIN, DATA, Batch(1, (VoterSet((1, 2)),))))),
        5,
        "!two-histories",
    ),
    "two leaders of one epoch": case(change(n3=replace(THREE[2], state=(1, 3, 3))), 5, "!two-leaders"),
    "a voter was added, one does not know": case(
        (
            *(replace(each, log=(BEGIN, ADDED, DATA)) for each in THREE[:2]),
            SHORT,
            Disk(4, log=(BEGIN, ADDED, DATA), snapshots={}),
        ),
        5,
        "lagging",
        "older-voter-set",
    ),
    "a voter set on the leader alone": case(
        change(
            Disk(4, log=(BEGIN,), snapshots={}),
            n1=replace(THREE[0], log=(BEGIN, ADDED)),
            n2=replace(THREE[1], log=(BEGIN,)),
            n3=SHORT,
        ),
        3,
        "uncommitted-voter-set",
        "lagging",
    ),
    "a removed voter does not know": case(
        (*(replace(each, log=(BEGIN, REMOVED, DATA)) for each in THREE[:2]), SHORT),
        5,
        "lagging",
        "older-voter-set",
        "removed-unaware",
    ),
    "a replaced disk": case(
        change(n3=Disk(3, log=(), state=(1, 1, -1), snapshots={}, directories=7)),
        5,
        "!other-directory",
        "lagging",
    ),
    "its own vote and another leader": case(
        change(n3=replace(THREE[2], state=(1, 1, 3))), 5, "!own-vote-other-leader"
    ),
    "no quorum-state": case(change(n3=replace(THREE[2], state=None)), 5, "!no-quorum-state"),
    "an empty quorum-state": case(THREE, 5, "!damage", damage=write(QUORUM_STATE, "")),
    "a quorum-state of another version": case(
        THREE, 5, "!damage", damage=write(QUORUM_STATE, '{"data_version":2}')
    ),
    "quorum-state older than the log": case(
        change(n3=replace(THREE[2], state=(0, -1, -1))), 5, "!epoch-behind-log"
    ),
    "a batch cut off": case(THREE, 5, "!damage", "lagging", damage=cut),
    "nothing can be read of a log": case(
        (*THREE, Disk(4, log=(BEGIN,), state=None, snapshots={})),
        5,
        "!damage",
        "!no-quorum-state",
        "lagging",
        damage=lambda place: cut_to(place, 50),
    ),
    "a wrong bit": case(THREE, 5, "!damage", "lagging", damage=flip),
    "another epoch in the checkpoint": case(THREE, 5, "!damage", damage=write(EPOCHS, "0\n1\n7 0\n")),
    "no checkpoint": case(THREE, 5, "!damage", damage=write(EPOCHS, "nothing")),
    "meta.properties of another version": case(
        THREE, 5, "!damage", "not-given", damage=write(META_PROPERTIES, "version=9\n")
    ),
    "meta.properties without a node": case(
        THREE, 5, "!no-identity", "not-given", damage=write(META_PROPERTIES, "version=0\n")
    ),
    "another cluster": case(change(n3=replace(THREE[2], cluster="another")), 0, "!cluster-ids"),
    "never started": case((*THREE, Disk(4, log=(), state=None, snapshots={})), 5, "lagging", "never-started"),
    "a snapshot and no prefix": case(
        change(n3=replace(THREE[2], log=(DATA,), start=4, snapshots={(4, 1): SNAPSHOT})), 5
    ),
    "no prefix and no snapshot": case(
        change(n3=replace(THREE[2], log=(DATA,), start=4, snapshots={})), 5, "!prefix-is-lost"
    ),
    "a snapshot beyond the log": case(
        change(n3=replace(SHORT, snapshots={(5, 1): SNAPSHOT})), 5, "snapshot-beyond-log"
    ),
    "a snapshot without a footer": case(
        change(n3=replace(THREE[2], snapshots={(4, 1): SNAPSHOT[:2]})), 5, "!damage"
    ),
    "an added voter, as far as a majority of the older set shows": case(
        (
            *(replace(THREE[at], log=(BEGIN, ADDED, DATA), state=(1, 1, -1)) for at in (1, 2)),
            Disk(4, log=(BEGIN, ADDED, DATA), snapshots={}),
        )[1:],
        0,
        "not-given",
        "uncommitted-voter-set",
    ),
    "a disk that was replaced and added again": case(
        (
            replace(THREE[0], log=(BEGIN, REMOVED, ADDED_AGAIN, DATA), state=(4, -1, -1)),
            Disk(3, log=(BEGIN, REMOVED, ADDED_AGAIN, DATA), state=(4, -1, -1), snapshots={}, directories=7),
        ),
        0,
        "not-given",
        "uncommitted-voter-set",
    ),
    "a later leader has yet to write": case(
        (
            replace(THREE[0], log=(BEGIN, DATA, SECOND), state=(4, 1, 1)),
            replace(THREE[1], log=(BEGIN, DATA, SECOND), state=(4, 1, 1)),
            replace(THREE[2], log=(BEGIN, DATA), state=(3, 3, 3)),
        ),
        4,
        "lagging",
    ),
    "lists of static voters differ": case(
        (static(1, (1,), 3), static(2, (1, 2, 3), 1)), 1, "!static-voters-differ", "lagging"
    ),
    "an empty log at a late start": case(
        (THREE[0], replace(THREE[2], log=(), start=5, snapshots={})), 0, "!prefix-is-lost", "not-given"
    ),
    "a snapshot of a later epoch than the log": case(
        change(n3=replace(SHORT, log=(BEGIN, DATA, DATA, DATA), snapshots={(4, 2): SNAPSHOT})),
        5,
        "snapshot-beyond-log",
    ),
    "a tail that the next start replaces by a snapshot": case(
        (THREE[0], replace(SHORT, log=THREE[0].log, snapshots={(4, 2): SNAPSHOT})),
        4,
        "not-given",
        "snapshot-beyond-log",
    ),
    "a removed voter with its own vote": case(
        (
            *(replace(each, log=(BEGIN, REMOVED, DATA), state=(1, 1, 1)) for each in THREE[:2]),
            replace(THREE[2], log=(BEGIN, REMOVED), state=(1, 1, 3)),
        ),
        5,
        "!own-vote-other-leader",
        "lagging",
    ),
    "a broker without quorum-state": case(
        (*THREE, Disk(101, state=None, snapshots={})), 5, "no-quorum-state"
    ),
    "a vote for a directory that the leader of the epoch did not have": case(
        THREE, 5, "!vote-other-directory", damage=voted(1, 1, directory(9))
    ),
    "a voter that has lost all": case(
        change(n3=Disk(3, log=(), snapshots={}, state=None)), 5, "!no-quorum-state", "lagging"
    ),
    "logs of two clusters are not compared": case(
        change(n3=Disk(3, log=(Batch(1, (Leader(3),)), DATA), state=(1, 3, 3), cluster="another")),
        0,
        "!cluster-ids",
    ),
    "an own vote for another directory": case(
        THREE, 5, "!vote-other-directory", damage=voted(2, 3, directory(9))
    ),
    "two votes for one candidate with two directories": case(
        change(n1=replace(THREE[0], state=(2, -1, 2))),
        5,
        "!vote-other-directory",
        "!election-forgotten",
        damage=voted(2, 2, directory(9)),
    ),
    "a vote for the directory of the leader": case(THREE, 5, damage=voted(1, 1, directory(1))),
    "a vote for a disk that was replaced since": case(
        tuple(replace(each, log=(BEGIN, ADDED_AGAIN), state=(1, 1, -1), directories=7) for each in THREE),
        4,
        damage=voted(2, 1, directory(1)),
    ),
    "static voters": case(
        tuple(
            Disk(id, log=(Batch(1, (Leader(1),)), DATA), state=(1, 1, -1), snapshots={}, configured=(1, 2, 3))
            for id in (1, 2, 3)
        ),
        2,
    ),
    "one not upgraded": case(
        change(
            n3=Disk(3, log=(Batch(1, (Leader(1),)),), state=(1, 1, -1), snapshots={}, configured=(1, 2, 3)),
            n1=replace(
                THREE[0], log=(Batch(1, (Leader(1),)), Batch(1, (Version(), VoterSet((1, 2, 3)))), DATA)
            ),
            n2=replace(
                THREE[1], log=(Batch(1, (Leader(1),)), Batch(1, (Version(), VoterSet((1, 2, 3)))), DATA)
            ),
        ),
        4,
        "lagging",
        "older-kraft-version",
    ),
}


def observed(folder: Path, case: Case) -> tuple[Quorum, list[Observation]]:
    places = [write_disk(folder, each) for each in case.disks]
    if case.damage is not None:
        case.damage(places[-1])
    quorum = Quorum(tuple(map(read_disk, places)))
    return quorum, observations(quorum)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_is_said_of_disks(case: Case, tmp_path: Path) -> None:
    quorum, found = observed(tmp_path, case)
    assert quorum.committed.below == case.committed, quorum.committed
    assert {"!" * each.is_problem + each.kind for each in found} == case.kinds, found


def test_what_is_read_of_one_disk(tmp_path: Path) -> None:
    disk = replace(THREE[0], log=(BEGIN, DATA, ADDED), snapshots={(0, 0): SNAPSHOT, (3, 1): SNAPSHOT})
    found = read_disk(write_disk(tmp_path, disk), decode=True)
    assert (found.name, found.start, found.end, found.last_epoch, found.kraft_version) == ("1", 0, 5, 1, 1)
    assert found.key is not None and found.key.directory == directory(1)
    assert found.state is not None and (found.state.epoch, found.state.leader) == (1, 1)
    assert found.state.vote == found.key
    # The log before the end of the latest snapshot does not count.
    assert [each.offset for each in found.voter_sets] == [2, 4]
    assert [each.id for each in found.voters] == [1, 2, 3, 4]
    assert [batch.kinds for batch in found.batches][1] == ("NO_OP_RECORD",)
    assert [(each.end, each.epoch, each.is_whole) for each in found.snapshots] == [(0, 0, True), (3, 1, True)]


def test_a_copy_of_a_disk_is_noticed(tmp_path: Path) -> None:
    places = [write_disk(tmp_path / name, THREE[0]) for name in ("one", "other")]
    found = observations(Quorum(tuple(map(read_disk, places))))
    assert {"same-node-id", "same-directory-id"} <= {each.kind for each in found}


def test_damage_that_kafka_does_not_notice_removes_nothing(tmp_path: Path) -> None:
    disks = (*THREE[:2], replace(THREE[2], log=(BEGIN, SECOND, DATA, DATA), state=(2, 2, -1)))
    _, found = observed(tmp_path, case(disks, 3))
    (damage,) = (each for each in found if each.kind == "damage")
    assert "epoch 1 behind one of epoch 2" in damage.text
    assert damage.text.endswith("Kafka does not notice it when it starts, and goes on with what follows.")


def test_copies_of_a_disk_are_no_majority(tmp_path: Path) -> None:
    places = [write_disk(tmp_path / name, THREE[0]) for name in ("one", "other")]
    assert Quorum(tuple(map(read_disk, places))).committed.below == 0


def test_readable_batches_behind_damage_are_counted(tmp_path: Path) -> None:
    disks = (*THREE[:2], replace(THREE[2], log=(BEGIN, DATA, DATA, DATA)))
    _, found = observed(tmp_path, case(disks, 5, damage=flip))
    (damage,) = (each for each in found if each.kind == "damage")
    assert "the 1 readable batches up to offset 5" in damage.text or "up to offset 5" in damage.text


def test_nothing_on_the_disks_is_changed(tmp_path: Path) -> None:
    places = [write_disk(tmp_path, each) for each in THREE]
    before = {
        each: (each.stat().st_mtime_ns, each.read_bytes()) for each in tmp_path.rglob("*") if each.is_file()
    }
    main(["inspect", str(tmp_path)])
    after = {
        each: (each.stat().st_mtime_ns, each.read_bytes()) for each in tmp_path.rglob("*") if each.is_file()
    }
    assert before == after and len(places) == 3


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for each in THREE:
        write_disk(tmp_path, each)
    assert main(["inspect", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "at least all records below offset 5" in out and "0 problems" in out
    (tmp_path / "node-3" / LOG_FOLDER / QUORUM_STATE).unlink()
    assert main(["inspect", str(tmp_path), "--json", "--records"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["format"] == "kraftcheck-inspect" and data["committed"]["below"] == 5
    assert [each["kind"] for each in data["observations"]] == ["no-quorum-state"]
    assert data["nodes"][0]["batches"][1]["kinds"] == ["NO_OP_RECORD"]


@pytest.mark.parametrize("closed", ["", "node-2", f"node-2/{LOG_FOLDER}"])
def test_what_may_not_be_read_does_not_pass_for_missing(
    closed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of another user: what is in it is not to be seen, and the disk must not be left out."""
    for each in THREE:
        write_disk(tmp_path, each)
    stat, folder = Path.stat, tmp_path / closed

    def refuse(path: Path, **more: bool) -> os.stat_result:
        if folder in path.parents:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return stat(path, **more)

    monkeypatch.setattr(Path, "stat", refuse)
    with pytest.raises(InputError, match=r"cannot be read \(Permission denied\); check its permissions"):
        [read_disk(each) for each in find_disks([tmp_path])]


@pytest.mark.parametrize("name", ["nothing", "empty", "file"])
def test_bad_input_is_one_sentence(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    assert main(["inspect", str(tmp_path / name)]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"kraftcheck: {tmp_path / name}: ") and err.count("\n") == 1
