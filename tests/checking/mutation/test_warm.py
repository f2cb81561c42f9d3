"""Mutants made in a process that has imported the reference are those that importing their source makes."""

from __future__ import annotations

import json
import subprocess
import sys
from types import FunctionType

import pytest

from kraftcheck.checking.mutation.warm import Image, Place

SOURCE = """\
def outer(x):
    def inner(y):
        return x + y
    return inner(1)

class Box:
    @property
    def value(self):
        return 1

def other(x=1):
    return x

def short(x=1): return x

def long(
    y=1): return y
"""


def image_of(source: str, *, ran: frozenset[Place] = frozenset()) -> tuple[Image, dict[str, object]]:
    """A module with the text ``source``, as an image of it."""
    namespace: dict[str, object] = {"__name__": "kraftcheck.reference.toy"}
    exec(compile(source, "toy", "exec"), namespace)
    box = namespace["Box"]
    functions = [each for each in namespace.values() if isinstance(each, FunctionType)]
    functions.append(vars(box)["value"].fget)
    places = {Place("kraftcheck.reference.toy", each.__code__.co_firstlineno): (each,) for each in functions}
    return Image(frozenset(), places, set(ran)), namespace


def test_bodies_are_replaced() -> None:
    image, toy = image_of(SOURCE)
    kept = toy["outer"]
    changed = SOURCE.replace("x + y", "(\n        x * 10\n        + y)").replace("return 1", "return 2")
    assert image.become("kraftcheck.reference.toy", SOURCE, changed, "<mutant>")
    assert kept(3) == 31 and toy["Box"]().value == 2 and toy["other"]() == 1  # type: ignore[operator]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x=1", "x=2"),
        ("    @property\n", ""),
        ("class Box:", "class Box(int):"),
        ("def other", "z = 1\ndef other"),
        ("def other(x=1):\n    return x\n", ""),
        ("def short(x=1): return x", "def short(x=2): return x"),
        ("    y=1): return y", "    y=2): return y"),
    ],
)
def test_what_is_outside_of_bodies_needs_an_import(before: str, after: str) -> None:
    image, toy = image_of(SOURCE)
    assert before in SOURCE
    changed = SOURCE.replace(before, after).replace("x + y", "x - y")
    assert not image.become("kraftcheck.reference.toy", SOURCE, changed, "<mutant>")
    assert toy["outer"](3) == 4  # type: ignore[operator]


def test_a_function_that_ran_during_the_import_needs_an_import() -> None:
    image, toy = image_of(SOURCE, ran=frozenset({Place("kraftcheck.reference.toy", 1)}))
    assert not image.become("kraftcheck.reference.toy", SOURCE, SOURCE.replace("x + y", "x - y"), "<mutant>")
    assert image.become(
        "kraftcheck.reference.toy", SOURCE, SOURCE.replace("return 1", "return 5"), "<mutant>"
    )
    assert toy["outer"](3) == 4 and toy["Box"]().value == 5  # type: ignore[operator]


#: A mutant of each sort: of replicas and of brokers, of a method, of a table, of what runs during the import,
#: and one of whose modules only one can be changed in place.
SORTS = (
    "vote-not-persisted",
    "majority-index-rounded-down",
    "broker-epoch-beside-the-log",
    "old-table-without-candidate-to-leader",
    "answer-before-persisting",
    "new-isr-counts-at-once",
    "leader-restarts-as-leader",
)

_BOTH = """
import dataclasses, json, os, sys
from functools import partial
from kraftcheck.checking.mutation import campaign, patch, server, warm
from kraftcheck.checking.mutation.catalogue import shipped
from kraftcheck.support import forks
image = warm.Image()
image.load(partial(server.resolve_name, "kraftcheck.checking.mutation.worker:explore"))
how = {"timeout": 100.0, "width": None, "brief": False}
for mutant in map(shipped().get, sys.argv[1:]):
    job = campaign._exploration(mutant, patch.mutated_sources(mutant), how, None)
    for each in image, dataclasses.replace(image, functions={}):
        print(json.dumps(forks.fork(partial(server._work, each, job), os.pipe()[0], 100.0).found))
"""


@pytest.mark.slow
def test_both_ways_of_making_a_mutant_give_the_same() -> None:
    command = [sys.executable, "-c", _BOTH, *SORTS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = [[each | {"seconds": 0} for each in json.loads(line)] for line in done.stdout.splitlines()]
    assert all(found) and found[::2] == found[1::2] and len(found) == 2 * len(SORTS)
