"""``kraftcheck step``: one step of a replica, a broker or the controller by the reference, or a decision
table.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from rich.text import Text

from kraftcheck import spec
from kraftcheck.query import broker_forms, broker_step, table_text
from kraftcheck.query.ask import START, Answer, ask, ask_next_poll, question, texts
from kraftcheck.query.decision_table import rows
from kraftcheck.query.replica_tables import TABLES
from kraftcheck.query.tables import BY_FORM, REPLICAS, form_of_table, names_of_broker_tables
from kraftcheck.reference.effects import Reply
from kraftcheck.reference.events import Event
from kraftcheck.reference.protocol import PRESETS, Protocol
from kraftcheck.reference.step import Outcome
from kraftcheck.support import codec
from kraftcheck.support.arguments import add_json, flag
from kraftcheck.support.errors import InputError
from kraftcheck.support.outputs import print_output
from kraftcheck.support.terminal import Console, console, entry, heading, say
from kraftcheck.systems.brokers import short_form as broker_short
from kraftcheck.systems.brokers.switches import FORMS
from kraftcheck.systems.brokers.switches import SWITCHES as BROKER_SWITCHES
from kraftcheck.systems.kraft.switches import DEFAULT, SWITCHES, add_protocol_options
from kraftcheck.systems.kraft.text import fields
from kraftcheck.systems.kraft.text.effects import describe_effect
from kraftcheck.systems.kraft.text.event import describe_message, print_event
from kraftcheck.systems.kraft.text.replica import print_replica
from kraftcheck.systems.short_form import name_of

_NEEDED = (
    "step needs REPLICA and EVENT (or a broker's or the controller's STATE and EVENT), or --table; "
    "see 'kraftcheck step --help' for examples."
)

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

A broker and the controller take the same command, in the draft and in
the shipped form. --protocol names the form if STATE and EVENT do not
tell it:

  kraftcheck step --protocol draft \\
      'broker id=1 incarnation=1 controller=1' heartbeat-due
  kraftcheck step --table broker-heartbeat-request

Tables: {tables}.
Tables of brokers: {broker_tables}.

The short form is described in docs/short-form.md.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    of_brokers = ", ".join(names_of_broker_tables())
    parser.epilog = EPILOG.format(tables=", ".join(TABLES), broker_tables=of_brokers)
    parser.add_argument("replica", nargs="?", metavar="REPLICA", help="the replica before the event")
    parser.add_argument("event", nargs="?", metavar="EVENT", help="the event, or 'start'")
    add_protocol_options(parser, brokers=tuple(FORMS))
    flag(parser, "--poll", says="also run the round of the poll loop that follows")
    parser.add_argument(
        "--table", nargs="?", const="", metavar="NAME", help="print a decision table; without NAME: list them"
    )
    flag(parser, "-v", "--verbose", says="print the texts of the rules")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the answer. Raises InputError for a state or event that there cannot be."""
    if arguments.table is not None:
        _show_table(arguments)
        return 0
    given: tuple[str, str] | None = None
    if arguments.replica is not None and arguments.event is not None:
        given = texts(arguments.replica, arguments.event)
    if broker_step.is_about_brokers(given[0] if given else arguments.replica or ""):
        _ask_brokers(arguments, given)
    else:
        _ask_replica(arguments, given)
    return 0


# A replica.


def _ask_replica(arguments: argparse.Namespace, given: tuple[str, str] | None) -> None:
    """Answer a question about a replica, given in two texts. Raises InputError."""
    if given is None:
        raise InputError(_NEEDED)
    if not given[0].strip():
        raise InputError(f"REPLICA is empty; {_NEEDED}")
    protocol = _protocol_of_replicas(arguments, "REPLICA")
    replica, event, assumed = question(*given)
    answers = [ask(protocol, replica, event)]
    if arguments.poll and answers[0].outcome.fatal is None:
        answers.append(ask_next_poll(protocol, answers[0]))
    if arguments.json:
        data = {"protocol": codec.encode(protocol, Protocol), "steps": _as_json(answers)}
        print_output("steps", data, indent=2)
        return
    out = console()
    for answer in answers:
        _print_answer(out, answer, verbose=arguments.verbose)
    if assumed:
        out.print(Text())
        say(out, "Assumed: the replica awaits this response. Say 'awaiting=none' in REPLICA if it does not.")


def _protocol_of_replicas(arguments: argparse.Namespace, what: str) -> Protocol:
    """The protocol of replicas that the arguments name. Raises InputError for a form of brokers; ``what``
    names the argument that is about replicas.
    """
    if arguments.protocol in FORMS:
        raise InputError(
            f"{what} is about replicas: pass one of --protocol {', '.join(PRESETS)}, or none, "
            f"not --protocol {arguments.protocol!r}."
        )
    return SWITCHES.read(arguments.protocol or DEFAULT, arguments.settings)


