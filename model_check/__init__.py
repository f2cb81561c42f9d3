"""The executable specification of KRaft, and the model checker that runs it.

The names below are the public interface; ``docs/library.md`` shows each. They are kept stable: a name that
goes, or that changes what it does, is deprecated for one minor version first, and CHANGELOG.md says so.
Everything else is internal. A name is imported when it is first used, so that ``import kraftcheck`` takes no
time.

========================= ==============================================================================
``find``                  a scenario that comes with kraftcheck, or the one in a file
``load``, ``parse``       the scenario in a file, or in a TOML text
``scenarios``             all scenarios that come with kraftcheck, by name
``Scenario``              what a scenario says
``check``                 explores a scenario within its bounds and gives a ``CheckResult``
``CheckResult``           the verdict, the counts, and the counterexamples as values of ``Trace``
``Limits``, ``Verdict``   when ``check`` stops early, and what it came to
``Trace``                 a counterexample, step by step
``explore``               the search itself, for systems of your own
``step``                  what a replica does on one event: the reference
``rules``                 the rules and properties of the protocol as data
``InputError``            raised for bad input of any kind
========================= ==============================================================================
"""

from __future__ import annotations

import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kraftcheck.checking.run import CheckResult, check
    from kraftcheck.engine.explorer import explore
    from kraftcheck.engine.system import Limits, Verdict
    from kraftcheck.reference.step import step
    from kraftcheck.spec.catalogue import load as rules
    from kraftcheck.support.errors import InputError
    from kraftcheck.systems.scenario import Scenario, find, load, parse
    from kraftcheck.systems.scenario import shipped as scenarios
    from kraftcheck.traces.model import Trace

__version__ = "0.1.0"
__all__ = [
    "CheckResult",
    "InputError",
    "Limits",
    "Scenario",
    "Trace",
    "Verdict",
    "__version__",
    "check",
    "explore",
    "find",
    "load",
    "parse",
    "rules",
    "scenarios",
    "step",
]

#: When this process began to import kraftcheck, in seconds of the epoch.
BEGAN = time.time()

#: Public name → the module that defines it, and its name there.
_HOMES = {
    "CheckResult": ("checking.run", "CheckResult"),
    "InputError": ("support.errors", "InputError"),
    "Limits": ("engine.system", "Limits"),
    "Scenario": ("systems.scenario", "Scenario"),
    "Trace": ("traces.model", "Trace"),
    "Verdict": ("engine.system", "Verdict"),
    "check": ("checking.run", "check"),
    "explore": ("engine.explorer", "explore"),
    "find": ("systems.scenario", "find"),
    "load": ("systems.scenario", "load"),
    "parse": ("systems.scenario", "parse"),
    "rules": ("spec.catalogue", "load"),
    "scenarios": ("systems.scenario", "shipped"),
    "step": ("reference.step", "step"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'kraftcheck' has no attribute '{name}'")
    module, attribute = _HOMES[name]
    return getattr(import_module(f"kraftcheck.{module}"), attribute)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
