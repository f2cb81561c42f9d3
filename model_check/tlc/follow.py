"""A behaviour of the checker as a TLA+ module, and whether TLC accepts it as one of the specification.

The module (``ROOT``) has the states of the behaviour, one after the other, and a variable ``place``: from
place ``n`` a step of the specification must lead to state ``n + 1``. TLC is asked to show that the end is
never reached; a "counterexample" of that is the behaviour, followed to its end.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kraftcheck.engine.system import GlobalState
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import write_atomically
from kraftcheck.systems.kind import ModelSystem
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.scenario import Scenario, shipped
from kraftcheck.tlc import states as sets
from kraftcheck.tlc.install import Tools
from kraftcheck.tlc.modules import Configuration, Modules
from kraftcheck.tlc.process import DUMP, Job, run, workplace
from kraftcheck.tlc.values import NoFormError, State, text
from kraftcheck.traces.model import Trace, TraceError
from kraftcheck.traces.walk import Walk

ROOT = "Followed"

#: What of a scenario says nothing about its behaviours.
_ABOUT = {"about", "source", "tags", "check", "expect"}


@dataclass(frozen=True, slots=True)
class Course:
    """The states of a behaviour, in order. ``ended``: the replicas whose process exited in the last step. The
    rest of their state is no state of the model, so that it is not compared.
    """

    states: tuple[State, ...]
    ended: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Followed:
    """How far TLC followed a behaviour of ``steps`` steps, which is to end in a violation of ``property``.

    taken: steps taken, -1: it does not begin like that; violated: whether the property is violated at the end
    (``None``: TLC was not asked, or did not come that far); unlike: where the state that is refused differs
    from the most similar successor that TLC has: place, value here, value there; ``None``: there is none.
    limit: why TLC gave no answer.
    """

    steps: int
    taken: int
    property: str | None = None
    violated: bool | None = None
    unlike: tuple[tuple[str, str, str], ...] | None = None
    limit: str | None = None

    @builtins.property
    def accepted(self) -> bool:
        return self.taken == self.steps and self.violated is not False and self.limit is None


def behaviour(trace: Trace, where: str) -> Course:
    """The states of ``trace``. Raises InputError where the reference does not take its steps, or where the
    modules have no form for a state.
    """
    system = kind_of(trace.scenario).build(trace.scenario, where)
    try:
        forms = sets.in_tla(system).forms(system)
        walk = Walk(system, trace.initial)
        found = [forms.state(walk.state)]
        for step in trace.steps:
            walk.take(walk.find(step.action, step.message, step.choice, step.duplicate))
            found.append(forms.state(walk.state))
    except TraceError as error:
        raise InputError(
            f"{where}: the present reference does not take this behaviour ({error}); make the trace anew."
        ) from None
    except NoFormError as error:
        raise InputError(f"{where}: the TLA+ modules have no form for its states: {error}.") from None
    return Course(tuple(found), _ended(system, walk.state) if walk.violated else frozenset())


def _ended(system: ModelSystem, state: GlobalState) -> frozenset[int]:
    """The replicas whose process exited in the step that led to ``state``."""
    locals_ = zip(system.places, state.locals, strict=True)
    return frozenset(
        place
        for place, local in locals_
        if isinstance(place, int) and isinstance(local, Node) and local.died is not None
    )


def configuration_of(scenario: Scenario, modules: Modules, where: str) -> Configuration:
    """The configuration of the scenario of a trace, which must say what the shipped one of that name says.

    Raises InputError.
    """
    found = modules.configuration(scenario.name)
    known = shipped().get(scenario.name)
    if known is not None and known.model_dump(exclude=_ABOUT) != scenario.model_dump(exclude=_ABOUT):
        raise InputError(
            f"{where}: its scenario is not the shipped '{scenario.name}' that the TLA+ configuration is of; "
            "make the trace anew."
        )
    return found


def module(course: Course, configuration: Configuration, violated: str | None) -> str:
    """The module that constrains each step to the next state of ``behaviour``."""
    states = ",\n\n".join(_state(state) for state in course.states)
    asked = f" /\\ ~{violated}" if violated else ""
    variables = tuple(course.states[0])
    same = "\n".join(f"    /\\ {name} = Behaviour[1].{name}" for name in variables)
    leads = "\n".join(_leads(name) for name in variables)
    dead = ", ".join(map(str, sorted(course.ended)))
    return f"""\
---- MODULE {ROOT} ----
\\* A behaviour of {configuration.name}: TLC accepts it if it reports that NotFollowed is violated.
EXTENDS {configuration.root}, TLC

VARIABLE place \\* the number of the state that is reached

Behaviour == <<
{states}
>>

FollowInit ==
    /\\ place = 1
    /\\ {configuration.initial}
{same}

