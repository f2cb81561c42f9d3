"""Counterexamples of one release under the presets of others."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftcheck.evidence.quorum.known import known_counterexamples, under_release
from kraftcheck.support.errors import InputError
from kraftcheck.traces import json_form
from tests.evidence.quorum.test_reproduce import traces


@pytest.mark.parametrize(
    ("name", "releases"),
    [
        ("finding-removed-voter-acknowledges", ("3.9", "4.0", "trunk")),
        # Before KIP-996 the steps are others, and whether a cycle is fair the steps alone do not show.
        ("finding-single-voter-power-loss", ("4.0", "trunk")),
        ("finding-leader-removal-timed-out", ()),
    ],
)
def test_a_release_is_given_the_counterexample_if_its_preset_takes_it(
    name: str, releases: tuple[str, ...]
) -> None:
    found = {release: under_release(traces(name), release) for release in ("3.9", "4.0", "trunk")}
    assert tuple(release for release, taken in found.items() if taken) == releases
    for release in releases:
        (taken, *_) = found[release]
        (own, *_) = traces(name)
        assert taken.scenario.protocol.preset == f"kafka-{release}"  # type: ignore[attr-defined]
        assert (taken.property, len(taken.steps)) == (own.property, len(own.steps))


def test_traces_are_read_by_scenario(tmp_path: Path) -> None:
    (trace, *_) = traces("finding-wiped-leader")
    (tmp_path / "one.json").write_text(json_form.dumps(trace), encoding="utf-8")
    assert [*known_counterexamples(tmp_path)] == ["finding-wiped-leader"]
    assert known_counterexamples(None) == {}
    with pytest.raises(InputError, match="is no folder"):
        known_counterexamples(tmp_path / "none")
