"""The answers of an adapter in the form of recordings, the same for every run of the same implementation.

No rule fixes in which order an implementation takes the members of a set; where that differs from run to run,
they are ordered here: requests that leave together, voters in control records.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from kraftcheck.evidence.recordings.fields import Fields, Json
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Log
from kraftcheck.reference.replica import (
    Candidate,
    Election,
    Follower,
    Leader,
    Prospective,
    QuorumState,
    Replica,
    Resigned,
    Role,
    Unattached,
)
from kraftcheck.support.errors import InputError

_NOBODY = Election((), ())
#: The roles, with nothing in them but for what the recorder asks for.
_ROLES: Mapping[str, Role] = {
    "Unattached": Unattached(),
    "Prospective": Prospective(_NOBODY),
    "Candidate": Candidate(_NOBODY),
    "Follower": Follower(()),
    "Resigned": Resigned(()),
}


def in_order(effects: Iterable[Mapping[str, Json]]) -> Iterator[Mapping[str, Json]]:
    """``effects`` with everything that is unordered in one order."""
    for kind, alike in groupby(effects, lambda effect: effect["effect"]):
        if kind == "request":
            yield from sorted(alike, key=lambda effect: str(effect.get("to")))
        elif kind in ("append", "response", "storeSnapshot", "loadSnapshot"):
            yield from (_ordered(copy.deepcopy(effect)) for effect in alike)
        else:
            yield from alike


def _ordered(value: Json) -> Json:
    """``value`` with the voters of its control records and snapshots ordered by id."""
    if isinstance(value, dict):
        for name, inner in value.items():
            voters = name in ("voters", "grantingVoters") and isinstance(inner, list)
            value[name] = sorted(inner, key=_voter) if voters else _ordered(inner)
    elif isinstance(value, list):
        return [_ordered(inner) if isinstance(inner, dict | list) else inner for inner in value]
    return value


def _voter(entry: Json) -> str:
    return f"{entry.get('voterId', ''):>12}" if isinstance(entry, dict) else str(entry)


def state_of(state: Mapping[str, Json], origin: int) -> dict[str, Json]:
    """The state as recordings show it. origin: the adapter's time at which the node's own clock is 0."""
    shown = dict(state)
    if isinstance(shown.get("progress"), dict):
        shown["progress"] = {
            voter: [entry[0], *(time - origin if time >= 0 else time for time in entry[1:])]
            for voter, entry in shown["progress"].items()
        }
    return shown


def replica_of(before: Replica, state: Mapping[str, Json], log: Log) -> Replica:
    """The replica that shows ``state``, as far as a recorder asks. Raises InputError."""
    fields = Fields(dict(state), "state")
    role, leader, high_watermark = fields.text("state"), fields.number("leader"), fields.number("hw")
    if role != "Leader" and role not in _ROLES:
        raise InputError(f"state.state: there is no role {role!r}")
    return replace(
        before,
        log=log,
        quorum_state=QuorumState(fields.number("epoch"), None if leader < 0 else leader),
        high_watermark=None if high_watermark < 0 else high_watermark,
        shutting_down=fields.flag("shuttingDown", False),
        role=Leader(fields.number("epochStart"), (), ()) if role == "Leader" else _ROLES[role],
    )
