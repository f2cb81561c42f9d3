"""What numbers and texts of brokers and their controller mean; see :mod:`kraftcheck.reference.types`."""

from __future__ import annotations

from typing import Annotated

from kraftcheck.reference.types import Meaning

BrokerId = Annotated[int, Meaning.NODE]
#: A node of the controller.
ControllerId = Annotated[int, Meaning.NODE]
#: The number that distinguishes one process of a broker from the others (KIP-343).
Incarnation = Annotated[int, Meaning.EPOCH]
#: The offset of a broker's registration in the metadata log (KIP-631); -1: not registered.
BrokerEpoch = Annotated[int, Meaning.EPOCH]
#: An incarnation or a broker epoch, as the form has it; -1: not said.
LifeId = Annotated[int, Meaning.EPOCH]
ControllerEpoch = Annotated[int, Meaning.EPOCH]
LeaderEpoch = Annotated[int, Meaning.EPOCH]
#: How often a partition has changed; -1: not known.
PartitionEpoch = Annotated[int, Meaning.EPOCH]
#: An offset of the metadata log; -1: none.
MetadataOffset = Annotated[int, Meaning.END_OFFSET]
Topic = Annotated[str, Meaning.TEXT]
#: The number of a partition in its topic.
PartitionIndex = Annotated[int, Meaning.PLAIN]
#: Units of time on the machine that counts them.
Ticks = Annotated[int, Meaning.PLAIN]
FeatureLevel = Annotated[int, Meaning.PLAIN]
#: The version of a request or of a registration.
Version = Annotated[int, Meaning.PLAIN]
