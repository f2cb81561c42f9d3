"""The coverage targets of steps of replicas: actions, rules, transitions, messages, votes, error codes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import cast, get_args

from kraftcheck import spec
from kraftcheck.reference.effects import Effect, Reply, Send, Transition
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import RequestReceived, Timer
from kraftcheck.reference.messages import Request, Response, VoteRequest, VoteResponse
from kraftcheck.reference.protocol import Protocol
from kraftcheck.systems.citations import in_steps
from kraftcheck.systems.coverage import (
    ACTION,
    ERROR,
    GRANTED,
    MESSAGE,
    REFUSED,
    RULE,
    TRANSITION,
    VOTE,
    Item,
    rules_among,
)
from kraftcheck.systems.kraft.node import Execution
from kraftcheck.systems.kraft.step import Action, Step
from kraftcheck.systems.switches import choices

#: The names of the environment's actions, without timers and deliveries of messages.
_ENVIRONMENT = (
    "append", "back-off over", "request timed out", "fetch wait over", "looks for the leader", "resign",
    "shutdown", "snapshot", "describe quorum", "add voter", "remove voter", "upgrade kraft.version",
    "downgrade kraft.version", "alter quorum", "start", "crash", "wipe", "restore", "clock",
    "move", "not reached", "reads records",
)  # fmt: skip
_TIMERS = (
    Timer.ELECTION, Timer.FETCH, Timer.CHECK_QUORUM, Timer.BEGIN_QUORUM_EPOCH, Timer.VOTER_CHANGE,
    Timer.UPDATE_VOTER, Timer.LINGER,
)  # fmt: skip

#: Requests that only admin clients send, as actions; the responses leave the model.
_CLIENTS = ("DescribeQuorum", "AlterQuorum")


def covered(step: Step) -> Iterator[Item]:
    """The coverage targets that ``step`` reaches if it is taken."""
    yield ACTION, _action(cast(Action, step.outcome.action))
    runs = [(cut.execution, cut.completed) for cut in step.cut]
    if step.execution is not None:
        runs.append((step.execution, step.completed))
    if step.restarted is not None:
        runs.append((step.restarted, len(step.restarted.effects)))
    for execution, completed in runs:
        yield from ((RULE, rule) for rule in execution.rules)
        yield from _votes(execution)
        for effect in execution.effects[:completed]:
            yield from _of_effect(effect)


def _action(action: Action) -> str:
    if action.kind != "timer":
        return action.kind
    return f"timer {action.about}"


def _votes(execution: Execution) -> Iterator[Item]:
    """Whether a vote was granted, for each of the rules that decided it."""
    event = execution.events[0] if execution.events else None
    if not isinstance(event, RequestReceived) or not isinstance(event.request, VoteRequest):
        return
    for effect in execution.effects:
        if (
            isinstance(effect, Reply)
            and isinstance(effect.response, VoteResponse)
            and not [*_errors(effect.response)]
        ):
            outcome = GRANTED if effect.response.granted else REFUSED
            yield from ((VOTE, f"{rule} {outcome}") for rule in execution.rules if _decides_votes(rule))


def _decides_votes(rule: str) -> bool:
    return rule.startswith(("VOTE-", "PREVOTE-", "DEF-"))


def _of_effect(effect: Effect) -> Iterator[Item]:
    if isinstance(effect, Transition):
        yield TRANSITION, f"{effect.source}->{effect.target}"
    elif isinstance(effect, Send):
        yield MESSAGE, type(effect.request).__name__
    elif isinstance(effect, Reply):
        yield MESSAGE, type(effect.response).__name__
        yield from ((ERROR, code.name) for code in _errors(effect.response))


def _errors(response: Response) -> Iterator[ErrorCode]:
    for name in ("error", "partition_error"):
        code = getattr(response, name, None)
        if isinstance(code, ErrorCode) and code is not ErrorCode.NONE:
            yield code


@cache
def to_cover(protocols: frozenset[Protocol] = frozenset()) -> Mapping[str, tuple[str, ...]]:
    """The coverage targets of these variants by kind; without any variant, of all of them."""
    kinds = tuple(kind.__name__ for kind in (*get_args(Request), *get_args(Response)))
    clients = tuple(kind for kind in kinds if kind.startswith(_CLIENTS))
    timers = tuple(f"timer {timer.value}" for timer in _TIMERS)
    cited, chosen = in_steps(), [choices(each) for each in protocols]
    legal = (row for row in spec.load().transitions if not chosen or any(map(row.belongs_to, chosen)))
    deciding = filter(_decides_votes, rules_among(cited, ()))
    return {
        ACTION: (*_ENVIRONMENT, *timers, *(kind for kind in kinds if kind not in clients)),
        RULE: rules_among(cited, chosen),
        TRANSITION: tuple(dict.fromkeys(row.goal for row in legal)),
        MESSAGE: tuple(kind for kind in kinds if kind not in clients or kind.endswith("Response")),
        VOTE: tuple(f"{rule} {outcome}" for rule in deciding for outcome in (GRANTED, REFUSED)),
        ERROR: tuple(code.name for code in ErrorCode if code is not ErrorCode.NONE),
    }
