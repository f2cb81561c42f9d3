"""How long a replica sleeps, what wakes it, and what it draws: planted defects are noticed."""

from typing import Any

import pytest

from kraftcheck.evidence.adapters.answers import WAIT, WAKE_UP
from kraftcheck.evidence.adapters.draws import Draw, draw_of
from kraftcheck.evidence.adapters.serving import ReferenceAdapter
from kraftcheck.evidence.adapters.session import Driven, Session
from kraftcheck.evidence.adapters.stimuli import DriveSequence, Pause, Start, Stimulus
from kraftcheck.evidence.recordings.fields import Fields
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.events import (
    Append,
    Poll,
    RequestReceived,
    Resign,
    ResponseReceived,
    Shutdown,
    Timer,
)
from kraftcheck.reference.messages import BeginQuorumEpochRequest, VoteResponse
from kraftcheck.reference.protocol import KAFKA
from kraftcheck.reference.replica import Follower, Leader, Replica, Role
from kraftcheck.reference.voters import Endpoint, ReplicaKey, static_voters
from tests.evidence.adapters.in_process import InProcess

ENDPOINTS = (Endpoint("CONTROLLER", "node-2", 9093),)

#: Names of sequences for which each number is drawn.
LARGEST, SMALLEST = (
    next(name for name in map(str, range(99)) if draw_of(name) is draw)
    for draw in (Draw.LARGEST, Draw.SMALLEST)
)


class Sleeper(ReferenceAdapter):
    """The reference; ``longer``: by how much it sleeps too long after a poll in ms, ``None``: for ever."""

    def __init__(self, longer: int | None = 0, *, shows: bool = True, wakes: bool = True) -> None:
        super().__init__()
        self.longer, self.shows, self.wakes = longer, shows, wakes

    def hello(self) -> dict[str, Any]:
        hello = super().hello()
        shown = hello["capabilities"]
        effects = [each for each in shown["effects"] if self.shows or each not in (WAIT, WAKE_UP)]
        return {**hello, "capabilities": {**shown, "effects": effects}}

    def answer(self, question: Fields) -> dict[str, Any]:
        answer = super().answer(question)
        kept = []
        for effect in answer.get("effects", ()):
            if effect["effect"] == WAIT and effect["ms"] is not None:
                effect["ms"] = None if self.longer is None else effect["ms"] + self.longer
            if effect["effect"] != WAKE_UP or self.wakes:
                kept.append(effect)
        return {**answer, "effects": kept} if "effects" in answer else answer


def driven(
    adapter: ReferenceAdapter, *stimuli: Stimulus, voters: tuple[int, ...] = (1, 2, 3), name: str = LARGEST
) -> Driven:
    identity = Replica(ReplicaKey(1), static_voters(voters))
    sequence = DriveSequence(name, KAFKA, identity, Disk(), (Start(), *stimuli))
    return Session(InProcess(adapter)).drive(sequence)


def difference(found: Driven) -> tuple[str, Any, Any] | None:
    return None if found.failed is None else tuple(found.failed.differences[0])


LED = (Poll(), Poll())


@pytest.mark.parametrize("stimuli", [(Poll(),), (Pause(), Poll()), (Poll((Timer.ELECTION,)), Poll())])
@pytest.mark.parametrize("name", [LARGEST, SMALLEST])
def test_a_sleep_past_the_election_timeout_is_noticed(stimuli: tuple[Stimulus, ...], name: str) -> None:
    assert difference(driven(Sleeper(), *stimuli, name=name)) is None
    for longer in (1, None):
        found = difference(driven(Sleeper(longer), *stimuli, name=name))
        assert found is not None and found[0] == "wait: ms"
    assert difference(driven(Sleeper(1, shows=False), *stimuli, name=name)) is None


