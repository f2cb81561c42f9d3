"""A replica that makes itself a voter: what it makes of its leader's answer, whether it asked to be added or
to have its old key removed.

Source: KIP-853, controller.quorum.auto.join.enable; Kafka: KafkaRaftClient.handleAddVoterResponse,
handleRemoveVoterResponse.
"""

from __future__ import annotations

from kraftcheck.reference import epochs
from kraftcheck.reference.effects import ArmTimer, Duration, Fatal
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Timer
from kraftcheck.reference.fatal import FatalReason
from kraftcheck.reference.replica import Follower
from kraftcheck.reference.work import Work


def handle_answer(work: Work, source: int, error: ErrorCode, settled: ErrorCode) -> None:
    """Look again a period later, whether or not anything has changed by then.

    ``settled``: the error that says that nothing is left to do.
    """
    work.by("ADD-14")
    if error not in (ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT, settled):
        epochs.unexpected_error(work, source)
        return
    if not isinstance(work.replica.role, Follower):
        raise work.exit(Fatal(FatalReason.MEMBERSHIP_RESPONSE_AT_NON_FOLLOWER))
    work.emit(ArmTimer(Timer.UPDATE_VOTER, Duration.UPDATE_VOTER_PERIOD))
