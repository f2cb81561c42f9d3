"""The Kafka that a user names: a release with its jars, or a source tree."""

from __future__ import annotations

import hashlib
import re
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from kraftcheck.support.errors import InputError
from kraftcheck.support.files import opened, read_text

#: What a path may be, for messages.
WANTED = "a release of Apache Kafka (with libs/*.jar) or its source tree (with raft/src/main/java)"
#: The modules of Kafka that the adapter meets, and the generator of their messages.
RAFT, MODULES, GENERATOR = "raft", ("clients", "server-common", "raft"), "generator"
#: The third-party jars that Kafka's sources of these modules need, by the beginnings of their names.
THIRD_PARTY = (
    "argparse4j", "jackson-annotations", "jackson-core", "jackson-databind", "lz4-java", "slf4j-api",
    "snappy-java", "zstd-jni",
)  # fmt: skip
#: The folder in which Debian and its derivatives keep jars.
SYSTEM_JARS = Path("/usr/share/java")
#: Jars that would let Kafka's other loggers write somewhere.
_LOGGING = re.compile(r"(log4j-slf4j|slf4j-(?!api)|logback)")
_MOST_PROPERTIES = 4096
#: Confluent numbers its releases differently: 7.9 contains Kafka 3.9.
_CONFLUENT, _CONFLUENT_AHEAD = re.compile(r"(\d+)\.(\d+)\.(\d+).*-(?:ccs|ce)\b"), 4


class Installation(ABC):
    """A Kafka on disk.

    path: as the user gave it; version: as it names itself, ``None`` where it does not.
    """

    path: Path
    version: str | None

    @property
    def name(self) -> str:
        """The name for reports: ``Apache Kafka 4.3.1``."""
        return "Apache Kafka" if self.version is None else f"Apache Kafka {shown_version(self.version)}"

    @abstractmethod
    def digest(self) -> str:
        """The identity of its classes, wherever they lie: the content of Kafka's own files, names and sizes
        of the other jars. Raises InputError.
        """


@dataclass(frozen=True)
class Release(Installation):
    """A release as it is downloaded. jars: of Kafka and of others, by name, without implementations of
    logging.
    """

    path: Path
    version: str | None
    jars: tuple[Path, ...]

    def digest(self) -> str:
        own = [jar for jar in self.jars if jar.name.startswith("kafka-")]
        return _digest(own, (jar for jar in self.jars if jar not in own))


@dataclass(frozen=True)
class SourceTree(Installation):
    """A source tree, which need not be built. jars: of others, one for each name of ``THIRD_PARTY``."""

    path: Path
    version: str | None
    jars: tuple[Path, ...]

    def digest(self) -> str:
        folders = [self.path / module / "src" / "main" for module in (*MODULES, GENERATOR)]
        files = sorted(file for folder in folders for file in folder.rglob("*") if file.is_file())
        return _digest(files, self.jars)


def find(path: Path, jars: Path | None = None) -> Release | SourceTree:
    """The Kafka at ``path``. jars: a folder with the third-party jars for a source tree; the default are
    those of an earlier build in the tree, else of the system. Raises InputError.
    """
    if not path.is_dir():
        raise InputError(f"--kafka: {path} is no folder; give {WANTED}.")
    if (path / RAFT / "src" / "main" / "java").is_dir():
        missing = [name for name in (*MODULES, GENERATOR) if not (path / name / "src" / "main").is_dir()]
        if missing:
            raise InputError(f"--kafka: {path} lacks the folder {missing[0]}/src/main; give {WANTED}.")
        return SourceTree(path, _version_of_tree(path), _third_party(path, jars))
    if jars is not None:
        raise InputError(f"--jars: goes with a source tree of Kafka, which {path} is not; leave it out.")
    for folder in (path / "libs", path):
        found = sorted(folder.glob("*.jar"))
        raft = [jar for jar in found if re.match(r"kafka-raft\b", jar.name)]
        if raft:
            kept = tuple(jar for jar in found if not _LOGGING.match(jar.name))
            return Release(path, _version_of_release(raft[0], found), kept)
    raise InputError(
        f"--kafka: {path} has neither libs/kafka-raft-*.jar nor raft/src/main/java; give {WANTED}."
    )


