"""Made-up log text of four kinds, on which ``kraftcheck bench`` measures the reading of logs.

- *trace*: message traces of about a KB between the lines that matter, as at level TRACE;
- *debug*: little but lines that matter, as at level DEBUG;
- *info*: nothing but changes of state, as a node at INFO writes that never comes to rest;
- *controller*: a controller's log at INFO, in which few lines are the raft layer's.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Final

from tests.laboratory.logs.render import record
from tests.laboratory.logs.synthetic import Walk, clock, history

RELEASE: Final = "4.3"


#: Lines of other loggers at a time, as a function of chance and the time.
Noise = Callable[[random.Random, str], str]


def texts(size: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """Each kind, and about ``size`` bytes of it."""
    for kind, noise in _KINDS.items():
        yield kind, "".join(_log(noise, size, seed)).encode()


def _log(noise: Noise | None, size: int, seed: int) -> Iterator[str]:
    """About ``size`` bytes of a node's log: a legal history with ``noise`` around each of its steps, or its
    lines at INFO alone.
    """
    chance, written = random.Random(seed), 0
    walk = Walk(1, (1, 2, 3), RELEASE, chance.choice)
    for step in history(walk, size, clock(), moves=(10, 20, 40) if noise else (0, 1)):
        for line in step.lines:
            if noise is None and "] INFO " not in line:
                continue
            text = line + (noise(chance, line[1:24]) if noise and "igh watermark" in line else "")
            written += len(text)
            yield text
        if written >= size:
            return


def _trace(chance: random.Random, time: str) -> str:
    """Fetch traffic between two moves of the high watermark: requests and responses in full."""
    lines = []
    for number in range(chance.randint(1, 3)):
        for what in ("Received inbound message InboundRequest", "Sent response OutboundResponse"):
            values = ", ".join(f"field{at}={chance.randint(-1, 9)}" for at in range(12))
            data = f"FetchRequestData(clusterId='bench', {values}, topics=[{'FetchTopic(), ' * 30}])"
            text = f"{what}(correlationId={number}, data={data}, createdTimeMs={number})"
            lines.append(record(time, 1, text, RELEASE, "KafkaRaftClient", "TRACE"))
    return "".join(lines)


def _debug(chance: random.Random, time: str) -> str:
    """The lines that DEBUG adds at each move of the high watermark."""
    offset = chance.randint(1, 1_000_000)
    loader = "org.apache.kafka.image.loader.MetadataLoader@1"
    texts = [
        f"Completed commit of 1 records up to last offset OffsetAndEpoch[offset={offset}, epoch=1]",
        f"Notifying listener {loader} of batch for baseOffset {offset} and lastOffset OptionalLong.empty",
        "Connection for node-2:9093 (id: 2 rack: null isFenced: false) is backing off for 20 ms",
    ]
    return "".join(
        record(time, 1, text, RELEASE, "KafkaRaftClient", "DEBUG") for text in texts[: chance.randint(1, 3)]
    )


def _controller(chance: random.Random, time: str) -> str:
    """Other loggers' lines, and now and then a stack trace."""
    lines = []
    for number in range(chance.randint(5, 30)):
        topic = f"topic-{chance.randint(1, 500)}"
        text = f"[QuorumController id=1] Replayed a PartitionChangeRecord for {topic}-{number}: isr [1, 2, 3]"
        lines.append(f"[{time}] INFO {text} (org.apache.kafka.controller.ReplicationControlManager)\n")
        if chance.random() < 0.02:
            lines.append(
                f"[{time}] WARN [NodeToControllerChannelManager id=1] failed (kafka.server.Channel)\n"
            )
            lines.append("java.io.IOException: Connection reset by peer\n")
            lines += [
                f"\tat sun.nio.ch.SocketDispatcher.read{at}(SocketDispatcher.java:47)\n" for at in range(12)
            ]
    return "".join(lines)


#: The noise of each kind; None: no noise and INFO only.
_KINDS: Final[dict[str, Noise | None]] = {
    "trace": _trace,
    "debug": _debug,
    "info": None,
    "controller": _controller,
}
