"""Executors that have nothing but the Python environment that was sent along (docs/pipeline.md)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from kraftcheck.support import places
from kraftcheck.support.sources import source_digest
from tests.installed import install

ROOT = Path(__file__).parents[2]


def packed(folder: Path, notes: Path) -> Path:
    """An archive of a virtual environment with kraftcheck in it; what runs it notes where it is.

    As venv-pack makes it, but for the libraries: a line for the folder in which they are takes the place of
    600 MB.
    """
    environment = folder / "environment"
    venv.create(environment, symlinks=True)
    (site,) = environment.glob("lib/python*/site-packages")
    install(site)
    libraries = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
    note = f"import os, sys; open(os.path.join({str(notes)!r}, str(os.getpid())), 'w').write(sys.prefix)"
    (site / "libraries.pth").write_text("\n".join([*libraries, note, ""]), encoding="utf-8")
    return Path(shutil.make_archive(str(folder / "executor"), "gztar", environment))


@pytest.mark.slow
def test_a_checkout_and_what_is_installed_from_it_have_the_same_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise executors with an environment that was sent along refuse a driver in a checkout."""
    here, installed = source_digest(), install(tmp_path)
    monkeypatch.setattr(places, "folder_of", lambda package: tmp_path.joinpath(*package.split(".")))
    assert source_digest.__wrapped__() == here
    changed = installed / "reference" / "vote.py"
    changed.write_text(changed.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert source_digest.__wrapped__() != here


@pytest.mark.spark
@pytest.mark.nightly
def test_an_environment_that_is_sent_along(tmp_path: Path) -> None:
    pyspark = pytest.importorskip("pyspark", reason="needs PySpark: pip install 'kraftcheck[spark]'")
    notes = tmp_path / "notes"
    notes.mkdir()
    archive = packed(tmp_path, notes)
    work = Path(pyspark.__file__).parent / "work"
    before = set(work.glob("*"))
    settings = (
        f"spark.archives={archive}#environment",
        "spark.pyspark.python=./environment/bin/python",
        "spark.ui.enabled=false",
        "spark.sql.shuffle.partitions=4",
        "spark.driver.host=127.0.0.1",
    )
    options = [part for setting in settings for part in ("--conf", setting)]
    matrix = ["--scenario", "single-voter", "--engine", "check", "--engine", "simulate", "--seeds", "0..5"]
    matrix += ["--walks", "5", "--max-seconds", "3600"]
    places = ["--master", "local-cluster[2,1,2048]", "--results", str(tmp_path / "results")]
    done = subprocess.run(
        [sys.executable, "-m", "kraftcheck", "pipeline", "campaign", *matrix, *places, *options, "--json"],
        # The driver has kraftcheck because it is here; nothing tells executors of this folder.
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTHON")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["cells"]["finished"] == found["cells"]["planned"] == 7
    assert found["cells"]["verdicts"] == {"holds": 1, "undetermined": 6}
    prefixes = {Path(note.read_text(encoding="utf-8")) for note in notes.iterdir()}
    assert prefixes and all(prefix != tmp_path / "environment" for prefix in prefixes)
    # Executors of a local-cluster unpack it into Spark's own folder, which is as it was before.
    assert set(work.glob("*")) <= before
    assert not any(prefix.exists() for prefix in prefixes)
