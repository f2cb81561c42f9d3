"""The end of a command without a verdict: an exit status other than 1, and one sentence."""

from __future__ import annotations

import errno
import mmap
import os
import resource
import tempfile
import traceback

from kraftcheck.support.errors import DiskError, InputError, ProcessKilledError
from kraftcheck.support.exit_codes import EXIT_BAD_INPUT, EXIT_INTERNAL, EXIT_UNDETERMINED
from kraftcheck.support.printable import printable
from kraftcheck.support.streams import STANDARD_OUTPUT

#: Of address space: what the libraries take before anything is done.
LEAST_BYTES = 256 << 20
_HARDLY_ANY_BYTES = 64 << 20

OUT_OF_MEMORY = (
    "out of memory, so there is no verdict; give the process more, or bound the work (see --help)."
)
KILLED = "a process that does part of the work was killed, so there is no verdict; was memory short?"

#: What libraries say where memory is short, in exceptions of their own.
_SHORT_OF_MEMORY = (
    "out of memory",
    "cannot allocate memory",
    "can't start new thread",
    "failed to map segment",
)


def require_memory(size: int = LEAST_BYTES) -> None:
    """Raise MemoryError where a limit (`ulimit -v`) leaves less than ``size`` bytes; default: what any work
    takes.

    OpenBLAS, which numpy and scipy load, would end the process with status 1, or ask for memory for ever.
    Nothing here uses it or its threads.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if not _is_free(size):
        raise MemoryError


def _is_limited() -> bool:
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def _is_free(size: int) -> bool:
    """Whether a limit of the process, if it has one, leaves ``size`` bytes."""
    if not _is_limited():
        return True
    try:
        mmap.mmap(-1, size).close()
    except OSError:
        return False
    return True


def is_out_of_memory(error: BaseException) -> bool:
    """Whether ``error`` says that memory, or another resource of the process, has run out.

    Libraries may make any exception of that: what else is raised when hardly anything is free counts too, and
    under a limit what C code raises that has not looked whether it got memory.
    """
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, MemoryError) or getattr(seen, "errno", None) in (errno.ENOMEM, errno.EAGAIN):
            return True
        if any(words in str(seen).lower() for words in _SHORT_OF_MEMORY):
            return True
        seen = seen.__cause__ or seen.__context__
    return (_is_limited() and isinstance(error, SystemError)) or not _is_free(_HARDLY_ANY_BYTES)


def of_the_machine(error: BaseException) -> str | None:
    """The sentence for ``error`` if memory or a file is its cause; ``None``: it says something of the work.

    For work that may be wrong itself: a mutant of the reference, a changed reference.
    """
    if isinstance(error, OSError | DiskError | ProcessKilledError) or is_out_of_memory(error):
        return failure(error)[1]
    return None


def failure(error: BaseException) -> tuple[int, str]:
    """The exit status for ``error``, and the sentence for standard error.

    The traceback of an error that should not be is written to a temporary file, which the sentence names.
    """
    if isinstance(error, InputError):
        return EXIT_BAD_INPUT, str(error)
    if isinstance(error, KeyboardInterrupt):
        return EXIT_UNDETERMINED, "interrupted."
    if isinstance(error, ProcessKilledError) or type(error).__name__ == "BrokenProcessPool":
        return EXIT_UNDETERMINED, KILLED
    if is_out_of_memory(error):
        return EXIT_UNDETERMINED, OUT_OF_MEMORY
    if isinstance(error, OSError):
        return EXIT_BAD_INPUT, _of_system(error)
    if isinstance(error, SyntaxError) and error.filename is not None:
        place = f"{printable(error.filename)}:{error.lineno}"
        return EXIT_BAD_INPUT, f"{place}: not valid Python ({printable(error.msg)}); correct it."
    if isinstance(error, ModuleNotFoundError):
        return EXIT_BAD_INPUT, f"the installation is incomplete ({error}); install kraftcheck again."
    try:
        return EXIT_INTERNAL, _of_ourselves(error)
    except MemoryError:
        return EXIT_UNDETERMINED, OUT_OF_MEMORY


def _of_system(error: OSError) -> str:
    reason = printable(error.strerror or str(error))
    if error.filename == STANDARD_OUTPUT:
        return f"{STANDARD_OUTPUT}: cannot be written ({reason}); make room, or send it elsewhere."
    where = "a file" if error.filename is None else printable(str(error.filename))
    return f"{where}: cannot be read or written ({reason}); make room or permit it, and try again."


def _of_ourselves(error: BaseException) -> str:
    what = printable(f"{type(error).__name__}: {error}")[:300]
    begin = f"internal error, so there is no verdict ({what})"
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="kraftcheck-error-", suffix=".txt", encoding="utf-8", errors="replace", delete=False
        ) as file:
            traceback.print_exception(error, file=file)
    except OSError:
        return f"{begin}; please report it."
    return f"{begin}; please report it with {file.name}, which says where it happened."
