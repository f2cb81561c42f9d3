"""The compilation of kernels: without the GIL, kept on disk, and without reference counts.

Numba counts references to arrays even in compiled code, at a price of several times the kernels' own work.
A kernel therefore allocates nothing: scratch arrays come in as arguments.

Numba notices a change of the file a kernel is in, but not of imports from other files. Kernels on disk are
therefore stamped with a digest of their file and of all files with kernels in this folder, which import no
constants from others: a checkout that moves from one commit to another never runs a kernel of one commit with
tables of the other.

Kernels are kept in numba's own places: in the folder that ``NUMBA_CACHE_DIR`` names, next to the sources, or
in the user's own cache. Where none of these can be written they are kept in a folder of this user among the
temporary files, or not at all. A kernel is code: it is never loaded from a folder that another user can
write.
"""

from __future__ import annotations

import logging
import os
import stat
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from kraftcheck.support.cache import can_be_trusted
from kraftcheck.support.failures import require_memory

#: Address space that numba takes as it is loaded, and LLVM, which would end the process, at work.
require_memory(240 << 20)
_LOADING, _COMPILING = 48 << 20, 112 << 20

import numba  # noqa: E402
from numba import types  # noqa: E402
from numba.core import cgutils  # noqa: E402
from numba.core.caching import FunctionCache, NullCache  # noqa: E402
from numba.extending import intrinsic  # noqa: E402

_CONFIG: Any = numba.config
_CODE: Any = cgutils


def _without_linear_algebra() -> None:
    """Load numba's functions on arrays, which look for scipy's linear algebra: it takes as long to load as
    numba, and as they do not find it they go on without. Nothing here uses it.
    """
    name: str = "scipy.linalg.cython_blas"
    if name in sys.modules:
        return
    sys.modules[name] = None  # type: ignore[assignment]  # Such a module is not found.
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        del sys.modules[name]


_without_linear_algebra()


@cache
def _stamp(file: str) -> str:
    """A digest of all that the kernels in ``file`` are made of: that file, and the kernels of this folder."""
    found = blake2b(Path(file).read_bytes(), digest_size=16)
    for path in sorted(Path(__file__).parent.glob("*.py")):
        content = path.read_bytes()
        if path.name == "jit.py" or b"kraftcheck.engine.jit import" in content:
            found.update(content)
    return found.hexdigest()


@cache
def _tell(sentence: str) -> None:
    """Report each sentence once."""
    logging.getLogger(__name__).info(sentence)


def _tell_compiling(where: str) -> None:
    """Report that kernels are compiled: there is no other output meanwhile."""
    _tell(f"compiling the engine for this machine, which takes up to a minute; it is {where}")


class _Kept(FunctionCache):
    """The kernels of one function on disk, for these sources alone.

    Raises RuntimeError where numba finds no folder.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._cache_file._source_stamp = _stamp(function.__code__.co_filename)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The kernel, or ``None`` if no readable one exists. Raises MemoryError."""
        require_memory(_LOADING)
        try:
            found = super().load_overload(signature, target)  # type: ignore[no-untyped-call]
        except Exception:  # A damaged pickle may raise anything; the kernel is compiled anew.
            with suppress(OSError):
                os.unlink(self._cache_file._index_path)
            found = None
        if found is None:
            require_memory(_COMPILING)
            _tell_compiling(f"kept in {self.cache_path}.")
        return found

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep a kernel; a disk without room means that it is compiled again next time."""
        try:
            super().save_overload(signature, compiled)  # type: ignore[no-untyped-call]
        except OSError:
            _tell(f"compiled code cannot be written to {self.cache_path}.")


class _NotKept(NullCache):
    """A cache that keeps no kernel."""

    def load_overload(self, signature: Any, target: Any) -> None:
        """None. Raises MemoryError."""
        require_memory(_COMPILING)
        _tell_compiling("not kept, as no folder can be written: name one by NUMBA_CACHE_DIR.")


def _cache_of(function: Callable[..., Any]) -> _Kept | _NotKept:
    named = _CONFIG.CACHE_DIR
    try:
        with suppress(RuntimeError):
            found = _Kept(function)
            if can_be_trusted(Path(found.cache_path)):
                return found
            _tell(f"{found.cache_path}: compiled code there is not used, as others can write to the folder.")
        _CONFIG.CACHE_DIR = str(private_folder())
        return _Kept(function)
    except (OSError, RuntimeError):
        return _NotKept()
    finally:
        _CONFIG.CACHE_DIR = named


def private_folder() -> Path:
    """A folder of this user alone among the temporary files, created if it does not exist.

    Raises OSError where it cannot be created: another user may have taken its name.
    """
    folder = Path(tempfile.gettempdir()) / f"kraftcheck-kernels-{os.geteuid()}"
    above = folder.parent.stat()
    if above.st_uid not in (0, os.geteuid()) or (
        above.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not above.st_mode & stat.S_ISVTX
    ):
        raise PermissionError(f"{folder.parent}: others may rename what is in it")
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise PermissionError(f"{folder}: is open to others")
    return folder


def compiled(function: Callable[..., Any]) -> Any:
    """A kernel that Python calls."""
    dispatcher = numba.njit(nogil=True, _nrt=False)(function)  # type: ignore[call-overload]
    dispatcher._cache = _cache_of(function)
    return dispatcher


def inlined(function: Callable[..., Any]) -> Any:
    """A part of a kernel, compiled into its callers."""
    options = {"nogil": True, "_nrt": False, "forceinline": True}
    return numba.njit(**options)(function)  # type: ignore[call-overload]


def _prefetch(_: Any, array: Any, row: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = [arguments[1], context.get_constant(types.uint64, 0)]
        struct = context.make_array(array)(context, builder, arguments[0])
        pointer = _CODE.get_item_pointer(context, builder, array, struct, place)
        ir = _CODE.ir
        number, byte = ir.IntType(32), ir.IntType(8).as_pointer()
        of_llvm = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = _CODE.get_or_insert_function(builder.module, of_llvm, "llvm.prefetch.p0i8")
        # To read, to be kept in all caches, data.
        how = [ir.Constant(number, each) for each in (0, 3, 1)]
        builder.call(function, [builder.bitcast(pointer, byte), *how])
        return context.get_dummy_value()

    assert row == types.uint64
    return types.void(array, row), code


#: In a kernel, ``prefetch(array, row)``: have the processor fetch the beginning of a row of an array of two
#: dimensions (``row`` is a uint64); nothing waits for it.
prefetch: Any = intrinsic(_prefetch)
