"""The JSON Schema (2020-12) of sets of vectors, from the classes of the reference."""

from __future__ import annotations

import types
import typing
from collections.abc import Collection, Iterable
from enum import Enum
from typing import Any

from kraftcheck import spec
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.events import Event
from kraftcheck.reference.frozen import field_defaults, field_types, is_frozen
from kraftcheck.reference.messages import Message
from kraftcheck.reference.protocol import PRESETS
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.step import Outcome
from kraftcheck.support import codec
from kraftcheck.systems.brokers.switches import FORMS
from kraftcheck.vectors.form import FUNCTION, MESSAGE, REPLICA, SEQUENCE, STEP
from kraftcheck.vectors.messages import APIS, REASONS, REQUEST, RESPONSE
from kraftcheck.vectors.vector import NODES

FORMAT, INDEX_FORMAT = "kraftcheck-vectors", "kraftcheck-vectors-index"
#: Grows with every change of the format. 2: messages, and the function ``request-version``. 3: brokers and
#: their controller, and the field ``node`` of vectors, files and entries of the index. 4: ``Fatal`` has the
#: name of a reason and fields. 5: brokers propose ISRs (``IsrProposed``), and have a ``target`` state.
VERSION = 5

_HASH = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_RULES = {"type": "array", "items": {"type": "string"}}
_COMMON = {"hash": _HASH, "covers": {"type": "array", "items": {"type": "string"}}}
#: By node and kind the fields of a vector, without those that all vectors have.
_Fields = dict[tuple[str, str], dict[str, Any]]


def schema() -> dict[str, Any]:
    """The schema of a file of vectors, whatever their kind, and of an index."""
    definitions: dict[str, Any] = {}
    kinds = {**_of_replicas(definitions), **_of_brokers(definitions)}
    for (node, kind), fields in kinds.items():
        head = {"kind": {"const": kind}, "node": {"const": node}, **_COMMON}
        definitions[f"{node}-{kind}"] = _object({**head, **fields}, {"disk", "covers"})
    definitions["file"] = {"anyOf": [_file(*each) for each in kinds]}
    definitions["index"] = _index([*kinds])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Conformance vectors of KRaft: a file of vectors, or the index of a set",
        "anyOf": [{"$ref": "#/$defs/file"}, {"$ref": "#/$defs/index"}],
        "$defs": dict(sorted(definitions.items())),
    }


def _of_replicas(definitions: dict[str, Any]) -> _Fields:
    protocol = _protocol(PRESETS)
    replica = _type(Replica, definitions)
    happened = {
        "event": {"anyOf": [_type(Event, definitions), {"enum": ["start", "crash"]}]},
        "disk": _type(Disk, definitions),
        "outcome": _outcome(definitions),
    }
    steps = {"type": "array", "minItems": 1, "items": _object(happened, {"disk", "outcome"})}
    function = {
        "function": {"enum": ["election", "high-watermark", "request-version"]},
        "arguments": {"type": "object"},
        "result": {"type": ["string", "integer", "object", "null"]},
        "rules": _RULES,
    }
    return {
        (REPLICA, STEP): {**protocol, "replica": replica, **happened},
        (REPLICA, SEQUENCE): {**protocol, "replica": replica, "steps": steps},
        (REPLICA, FUNCTION): {**protocol, **function},
        (REPLICA, MESSAGE): {**protocol, **_message(definitions)},
    }


def _of_brokers(definitions: dict[str, Any]) -> _Fields:
    return {
        (name, STEP): {
            **_protocol(FORMS),
            "state": _type(node.state, definitions),
            "event": _type(node.event, definitions),
            "outcome": _type(node.outcome, definitions),
        }
        for name, node in NODES.items()
        if name != REPLICA
    }


def _protocol(presets: Iterable[str]) -> dict[str, Any]:
    values = {"type": ["string", "integer", "boolean", "null"]}
    switches = {"type": "object", "additionalProperties": values}
    return {"protocol": _object({"preset": {"enum": [*presets]}, "switches": switches})}


