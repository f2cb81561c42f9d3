"""The events of the environment that are faults, and not events of operators, clients or clocks."""

from __future__ import annotations

#: Budgets whose units are faults (docs/scenarios.md). Messages that get lost are faults without a budget.
FAULTS = frozenset({"crashes", "timeouts", "duplicates", "wipes", "restores"})
