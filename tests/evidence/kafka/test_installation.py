"""Recognising a Kafka on disk: a release, a source tree, their versions, jars and classes."""

import zipfile
from pathlib import Path

import pytest

from kraftcheck.evidence.kafka import installation
from kraftcheck.evidence.kafka.installation import (
    THIRD_PARTY,
    Classes,
    Release,
    SourceTree,
    find,
    shown_version,
)
from kraftcheck.support.errors import InputError


def jar(path: Path, **content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as file:
        for name, text in content.items():
            file.writestr(name, text)
    return path


def tree(folder: Path, version: str | None = "4.3.1") -> Path:
    for module in (*installation.MODULES, installation.GENERATOR):
        (folder / module / "src" / "main" / "java").mkdir(parents=True)
    if version is not None:
        (folder / "gradle.properties").write_text(
            f"group=org.apache.kafka\nversion={version}\nscalaVersion=2.13\n"
        )
    return folder


def third_party(folder: Path, *but: str) -> Path:
    for name in THIRD_PARTY:
        if name not in but:
            jar(folder / f"{name}-1.2.3.jar")
    return folder


def test_a_release_has_the_version_that_its_jar_names(tmp_path: Path) -> None:
    for name in (
        "kafka-raft-4.3.1.jar",
        "kafka-clients-4.3.1.jar",
        "log4j-slf4j-impl-2.24.jar",
        "slf4j-api-1.7.jar",
    ):
        jar(tmp_path / "libs" / name)
    found = find(tmp_path)
    assert isinstance(found, Release) and found.name == "Apache Kafka 4.3.1"
    # An implementation of logging would write where the protocol is spoken.
    assert [each.name for each in found.jars] == [
        "kafka-clients-4.3.1.jar",
        "kafka-raft-4.3.1.jar",
        "slf4j-api-1.7.jar",
    ]
    assert find(tmp_path / "libs") == Release(tmp_path / "libs", "4.3.1", found.jars)


def test_a_jar_without_version_has_it_inside(tmp_path: Path) -> None:
    jar(tmp_path / "kafka-raft.jar")
    assert find(tmp_path).name == "Apache Kafka"
    jar(
        tmp_path / "kafka-clients.jar",
        **{"kafka/kafka-version.properties": "commitId=26b251a\nversion=4.3.1\n"},
    )
    assert find(tmp_path).version == "4.3.1"


def test_a_source_tree_takes_jars_from_the_option_a_build_or_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kafka, system = tree(tmp_path / "kafka"), third_party(tmp_path / "system")
    monkeypatch.setattr(installation, "SYSTEM_JARS", system)
    named = third_party(tmp_path / "named")
    assert {each.parent for each in find(kafka, named).jars} == {named}
    assert {each.parent for each in find(kafka).jars} == {system}
    built = third_party(kafka / "core" / "build" / "dependant-libs-2.13")
    found = find(kafka)
    assert isinstance(found, SourceTree) and {each.parent for each in found.jars} == {built}
    assert [each.name for each in found.jars] == [f"{name}-1.2.3.jar" for name in THIRD_PARTY]


def test_a_folder_of_jars_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--jars: .*absent is no folder"):
        find(tree(tmp_path / "kafka"), tmp_path / "absent")


def test_missing_jars_are_named(tmp_path: Path) -> None:
    kafka, jars = tree(tmp_path / "kafka"), third_party(tmp_path / "jars", "zstd-jni", "slf4j-api")
    with pytest.raises(
        InputError, match=r"slf4j-api, zstd-jni not found in .*jars: name a folder .* by --jars"
    ):
        find(kafka, jars)


@pytest.mark.parametrize(
    "what", ["nothing", "a file", "an empty folder", "half a tree", "jars for a release"]
)
def test_anything_else_is_refused_with_what_to_give(tmp_path: Path, what: str) -> None:
    place, jars = tmp_path / "kafka", None
    if what == "a file":
        place.write_text("")
    elif what == "an empty folder":
        place.mkdir()
    elif what == "half a tree":
        (place / "raft" / "src" / "main" / "java").mkdir(parents=True)
    elif what == "jars for a release":
        jar(place / "libs" / "kafka-raft-4.3.1.jar")
        jars = tmp_path
    with pytest.raises(InputError, match=r"give a release of Apache Kafka|leave it out"):
        find(place, jars)


@pytest.mark.parametrize(
    ("version", "shown"),
    [
        ("4.3.1", "4.3.1"),
        ("4.4.0-SNAPSHOT", "4.4.0-SNAPSHOT"),
        ("7.9.10-0-ccs", "3.9 (Confluent 7.9.10-0-ccs)"),
        ("8.3.0-ce", "4.3 (Confluent 8.3.0-ce)"),
    ],
)
def test_releases_of_confluent_are_shown_with_the_kafka_in_them(version: str, shown: str) -> None:
    assert shown_version(version) == shown


def test_classes_are_found_in_jars_and_folders(tmp_path: Path) -> None:
    queue = "org/apache/kafka/raft/RaftMessageQueue$QueueEntry.class"
    (tmp_path / "classes" / "a").mkdir(parents=True)
    (tmp_path / "classes" / "a" / "B.class").write_text("")
    classes = Classes([jar(tmp_path / "x.jar", **{queue: ""}), tmp_path / "classes"])
    assert classes.offer("org.apache.kafka.raft.RaftMessageQueue.QueueEntry") and classes.offer("a.B")
    assert not classes.offer("org.apache.kafka.raft.RaftLog") and not classes.offer("a.C")


def test_a_jar_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "kafka-raft-4.3.1.jar").write_text("not a zip")
    with pytest.raises(InputError, match=r"kafka-raft-4\.3\.1\.jar: is no readable jar"):
        Classes(find(tmp_path).jars).offer("a.B")


def test_the_digest_is_of_the_content_and_not_of_the_place(tmp_path: Path) -> None:
    jars = third_party(tmp_path / "jars")
    one, other = tree(tmp_path / "one"), tree(tmp_path / "other")
    assert find(one, jars).digest() == find(other, jars).digest()
    (other / "raft" / "src" / "main" / "java" / "A.java").write_text("class A { }")
    assert find(one, jars).digest() != find(other, jars).digest()
