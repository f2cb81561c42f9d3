"""Dependencies point one way: model_check → reference → spec; the engine knows no protocol."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kraftcheck.support.places import modules

ROOT = Path(__file__).parents[2]
OWN = {"kraftcheck", "tests"}
LOWER = ("kraftcheck.reference", "kraftcheck.spec")


def imported(path: Path) -> Iterator[str]:
    """Dotted names of all modules that a source file imports, at any depth."""
    package = ".".join(path.relative_to(ROOT).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")
                base = ".".join([*parents[: len(parents) - node.level + 1], *([base] if base else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def sources(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def top(name: str) -> str:
    return name.partition(".")[0]


@pytest.mark.parametrize(("package", "allowed"), [("spec", LOWER[1:]), ("reference", ("msgspec", *LOWER))])
def test_only_the_standard_library_and_lower_layers(package: str, allowed: tuple[str, ...]) -> None:
    assert sources(package)
    wrong = [
        (path.relative_to(ROOT).as_posix(), name)
        for path in sources(package)
        for name in imported(path)
        if name != "kraftcheck"
        and not any(within(name, each) for each in allowed)
        and top(name) not in sys.stdlib_module_names
    ]
    assert not wrong


#: The packages, from those that know least to the command line: each imports only those before it.
LAYERS = (
    *(
        "spec",
        "reference",
        "support",
        "engine",
        "systems",
        "traces",
        "checking",
        "graphs",
        "query",
        "evidence",
    ),
    *("vectors", "impact", "proof", "tlc", "pipeline", "bench", "cli"),
)


def _layer(module: str) -> int | None:
    """The place of a module's package in LAYERS; ``None`` for ``kraftcheck`` itself and other libraries."""
    parts = module.split(".")
    return LAYERS.index(parts[1]) if parts[0] == "kraftcheck" and parts[1:2] and parts[1] in LAYERS else None


def test_every_package_has_a_layer() -> None:
    packages = {path.name for path in (ROOT / "model_check").iterdir() if (path / "__init__.py").is_file()}
    assert packages | {"spec", "reference"} == set(LAYERS)


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
    foreign = (
        *LOWER,
        "kraftcheck.systems",
        "kraftcheck.cli",
    )
    wrong = [
        (path.relative_to(ROOT).as_posix(), name)
        for path in sources("model_check/engine")
        for name in imported(path)
        if any(within(name, package) for package in foreign)
    ]
    assert not wrong


def test_the_model_of_kraft_needs_only_the_engines_interface() -> None:
    """The system is described by ``engine/system.py`` alone. Judging liveness needs a graph as well, and the
    run that leads to where a scenario begins what a step of a system is; messages have an order there.
    """
    more = {
        "liveness.py": "kraftcheck.engine",
        "wanted.py": "kraftcheck.engine",
        "fairness.py": "kraftcheck.engine",
        "alike.py": "kraftcheck.engine",
        "kind.py": "kraftcheck.engine",
        "initial_prefix.py": "kraftcheck.engine.steps",
        "relative.py": "kraftcheck.engine.steps",
    }
    wrong = [
        (path.relative_to(ROOT).as_posix(), name)
        for path in sources("model_check/systems/kraft")
        for name in imported(path)
        if within(name, "kraftcheck.engine")
        and name != "kraftcheck.engine"
        and not within(name, "kraftcheck.engine.system")
        and not (path.name in more and within(name, more[path.name]))
    ]
    assert not wrong


def test_command_modules_are_imported_by_nobody() -> None:
    wrong = [
        (path.relative_to(ROOT).as_posix(), name)
        for path in sources("model_check")
        for name in imported(path)
        if within(name, "kraftcheck.cli.commands")
    ]
    assert not wrong


def test_the_reference_has_no_clock_no_chance_and_no_input_or_output() -> None:
    impure = {
        "time",
        "datetime",
        "random",
        "secrets",
        "os",
        "io",
        "sys",
        "pathlib",
        "socket",
        "threading",
        "uuid",
    }
    used = {(path.name, top(name)) for path in sources("reference") for name in imported(path)}
    assert not {(path, name) for path, name in used if name in impure}


def test_no_mutant_lives_in_the_reference() -> None:
    """A mutant is made from the source (model_check/mutation); the source does not know of it."""
    names = {
        (path.name, name.lower())
        for path in sources("reference")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in (
            [node.id]
            if isinstance(node, ast.Name)
            else [node.attr]
            if isinstance(node, ast.Attribute)
            else []
        )
    }
    assert not {(path, name) for path, name in names if "mutant" in name or "mutation" in name}


def test_every_dependency_is_declared() -> None:
    """What ``model_check`` imports from others is named in pyproject.toml."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    words = [
        *project["dependencies"],
        *(w for group in project["optional-dependencies"].values() for w in group),
    ]
    declared = {
        word.replace("-", "_").split(">")[0].split("=")[0].split("[")[0].strip().lower() for word in words
    }
    declared |= {"z3"} if "z3_solver" in declared else set()
    used = {top(name) for path in sources("model_check") for name in imported(path)}
    assert used - OWN - set(sys.stdlib_module_names) <= declared
