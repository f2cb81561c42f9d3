"""Which properties of single steps an execution of the reference violates."""

from __future__ import annotations

from kraftcheck.reference.effects import Fatal
from kraftcheck.reference.events import Event
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import Replica
from kraftcheck.systems.kraft import checks, names, voter_checks
from kraftcheck.systems.kraft.node import Execution, Node
from kraftcheck.systems.kraft.wiring import Wiring


def violations(
    wiring: Wiring,
    protocol: Protocol,
    before: Replica,
    event: Event | None,
    execution: Execution,
    after: Node,
) -> tuple[str, ...]:
    """The names of the properties of single steps that are violated; ``event`` is ``None`` for a start."""
    found = checks.violations(protocol, before, event, execution, after)
    if isinstance(after.died, Fatal) and is_ignored(wiring, after.died):
        found = tuple(name for name in found if name != names.NO_FATAL)
    if wiring.origin is None:
        return found
    changing = voter_checks.violations(protocol, before, event, execution, after)
    return tuple(dict.fromkeys((*found, *changing)))


def is_ignored(wiring: Wiring, fatal: Fatal) -> bool:
    """Whether an exit of a process with ``fatal`` shows a fault that a finding has shown already."""
    return fatal.reason in wiring.ignored_fatals
