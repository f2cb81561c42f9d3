"""A command run again whenever a file that it reads has changed: ``kraftcheck check --watch``."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NoReturn

from kraftcheck.support import places, streams
from kraftcheck.support.errors import InputError

OPTION = "--watch"
#: How often to look whether a file has changed, in milliseconds.
_EVERY_MS = 200
_SUFFIXES = (".py", ".toml")


def run_on_changes(words: Sequence[str], files: Iterable[Path]) -> NoReturn:
    """Run ``kraftcheck`` with ``words`` now, and after each change of ``files`` or of kraftcheck's sources.

    Each run is a process of its own, since it imports the sources; a change ends one that is not done.
    Ends by KeyboardInterrupt. Raises InputError without watchfiles.
    """
    try:
        from watchfiles import watch
    except ImportError:
        raise InputError(f"{OPTION} needs watchfiles: pip install 'kraftcheck[watch]'.") from None
    named = {path.resolve() for path in files}
    sources = {places.folder_of(package) for package in places.PACKAGES}
    sources |= {each for folder in sources for each in folder.rglob("[!_.]*") if each.is_dir()}

    def of_interest(_: object, name: str) -> bool:
        path = Path(name)
        return path in named or (path.suffix in _SUFFIXES and path.parent in sources)

    command = [sys.executable, "-m", "kraftcheck", *words]
    process = subprocess.Popen(command)
    try:
        # The folders of the files: an editor puts another file in the place of one.
        folders = sources | {path.parent for path in named}
        said = False
        for changes in watch(
            *folders,
            watch_filter=of_interest,
            rust_timeout=_EVERY_MS,
            yield_on_timeout=True,
            recursive=False,
        ):
            if changes:
                _end(process)
                names = sorted({Path(name).name for _, name in changes})
                streams.say(f"kraftcheck: changed: {', '.join(names)}")
                process, said = subprocess.Popen(command), False
            elif process.poll() is not None and not said:
                streams.say("kraftcheck: waiting for a change; Ctrl-C ends.")
                said = True
    finally:
        _end(process)
    raise KeyboardInterrupt  # watchfiles ends at one.


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait()
