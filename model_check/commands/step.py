"""``kraftcheck step``: ask the reference what a replica does on one event, or for a whole decision table; or
what a broker or the controller does.
"""

from __future__ import annotations

import argparse
import difflib
import json
from typing import Any

from rich.console import Console
from rich.text import Text

import spec
from model_check import codec
from model_check.brokers import words as broker_words
from model_check.brokers.switches import FORMS, with_switches
from model_check.consult import broker_step, fields, table_text, tables
from model_check.consult.ask import START, Answer, ask, ask_next_poll, question, texts
from model_check.consult.describe import describe_event, describe_replica, describe_response, head_of
from model_check.consult.effect_text import describe_effect
from model_check.consult.registry import TABLES
from model_check.consult.terminal import console, entry, heading, say
from model_check.consult.words import NoShortForm
from model_check.errors import InputError
from model_check.variants import add_protocol_options, read_protocol, value_of
from reference.effects import Reply
from reference.events import Event
from reference.protocol import Protocol
from reference.step import Outcome

EPILOG = """\
REPLICA and EVENT are in the short form, or JSON, or '@FILE', or '-' for
standard input. For example:

  kraftcheck step \\
      'follower epoch=5 leader=1 log=3@4,2@5 fetched' \\
      'vote-request from=3 epoch=6 last=5@5'
  kraftcheck step 'candidate epoch=6' \\
      'vote-response from=2 granted' --poll
  kraftcheck step \\
      'unattached epoch=5 leader=1 voted=2' start
  kraftcheck step --table pre-vote-request \\
      --protocol kip996

Of brokers, from files and standard input as well
(--protocol draft or shipped; model_check/consult/broker_step.py):
  kraftcheck step 'broker id=1 incarnation=1 controller=1' heartbeat-due

Tables: {tables}.

The short form is described in model_check/shortform.py.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.epilog = EPILOG.format(tables=", ".join(TABLES))
    parser.add_argument("replica", nargs="?", metavar="REPLICA", help="the replica before the event")
    parser.add_argument("event", nargs="?", metavar="EVENT", help="the event, or 'start'")
    add_protocol_options(parser)
    parser.add_argument(
        "--poll", action="store_true", help="also run the round of the poll loop that follows"
    )
    parser.add_argument(
        "--table", nargs="?", const="", metavar="NAME", help="print a decision table; without NAME: list them"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="print the texts of the rules")
    parser.add_argument("--json", action="store_true", help="print machine-readable output")


def run(arguments: argparse.Namespace) -> int:
    """Answer the question. Raises InputError if it is not one."""
    given: tuple[str, str] | None = None
    if arguments.replica is not None and arguments.event is not None and arguments.table is None:
        given = texts(arguments.replica, arguments.event)
    if broker_step.is_about_brokers(given[0] if given else arguments.replica or ""):
        return _ask_brokers(arguments, given)
    protocol = read_protocol(arguments.protocol, arguments.settings)
    if arguments.table is not None:
        _show_table(arguments, protocol)
        return 0
    if given is None:
        raise InputError(
            "step needs REPLICA and EVENT, or --table; see 'kraftcheck step --help' for examples."
        )
    replica, event, assumed = question(*given)
    answers = [ask(protocol, replica, event)]
    if arguments.poll and answers[0].outcome.fatal is None:
        answers.append(ask_next_poll(protocol, answers[0]))
    if arguments.json:
        print(
            json.dumps({"protocol": codec.encode(protocol, Protocol), "steps": _as_json(answers)}, indent=2)
        )
        return 0
    out = console()
    for answer in answers:
        _print_answer(out, answer, verbose=arguments.verbose)
    if assumed:
        out.print(Text())
        say(out, "Assumed: the replica awaits this response. Say 'awaiting=none' in REPLICA if it does not.")
    return 0


# Brokers and their controller.


def _ask_brokers(arguments: argparse.Namespace, given: tuple[str, str] | None) -> int:
    """Answer a question about the controller or a broker, given in two texts. Raises InputError."""
    if given is None or arguments.poll:
        raise InputError(
            "step of a broker or the controller takes STATE and EVENT, without --table and --poll."
        )
    form = "draft" if arguments.protocol == "kafka" else arguments.protocol
    if form not in FORMS:
        raise InputError(f"--protocol {form!r}: expected one of {', '.join(FORMS)} for brokers.")
    switches = {
        name: value_of(word) for name, _, word in (each.partition("=") for each in arguments.settings)
    }
    protocol = with_switches(form, switches, lambda said: InputError(f"--set: {said}."))
    before = broker_step.parse_state(given[0])
    event = broker_step.parse_event(given[1])
    outcome = broker_step.ask(protocol, before, event)
    if arguments.json:
        print(json.dumps(broker_step.as_json(protocol, event, outcome), indent=2))
        return 0
    out = console()
    heading(out, "Question")
    entry(out, "state", broker_words.short_event(before))
    entry(out, "event", broker_words.short_event(event))
    heading(out, "State afterwards")
    entry(
        out,
        "state",
        broker_words.short_event(outcome.state),
        "bold yellow" if outcome.state != before else "",
    )
    heading(out, "Effects, in order")
    for number, effect in enumerate(outcome.effects, start=1):
        name, text = broker_words.describe_effect(effect)
        entry(out, f"{number}. {name}", text, column=22)
    if not outcome.effects:
        say(out, "none", indent=2)
    _print_rules(out, outcome.rules, verbose=arguments.verbose)
    return 0


# One question.


def _as_json(answers: list[Answer]) -> list[dict[str, Any]]:
    return [
        {
            "event": START if answer.event == START else codec.encode(answer.event, Event),
            "fatal": answer.outcome.fatal,
            "changed": {
                change.name: [change.before, change.after]
                for change in fields.compare(answer.before, answer.outcome.replica)
                if change.changed
            },
            "outcome": codec.encode(answer.outcome, Outcome),
        }
        for answer in answers
    ]


def _print_answer(out: Console, answer: Answer, *, verbose: bool) -> None:
    _print_question(out, answer)
    outcome = answer.outcome
    heading(out, "Answer")
    replies = [effect for effect in outcome.effects if isinstance(effect, Reply)]
    for reply in replies:
        words = " ".join(describe_response(reply.response))
        entry(out, f"to {reply.to}", f"{head_of(reply.response)} {words}")
    if outcome.fatal:
        entry(out, "dies", outcome.fatal, "bold red")
    elif not replies:
        entry(out, "none", "no response is sent")
    heading(out, "State afterwards")
    for change in fields.compare(answer.before, outcome.replica):
        text = f"{change.before} -> {change.after}" if change.changed else change.after
        entry(out, change.name, text, "bold yellow" if change.changed else "", column=20)
    heading(out, "Effects, in order")
    for number, effect in enumerate(outcome.effects, start=1):
        label, text = describe_effect(effect)
        entry(out, f"{number}. {label}", text, column=18)
    if not outcome.effects:
        say(out, "none", indent=2)
    _print_rules(out, outcome.rules, verbose=verbose)


def _print_question(out: Console, answer: Answer) -> None:
    try:
        before = describe_replica(answer.before)
    except NoShortForm:
        before = f"replica {answer.before.id}"
    event = START if answer.event == START else _event_text(answer)
    heading(out, "Question")
    entry(out, "replica", before)
    entry(out, "event", event)


def _event_text(answer: Answer) -> str:
    assert not isinstance(answer.event, str)
    return describe_event(answer.event, answer.before)


def _print_rules(out: Console, rules: tuple[str, ...], *, verbose: bool) -> None:
    heading(out, "Rules that decided")
    if not verbose:
        say(out, " ".join(rules) or "none", indent=2)
        return
    catalogue = spec.load().rules
    for rule_id in rules:
        rule = catalogue.get(rule_id)
        say(out, rule_id, "bold", indent=2)
        say(out, "not in the catalogue" if rule is None else rule.sentence, indent=4)
        if rule is not None:
            say(out, "; ".join(rule.source), "dim", indent=4)


# Tables.


def _show_table(arguments: argparse.Namespace, protocol: Protocol) -> None:
    if arguments.replica is not None:
        raise InputError(
            "step takes REPLICA and EVENT, or --table NAME, but not both; leave one of them out."
        )
    if not arguments.table:
        _list_tables(as_json=arguments.json)
        return
    table = TABLES.get(arguments.table)
    if table is None:
        near = difflib.get_close_matches(arguments.table, TABLES, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise InputError(f"--table {arguments.table!r}: expected one of {', '.join(TABLES)}{hint}")
    rows = tables.rows(table, protocol)
    if arguments.json:
        print(json.dumps(table_text.as_json(table, rows), indent=2))
    else:
        shown = " ".join([arguments.protocol, *arguments.settings])
        table_text.print_table(console(), table, rows, shown)


def _list_tables(*, as_json: bool) -> None:
    if as_json:
        print(json.dumps({table.name: table.about for table in TABLES.values()}, indent=2))
        return
    out = console()
    column = max(map(len, TABLES)) + 4
    for table in TABLES.values():
        entry(out, table.name, table.about, column=column)
