"""The command that starts the adapter of a Kafka, with small programs instead of those of a JDK."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.evidence.kafka import build, jdk, sources
from kraftcheck.evidence.kafka.installation import THIRD_PARTY
from kraftcheck.support.cache import user_cache
from kraftcheck.support.errors import InputError
from tests.evidence.kafka.test_installation import jar, third_party, tree

CLIENT = {"org/apache/kafka/raft/KafkaRaftClient.class": ""}
#: Stands for javac: notes that it ran, and fails if the class path names something of this name.
JAVAC = """#!/bin/sh
if [ "$1" = -version ]; then echo "javac 17.0.2"; exit 0; fi
case "$*" in *unsupported*) echo "/src/Messages.java:7: error: cannot find symbol"; exit 1;; esac
echo ran >> "$XDG_CACHE_HOME/runs"
while [ "$1" != -d ]; do shift; done
mkdir -p "$2/org/apache/kafka/raft"
echo class | tee "$2/Adapter.class" > "$2/org/apache/kafka/raft/KafkaRaftClient.class"
"""
JAVA = "#!/bin/sh\necho 'openjdk version \"17.0.2\"' >&2\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with these programs and an empty cache."""
    for name, text in (("javac", JAVAC), ("java", JAVA)):
        program = tmp_path / "jdk" / "bin" / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(text)
        program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir(mode=0o700)
    return tmp_path


def told() -> tuple[list[str], Callable[[str], None]]:
    lines: list[str] = []
    return lines, lines.append


def test_the_adapter_is_compiled_once_for_each_kafka(home: Path) -> None:
    for folder in ("a", "b"):
        jar(home / folder / "libs" / "kafka-raft-4.3.1.jar", **CLIENT)
    lines, tell = told()
    words = build.command(home / "a", None, tell)
    assert words[-2:] == [sources.MAIN, "Apache Kafka 4.3.1"]
    assert lines == ["compiling the adapter against Apache Kafka 4.3.1"]
    classes = Path(words[words.index("-cp") + 1].split(os.pathsep)[0])
    assert classes.is_relative_to(user_cache()) and (classes / "Adapter.class").is_file()
    assert not (classes / ".sources").exists()
    # The same content elsewhere is the same Kafka, with a class path of its own.
    again = build.command(home / "b", None, tell)
    assert len(lines) == 1 and again != words
    assert (home / "cache" / "runs").read_text() == "ran\n"
    jar(home / "b" / "libs" / "kafka-raft-4.3.1.jar", **CLIENT, other="changed")
    build.command(home / "b", None, tell)
    assert len(lines) == 2


def test_what_does_not_compile_is_not_supported_and_leaves_nothing(home: Path) -> None:
    jar(home / "unsupported" / "libs" / "kafka-raft-3.5.0.jar", **CLIENT)
    with pytest.raises(
        InputError, match=r"Kafka 3\.5\.0 at .* is not supported .*: Messages\.java:7: error: cannot"
    ):
        build.command(home / "unsupported", None, told()[1])
    assert not list((user_cache() / "kafka-adapters").iterdir())


def test_a_kafka_without_raft_is_not_supported(home: Path) -> None:
    jar(home / "kafka" / "libs" / "kafka-raft-2.8.0.jar")
    with pytest.raises(InputError, match=r"2\.8\.0 .* is not supported .* no class .*KafkaRaftClient"):
        build.command(home / "kafka", None, told()[1])


def test_a_source_tree_is_compiled_once_for_each_content(home: Path) -> None:
    kafka, jars = tree(home / "kafka"), third_party(home / "jars")
    lines, tell = told()
    words = build.command(kafka, jars, tell)
    assert [line.partition(" Apache")[0] for line in lines] == [
        "generating the messages of", "compiling", "compiling the adapter against",
    ]  # fmt: skip
    adapter, classes, *others = words[words.index("-cp") + 1].split(os.pathsep)
    assert Path(adapter).parent.name == "kafka-adapters" and Path(classes).parent.name == "kafka-classes"
    assert len(others) == len(THIRD_PARTY)
    build.command(kafka, jars, tell)
    assert len(lines) == 3
    (kafka / "raft" / "src" / "main" / "java" / "New.java").write_text("class New { }")
    build.command(kafka, jars, tell)
    assert len(lines) == 6


def test_a_source_tree_that_does_not_compile_is_named(home: Path) -> None:
    kafka, jars = tree(home / "unsupported"), third_party(home / "jars")
    with pytest.raises(
        InputError, match=r"the sources of Apache Kafka 4\.3\.1 cannot be compiled: Messages\.java:7"
    ):
        build.command(kafka, jars, told()[1])
    assert not list((user_cache() / "kafka-classes").iterdir())


def test_an_interrupt_ends_the_compiler_and_leaves_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jar(home / "kafka" / "libs" / "kafka-raft-4.3.1.jar", **CLIENT)
    slow = JAVAC.replace("echo ran >>", "echo $$ >").replace("mkdir", "exec sleep 60; mkdir")
    (home / "jdk" / "bin" / "javac").write_text(slow)

    communicate = subprocess.Popen.communicate

    def interrupted(process: subprocess.Popen[bytes], *given: Any, **named: Any) -> tuple[bytes, bytes]:
        if named:  # It asks for the version.
            return communicate(process, *given, **named)
        while not (home / "cache" / "runs").is_file():
            time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "communicate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        build.command(home / "kafka", None, told()[1])
    with pytest.raises(ProcessLookupError):
        os.kill(int((home / "cache" / "runs").read_text()), 0)
    assert not list((user_cache() / "kafka-adapters").iterdir())


@pytest.mark.parametrize("missing", [("javac",), ("javac", "java")])
def test_without_a_compiler_one_sentence_says_so(
    missing: tuple[str, ...], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jar(home / "kafka" / "libs" / "kafka-raft-4.3.1.jar", **CLIENT)
    for name in missing:
        (home / "jdk" / "bin" / name).unlink()
    monkeypatch.setenv("PATH", str(home))
    with pytest.raises(
        InputError, match=r"needs javac, the compiler of a JDK, 17 or later, .* default-jdk-headless"
    ):
        build.command(home / "kafka", None, told()[1])


def test_each_shim_has_the_parts_that_it_needs() -> None:
    """A class that both parts declare has one name; a part may be empty only where a package must exist."""
    present, absent = (
        sources.of_the_adapter(lambda name, is_there=is_there: is_there) for is_there in (True, False)
    )
    common = {path for path in present if "adapter" in path.parts} & set(absent)
    only_present = {path.name for path in present} - {path.name for path in absent}
    only_absent = {path.name for path in absent} - {path.name for path in present}
    assert common and not only_present and only_absent == {"Nothing.java"}


def test_the_main_class_is_there() -> None:
    files = sources.of_the_adapter(lambda name: True)
    assert any(path.as_posix().endswith(sources.MAIN.replace(".", "/") + ".java") for path in files)


def test_a_full_disk_is_not_blamed_on_kafka() -> None:
    with pytest.raises(OSError, match="No space left on device"):
        jdk.run(["sh", "-c", "echo 'X.java:1: error: error while writing: No space left on device'; exit 1"])
