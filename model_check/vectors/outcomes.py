"""What a step covers: pairs of a rule that decided it and something that came out of it.

The reference names the rules that decided a step and lists its effects; it does not say which rule brought
about which effect. So an outcome of a rule is something that came out of a step that this rule decided:

* an answer: ``VoteResponse granted``, ``FetchResponse diverging epoch``, ``VoteResponse INVALID_REQUEST``
* a transition: ``Unattached->Follower``; with ``, larger epoch`` where the epoch grew
* a request that is sent: ``sends VoteRequest``, ``sends VoteRequest as a pre-vote``
* a timer: ``arms election``
* another effect by its class: ``Persist``, ``Truncate``, ``HighWatermark``, ``CallFailed``
* ``dies`` for an effect ``Fatal``
* without effects ``no effect, changes`` or ``no effect``, as the replica is another one afterwards or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kraftcheck.reference.effects import ArmTimer, Effect, Fatal, Reply, Send, Transition
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.messages import FetchResponse, Response, VoteRequest, VoteResponse
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.step import Outcome

#: Separates the rule from the outcome in the text of a pair.
SEPARATOR = ": "


def features(before: Replica, outcome: Outcome) -> tuple[str, ...]:
    """The pairs that a step covers, sorted: ``VOTE-10: VoteResponse granted``."""
    words = dict.fromkeys(outcomes(before, outcome))
    return tuple(sorted(f"{rule}{SEPARATOR}{word}" for rule in outcome.rules for word in words))


def rules_of(pairs: Iterable[str]) -> tuple[str, ...]:
    """The rules in ``pairs``, sorted."""
    return tuple(sorted({pair.partition(SEPARATOR)[0] for pair in pairs}))


def outcomes(before: Replica, outcome: Outcome) -> Iterator[str]:
    """What came out of a step, in the order of its effects."""
    if not outcome.effects:
        yield "no effect" if outcome.replica == before else "no effect, changes"
    epoch = before.epoch
    for effect in outcome.effects:
        yield _word(effect, epoch)
        if isinstance(effect, Transition):
            epoch = effect.epoch


def _word(effect: Effect, epoch: int) -> str:
    if isinstance(effect, Reply):
        return f"{type(effect.response).__name__} {_answer(effect.response)}"
    if isinstance(effect, Transition):
        return f"{effect.source}->{effect.target}{', larger epoch' if effect.epoch > epoch else ''}"
    if isinstance(effect, Send):
        pre_vote = isinstance(effect.request, VoteRequest) and effect.request.pre_vote
        return f"sends {type(effect.request).__name__}{' as a pre-vote' if pre_vote else ''}"
    if isinstance(effect, ArmTimer):
        return f"arms {effect.timer.value}"
    return "dies" if isinstance(effect, Fatal) else type(effect).__name__


def _answer(response: Response) -> str:
    for name in ("error", "partition_error"):
        code = getattr(response, name, ErrorCode.NONE)
        if code is not ErrorCode.NONE:
            return str(code.name)
    if isinstance(response, VoteResponse):
        return "granted" if response.granted else "refused"
    if not isinstance(response, FetchResponse):
        return ErrorCode.NONE.name
    if response.diverging is not None:
        return "diverging epoch"
    if response.snapshot is not None:
        return "snapshot"
    return "records" if response.batches else "no records"
