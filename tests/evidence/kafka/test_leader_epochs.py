"""The epochs of the adapter's log, whose Java needs no Kafka, compared with those of the reference."""

import subprocess
from pathlib import Path
from random import Random

import pytest

from kraftcheck.evidence.kafka import jdk, sources
from kraftcheck.reference import log as logs
from kraftcheck.reference.log import Batch, EpochEnd, Log, Value
from kraftcheck.support.errors import InputError

HARNESS = Path(__file__).parent / "LeaderEpochsHarness.java"
LARGEST_EPOCH = 9


def _history(random: Random) -> tuple[list[str], list[tuple[Log, EpochEnd]]]:
    """Operations, and for each question among them the log and the answer of the reference."""
    log, epoch, operations, expected = Log(), 1, ["clear"], []
    for _ in range(random.randint(1, 12)):
        match random.choice(["append", "append", "lead", "truncate"]):
            case "append":
                batch = Batch(log.end_offset, epoch, tuple(Value(1) for _ in range(random.randint(1, 3))))
                operations.append(f"assign {epoch} {log.end_offset}")
                log = logs.append(log, batch)
            case "lead":
                epoch = min(LARGEST_EPOCH, epoch + random.randint(1, 2))
                operations.append(f"assign {epoch} {log.end_offset}")
                log = logs.start_epoch(log, epoch)
            case "truncate" if log.batches:
                offset = random.choice(log.batches).base_offset
                operations.append(f"truncate {offset}")
                log = logs.truncate(log, offset)
        for asked in range(LARGEST_EPOCH + 1):
            operations.append(f"end {asked} {log.end_offset}")
            expected.append((log, logs.end_offset_for_epoch(log, asked)))
    return operations, expected


@pytest.mark.slow
def test_an_epoch_ends_where_it_ends_in_the_reference(tmp_path: Path) -> None:
    try:
        tools = jdk.find()
    except InputError as error:
        pytest.skip(f"the Java of Kafka's adapter NOT TESTED: {error}")
    java = [each for each in sources.of_the_adapter(lambda _: True) if each.name == "LeaderEpochs.java"]
    tools.compile([*java, HARNESS], tmp_path, str(tmp_path))
    random = Random(1)
    operations, expected = [], []
    for _ in range(300):
        asked, answers = _history(random)
        operations += asked
        expected += answers
    done = subprocess.run(
        [tools.java, "-cp", str(tmp_path), HARNESS.stem],
        input="\n".join(operations), capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = done.stdout.splitlines()
    assert len(found) == len(expected) > 10_000
    for (log, end), line in zip(expected, found, strict=True):
        # Where the cache does not know the epoch, Kafka takes the end of the log.
        known = (log.last_epoch, log.end_offset) if line == "unknown" else tuple(map(int, line.split()))
        assert known == (end.epoch, end.offset)
