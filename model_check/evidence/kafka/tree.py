"""Compiles a source tree of Kafka without Gradle: its own generator first, then all that a replica needs."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from kraftcheck.evidence.kafka import jdk
from kraftcheck.evidence.kafka.installation import GENERATOR, MODULES, SourceTree

#: The packages of generated messages, by the module that describes them, and what makes their table of types.
_MESSAGES = {
    "clients": ("org.apache.kafka.common.message", ("-t", "ApiMessageTypeGenerator")),
    "raft": ("org.apache.kafka.raft.generated", ()),
}
_GENERATOR = "org.apache.kafka.message.MessageGenerator"
_CLIENT = Path("org/apache/kafka/raft/KafkaRaftClient.java")


def compile_tree(
    kafka: SourceTree, stubs: Sequence[Path], tools: jdk.Jdk, folder: Path, tell: Callable[[str], None]
) -> None:
    """Compile into ``folder`` the client of Raft, all that it needs, and the JSON converters of messages.

    stubs: sources of stubs of classes of libraries that are not there. Raises FailedError.
    """
    # In the folder, which the cache sweeps if this process is killed.
    work = folder / ".generated"
    try:
        tell(f"generating the messages of {kafka.name}")
        generated = _generate(kafka, stubs, tools, work)
        tell(f"compiling {kafka.name}, once for these sources")
        converters = generated.rglob("*JsonConverter.java")
        places = [kafka.path / module / "src" / "main" / "java" for module in MODULES]
        own = [stub for stub in stubs if "org/apache/kafka" in stub.as_posix()]
        path = jdk.classpath([*places, generated])
        tools.compile(
            [kafka.path / "raft" / "src" / "main" / "java" / _CLIENT, *converters, *own],
            folder,
            jdk.classpath(kafka.jars),
            "-implicit:class",
            "-sourcepath",
            path,
        )
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _generate(kafka: SourceTree, stubs: Sequence[Path], tools: jdk.Jdk, work: Path) -> Path:
    """The folder of generated sources. The generator's checker of schemas is left out."""
    sources = (kafka.path / GENERATOR / "src" / "main" / "java").rglob("*.java")
    others = [stub for stub in stubs if "org/apache/kafka" not in stub.as_posix()]
    program, generated = work / "generator", work / "generated"
    jars = jdk.classpath(kafka.jars)
    tools.compile([*(each for each in sources if "checker" not in each.parts), *others], program, jars)
    classpath = jdk.classpath([program, *kafka.jars])
    for module, (package, table) in _MESSAGES.items():
        target = generated.joinpath(*package.split("."))
        described = kafka.path / module / "src" / "main" / "resources" / "common" / "message"
        jdk.run([
            tools.java, "-cp", classpath, _GENERATOR, "-p", package, "-o", str(target), "-i", str(described),
            *table, "-m", "MessageDataGenerator", "JsonConverterGenerator",
        ])  # fmt: skip
    return generated
