"""The situation of a quorum as its disks show it, or ``kafka-metadata-quorum.sh describe``."""

from __future__ import annotations

from kraftcheck.evidence.disks.quorum import Quorum, cannot_start, disks_by_id, is_voter
from kraftcheck.evidence.disks.reported import Described
from kraftcheck.evidence.planning.situation import Member, Situation, led_by
from kraftcheck.support.errors import InputError


def of_disks(quorum: Quorum, down: frozenset[int], lost: frozenset[int]) -> Situation:
    """The voters of the most recent log. Nodes whose disks are given run, unless they are ``down``; voters
    whose disks are not given are down; a disk that the voter set does not name has replaced one that is lost.
    Raises InputError.
    """
    best = quorum.best
    if best is None or not best.voter_sets:
        raise InputError(
            "the disks have no voter set: with static voters (kraft.version 0) no operation changes them."
        )
    sets, last = best.voter_sets, best.voter_sets[-1]
    known = [each for each in sets if each.offset < quorum.committed.below] or sets[:1]
    if last.voters.keys != known[-1].voters.keys:
        raise InputError(
            f"{best.label}: its last voter set, at offset {last.offset}, may not be committed, and be taken "
            "back; start the nodes, and plan from describe --status."
        )
    keys = best.voters
    given = disks_by_id(quorum)
    for id, disk in given.items():
        if id not in lost and (why := cannot_start(disk)):
            raise InputError(f"{disk.label}: {why}; repair that first, or name it with --lost.")
    voters = {key.id: Member(key.id) for key in keys}
    running, stopped = set[Member](), set[Member]()
    for id, disk in given.items():
        replaced = id in voters and not is_voter(disk, keys)
        member = Member(id, 2 if replaced else 1)
        if id not in lost:
            (stopped if id in down else running).add(member)
    stopped |= {voters[id] for id in voters if id not in given and id not in lost}
    return _checked(voters, running, stopped, down, lost, None)


def of_description(described: Described, down: frozenset[int], lost: frozenset[int]) -> Situation:
    """What the leader reported: all nodes that it names run, unless they are ``down``. Raises InputError."""
    if not described.voters:
        raise InputError(f"{described.where}: has no CurrentVoters; give the output of describe --status.")
    voters = {key.id: Member(key.id) for key in described.voters}
    everybody = voters | {id: Member(id) for id in described.ends}
    running = {member for id, member in everybody.items() if id not in down | lost}
    stopped = {member for id, member in everybody.items() if id in down - lost}
    return _checked(voters, running, stopped, down, lost, described.leader)


def _checked(
    voters: dict[int, Member],
    running: set[Member],
    stopped: set[Member],
    down: frozenset[int],
    lost: frozenset[int],
    leader: int | None,
) -> Situation:
    known = {each.id for each in (*voters.values(), *running, *stopped)}
    if strangers := sorted((down | lost) - known):
        raise InputError(f"the situation: {strangers[0]} is neither a voter nor an observer; name it as one.")
    found = Situation(frozenset(voters.values()), frozenset(running), frozenset(stopped), lost)
    return led_by(frozenset() if leader is None else frozenset({leader}), found)
