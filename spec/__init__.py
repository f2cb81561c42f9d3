"""What the protocol says: the rules, tables, messages and properties of KRaft, as data.

The TOML files of this folder are meant to be read; `load` gives the same content to programs::

    from kraftcheck.spec import load

    rule = load().rules["VOTE-10"]
    print(rule.sentence, rule.source, rule.protects)

There is no behaviour here: what a replica does is in `kraftcheck.reference`, what can go wrong in
`kraftcheck`.
"""

from typing import Final

from kraftcheck.spec.builders import ROLES, START
from kraftcheck.spec.catalogue import load, parse
from kraftcheck.spec.model import (
    RELEASES,
    BrokerTable,
    BrokerTransition,
    Change,
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

#: The version of what is specified. It grows when a rule demands something else, or a rule comes or goes;
#: what is made from the specification for others (conformance vectors) says which version it follows.
VERSION: Final = 1

__all__ = [
    "RELEASES",
    "ROLES",
    "START",
    "VERSION",
    "BrokerTable",
    "BrokerTransition",
    "Change",
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
