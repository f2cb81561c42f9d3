"""What the protocol says: the rules, tables, messages and properties of KRaft, as data.

The TOML files of this folder are meant to be read; `load` gives the same content to programs::

    from spec import load

    rule = load().rules["VOTE-10"]
    print(rule.sentence, rule.source, rule.protects)

There is no behaviour here: what a replica does is in `reference`, what can go wrong in `model_check`.
"""

from spec.builders import ROLES, START
from spec.catalogue import load, parse
from spec.model import (
    Confidence,
    Config,
    Conflict,
    EpochChange,
    ErrorCode,
    Field,
    Membership,
    MessageSchema,
    Property,
    PropertyKind,
    Rule,
    Specification,
    SpecificationError,
    Transition,
    Variant,
    applies,
)

__all__ = [
    "ROLES",
    "START",
    "Confidence",
    "Config",
    "Conflict",
    "EpochChange",
    "ErrorCode",
    "Field",
    "Membership",
    "MessageSchema",
    "Property",
    "PropertyKind",
    "Rule",
    "Specification",
    "SpecificationError",
    "Transition",
    "Variant",
    "applies",
    "load",
    "parse",
]
