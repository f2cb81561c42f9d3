"""What a step of the controller or of a broker process does to the world, in order."""

from __future__ import annotations

from kraftcheck.reference.brokers.broker import Api
from kraftcheck.reference.brokers.messages import (
    BrokerState,
    MetadataUpdate,
    Process,
    Request,
    Response,
    StoreIsrRequest,
    StoreIsrResponse,
)
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.brokers.types import BrokerId, ControllerId, Version
from kraftcheck.reference.frozen import Frozen

# The controller.


class Reply(Frozen):
    """Controller node ``node`` answers process ``to``."""

    node: ControllerId
    to: Process
    response: Response


class SendMetadata(Frozen):
    """Metadata goes to process ``to``."""

    to: Process
    update: MetadataUpdate


class StoreReply(Frozen):
    """The store answers process ``to``."""

    to: Process
    response: StoreIsrResponse


class Registered(Frozen):
    """The store has a registration of ``process``, which got its incarnation id by it (KIP-343)."""

    process: Process
    version: Version


class BrokerDeclared(Frozen):
    """The controller holds ``broker`` to be in ``state`` from here on (KIP-343)."""

    broker: BrokerId
    state: BrokerState


class BrokerFenced(Frozen):
    """Records of the metadata log fence ``broker``, or unfence it (KIP-631)."""

    broker: BrokerId
    fenced: bool


class PartitionChanged(Frozen):
    """The partition is durably this from here on."""

    partition: Partition


ControllerEffect = (
    Reply | SendMetadata | StoreReply | Registered | BrokerDeclared | BrokerFenced | PartitionChanged
)

# A broker process.


class Send(Frozen):
    """A request goes to controller node ``to``."""

    to: ControllerId
    request: Request


class WriteStore(Frozen):
    """A legacy broker writes to the store."""

    request: StoreIsrRequest


class ForgetRequest(Frozen):
    """An answer to the request that was under way will be dropped."""

    api: Api


class FencedItself(Frozen):
    """The process fences itself: it accepts nothing new."""


class Unfenced(Frozen):
    """The process is fenced no more."""


class Accepted(Frozen):
    """A request of a client is taken."""


class Refused(Frozen):
    """A request of a client is turned away."""


class Completed(Frozen):
    """An accepted request of a client is completed."""


class Stop(Frozen):
    """The process ends, in order."""


BrokerEffect = (
    Send | WriteStore | ForgetRequest | FencedItself | Unfenced | Accepted | Refused | Completed | Stop
)