def _as_json(answers: list[Answer]) -> list[dict[str, Any]]:
    return [
        {
            "event": START if answer.event == START else codec.encode(answer.event, Event),
            "fatal": None if answer.outcome.fatal is None else answer.outcome.fatal.sentence,
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
    event, outcome = answer.event, answer.outcome
    heading(out, "Question")
    entry(out, "replica", print_replica(answer.before))
    entry(out, "event", event if isinstance(event, str) else print_event(event, answer.before))
    heading(out, "Answer")
    replies = [effect for effect in outcome.effects if isinstance(effect, Reply)]
    for reply in replies:
        entry(out, f"to {reply.to}", describe_message(reply.response))
    if outcome.fatal:
        entry(out, "exits", outcome.fatal.sentence, "bold red")
    elif not replies:
        entry(out, "none", "no response is sent")
    heading(out, "State afterwards")
    for change in fields.compare(answer.before, outcome.replica):
        text = f"{change.before} -> {change.after}" if change.changed else change.after
        entry(out, change.name, text, "bold yellow" if change.changed else "", column=20)
    _print_effects(out, list(map(describe_effect, outcome.effects)), column=18)
    _print_rules(out, outcome.rules, verbose=verbose)


# Brokers and their controller.


def _ask_brokers(arguments: argparse.Namespace, given: tuple[str, str] | None) -> None:
    """Answer a question about the controller or a broker, given in two texts. Raises InputError."""
    if given is None or not given[1].strip():
        raise InputError("step of a broker or the controller takes STATE and EVENT; EVENT is missing.")
    if arguments.poll:
        raise InputError("step of a broker or the controller takes STATE and EVENT, without --poll.")
    before = broker_step.parse_state(given[0])
    event = broker_step.parse_event(given[1], before)
    form, says = broker_forms.of_question(arguments.protocol, before, event)
    protocol = BROKER_SWITCHES.read(form, arguments.settings)
    outcome = broker_step.answer(protocol, before, event)
    if arguments.json:
        data = broker_step.as_json(protocol, event, outcome)
        print_output("broker-step", data, indent=2)
        return
    out = console()
    draft = protocol.is_draft
    heading(out, "Question")
    entry(out, "state", broker_short.describe(before, draft=draft))
    entry(out, "event", broker_short.describe(event, draft=draft))
    entry(out, "protocol", " ".join([f"{form}, as {says} says", *arguments.settings]))
    heading(out, "State afterwards")
    changed = "bold yellow" if outcome.state != before else ""
    entry(out, "state", broker_short.describe(outcome.state, draft=draft), changed)
    named = [(name_of(type(each)), broker_short.fields_text(each, draft=draft)) for each in outcome.effects]
    column = max((len(f"{number}. {name}") for number, (name, _) in enumerate(named, start=1)), default=0) + 4
    _print_effects(out, named, column=column)
    _print_rules(out, outcome.rules, verbose=arguments.verbose)


# Both.


def _print_effects(out: Console, effects: Sequence[tuple[str, str]], *, column: int) -> None:
    heading(out, "Effects, in order")
    for number, (name, text) in enumerate(effects, start=1):
        entry(out, f"{number}. {name}", text, column=column)
    if not effects:
        say(out, "none", indent=2)


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


def _show_table(arguments: argparse.Namespace) -> None:
    if arguments.replica is not None:
        raise InputError(
            "step takes REPLICA and EVENT, or --table NAME, but not both; leave one of them out."
        )
    if arguments.poll:
        raise InputError("--poll is about one question and not --table; leave one of them out.")
    name: str = arguments.table
    if not name:
        if arguments.protocol not in FORMS:
            SWITCHES.read(arguments.protocol or DEFAULT, arguments.settings)
        _list_tables(as_json=arguments.json)
        return
    form = form_of_table(name, arguments.protocol)
    table = BY_FORM[form][name]
    if form == REPLICAS:
        found = rows(table, _protocol_of_replicas(arguments, f"--table '{name}'"))
    else:
        found = rows(table, BROKER_SWITCHES.read(form, arguments.settings))
    preset = arguments.protocol or DEFAULT if form == REPLICAS else form
    title = " ".join([preset, *arguments.settings])
    if arguments.json:
        data = {"protocol": title, **table_text.as_json(table, found)}
        print_output("decision-table", data, indent=2)
    else:
        table_text.print_table(console(), table, found, title)


def _list_tables(*, as_json: bool) -> None:
    if as_json:
        listed = {name: table.about for known in BY_FORM.values() for name, table in known.items()}
        print_output("decision-tables", {"tables": listed}, indent=2)
        return
    out = console()
    column = max(len(name) for known in BY_FORM.values() for name in known) + 4
    for form, known in BY_FORM.items():
        if form != REPLICAS:
            heading(out, f"Brokers and their controller, --protocol {form}")
        for name, table in known.items():
            entry(out, name, table.about, column=column)
