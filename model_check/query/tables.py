"""All decision tables, and the one that a name and a preset mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kraftcheck.query.broker_tables import BROKER_TABLES
from kraftcheck.query.decision_table import DecisionTable
from kraftcheck.query.replica_tables import TABLES
from kraftcheck.support.closest import did_you_mean
from kraftcheck.support.errors import InputError

#: What the tables are about that are not of brokers, which come in forms.
REPLICAS = "replicas"
#: By form the tables by name. Some names are in both forms of brokers.
BY_FORM: Mapping[str, Mapping[str, DecisionTable[Any]]] = {REPLICAS: TABLES, **BROKER_TABLES}


def names_of_broker_tables() -> tuple[str, ...]:
    """The names of the tables of both forms of brokers."""
    return tuple(dict.fromkeys(name for known in BROKER_TABLES.values() for name in known))


def form_of_table(name: str, preset: str | None) -> str:
    """The form whose table of this name is asked for; ``preset`` is what ``--protocol`` says, if anything.

    Raises InputError if there is no such table, if that form of brokers has none, and if nothing says which
    form is meant.
    """
    forms = [form for form, known in BY_FORM.items() if name in known]
    if not forms:
        known = (*TABLES, *names_of_broker_tables())
        hint = did_you_mean(name, known) or "."
        raise InputError(f"--table {name!r}: expected one of {', '.join(known)}{hint}")
    wanted = " or ".join(f"--protocol {form}" for form in forms)
    if preset is None and len(forms) > 1:
        raise InputError(f"--table '{name}': both forms of brokers have it; pass {wanted}.")
    if preset is None or forms == [REPLICAS]:
        return forms[0]
    if preset not in forms:
        raise InputError(
            f"--table '{name}' is about brokers, {' and '.join(forms)}: "
            f"pass {wanted}, not --protocol {preset[:40]!r}."
        )
    return preset
