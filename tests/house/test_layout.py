"""The top of the house: what lies where, which version it is, and what must not be in it."""

import re
import subprocess
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

import kraftcheck
from kraftcheck.support.places import folder_of, modules
from tests.house.sources import ROOT

TOP = {"pyproject.toml", "spec", "reference", "model_check", "tests", "tla", "docs"}
TOP |= {"README.md", "Makefile", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md"}


def tracked() -> list[str]:
    """Files under version control; skips where there is no git or no repository."""
    try:
        listing = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("git says which files are under version control, and this is no checkout")
    return [name for name in listing.split("\0") if name]


def test_the_top_level_is_fixed() -> None:
    found = {name.partition("/")[0] for name in tracked()}
    assert {name for name in found if not name.startswith(".")} == TOP


def test_nothing_generated_is_kept() -> None:
    generated = ("__pycache__", ".egg-info", ".hypothesis", ".venv", ".mypy_cache")
    assert not [name for name in tracked() if any(word in name for word in generated)]


def test_the_tests_mirror_the_packages() -> None:
    own = {"house", "recorded"}
    folders = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and any(path.glob("*.py"))}
    parts = {path.name for path in (ROOT / "model_check").iterdir() if path.is_dir()}
    assert folders - own <= parts | {"spec", "reference"}


def test_the_installed_version_is_the_one_of_the_sources() -> None:
    assert version("kraftcheck") == kraftcheck.__version__


def test_every_package_is_installed() -> None:
    """The packages are listed, since three folders of the top level become one package."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = {name for name, path in modules().items() if path.name == "__init__.py"}
    assert packages == set(project["tool"]["setuptools"]["packages"])


def test_every_file_of_a_package_is_installed() -> None:
    """What is no module must match a pattern of the package that setuptools looks into: scenarios, Java."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]
    for package, its in patterns.items():
        folder = folder_of(package)
        matched = {path for pattern in its for path in folder.glob(pattern)}
        left = [
            path
            for path in folder.rglob("*.*")
            if path.is_file() and path.suffix not in (".py", ".pyc", ".nbi", ".nbc") and path not in matched
        ]
        assert not left
        assert package != "kraftcheck" or any(path.name == "Adapter.java" for path in matched)


def test_the_public_interface_is_what_its_page_shows() -> None:
    page = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
    table = page[page.index("| Name |") : page.index("**Stability.**")]
    shown = set(re.findall(r"`(\w+)[`(]", table))
    assert shown == set(kraftcheck.__all__)
    assert all(getattr(kraftcheck, name) is not None for name in kraftcheck.__all__)


def test_the_two_scripts_can_be_run() -> None:
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111
    subprocess.run(["bash", "-n", ".ci/run"], cwd=ROOT, check=True)


def test_no_machine_and_no_host_is_named() -> None:
    """Nothing in the product depends on where it was made; recorded runs are known to CI and their tests."""
    here = Path(__file__).relative_to(ROOT).as_posix()
    words = [f"/{'work'}/", f"{'pypi'}.org", f"/{'root'}/", f"/{'home'}/", "shared/data"]
    wrong = []
    for name in tracked():
        if name in (here, "LICENSE") or not (ROOT / name).is_file():
            continue
        text = (ROOT / name).read_text(encoding="utf-8", errors="replace")
        knows_runs = name == ".ci/run" or name.startswith("tests/recorded/")
        wrong += [(name, word) for word in words[: 4 if knows_runs else 5] if word in text]
    assert not wrong
