"""kraftcheck as a wheel installs it, in a folder of its own."""

import shutil
from pathlib import Path

from kraftcheck.support.places import PACKAGES, folder_of


def install(site: Path) -> Path:
    """Copy the packages to ``site/kraftcheck``, and return that folder."""
    for package in sorted(PACKAGES):
        place = site.joinpath(*package.split("."))
        shutil.copytree(folder_of(package), place, ignore=shutil.ignore_patterns("__pycache__"))
    return site / "kraftcheck"
