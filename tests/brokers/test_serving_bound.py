"""For how many ticks a broker serves that was declared inactive: the table of docs/brokers.md."""

from __future__ import annotations

import pytest
from broker_samples import scenario_of

from model_check.run import check

EQUAL = ((1, 2, 1), (2, 2, 0), (2, 3, 1), (2, 4, 2), (3, 4, 1), (3, 5, 2))
DRIFTING = ((1, 2, 3), (2, 3, 4), (2, 4, 5))
TIMES = [
    *((*each, 0) for each in EQUAL),
    *(pytest.param(*each, 1, marks=pytest.mark.slow) for each in DRIFTING),
]


def holds(controller: int, broker: int, drift: int, bound: int) -> bool:
    """Whether no broker serves for more than ``bound`` ticks."""
    switches = {"controller-timeout": controller, "broker-timeout": broker, "contact-time": "request"}
    result = check(
        scenario_of(
            protocol={"set": switches},
            brokers={"running": [1]},
            environment={"drift": drift},
            network={"capacity": 3},
            budgets={"cuts": 1},
            check={"serves-at-most": bound, "only": ["InactiveBrokerServesBriefly"]},
        )
    )
    assert result.exploration.limit is None
    return not result.exploration.violations


@pytest.mark.parametrize(("controller", "broker", "bound", "drift"), TIMES)
def test_the_bound_is_the_smallest(controller: int, broker: int, bound: int, drift: int) -> None:
    assert holds(controller, broker, drift, bound)
    assert bound == 0 or not holds(controller, broker, drift, bound - 1)
