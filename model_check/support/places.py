"""The places of the sources of kraftcheck, without importing them.

In a wheel the packages lie in one another: ``kraftcheck/reference``. In a checkout they lie next to each
other, as ``model_check/``, ``reference/`` and ``spec/``, with the tests and the TLA+ modules.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

REFERENCE = "kraftcheck.reference"
SPEC = "kraftcheck.spec"
PACKAGES = (REFERENCE, SPEC, "kraftcheck")

_HERE = Path(__file__).resolve().parents[1]


def root() -> Path:
    """The folder of a checkout, with its ``tests`` and ``tla``; of an installed wheel, the package's own."""
    return _HERE.parent if _HERE.name == "model_check" else _HERE


def folder_of(package: str) -> Path:
    """The folder of ``package``, one of `PACKAGES`, from which this process imports it."""
    spec = None if package == "kraftcheck" else find_spec(package)
    return _HERE if spec is None or spec.origin is None else Path(spec.origin).resolve().parent


def file_of(module: str) -> Path | None:
    """The source file of ``module`` (``kraftcheck.reference.vote``); ``None`` where there is none."""
    package = next((each for each in PACKAGES if f"{module}.".startswith(f"{each}.")), None)
    if package is None:
        return None
    path = folder_of(package).joinpath(*module[len(package) + 1 :].split("."))
    return next((each for each in (path.with_suffix(".py"), path / "__init__.py") if each.is_file()), None)


def modules() -> dict[str, Path]:
    """Every module of kraftcheck, with its source file."""
    found = {}
    for package in reversed(PACKAGES):
        folder = folder_of(package)
        for path in folder.rglob("[!.]*.py"):
            parts = path.relative_to(folder).with_suffix("").parts
            name = ".".join((package, *(parts[:-1] if parts[-1] == "__init__" else parts)))
            found[name] = path
    return {name: found[name] for name in sorted(found)}
