"""A behaviour as a pytest program: what it does, step by step, and what must be true after each step.

:func:`source` prints the program; :class:`Behaviour` is what the printed program is written in.
"""

from __future__ import annotations

import pprint
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kraftcheck.support.printable import printable
from kraftcheck.systems import scenario
from kraftcheck.systems.kind import Place, called
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.kraft.text.fields import NOTHING
from kraftcheck.traces.json_form import scenario_data
from kraftcheck.traces.model import Change, Trace, TraceError, TraceStep
from kraftcheck.traces.view import view_of
from kraftcheck.traces.walk import Walk, name_of
from kraftcheck.traces.words import label, node_fields


class Behaviour:
    """A behaviour of a scenario that a program drives.

    Steps raise :class:`~kraftcheck.traces.model.TraceError` where the reference does not offer them;
    expectations raise AssertionError.
    """

    def __init__(self, data: Mapping[str, Any], initial: int = 0) -> None:
        """Begin in the initial state of the scenario that ``data`` describes, as a scenario file would."""
        self._scenario = scenario.from_data(dict(data), "scenario")
        self._model = kind_of(self._scenario)
        self._system = self._model.build(self._scenario)
        self._walk = Walk(self._system, initial)
        self._states = [self._walk.state]

    @property
    def violated(self) -> tuple[str, ...]:
        """The properties that the last step violates."""
        return self._walk.violated

    def take(
        self, action: str, message: str | None = None, *, option: int | None = None, duplicate: bool = False
    ) -> None:
        """Take the step called ``action``, on the message with this label.

        ``option`` decides where several steps are called the same; ``duplicate``: the message stays in
        flight.
        """
        found = candidates(self._walk, action, message, duplicate)
        if option not in found and len(found) != 1:
            offered = ", ".join(sorted({name_of(step) for step in self._walk.options()}))
            problem = f"may be one of {len(found)} steps" if found else f"is not offered; there are {offered}"
            raise TraceError(f"step {self._walk.number}: '{action}' {problem}")
        self._walk.take(option if option is not None and option in found else found[0])
        self._states.append(self._walk.state)

    def expect(self, replica: Place, /, **fields: str) -> None:
        """Fields of a replica, named as in traces with underscores for blanks, have these values."""
        component = self._system.places.index(replica)
        found = node_fields(self._walk.state.locals[component])
        for name, wanted in fields.items():
            value = found.get(name.replace("_", " "), NOTHING)
            if value != wanted:
                step = len(self._walk.taken)
                raise AssertionError(
                    f"after step {step}: {name} of {called(replica)} is {value}, not {wanted}"
                )

    def expect_cycle(self, after: int) -> None:
        """The behaviour is back in the state that it had after step number ``after``, but for later epochs
        where the scenario has relative ones.
        """
        if not self._model.liveness.closes(
            self._system, self._scenario, self._states[after], self._walk.state
        ):
            raise AssertionError(f"the state is not the one after step {after}")


def candidates(walk: Walk, action: str, message: str | None, duplicate: bool) -> list[int]:
    """The options of ``walk`` that a call of :meth:`Behaviour.take` may mean."""
    return [
        option
        for option, step in enumerate(walk.options())
        if step.cut is None
        and name_of(step) == action
        and step.path.duplicate == duplicate
        and (message is None or label(step.path.message) == message)
    ]


def source(trace: Trace) -> str:
    """A pytest program that takes the steps of ``trace`` and expects what they changed.

    Raises TraceError where the present reference does not take the behaviour.
    """
    return "\n".join(_lines(trace)) + "\n"


def _lines(trace: Trace) -> Iterator[str]:
    view = view_of(trace)
    yield f'"""{_prose(view.title)}.'
    if trace.finding is not None:
        yield ""
        yield f"{_prose(trace.finding.property)}: {_prose(view.statement)}"
        yield from (_prose(reason) for reason in view.reasons)
    yield ""
    yield "The program passes as long as the reference behaves like this."
    yield '"""'
    yield ""
    yield "from kraftcheck.traces.program import Behaviour"
    yield ""
    yield f"SCENARIO = {pprint.pformat(scenario_data(trace.scenario), width=100, sort_dicts=False)}"
    yield ""
    yield ""
    yield f"def test_{_name(trace.property or trace.scenario.name)}() -> None:"
    yield f"    run = Behaviour(SCENARIO{f', {trace.initial}' if trace.initial else ''})"
    walk = Walk(kind_of(trace.scenario).build(trace.scenario), trace.initial)
    for step, shown in zip(trace.steps, view.steps, strict=True):
        yield ""
        yield f"    # {shown.number}. {called(shown.actor)}: {_prose(shown.head)}"
        yield _take(walk, step)
        yield from (_expectation(place, changes) for place, changes in shown.changed)
    yield ""
    if trace.loop is not None:
        yield f"    run.expect_cycle(after={trace.loop})"
    else:
        yield f"    assert run.violated == {_tuple(trace)}"


def _take(walk: Walk, step: TraceStep) -> str:
    arguments = [_literal(step.action)]
    message = None if step.message is None else label(step.message)
    if message is not None:
        arguments.append(_literal(message))
    option = walk.find(step.action, step.message, step.choice, step.duplicate)
    if len(candidates(walk, step.action, message, step.duplicate)) > 1:
        arguments.append(f"option={option}")
    if step.duplicate:
        arguments.append("duplicate=True")
    walk.take(option)
    return f"    run.take({', '.join(arguments)})"


def _expectation(place: Place, changes: Iterable[Change]) -> str:
    fields = ", ".join(f"{each.field.replace(' ', '_')}={_literal(each.after)}" for each in changes)
    return f"    run.expect({place if isinstance(place, int) else _literal(place)}, {fields})"


def _tuple(trace: Trace) -> str:
    if trace.dead_end:
        return "()"
    violated = trace.steps[-1].violations if trace.steps else (trace.property,) if trace.property else ()
    return "(" + "".join(f"{_literal(name)}, " for name in violated).strip() + ")"


def _literal(text: str) -> str:
    plain = '"' not in text and "\\" not in text and text.isprintable()
    return f'"{text}"' if plain else repr(text)


def _prose(text: str) -> str:
    """``text`` for a comment or a docstring: on one line, and unable to end it."""
    return printable(text).replace("\\", "/").replace('"""', "'''")


def _name(text: str) -> str:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text).lower()
    return re.sub(r"[^a-z0-9]+", "_", words).strip("_")
