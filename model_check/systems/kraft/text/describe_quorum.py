"""DescribeQuorum in the short form: ``describe-quorum-request from=-1 now=1000``.

Its answer goes to a client, never to a replica: it is printed only.
"""

from __future__ import annotations

from collections.abc import Iterable

from kraftcheck.reference.messages import (
    METADATA_PARTITION,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    ReplicaDescription,
)
from kraftcheck.systems.kraft.text.words import Grammar, Words, print_key

REQUEST = Grammar(
    {"from": "-1", "source": "-1", "correlation": "7", "now": "1000", "partition": METADATA_PARTITION}
)


def request(words: Words) -> DescribeQuorumRequest:
    """The request that the words stand for."""
    return DescribeQuorumRequest(words.text("partition", METADATA_PARTITION))


def describe_request(request: DescribeQuorumRequest, source: int | None) -> list[str]:
    """The words of a request after its head; ``source`` sent it."""
    words = [] if source is None else [f"from={source}"]
    return words if request.partition == METADATA_PARTITION else [*words, f"partition={request.partition}"]


def describe_response(response: DescribeQuorumResponse) -> list[str]:
    """The words of a response: of each replica its end offset, last fetch and last time caught up."""
    if response.partition_error or response.error:
        words = [f"error={response.partition_error.name}"] if response.partition_error else []
        words += [f"top-error={response.error.name}"] if response.error else []
        return words if response.leader is None else [*words, *_leader(response)]
    words = [*_leader(response), f"hw={_or_none(response.high_watermark)}"]
    words.append(f"voters={_replicas(response.voters)}")
    return [*words, f"observers={_replicas(response.observers)}"]


def _leader(response: DescribeQuorumResponse) -> list[str]:
    return [f"epoch={response.epoch}", f"leader={_or_none(response.leader)}"]


def _replicas(replicas: Iterable[ReplicaDescription]) -> str:
    return ",".join(map(_replica, replicas)) or "none"


def _replica(replica: ReplicaDescription) -> str:
    known = (replica.end_offset, replica.last_fetch_time, replica.last_caught_up_time)
    return ":".join([print_key(replica.key), *("-" if value is None else str(value) for value in known)])


def _or_none(number: int | None) -> str:
    return "none" if number is None else str(number)
