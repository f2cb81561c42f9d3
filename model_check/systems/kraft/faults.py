"""What of the environment's doing is a fault, and not what operators, clients or clocks do."""

from __future__ import annotations

#: Budgets whose units are faults (docs/scenarios.md). Messages that get lost are faults without a budget.
FAULTS = frozenset({"crashes", "timeouts", "duplicates", "wipes", "restores"})