def shown_version(version: str) -> str:
    """A version for reports; that of a release of Confluent with the version of Kafka that it contains."""
    match = _CONFLUENT.match(version)
    if match is None or int(match[1]) <= _CONFLUENT_AHEAD:
        return version
    return f"{int(match[1]) - _CONFLUENT_AHEAD}.{match[2]} (Confluent {version})"


# Versions.


def _version_of_tree(path: Path) -> str | None:
    properties = path / "gradle.properties"
    return (
        _property("version", read_text(properties, "the properties of a build"))
        if properties.is_file()
        else None
    )


def _version_of_release(raft: Path, jars: Iterable[Path]) -> str | None:
    named = re.fullmatch(r"kafka-raft-(\d[\w.-]*)\.jar", raft.name, re.ASCII)
    if named is not None:
        return named[1]
    clients = next((jar for jar in jars if jar.name.startswith("kafka-clients")), None)
    if clients is None:
        return None
    try:
        with (
            opened(clients, "a jar") as file,
            zipfile.ZipFile(file) as content,
            content.open("kafka/kafka-version.properties") as properties,
        ):
            text = properties.read(_MOST_PROPERTIES).decode("utf-8", "replace")
    except (KeyError, zipfile.BadZipFile):
        return None
    return _property("version", text)


def _property(name: str, text: str) -> str | None:
    match = re.search(rf"^{name}\s*=\s*([\w.-]{{1,40}})\s*$", text, re.MULTILINE | re.ASCII)
    return None if match is None else match[1]


# Jars.


def _third_party(tree: Path, folder: Path | None) -> tuple[Path, ...]:
    if folder is not None:
        if not folder.is_dir():
            raise InputError(f"--jars: {folder} is no folder; name the one that has the third-party jars.")
        where, found = str(folder), _by_name([folder])
    else:
        built = sorted(tree.glob("*/build/dependant-libs*"))
        where, found = "the folders of a build in it", _by_name(built)
        if len(found) < len(THIRD_PARTY):
            where, found = f"{where} and {SYSTEM_JARS}", {**_by_name([SYSTEM_JARS]), **found}
    missing = [name for name in THIRD_PARTY if name not in found]
    if missing:
        raise InputError(
            f"--kafka: {tree} is a source tree, which needs the jars {', '.join(THIRD_PARTY)}; "
            f"{', '.join(missing)} not found in {where}: name a folder that has them by --jars."
        )
    return tuple(found[name] for name in THIRD_PARTY)


def _by_name(folders: Iterable[Path]) -> dict[str, Path]:
    """For each name the last jar of it: that of the largest version, as names are sorted."""
    found = {}
    for jar in (jar for folder in folders for jar in sorted(folder.glob("*.jar"))):
        name = re.sub(r"(-\d[\w.-]*)?\.jar$", "", jar.name)
        if name in THIRD_PARTY:
            found[name] = jar
    return found


class Classes:
    """The classes of jars and folders. Raises InputError for a jar that cannot be read."""

    def __init__(self, places: Iterable[Path]) -> None:
        self._places = tuple(places)

    @cached_property
    def _in_jars(self) -> frozenset[str]:
        return frozenset(name for jar in self._places if jar.suffix == ".jar" for name in _content(jar))

    def offer(self, name: str) -> bool:
        """Whether there is a class of this name: ``org.apache.kafka.raft.RaftMessageQueue.QueueEntry``."""
        file = _file_of(name)
        return file in self._in_jars or any((place / file).is_file() for place in self._places)


def _file_of(name: str) -> str:
    """The file of a class; a class in another one has a dollar before its name."""
    package = [word for word in name.split(".") if word[0].islower()]
    return "/".join([*package, "$".join(name.split(".")[len(package) :])]) + ".class"


def _content(jar: Path) -> Iterator[str]:
    try:
        with opened(jar, "a jar") as file, zipfile.ZipFile(file) as content:
            yield from content.namelist()
    except (zipfile.BadZipFile, NotImplementedError):  # zipfile raises the latter for a version it lacks.
        raise InputError(f"{jar}: is no readable jar; download the release again.") from None


def _digest(files: Iterable[Path], others: Iterable[Path]) -> str:
    """Of the content of files, and of names and sizes of others."""
    digest = hashlib.sha256()
    for file in files:
        with opened(file, "a file of Kafka") as content:
            digest.update(f"{file.name} ".encode() + hashlib.sha256(content.read()).digest())
    for file in others:
        digest.update(f"{file.name} {file.stat().st_size} ".encode())
    return digest.hexdigest()[:24]
