"""The log files of a fleet, in any file system, and which cluster and node each belongs to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kraftcheck.evidence.logs.sources import is_log_name
from kraftcheck.support.errors import InputError

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

#: A folder for each cluster.
DEFAULT_LAYOUT: Final = "{cluster}/"
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/]*)")
_WILD: Final = re.compile(r"[*?\[]")
#: Names of file systems in Hadoop's configuration → in Arrow's.
_SCHEMES: Final = {"s3a": "s3", "s3n": "s3", "gs": "gs", "wasbs": "abfss"}


@dataclass(frozen=True, slots=True)
class LogFile:
    """A file: its whole path or URI, its size in bytes on disk, and its cluster."""

    name: str
    size: int
    cluster: str


def compile_layout(text: str) -> re.Pattern[str]:
    """A regular expression for paths below the folder given. Raises InputError.

    ``{cluster}`` stands for a name or a part of one, ``*`` for anything within a name; what follows is free.
    A slash at the end says that the file lies in the folder.
    """
    if text.count("{cluster}") > 1 or re.search(r"[{}]", text.replace("{cluster}", "")):
        raise InputError(f"--layout '{text}': expected {{cluster}} once, names and *.")
    parts = re.split(r"(\{cluster\}|\*)", text.strip("/"))
    known = {"{cluster}": "(?P<cluster>[^/]+?)", "*": "[^/]*"}
    pattern = "".join(known.get(part, re.escape(part)) for part in parts)
    return re.compile(pattern + ("/.+" if text.endswith("/") else "(?:/.+)?") + r"\Z")


def find_files(paths: Sequence[str], layout: str | None) -> list[LogFile]:
    """The log files among ``paths``, folders and globs of any file system.

    Of folders, files with the names of logs are taken, as `kraftcheck logs` does. Raises InputError for a
    path that is not there or cannot be read, and for a file that does not fit ``layout``.
    """
    pattern = None if layout is None else compile_layout(layout)
    found: dict[str, LogFile] = {}
    for path in paths:
        for file in _files(path, pattern):
            found.setdefault(file.name, file)
    return list(found.values())


def _files(given: str, pattern: re.Pattern[str] | None) -> list[LogFile]:
    from pyarrow.fs import FileSelector, FileType

    prefix, path = split(given)
    parts = path.rstrip("/").split("/")
    wild = next((n for n, part in enumerate(parts) if _WILD.search(part)), len(parts))
    root, glob = "/".join(parts[:wild]) or "/", _glob(parts[wild:])
    try:
        system = file_system(prefix)
        info = system.get_file_info(root)
        is_file = info.type == FileType.File
        if info.type == FileType.NotFound:
            raise InputError(f"{given}: there is nothing; give log files, folders of them, or a glob.")
        infos = [info] if is_file else system.get_file_info(FileSelector(root, recursive=True))
    except (OSError, ValueError) as error:
        raise InputError(f"{given}: cannot be read ({_first_line(error)}); give readable logs.") from None
    base = root.rpartition("/")[0] if is_file else root.rstrip("/")
    found = []
    for one in infos:
        relative = one.path[len(base) :].lstrip("/")
        match = glob.match(relative)
        if one.type != FileType.File or match is None:
            continue
        # A file that is named is taken; of a folder, those that are called like logs.
        if is_file or not match["rest"] or is_log_name(one.base_name):
            cluster = cluster_of(relative, base.rpartition("/")[2], pattern)
            found.append(LogFile(prefix + one.path, one.size or 0, cluster))
    if not found:
        raise InputError(
            f"{given}: no log files there; expected names such as server.log or controller.log.1.gz."
        )
    return sorted(found, key=lambda file: file.name.split("/"))


def _glob(parts: Sequence[str]) -> re.Pattern[str]:
    """A pattern for paths that begin like the glob ``parts``; a group for the part below it."""
    names = []
    for part in parts:
        if part == "**":
            names.append("(?:[^/]+/)*[^/]+")
            continue
        text = ""
        for token in re.findall(r"\[[^\]]+\]|.", part):
            if token in "*?":
                text += "[^/]*" if token == "*" else "[^/]"
            else:
                text += token if len(token) > 1 else re.escape(token)
        names.append(text)
    return re.compile("/".join(names) + (r"(?P<rest>/.+)?\Z" if parts else r"(?P<rest>.+)\Z"))


def cluster_of(relative: str, root: str, pattern: re.Pattern[str] | None) -> str:
    """The cluster of the file at ``relative`` below ``root``. Raises InputError.

    Without a pattern it is the first folder; a file without folder is of the cluster ``root``.
    """
    if pattern is None:
        first, slash, _ = relative.partition("/")
        return first if slash else root or "cluster"
    match = pattern.match(relative)
    if match is None:
        raise InputError(f"{relative}: does not fit --layout; give that of paths below PATH.")
    return match.groupdict().get("cluster") or root or "cluster"


def split(path: str) -> tuple[str, str]:
    """``path`` as the prefix of its file system (empty: local) and the path there, absolute if local."""
    match = _SCHEME.match(path)
    if match is None or match[1] == "file":
        local = path if match is None else path[len(match[0]) :]
        return "", str(Path(local).absolute())
    if match[1] in ("s3", "s3a", "s3n", "gs"):  # the bucket is the beginning of the path
        return f"{match[1]}://", path[len(match[1]) + 3 :]
    return match[0], path[len(match[0]) :]


@lru_cache(maxsize=16)
def file_system(prefix: str) -> FileSystem:
    """The file system of a prefix as of `split`. Raises OSError or ValueError."""
    from pyarrow.fs import FileSystem, LocalFileSystem

    if not prefix:
        return LocalFileSystem()
    scheme, _, rest = prefix.partition("://")
    system, _ = FileSystem.from_uri(f"{_SCHEMES.get(scheme, scheme)}://{rest or 'bucket'}/")
    return system


def open_file(name: str) -> Any:
    """The file ``name`` of a `LogFile`, open for reading as a stream of bytes. Raises OSError."""
    prefix, path = split(name)
    return file_system(prefix).open_input_stream(path, compression=None)


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__