#: What makes the replica a follower, and a leader of three voters.
FOLLOWS = (RequestReceived(2, BeginQuorumEpochRequest(1, 2, ReplicaKey(1), ENDPOINTS)), Poll())
WINS = ResponseReceived(2, VoteResponse(1, granted=True))
PRE_VOTE = ResponseReceived(2, VoteResponse(0, granted=True))
LEADS = (Poll((Timer.ELECTION,)), Poll(), PRE_VOTE, Poll(), WINS)


@pytest.mark.parametrize(
    ("stimuli", "role"),
    [((*FOLLOWS, Poll()), Follower), ((*LEADS, Poll(), Poll()), Leader)],
    ids=("follows", "leads"),
)
def test_a_sleep_past_what_a_follower_or_a_leader_waits_for_is_noticed(
    stimuli: tuple[Stimulus, ...], role: type[Role]
) -> None:
    as_it_is = driven(Sleeper(), *stimuli)
    assert difference(as_it_is) is None
    outcome = as_it_is.questions[-1].outcome
    assert outcome is not None and isinstance(outcome.replica.role, role)
    found = driven(Sleeper(1), *stimuli)
    assert found.failed is not None and found.failed.differences[0].field == "wait: ms"


def test_a_leader_wakes_for_the_end_of_the_linger() -> None:
    stimuli = (*LED, Append(1, (7,)), Poll())
    assert difference(driven(Sleeper(), *stimuli, voters=(1,))) is None
    found = difference(driven(Sleeper(1, wakes=True), *stimuli, voters=(1,)))
    assert found is not None and found[0] == "wait: ms"


def test_a_shutdown_that_never_gives_up_is_noticed() -> None:
    stimuli = (Shutdown(), Poll())
    assert difference(driven(Sleeper(), *stimuli)) is None
    found = difference(driven(Sleeper(None), *stimuli))
    assert found == ("wait: ms", "at most 29999 ms, when a timer expires", None)


@pytest.mark.parametrize(
    "stimuli",
    [
        (*LED, Append(1, (7,))),
        (*LED, Resign(1)),
        (*LED, Poll(), Shutdown()),
    ],
)
def test_a_call_that_wakes_nobody_is_noticed(stimuli: tuple[Stimulus, ...]) -> None:
    assert difference(driven(Sleeper(), *stimuli, voters=(1,))) is None
    found = difference(driven(Sleeper(wakes=False), *stimuli, voters=(1,)))
    assert found == (WAKE_UP, "the poll loop is woken", None)
    assert difference(driven(Sleeper(wakes=False, shows=False), *stimuli, voters=(1,))) is None


def test_a_call_that_is_refused_need_not_wake() -> None:
    assert difference(driven(Sleeper(wakes=False), Append(1, (7,)), Resign(9))) is None


class Drawing(ReferenceAdapter):
    """The reference that always draws ``draw``; ``says``: it declares the capability."""

    def __init__(self, draw: Draw, *, says: bool = True) -> None:
        super().__init__()
        self.always, self.says = draw, says

    def hello(self) -> dict[str, Any]:
        hello = super().hello()
        return {**hello, "capabilities": {**hello["capabilities"], "draws": self.says}}

    def answer(self, question: Fields) -> dict[str, Any]:
        if question.text("type") == "start" and "random" in question.inner("config"):
            config = {**question.values["config"], "random": self.always.value}
            question = Fields({**question.values, "config": config}, question.where)
        return super().answer(question)


@pytest.mark.parametrize("name", [LARGEST, SMALLEST])
@pytest.mark.parametrize("draw", list(Draw))
def test_a_time_that_is_not_random_is_noticed(name: str, draw: Draw) -> None:
    found = difference(driven(Drawing(draw), name=name))
    if draw is draw_of(name):
        assert found is None
    else:
        times = {Draw.LARGEST: 1999, Draw.SMALLEST: 1000}
        assert found == ("timer election", f"{times[draw_of(name)]} ms", times[draw])
    assert difference(driven(Drawing(draw, says=False), name=name)) is None
