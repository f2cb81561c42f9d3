"""Messages that the test composes, as Kafka's own JSON forms of them."""

from __future__ import annotations

import copy
import json
import re
import textwrap

from kraftcheck.evidence.recordings.fields import Json

_WIDTH = 90
_STRING = r'"((?:[^"\\]|\\.)*)"'
_BLANK = "\N{NO-BREAK SPACE}"


class NotWritable(Exception):
    """The behaviour has a part that the test has no words for; the text is a clause without an end."""


def literal(text: str) -> str:
    """A string as a Java literal."""
    return json.dumps(text)


def json_literal(text: str) -> list[str]:
    """JSON as an expression in lines: a string that has ``'`` for ``"``, broken between the parts of JSON."""
    # Blanks within strings of JSON are none of ours to break at.
    shown = re.sub(_STRING, r"'\1'", text.replace("'", r"\u0027"))
    shown = re.sub(_STRING.replace('"', "'"), lambda found: found[0].replace(" ", _BLANK), shown)
    lines = textwrap.wrap(shown, _WIDTH, break_long_words=False, break_on_hyphens=False)
    *before, last = (literal(line.replace(_BLANK, " ")) for line in lines)
    return [*(f"{line} +" for line in before), last]


def composed(api: str, data: Json, *, is_request: bool) -> list[str]:
    """A message as an expression, in lines. Raises NotWritable where it carries records or a snapshot."""
    kind = f"{api}{'Request' if is_request else 'Response'}Data"
    shown = json.dumps(_without_batches(data))
    lines = [f"{kind}JsonConverter.read(json("]
    lines += [f"    {line}" for line in json_literal(shown)]
    return [*lines, f"), ApiKeys.{constant(api)}.latestVersion())"]


def constant(api: str) -> str:
    """The name of an API in ``ApiKeys``."""
    return re.sub("([a-z])([A-Z])", r"\1_\2", api).upper()


def _without_batches(data: Json) -> Json:
    """``data`` with no records in the place of none."""
    found = copy.deepcopy(data)
    for topic in found.get("responses", ()):
        for partition in topic.get("partitions", ()):
            if partition.pop("batches", None):
                raise NotWritable("a replica receives records from a process that takes no part")
            partition["records"] = None
    for topic in found.get("topics", ()):
        if any("snapshot" in partition for partition in topic.get("partitions", ())):
            raise NotWritable("a replica receives a snapshot from a process that takes no part")
    return found
