"""What a leader may change on the fetch of a replica that is no voter."""

from __future__ import annotations

import pytest

from kraftcheck.evidence.history.facts import Key, Violation
from kraftcheck.evidence.history.fetches import check_fetch
from kraftcheck.evidence.history.replica import WholeState


def leader(timer: int) -> WholeState:
    """Leader 1 of three voters, whose check quorum ends at ``timer``."""
    return WholeState(
        role="Leader",
        epoch=1,
        leader=1,
        voted=None,
        end=5,
        last_epoch=1,
        high_watermark=5,
        log_start=0,
        snapshot=None,
        voters=tuple(Key(id, None) for id in (1, 2, 3)),
        kraft_version=1,
        is_voter=True,
        progress={},
        timers={"checkQuorum": timer},
        shown={},
    )


@pytest.mark.parametrize(("suffices", "violated"), [(False, ["ObserversDoNotCount"]), (True, [])])
def test_check_quorum_restarts_on_a_fetch_of_an_observer_only_once_fewer_voters_must_fetch(
    suffices: bool, violated: list[str]
) -> None:
    found: list[Violation] = []
    check_fetch(leader(10), leader(20), Key(7, None), 5, None, found.append, suffices=suffices)
    assert [each.check for each in found] == violated
