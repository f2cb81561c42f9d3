"""Which error answers a request with two defects: the one that Kafka looks for first.

The order of the checks is that of Kafka: KafkaRaftClient.handle*Request, AddVoterHandler, RemoveVoterHandler,
UpdateVoterHandler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations

import pytest

from kraftcheck.reference.effects import Reply
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.protocol import KAFKA, KAFKA_TRUNK, KIP595, Protocol
from kraftcheck.reference.replica import Connection, RemovingVoter, Replica, Resigned
from kraftcheck.systems.kraft.text import parse_replica
from tests.reference.asking import after, ask, of_kind, response

FETCHED = "fetch-request from=2/d2 offset=3 last-epoch=5 max-wait=0"
#: A leader of three voters, whose first three records are committed: LeaderChange, KRaftVersion and Voters.
LEADER = after("leader id=1/d1 voters=1/d1,2/d2,3/d3 kraft=1 epoch=5 cluster=ours", f"poll | {FETCHED}")
WITH_SNAPSHOT = after(LEADER, "create-snapshot at=3@5 size=10")
UNATTACHED = parse_replica("unattached id=1/d1 voters=1/d1,2/d2,3/d3 kraft=1 epoch=5 cluster=ours")
STATIC_LEADER = parse_replica("leader id=1 epoch=5 log=1@5 hw=1 progress=2:1,3:1 cluster=ours")

#: What may be wrong with a replica. The new role comes last: what was wrong with the leader goes with it.
OF_REPLICAS: Mapping[str, Callable[[Replica], Replica]] = {
    "@shutting-down": lambda replica: replace(replica, shutting_down=True),
    "@change": lambda replica: replace(replica, role=replace(replica.role, change=RemovingVoter(-1, 7, 2))),
    "@hw=none": lambda replica: replace(replica, high_watermark=None),
    "@hw=2": lambda replica: replace(replica, high_watermark=2),
    "@static": lambda replica: replace(replica, log=replace(replica.log, kraft_versions=((1, 0),))),
    "@busy": lambda replica: replace(replica, connections=tuple(Connection(n, True) for n in (2, 4))),
    "@resigned": lambda replica: replace(replica, role=Resigned((2, 3))),
}


@dataclass(frozen=True)
class Case:
    """A request that is fine, the replica that it reaches, and what may be wrong, as it is looked for: a word
    of the request or of :data:`OF_REPLICAS`, and the error. Two defects with one key exclude each other.
    """

    request: str
    replica: Replica
    listed: str
    protocol: Protocol = KAFKA

    @property
    def defects(self) -> list[tuple[str, str]]:
        return [(word, error) for word, error in map(str.split, self.listed.strip().split("\n"))]


NO_LEADER = """
    cluster=another            INCONSISTENT_CLUSTER_ID
    @resigned                  NOT_LEADER_OR_FOLLOWER
    @shutting-down             BROKER_NOT_AVAILABLE"""
EPOCHS = """
    epoch=4                    FENCED_LEADER_EPOCH
    epoch=6                    UNKNOWN_LEADER_EPOCH
    @resigned                  NOT_LEADER_OR_FOLLOWER
    @shutting-down             BROKER_NOT_AVAILABLE"""
PENDING = """
    @change                    REQUEST_TIMED_OUT
    @hw=none                   REQUEST_TIMED_OUT"""
VOTER_SET = """
    @static                    UNSUPPORTED_VERSION
    @hw=2                      REQUEST_TIMED_OUT"""
OF_ALL = """
    cluster=another            INCONSISTENT_CLUSTER_ID
    partition=others-0         INVALID_REQUEST"""

CASES = {
    "add": Case("add-raft-voter-request from=2 voter=4/d4 cluster=ours", LEADER, f"""{NO_LEADER}
    voter=4                    INVALID_REQUEST
    endpoints=BROKER://n:1     INVALID_REQUEST{PENDING}{VOTER_SET}
    voter=2/new                DUPLICATE_VOTER
    @busy                      REQUEST_TIMED_OUT
    """),
    "remove": Case("remove-raft-voter-request from=2 voter=2/d2 cluster=ours", LEADER, f"""{NO_LEADER}
    voter=4                    INVALID_REQUEST{PENDING}{VOTER_SET}
    voter=2/old                VOTER_NOT_FOUND
    """),
    "update": Case("update-raft-voter-request from=2/d2 source=2 kraft=0-1 cluster=ours", LEADER, f"""
    cluster=another            INCONSISTENT_CLUSTER_ID{EPOCHS}
    from=4                     INVALID_REQUEST
    kraft=2-1                  INVALID_REQUEST
    endpoints=BROKER://n:1     INVALID_REQUEST{PENDING}
    @hw=2                      REQUEST_TIMED_OUT
    kraft=0-0                  INVALID_REQUEST
    from=2/old                 VOTER_NOT_FOUND
    """),
    "probed update": Case("update-raft-voter-request from=2/d2 source=2 kraft=0-1 cluster=ours", LEADER, f"""
    cluster=another            INCONSISTENT_CLUSTER_ID{EPOCHS}
    from=4                     INVALID_REQUEST
    kraft=2-1                  INVALID_REQUEST{PENDING}
    endpoints=BROKER://n:1     INVALID_REQUEST
    @busy                      REQUEST_TIMED_OUT
    """, KAFKA_TRUNK),
    "fetch snapshot": Case("fetch-snapshot-request from=2/d2 snapshot=3@5 cluster=ours", WITH_SNAPSHOT, f"""
    cluster=another            INCONSISTENT_CLUSTER_ID
    partition=others-0         UNKNOWN_TOPIC_OR_PARTITION{EPOCHS}
    snapshot=2@5               SNAPSHOT_NOT_FOUND
    position=10                POSITION_OUT_OF_RANGE
    """),
    "fetch": Case("fetch-request from=2/d2 source=2 max-wait=0 cluster=ours", LEADER, f"""{OF_ALL}
    offset=-1                  INVALID_REQUEST{EPOCHS}
    from=1/d1                  UNKNOWN_SERVER_ERROR
    """),
    "describe": Case("describe-quorum-request from=2", LEADER, """
    partition=others-0         UNKNOWN_TOPIC_OR_PARTITION
    @resigned                  NOT_LEADER_OR_FOLLOWER
    """),
    "vote": Case("vote-request from=2/d2 source=2 last=9@3 to=1/d1 cluster=ours", UNATTACHED, f"""{OF_ALL}
    last=-1@3                  INVALID_REQUEST
    epoch=4                    FENCED_LEADER_EPOCH
    from=-1                    INVALID_REQUEST
    to=1/old                   INVALID_VOTER_KEY
    """),
    "begin": Case("begin-quorum-epoch-request from=2 source=2 to=1/d1 cluster=ours", UNATTACHED, f"""{OF_ALL}
    epoch=4                    FENCED_LEADER_EPOCH
    from=-1                    INVALID_REQUEST
    to=1/old                   INVALID_VOTER_KEY
    """),
    "end": Case("end-quorum-epoch-request from=2 source=2 cluster=ours", UNATTACHED, f"""{OF_ALL}
    epoch=4                    FENCED_LEADER_EPOCH
    from=-1                    INVALID_REQUEST
    """),
    "alter": Case("alter-quorum-request from=2 target=1,2 cluster=ours", STATIC_LEADER, """
    cluster=another            INCONSISTENT_CLUSTER_ID
    @resigned                  NOT_LEADER_OR_FOLLOWER
    target=2,2                 INVALID_REQUEST
    target=1,9                 VOTER_NOT_FOUND
    """, KIP595),
}  # fmt: skip


def error_of(case: Case, *defects: str) -> str:
    """The error that the request has for an answer; NONE if it is taken on."""
    name, *words = case.request.split()
    wrong = [defect for defect in defects if not defect.startswith("@")]
    given = {word.partition("=")[0]: word for word in (*words, *wrong)}
    replica = case.replica
    for defect, change in OF_REPLICAS.items():
        replica = change(replica) if defect in defects else replica
    outcome = ask(replica, " ".join([name, *given.values()]), case.protocol)
    assert outcome.fatal is None
    if not of_kind(outcome, Reply):
        return "NONE"
    answer = response(outcome)
    return (answer.error or getattr(answer, "partition_error", ErrorCode.NONE)).name


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_each_defect_has_its_error(case: Case) -> None:
    assert error_of(case) == "NONE"
    for defect, error in case.defects:
        assert error_of(case, defect) == error, defect


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_first_of_two_defects_decides(case: Case) -> None:
    pairs = [
        (first, second, error)
        for (first, error), (second, _) in combinations(case.defects, 2)
        if first.partition("=")[0] != second.partition("=")[0]
    ]
    wrong = [each for each in pairs if error_of(case, *each[:2]) != each[2]]
    assert pairs and not wrong
