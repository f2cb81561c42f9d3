"""Changes of state, held against the transition table of their release and the election before them."""

from __future__ import annotations

from kraftcheck.evidence.logs.checks import Where
from kraftcheck.evidence.logs.legality import EITHER, START, legal, members, rows, rules_about
from kraftcheck.evidence.logs.memory import Contradiction
from kraftcheck.evidence.logs.messages import Transition
from kraftcheck.evidence.logs.progress import Report
from kraftcheck.evidence.logs.states import Key, LoggedState


def check_legal(
    node: int,
    fact: Transition,
    old: LoggedState | None,
    voters: frozenset[Key] | None,
    tables: tuple[str, ...],
    earlier: Where | None,
    report: Report,
) -> None:
    """Judge whether one of ``tables`` has the change from ``old``; ``voters``: the set that lines show last.

    A smaller epoch is a problem of its own, and no line shows what is before the first state.
    """
    new = fact.new
    if fact.starts:
        role, step = START, 0
        is_legal = legal(tables, START, new.role, 0, EITHER)
    elif old is None:
        return
    else:
        role, step = old.role, new.epoch - old.epoch
        is_legal = step < 0 or legal(tables, role, new.role, step, members(node, old, new, voters))
    if not is_legal:
        found = (
            f"{role} to {new.role}, epoch {new.epoch - step} to {new.epoch}, by table {' or '.join(tables)}"
        )
        expected, cites = f"from {role}: {rows(tables, role)}", rules_about(tables, role, new.role)
        report(Contradiction("transition-legal", expected, found, earlier, cites))


def check_leader_kept(old: LoggedState, new: LoggedState, earlier: Where | None, report: Report) -> None:
    """Judge that a replica does not forget the leader of its epoch."""
    if old.role in ("Leader", "Resigned") or new.epoch != old.epoch or new.leader is not None:
        return
    if isinstance(old.leader, int):
        expected = f"leader {old.leader} of epoch {old.epoch}"
        report(Contradiction("leader-kept", expected, "none", earlier))


def check_electorate(node: int, new: LoggedState, report: Report) -> None:
    """Judge that whoever stands for election is a voter."""
    if new.electorate is not None and node not in new.electorate:
        ids = ", ".join(str(one) for one in sorted(new.electorate))
        expected, found = f"one of the voters {ids}", f"node {node} is {new.role}"
        report(Contradiction("observer-election", expected, found, None))


def check_majority(old: LoggedState, new: LoggedState, old_peer: bool, report: Report) -> bool:
    """Judge that an election is won by a majority; gives whether ``new`` is that of its winner.

    ``old_peer``: a peer without pre-votes has answered, which makes a Candidate without a majority.
    """
    if old.granted is None or not old.electorate:
        return False
    wins = (old.role, new.role) in (("Candidate", "Leader"), ("Prospective", "Candidate"))
    if not wins or (new.role == "Candidate" and old_peer):
        return False
    needed = len(old.electorate) // 2 + 1
    if len(old.granted) < needed:
        expected = f"{needed} of {len(old.electorate)} voters to have granted"
        report(Contradiction("election-majority", expected, f"{len(old.granted)} of them", None))
    return new.role == "Leader"
