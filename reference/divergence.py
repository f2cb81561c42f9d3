"""How a leader reports to a fetcher that their logs diverge, and how the fetcher reads it.

Source: KIP-595 (FetchQuorumRecords; error codes); Kafka: KafkaRaftClient.buildFetchResponse.
"""

from __future__ import annotations

from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.messages import FetchResponse
from kraftcheck.reference.protocol import DivergenceAnswer
from kraftcheck.reference.work import Work


def answer(work: Work, response: FetchResponse) -> FetchResponse:
    """``response``, which says where the logs part, as the protocol has it: with or without an error."""
    if work.protocol.divergence_answer is DivergenceAnswer.OFFSET_OUT_OF_RANGE:
        work.by("FETCH-10")
        return replace(response, partition_error=ErrorCode.OFFSET_OUT_OF_RANGE)
    work.by("FETCH-9")
    return response


def understood(work: Work, response: FetchResponse) -> FetchResponse:
    """``response`` without the error where the error says no more than that the logs part."""
    is_error = response.partition_error is ErrorCode.OFFSET_OUT_OF_RANGE and response.diverging is not None
    if not is_error or work.protocol.divergence_answer is DivergenceAnswer.DIVERGING_EPOCH:
        return response
    work.by("FETCH-10")
    return replace(response, partition_error=ErrorCode.NONE)
