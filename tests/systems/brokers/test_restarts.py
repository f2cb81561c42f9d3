"""``environment.restarts``: a process starts again where one has ended in order, as often as one did."""

from __future__ import annotations

import pytest

from kraftcheck.engine.reference_explorer import explore_naively
from kraftcheck.engine.system import GlobalState
from kraftcheck.systems.brokers.places import Machine
from tests.systems.brokers.broker_samples import system_of


def processes(state: GlobalState) -> int:
    """How many processes of the one broker there have been."""
    (machine,) = (local for local in state.locals if isinstance(local, Machine))
    return machine.starts


@pytest.mark.parametrize("form", ["draft", "shipped"])
@pytest.mark.parametrize("shutdowns", [0, 1, 2])
@pytest.mark.parametrize("restarts", [False, True])
def test_as_many_processes_start_as_have_ended_in_order(form: str, shutdowns: int, restarts: bool) -> None:
    system = system_of(
        protocol={"form": form},
        brokers={"running": [1]},
        environment={"restarts": restarts},
        network={"capacity": 2},
        budgets={"shutdowns": shutdowns, "timeouts": 0, "contact-losses": 0},
    )
    before = min(map(processes, system.initial_states()))
    _, states = explore_naively(system)
    most = max(map(processes, states))
    assert most - before == (shutdowns if restarts else 0)
