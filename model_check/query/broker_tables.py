"""Decision tables of the handlers of the controller and of broker processes, computed by asking the reference
(:mod:`kraftcheck.query.decision_table`). Nothing here knows what a handler does.

A table has one decision a combination: of the controller what it answers, what it then holds the broker to
be, what it writes; of a process what it does and what becomes of it. "It" is broker 1, which the tables are
about.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from kraftcheck.query.broker_consistency import problems
from kraftcheck.query.broker_occurrence import fitted, occurs
from kraftcheck.query.broker_step import ask
from kraftcheck.query.cover import Cell, Row
from kraftcheck.query.decision_table import DecisionTable, merged
from kraftcheck.query.decision_table import decide as decide_table
from kraftcheck.reference.brokers.broker import Broker
from kraftcheck.reference.brokers.controller import Controller
from kraftcheck.reference.brokers.events import BrokerEvent, ControllerEvent
from kraftcheck.reference.brokers.protocol import BrokerProtocol
from kraftcheck.reference.brokers.step import BrokerOutcome, ControllerOutcome
from kraftcheck.systems.brokers.text import (
    UNCHANGED,
    answer_of,
    broker_effects,
    controller_effects,
    held_broker,
    process_words,
    remembered_changes,
    written,
)

#: The controller and what happens to it, or a process and what happens to it.
Situation: TypeAlias = tuple[Controller | Broker, ControllerEvent | BrokerEvent]
BrokerTable: TypeAlias = DecisionTable[Situation]


@dataclass(frozen=True, slots=True)
class ControllerDecision:
    """What the controller decides: the answer, what it holds the broker to be afterwards, what is durably
    written, what else it does, and the rules.
    """

    answer: str
    broker: str
    writes: str
    effects: str
    rules: tuple[str, ...]

    @property
    def results(self) -> Mapping[str, str]:
        return {
            "answer": self.answer,
            "broker afterwards": self.broker,
            "written": self.writes,
            "other effects": self.effects,
        }

    @property
    def sentence(self) -> str:
        effects = "" if self.effects == "none" else f"; {self.effects}"
        writes = "writes nothing" if self.writes == "nothing" else f"written: {self.writes}"
        answer = "no answer" if self.answer == "none" else self.answer
        return f"{answer}; broker {self.broker}; {writes}{effects}"


@dataclass(frozen=True, slots=True)
class ProcessDecision:
    """What a broker process decides: what it does, what it is afterwards, what else is different in its
    memory, and the rules. It writes nothing durably.
    """

    does: str
    process: str
    memory: str
    rules: tuple[str, ...]

    @property
    def results(self) -> Mapping[str, str]:
        return {"does": self.does, "process afterwards": self.process, "in memory": self.memory}

    @property
    def sentence(self) -> str:
        does = "does nothing" if self.does == "nothing" else self.does
        memory = "" if self.memory == UNCHANGED else f"; {self.memory}"
        return f"{does}; process {self.process}{memory}"


Decision: TypeAlias = ControllerDecision | ProcessDecision


def situation_of(table: BrokerTable, protocol: BrokerProtocol, given: Mapping[str, str]) -> Situation | None:
    """What a combination of conditions stands for under ``protocol``; ``None`` if it cannot occur there."""
    found = table.situation(given)
    return None if found is None else _under(protocol, found)


def _under(protocol: BrokerProtocol, situation: Situation) -> Situation | None:
    state, event = situation
    state = fitted(protocol, state)
    return None if any(problems(protocol, state)) or not occurs(protocol, state) else (state, event)


def decide(table: BrokerTable, protocol: BrokerProtocol) -> Mapping[Cell, Decision]:
    """The decision on every combination of conditions that can occur under ``protocol``."""

    def decision(situation: Situation) -> Decision | None:
        found = _under(protocol, situation)
        if found is None:
            return None
        state, event = found
        return describe(protocol, state, ask(protocol, state, event))

    return decide_table(table, decision)


def rows(table: BrokerTable, protocol: BrokerProtocol) -> tuple[Row[Decision], ...]:
    """The merged rows of a table, in the order of its columns' values."""
    return merged(table, decide(table, protocol))


def describe(
    protocol: BrokerProtocol, before: Controller | Broker, outcome: ControllerOutcome | BrokerOutcome
) -> Decision:
    """What an outcome decided, in words that do not depend on the numbers of the situation."""
    if isinstance(outcome, ControllerOutcome):
        assert isinstance(before, Controller)
        return ControllerDecision(
            answer=answer_of(before, outcome.effects),
            broker=held_broker(before, outcome.state),
            writes=written(before.durable, outcome.state.durable),
            effects=controller_effects(outcome.effects),
            rules=outcome.rules,
        )
    assert isinstance(before, Broker)
    return ProcessDecision(
        does=broker_effects(outcome.effects),
        process=process_words(protocol, before, outcome.state),
        memory=remembered_changes(before, outcome.state),
        rules=outcome.rules,
    )
