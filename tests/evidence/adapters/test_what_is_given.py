"""What a state machine is given, and the addresses of requests: planted defects are noticed."""

from typing import Any

import pytest

from kraftcheck.evidence.adapters.answers import GIVEN
from kraftcheck.evidence.adapters.serving import ReferenceAdapter
from kraftcheck.evidence.adapters.session import Driven, Session
from kraftcheck.evidence.adapters.stimuli import Crash, DriveSequence, Start
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.events import Append, Poll, ResponseReceived, Timer
from kraftcheck.reference.log import Batch, Value
from kraftcheck.reference.messages import FetchResponse
from kraftcheck.reference.protocol import KAFKA
from kraftcheck.reference.replica import Leader, QuorumState, Replica
from kraftcheck.reference.step import Outcome
from kraftcheck.reference.voters import Endpoint, ReplicaKey, Voter, VoterSet, static_voters
from tests.evidence.adapters.in_process import InProcess


class Giving(ReferenceAdapter):
    """The reference with a state machine; ``fault``: what is wrong with what it is given."""

    def __init__(self, fault: str = "") -> None:
        super().__init__()
        self.fault, self.end, self.told = fault, 0, False

    def hello(self) -> dict[str, Any]:
        hello = super().hello()
        shown = hello["capabilities"]
        return {**hello, "capabilities": {**shown, "effects": [*shown["effects"], *GIVEN]}}

    def show(self, before: Replica, outcome: Outcome) -> dict[str, Any]:
        answer, replica = super().show(before, outcome), outcome.replica
        committed = replica.high_watermark or 0
        given = [] if self.fault == "nothing" else self._given(replica, committed)
        if self.fault == "uncommitted":
            given.append({"effect": "giveRecords", "base": self.end, "last": self.end, "values": []})
        leads = isinstance(replica.role, Leader) and not self.told
        if leads and (self.fault == "leader at once" or self.end > replica.role.epoch_start_offset):  # type: ignore[union-attr]
            given.append({"effect": "giveLeader", "leader": replica.id, "epoch": replica.epoch})
            self.told = True
        return {**answer, "effects": [*answer["effects"], *given]}

    def _given(self, replica: Replica, until: int) -> list[dict[str, Any]]:
        given = []
        for batch in replica.log.batches:
            if self.end <= batch.base_offset and batch.end_offset <= until:
                values = [each.value for each in batch.records if isinstance(each, Value)]
                if self.fault == "another value":
                    values = [value + 1 for value in values]
                fields = {"base": batch.base_offset, "last": batch.end_offset - 1, "values": values}
                given.append({"effect": "giveRecords", **fields})
                self.end = batch.end_offset if self.fault != "twice" else 0
        return given


def driven(adapter: ReferenceAdapter) -> Driven:
    stimuli = (Start(), Poll(), Poll(), Append(1, (7, 8)), Poll((Timer.LINGER,)), Poll())
    identity = Replica(ReplicaKey(1), static_voters((1,)))
    return Session(InProcess(adapter)).drive(DriveSequence("alone", KAFKA, identity, Disk(), stimuli))


def test_a_state_machine_that_gets_what_is_committed_agrees() -> None:
    adapter = Giving()
    assert driven(adapter).failed is None
    assert adapter.end == 3 and adapter.told


def test_offsets_that_a_leader_leaves_out_are_given_to_no_state_machine() -> None:
    identity = Replica(ReplicaKey(1), static_voters((1, 2)))
    batches = tuple(Batch(base, 1, (Value(base),)) for base in (1, 3))
    answer = ResponseReceived(2, FetchResponse(1, 2, high_watermark=4, batches=batches))
    disk = Disk(QuorumState(1, 2))
    sequence = DriveSequence(
        "a gap", KAFKA, identity, disk, (Start(), Poll(), answer, Poll(), Crash(), Start())
    )
    adapter = Giving()
    done = Session(InProcess(adapter)).drive(sequence)
    assert done.failed is None and done.steps == 6 and adapter.end == 4


@pytest.mark.parametrize(
    ("fault", "field"),
    [
        ("uncommitted", "giveRecords: last"),
        ("nothing", "given: records up to"),
        ("leader at once", "giveLeader: leader"),
        ("another value", "giveRecords: values"),
        ("twice", "giveRecords: base"),
    ],
)
def test_a_planted_defect_is_noticed(fault: str, field: str) -> None:
    failed = driven(Giving(fault)).failed
    assert failed is not None and failed.differences[0].field == field


def test_an_adapter_without_these_effects_is_not_judged_by_them() -> None:
    assert driven(ReferenceAdapter()).failed is None


class Elsewhere(ReferenceAdapter):
    """An adapter whose requests go to another port; ``tells``: it says where they go."""

    def __init__(self, *, tells: bool) -> None:
        super().__init__()
        self.tells = tells

    def hello(self) -> dict[str, Any]:
        hello = super().hello()
        return {**hello, "capabilities": {**hello["capabilities"], "addresses": self.tells}}

    def show(self, before: Replica, outcome: Outcome) -> dict[str, Any]:
        answer = super().show(before, outcome)
        for effect in answer["effects"]:
            if "address" in effect:
                effect["address"]["port"] += 1
        return answer


@pytest.mark.parametrize("tells", [True, False])
def test_a_request_to_a_wrong_address_is_noticed_where_the_adapter_tells_it(tells: bool) -> None:
    keys = [ReplicaKey(each) for each in (1, 2)]
    voters = VoterSet(
        tuple(Voter(key, (Endpoint("CONTROLLER", f"node-{key.id}", 9093),), 0, 0) for key in keys)
    )
    stimuli = (Start(), Poll((Timer.ELECTION,)), Poll())
    sequence = DriveSequence("two", KAFKA, Replica(keys[0], voters), Disk(), stimuli)
    failed = Session(InProcess(Elsewhere(tells=tells))).drive(sequence).failed
    assert (failed is not None) == tells
    if failed is not None:
        assert failed.differences[0].field == "Vote request to 2: address.port"
