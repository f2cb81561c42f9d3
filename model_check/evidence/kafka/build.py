"""The adapter compiled against a Kafka, kept in the user's cache.

Kafka's sources are compiled once for each content, the adapter once for each content of its own sources and
each Kafka: an edited tree is compiled anew, everything else is there already.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kraftcheck.evidence.kafka import jdk, sources, tree
from kraftcheck.evidence.kafka.installation import Classes, Release, SourceTree, find
from kraftcheck.support.cache import kept_folder
from kraftcheck.support.errors import InputError

#: Without this class there is no Raft to drive.
_CLIENT = "org.apache.kafka.raft.KafkaRaftClient"
SUPPORTED = "3.9 and later are"

#: The presets of releases, each with a class that came with it, the newest first. Classes that nothing else
#: uses are not compiled of a source tree.
_SINCE = {
    "kafka-trunk": "org.apache.kafka.raft.internals.RecordsDecodingStrategy",
    "kafka-4.4": "org.apache.kafka.raft.internals.ChangeVoterHandlerState",
    "kafka-4.3": "org.apache.kafka.raft.RaftLog",
    "kafka-4.2": "org.apache.kafka.clients.consumer.internals.ShareAcquireMode",
    "kafka-4.1": "org.apache.kafka.raft.internals.KRaftVersionUpgrade",
    "kafka-4.0": "org.apache.kafka.raft.internals.EpochElection",
}
_OLDEST = "kafka-3.9"

#: Options of the virtual machine: it starts fast and stays small, for steps that take microseconds.
_VM = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")


def command(path: Path, jars: Path | None, tell: Callable[[str], None]) -> list[str]:
    """The command that starts the adapter for the Kafka at ``path``, which is compiled first if needed.

    jars: a folder with third-party jars for a source tree, or ``None``. tell: shows the progress. Raises
    InputError where there is no Kafka, no JDK, or the release is not supported; and MemoryError.
    """
    kafka = find(path, jars)
    tools = jdk.find()
    identity = kafka.digest()
    places = _places(kafka, identity, tools, tell)
    classes = Classes(places)
    if not classes.offer(_CLIENT):
        raise _not_supported(kafka, f"it has no class {_CLIENT}")
    files = sources.of_the_adapter(classes.offer)
    classpath = jdk.classpath(places)

    def make(folder: Path) -> None:
        tell(f"compiling the adapter against {kafka.name}")
        tools.compile(files, folder, classpath)

    try:
        adapter = kept_folder("kafka-adapters", f"{sources.digest(files)}-{identity}", make)
    except jdk.FailedError as error:
        raise _not_supported(kafka, error.reason) from None
    return [tools.java, *_VM, "-cp", jdk.classpath([adapter, *places]), sources.MAIN, kafka.name]


def preset(path: Path, jars: Path | None, tell: Callable[[str], None]) -> str:
    """The preset of the protocol for the Kafka at ``path``, by the classes that it has. Raises InputError as
    :func:`command` does.
    """
    kafka = find(path, jars)
    built = isinstance(kafka, Release)
    offers = Classes(kafka.jars if built else _places(kafka, kafka.digest(), jdk.find(), tell)).offer
    return next((name for name, since in _SINCE.items() if offers(since)), _OLDEST)


def _places(
    kafka: Release | SourceTree, identity: str, tools: jdk.Jdk, tell: Callable[[str], None]
) -> list[Path]:
    """The class path of Kafka: its jars, or its sources compiled and other jars."""
    if isinstance(kafka, Release):
        return list(kafka.jars)
    stubs = sources.of_stubs(Classes(kafka.jars).offer)

    def make(folder: Path) -> None:
        tree.compile_tree(kafka, stubs, tools, folder, tell)

    try:
        classes = kept_folder("kafka-classes", f"{sources.digest(stubs)}-{identity}", make)
    except jdk.FailedError as error:
        raise InputError(
            f"--kafka: {kafka.path}: the sources of {kafka.name} cannot be compiled: {error.reason}; see "
            "that they compile with Gradle, and that --jars has the jars of this release."
        ) from None
    return [classes, *kafka.jars]


def _not_supported(kafka: Release | SourceTree, reason: str) -> InputError:
    return InputError(f"--kafka: {kafka.name} at {kafka.path} is not supported ({SUPPORTED}): {reason}.")
