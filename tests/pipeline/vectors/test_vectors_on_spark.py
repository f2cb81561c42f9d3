"""Vectors made on Spark: what tasks leave out of the choice, and a whole set."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.pipeline.datasets import read
from kraftcheck.pipeline.vectors import tasks
from kraftcheck.pipeline.vectors.cover import choose, cover, smallest
from kraftcheck.pipeline.vectors.run import CHOSEN, make
from kraftcheck.support.errors import InputError
from kraftcheck.systems import scenario
from kraftcheck.vectors import files

pytestmark = pytest.mark.spark

SCHEMA = "kind string, source string, tier int, size bigint, tie string, features array<string>"


def candidates(seed: int) -> list[tuple[int, int, str, tuple[str, ...]]]:
    rng = random.Random(seed)
    return [
        (
            rng.choice((0, 0, 1)),
            rng.randrange(1, 6),
            f"{number:03}",
            tuple(sorted(rng.sample([f"p{n}" for n in range(15)], rng.randrange(1, 6)))),
        )
        for number in range(60)
    ]


@pytest.mark.parametrize(("seed", "keep"), [(1, 1), (2, 3)])
def test_kinds_are_chosen_apart_from_the_smallest_candidates(spark: Any, seed: int, keep: int) -> None:
    made = candidates(seed)
    kinds = {"step": made, "sequence": made[::3]}
    rows = [
        (kind, "", tier, size, f"{kind} {tie}", [*pairs])
        for kind, of_kind in kinds.items()
        for tier, size, tie, pairs in of_kind
    ]
    found = dict(cover(smallest(spark.createDataFrame(rows, SCHEMA), keep), keep))
    wanted = {kind: choose(of_kind, keep) for kind, of_kind in kinds.items()}
    assert found == {f"{kind} {tie}": [*of] for kind, ties in wanted.items() for tie, of in ties.items()}


@pytest.mark.slow
def test_a_set_from_scenarios(spark: Any, tmp_path: Path) -> None:
    parts = tasks.tasks([scenario.find("single-voter"), scenario.find("split-votes")], beyond=False)
    folder, parquet = tmp_path / "set", str(tmp_path / "parquet")
    made = make(spark, parts, folder, max_states=100, keep=1, parquet=parquet)
    done = files.check(folder)
    assert done.differences == ()
    assert done.vectors == sum(entry["vectors"] for entry in made.files) < made.candidates
    assert read(spark, CHOSEN, f"{parquet}/vectors").count() == done.vectors
    first = {path.name: path.read_bytes() for path in folder.rglob("*.json")}
    with pytest.raises(InputError, match="holds 'vectors', expected a data set 'vector-candidates'"):
        read(spark, tasks.CANDIDATES, f"{parquet}/vectors")
    more = make(spark, [*reversed(parts)], folder, max_states=100, keep=1)
    assert more.candidates == made.candidates
    assert {path.name: path.read_bytes() for path in folder.rglob("*.json")} == first