\\* The replicas whose process exits in the last step: the rest of their state is not compared.
FollowEnded == IF place + 1 = Len(Behaviour) THEN {{{dead}}} ELSE {{}}

FollowNext ==
    /\\ place < Len(Behaviour)
    /\\ place' = place + 1
    /\\ {configuration.next}
{leads}

NotFollowed == ~(place = Len(Behaviour){asked})
====
"""


def _leads(name: str) -> str:
    """That a state variable has the value of the next state."""
    if name == "replica":
        same = "replica'[id] = Behaviour[place + 1].replica[id]"
        return f"    /\\ \\A id \\in DOMAIN replica' \\ FollowEnded : {same}"
    return f"    /\\ {name}' = Behaviour[place + 1].{name}"


def settings(configuration: Configuration, initial: str, following: str, *, asks: bool = True) -> str:
    """The configuration that goes with a module of this kind."""
    kept, section = [], ""
    for line in configuration.text.splitlines():
        if line[:1].isalpha():
            section = line.split()[0]
        if section not in ("INIT", "NEXT", "INVARIANT", "INVARIANTS"):
            kept.append(line)
    asked = ["INVARIANT NotFollowed"] if asks else []
    return "\n".join([*kept, f"INIT {initial}", f"NEXT {following}", *asked]) + "\n"


def _state(state: State) -> str:
    fields = ",\n".join(f"   {name} |-> {text(state[name])}" for name in state)
    return f"  [{fields[2:]}]"


def follow(
    course: Course,
    configuration: Configuration,
    violated: str | None,
    modules: Modules,
    tools: Tools,
    max_seconds: float | None = None,
) -> Followed:
    """Let TLC follow ``course``; ``violated`` is asked about if the configuration has it as an invariant.

    Raises InputError where TLC cannot read the modules.
    """
    asked = violated if violated in configuration.invariants else None
    steps = len(course.states) - 1
    sources = modules.sources() | {f"{ROOT}.tla": module(course, configuration, asked)}
    job = Job(sources, f"{ROOT}.tla", settings(configuration, "FollowInit", "FollowNext"), small=True)
    with workplace() as folder:
        done = run(tools, job, folder, max_seconds=max_seconds)
    said = done.said
    if said.violated is not None:
        return Followed(steps, steps, violated, True if asked else None)
    if done.timed_out:
        return Followed(steps, 0, violated, limit="TLC reached max_seconds")
    if done.trouble is not None:
        raise InputError(f"{configuration.name}: TLC does not take the module: {done.trouble}")
    taken = -1 if not said.distinct else (said.depth or 1) - 1
    if taken == steps:
        return Followed(steps, taken, violated, False)
    near = None if taken < 0 else _nearest(course.states, taken, configuration, modules, tools, max_seconds)
    return Followed(steps, taken, violated, unlike=near)


def _nearest(
    states: Sequence[State],
    taken: int,
    configuration: Configuration,
    modules: Modules,
    tools: Tools,
    max_seconds: float | None,
) -> tuple[tuple[str, str, str], ...] | None:
    """Where the next state differs from the most similar successor that TLC has of the last one it took."""
    begins = "\n".join(f"    /\\ {name} = {text(states[taken][name])}" for name in states[taken])
    source = f"""\
---- MODULE {ROOT} ----
EXTENDS {configuration.root}, TLC
VARIABLE place
FromInit == place = 1 /\\ broken = {{}}
{begins}
FromNext == place = 1 /\\ place' = 2 /\\ {configuration.next}
====
"""
    sources = modules.sources() | {f"{ROOT}.tla": source}
    plain = settings(configuration, "FromInit", "FromNext", asks=False)
    with workplace() as folder:
        done = run(
            tools, Job(sources, f"{ROOT}.tla", plain, dump=True, small=True), folder, max_seconds=max_seconds
        )
        if not done.said.success:
            return None
        found = sets.their_states(folder / DUMP, frozenset({*states[0], "place"}))
    wanted = states[taken + 1]
    successors = [
        {name: state[name] for name in states[0]} for state in found.values() if state["place"] == 2
    ]
    return min((tuple(sets.unlike(wanted, each)) for each in successors), key=len, default=None)


def export(
    course: Course, configuration: Configuration, violated: str | None, modules: Modules
) -> dict[str, str]:
    """The files that ``java -cp tla2tools.jar tlc2.TLC -deadlock Followed.tla`` needs in its folder."""
    asked = violated if violated in configuration.invariants else None
    return modules.sources() | {
        f"{ROOT}.tla": module(course, configuration, asked),
        f"{ROOT}.cfg": settings(configuration, "FollowInit", "FollowNext"),
    }


def write(files: dict[str, str], folder: Path) -> None:
    """Write ``files`` into ``folder``. Raises InputError."""
    for name, content in files.items():
        write_atomically(folder / name, content, create_folder=True)
