"""Recordings of releases before 4.3: what conform expects and judges by the preset of the release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kraftcheck.evidence.recordings.effects import form_of
from kraftcheck.evidence.recordings.lockstep import compare
from kraftcheck.evidence.recordings.properties.judge import judge
from kraftcheck.evidence.recordings.recording import recording_of
from kraftcheck.reference.protocol import KAFKA, PRESETS, RELEASES, Protocol
from tests.evidence.recordings.cluster_recording import leader_with_a_value
from tests.evidence.recordings.corrupted_recordings import grants_second_vote
from tests.evidence.recordings.small_recording import small_recording


def limit_differs(lines: list[dict[str, Any]], protocol: Protocol) -> bool:
    """Whether a Fetch names another limit than the reference expects."""
    report = compare(recording_of(lines, "small"), protocol)
    return any(each.field.endswith(".maxBytes") for each in report.differences)


@pytest.mark.parametrize(("release", "most"), [("4.3", 1_048_576), ("4.2", 8_388_608), ("3.9", 8_388_608)])
def test_a_fetch_names_the_limit_of_its_release(release: str, most: int) -> None:
    lines = small_recording()
    for line in lines:
        if line.get("api") == "Fetch" and line.get("kind") == "req":
            line["data"]["maxBytes"] = most
    assert limit_differs(lines, KAFKA) == (release != "4.3")
    assert not limit_differs(lines, RELEASES[f"kafka-{release}"])


def test_releases_before_4_2_alone_may_say_none_where_there_is_no_error() -> None:
    """The documents say nothing of that text, so their presets excuse it no more than later releases do."""
    excusing = {name for name, protocol in PRESETS.items() if form_of(protocol).names_no_error}
    assert excusing == {"kafka-3.9", "kafka-4.0", "kafka-4.1"}


def violated(folder: Path, protocol: Protocol, *, again: bool) -> set[str]:
    """What a follower violates that has forgotten its vote, and then perhaps grants another."""
    cluster, _ = leader_with_a_value()
    cluster.step(2, changes={"voted": None})
    if again:
        grants_second_vote(cluster)
    return {each.property for each in judge(cluster.recording(folder), protocol).findings}


@pytest.mark.parametrize("release", ["3.9", "4.0"])
def test_only_3_9_may_forget_its_vote_when_it_knows_the_leader(tmp_path: Path, release: str) -> None:
    expected = set() if release == "3.9" else {"VoteKeptWithinEpoch"}
    assert violated(tmp_path, RELEASES[f"kafka-{release}"], again=False) - {"TransitionsLegal"} == expected


def test_a_forgotten_vote_still_binds(tmp_path: Path) -> None:
    assert "VotedOncePerEpoch" in violated(tmp_path, RELEASES["kafka-3.9"], again=True)
