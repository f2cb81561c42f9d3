"""The page on the short form: its examples are read and printed again, and its tables name every word."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kraftcheck.query import broker_step
from kraftcheck.support.errors import InputError
from kraftcheck.systems.brokers import short_form as broker_short
from kraftcheck.systems.kraft.text import (
    event,
    parse_event,
    parse_replica,
    print_event,
    print_replica,
    replica,
)

PAGE = (Path(__file__).parents[2] / "docs" / "short-form.md").read_text(encoding="utf-8")
FOLLOWER = parse_replica("follower epoch=5 leader=1 log=3@4,2@5")


def printed_again(kind: str, text: str) -> str:
    """The text of the value that an example on the page stands for."""
    if kind == "replica":
        return print_replica(parse_replica(text))
    if kind == "event":
        return print_event(parse_event(text, FOLLOWER), FOLLOWER)
    parse = broker_step.parse_state if kind == "state" else broker_step.parse_event
    return broker_short.describe(parse(text))


EXAMPLES = [
    (kind, line)
    for kind, block in re.findall(r"```(replica|event|state|broker-event)\n(.*?)```", PAGE, re.DOTALL)
    for line in block.splitlines()
]


@pytest.mark.parametrize(("kind", "text"), EXAMPLES)
def test_an_example_is_printed_as_it_is_read(kind: str, text: str) -> None:
    assert printed_again(kind, text) == text


def test_the_page_names_every_word() -> None:
    named = {word for quoted in re.findall(r"`([^`\n]+)`", PAGE) for word in re.findall(r"[a-z-]+", quoted)}
    words = {key for form in (*event.FORMS.values(), *replica.FORMS.values()) for key in form.words}
    assert words - named == set()
    assert len(EXAMPLES) > 15


def test_the_error_on_the_page() -> None:
    with pytest.raises(InputError) as refused:
        parse_replica("candidate epoch=x")
    assert str(refused.value) in PAGE.replace("\n", " ")
