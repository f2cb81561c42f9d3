"""Dependencies point one way: model_check → reference → spec; the engine knows no protocol."""

import ast
import sys
import tomllib
from itertools import chain

import pytest

from kraftcheck.support.places import modules
from tests.house.sources import ROOT, imported, importing, parsed, sources

OWN = {"kraftcheck", "tests"}
LOWER = ("kraftcheck.reference", "kraftcheck.spec")

#: The packages, from those that know least to the command line: each imports only those before it.
LAYERS = (
    "spec", "reference", "support", "engine", "systems", "traces", "checking", "hunt", "graphs", "query",
    "evidence", "vectors", "impact", "proof", "tlc", "pipeline", "bench", "explorer", "site", "cli",
)  # fmt: skip


def within(name: str, *packages: str) -> bool:
    """Whether a module is one of ``packages``, or in one of them."""
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def top(name: str) -> str:
    return name.partition(".")[0]


@pytest.mark.slow
@pytest.mark.parametrize(("package", "allowed"), [("spec", LOWER[1:]), ("reference", ("msgspec", *LOWER))])
def test_only_the_standard_library_and_lower_layers(package: str, allowed: tuple[str, ...]) -> None:
    wrong = [
        (path, name)
        for path, name in importing(package)
        if name != "kraftcheck" and not within(name, *allowed) and top(name) not in sys.stdlib_module_names
    ]
    assert sources(package) and not wrong


def _layer(module: str) -> int | None:
    """The place of a module's package in LAYERS; ``None`` for ``kraftcheck`` itself and other libraries."""
    parts = module.split(".")
    return LAYERS.index(parts[1]) if parts[0] == "kraftcheck" and parts[1:2] and parts[1] in LAYERS else None


def test_every_package_has_a_layer() -> None:
    packages = {path.name for path in (ROOT / "model_check").iterdir() if (path / "__init__.py").is_file()}
    assert packages | {"spec", "reference"} == set(LAYERS)


@pytest.mark.slow
def test_packages_import_one_way() -> None:
    wrong = [
        (module, name)
        for module, path in modules().items()
        if (own := _layer(module)) is not None
        for name in imported(path)
        if (other := _layer(name)) is not None and other > own
    ]
    assert not wrong


def test_the_engine_knows_no_protocol() -> None:
    foreign = (*LOWER, "kraftcheck.systems", "kraftcheck.cli")
    assert not [each for each in importing("model_check/engine") if within(each[1], *foreign)]


@pytest.mark.slow
def test_the_model_of_kraft_needs_only_the_engines_interface() -> None:
    """The system is described by ``engine/system.py`` alone. Judging liveness needs a graph as well; the run
    that leads to a scenario's initial state needs the steps of a system, in which messages have an order.
    """
    whole = frozenset({"liveness.py", "wanted.py", "kind.py"})
    steps = ("/initial_prefix.py", "/relative.py")
    wrong = [
        (path, name)
        for path, name in importing("model_check/systems/kraft", but=whole)
        if within(name, "kraftcheck.engine")
        and name != "kraftcheck.engine"
        and not within(name, "kraftcheck.engine.system")
        and not (path.endswith(steps) and within(name, "kraftcheck.engine.steps"))
    ]
    assert not wrong


@pytest.mark.slow
def test_no_module_imports_a_command() -> None:
    assert not [each for each in importing("model_check") if within(each[1], "kraftcheck.cli.commands")]


def test_the_reference_has_no_clock_no_chance_and_no_input_or_output() -> None:
    impure = {
        "time", "datetime", "random", "secrets", "os", "io", "sys", "pathlib", "socket", "threading", "uuid",
    }  # fmt: skip
    assert not [each for each in importing("reference") if top(each[1]) in impure]


def test_no_mutant_lives_in_the_reference() -> None:
    """A mutant is made from the source (model_check/mutation); the source does not know of it."""
    names = {
        (path.name, name.lower())
        for path in sources("reference")
        for node in ast.walk(parsed(path))
        if (name := getattr(node, "id", getattr(node, "attr", None))) is not None
    }
    assert names and not {(path, name) for path, name in names if "mutant" in name or "mutation" in name}


@pytest.mark.slow
def test_every_dependency_is_declared() -> None:
    """What ``model_check`` imports from others is named in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    words = list(chain(project["dependencies"], *project["optional-dependencies"].values()))
    declared = {
        word.replace("-", "_").split(">")[0].split("=")[0].split("[")[0].strip().lower() for word in words
    }
    declared |= {"z3"} if "z3_solver" in declared else set()
    used = {top(name) for _, name in importing("model_check")}
    assert used - OWN - set(sys.stdlib_module_names) <= declared