def _outcome(definitions: dict[str, Any]) -> dict[str, Any]:
    """An outcome of a step, in a sequence perhaps without the replica."""
    fields = {name: _type(kind, definitions) for name, kind in field_types(Outcome).items()}
    return _object(fields, {"replica"})


def _message(definitions: dict[str, Any]) -> dict[str, Any]:
    """What a vector says of a message: what arrives, and what becomes of it. A body may be anything."""
    texts = {"type": "string"}
    refused = _object({"refused": {"enum": [*REASONS]}, "at": texts})
    answer = _object(
        {"answer": _object({"error": texts, "partition_error": texts}, {"error", "partition_error"})}
    )
    read = _object({"message": _type(Message, definitions)})
    return {
        "api": {"enum": [*APIS]},
        "direction": {"enum": [REQUEST, RESPONSE]},
        "version": {"type": "integer"},
        "body": {},
        "result": {"anyOf": [refused, answer, read]},
        "rules": _RULES,
    }


def _file(node: str, kind: str) -> dict[str, Any]:
    items = {"type": "array", "minItems": 1, "items": {"$ref": f"#/$defs/{node}-{kind}"}}
    head = {"format": {"const": FORMAT}, "version": {"const": VERSION}}
    head |= {"kind": {"const": kind}, "node": {"const": node}}
    said = {"specification": {"const": spec.VERSION}, "hash": _HASH}
    return _object({**head, **said, "vectors": items})


def _index(kinds: Iterable[tuple[str, str]]) -> dict[str, Any]:
    nodes, of_vectors = zip(*kinds, strict=True)
    entry = {
        "file": {"type": "string"},
        "kind": {"enum": [*dict.fromkeys(of_vectors)]},
        "node": {"enum": [*dict.fromkeys(nodes)]},
        "vectors": {"type": "integer", "minimum": 1},
        "hash": _HASH,
        "rules": _RULES,
    }
    return _object(
        {
            "format": {"const": INDEX_FORMAT},
            "version": {"const": VERSION},
            "specification": {"const": spec.VERSION},
            "complete": {"type": "boolean"},
            "files": {"type": "array", "items": _object(entry)},
            "without": {"type": "object", "additionalProperties": _RULES},
        }
    )


def _object(fields: dict[str, Any], optional: Collection[str] = ()) -> dict[str, Any]:
    required = [name for name in fields if name not in optional]
    return {"type": "object", "properties": fields, "required": required, "additionalProperties": False}


def _type(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of values of a declared type; classes of the reference become definitions."""
    options = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    classes = [option for option in options if is_frozen(option)]
    found = [_class(option, len(classes) > 1, definitions) for option in classes]
    found += [_plain(option, definitions) for option in options if not is_frozen(option)]
    return found[0] if len(found) == 1 else {"anyOf": found}


def _class(kind: Any, tagged: bool, definitions: dict[str, Any]) -> dict[str, Any]:
    # Brokers have classes of the same names as replicas.
    package = "".join(f"{part}." for part in kind.__module__.split(".")[2:-1])
    name = f"{package}{kind.__name__}{'Tagged' if tagged else ''}"
    if name not in definitions:
        definitions[name] = {}
        fields = {field: _type(each, definitions) for field, each in field_types(kind).items()}
        if tagged:
            fields = {"type": {"const": kind.__name__}, **fields}
        definitions[name] = _object(fields, set(field_defaults(kind)))
    return {"$ref": f"#/$defs/{name}"}


def _plain(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    if kind is types.NoneType:
        return {"type": "null"}
    if typing.get_origin(kind) is tuple:
        first, *rest = typing.get_args(kind)
        if rest == [Ellipsis]:
            return {"type": "array", "items": _type(first, definitions)}
        items = [_type(each, definitions) for each in (first, *rest)]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {"enum": [codec.encode(member) for member in kind]}
    return {"type": {bool: "boolean", int: "integer", str: "string"}[kind]}
