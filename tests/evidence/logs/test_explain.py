"""``kraftcheck logs --explain``: the story of each epoch."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from kraftcheck.cli.main import main
from kraftcheck.evidence.history.checks import CHECKS
from kraftcheck.evidence.logs.explain import Story
from kraftcheck.evidence.logs.findings import Problem, Where
from kraftcheck.evidence.logs.signatures import likenesses, signatures
from tests.evidence.logs.log_lines import change, read, state, text_of
from tests.house.sources import ROOT

UNATTACHED = state("Unattached", 0)
FOLLOWER = state("Follower", 1, leader=2)
REQUEST = (
    "Vote request VoteRequestData(clusterId='c', voterId={voter}, topics=[TopicData(topicName='t', "
    "partitions=[PartitionData(partitionIndex=0, replicaEpoch={epoch}, replicaId={candidate}, "
    "replicaDirectoryId=AAAAAAAAAAAAAAAAAAAAAQ, voterDirectoryId=AAAAAAAAAAAAAAAAAAAAAg, lastOffsetEpoch=1, "
    "lastOffset=7, preVote={pre_vote})])]) with epoch {epoch} is {answer}"
)


def request(epoch: int, candidate: int, answer: str, *, pre_vote: bool = False, voter: int = 2) -> str:
    return REQUEST.format(
        epoch=epoch, candidate=candidate, answer=answer, pre_vote=str(pre_vote).lower(), voter=voter
    )


def story(*texts: bytes) -> dict[int, list[str]]:
    """The sentences of each epoch, with the node and the rules."""
    told = Story()
    for entry in read(*texts)[1]:
        told.add(entry)
    return {
        epoch: [f"{line.node} {line.text}{' '.join(['', *line.rules])}" for line in lines]
        for epoch, lines in told.epochs()
    }


def one(sentences: list[str], word: str) -> str:
    (found,) = (each for each in sentences if word in each)
    return found


def elected() -> bytes:
    """Node 1 is elected in epoch 1, and steps down in epoch 2."""
    prospective = state("Prospective", 0, granted=frozenset({1, 2}))
    candidate = state("Candidate", 1, voted=1, granted=frozenset({1, 2}))
    states = [UNATTACHED, prospective, candidate, state("Leader", 1), state("Unattached", 2)]
    lines = [*change(UNATTACHED, None), "Transitioning to Prospective state due to fetch timeout"]
    for old, new in pairwise(states):
        lines += change(new, old)
    return text_of(lines)


def test_an_election_and_what_ended_it() -> None:
    found = story(
        elected(), text_of([*change(UNATTACHED, None), request(0, 1, "granted", pre_vote=True)], node=2)
    )
    assert one(found[0], "asks") == "1 asks for pre-votes, as its fetch timeout expires"
    assert one(found[0], "wins").startswith("1 wins: granted by ")
    assert one(found[1], "leads").startswith("1 leads until ")
    assert one(found[1], "leads").endswith(": learns of epoch 2")


def test_what_others_say_of_a_node_without_a_log() -> None:
    start, follower = state("Unattached", 1), state("Follower", 1, leader=2)
    lines = [*change(start, None), request(1, 2, "granted", voter=1), *change(follower, start)]
    said = story(text_of(lines))[1]
    assert one(said, "asks") == "2 asks for votes; granted by 1; its log was not given"
    assert one(said, "leads") == "2 leads, by the log of 1; its own was not given"


@pytest.mark.parametrize(
    ("role", "pre_vote", "reason", "rule"),
    [
        (state("Leader", 1, node=2), True, "it leads this epoch", "PREVOTE-10"),
        (state("Follower", 1, node=2, leader=3), True, "it has fetched from leader 3", "PREVOTE-12"),
        (state("Unattached", 1, node=2), True, "its log is newer", "PREVOTE-11"),
        (state("Leader", 1, node=2), False, "it is Leader itself", "VOTE-12"),
        (state("Candidate", 1, node=2, voted=2), False, "it is Candidate itself", "VOTE-11"),
        (state("Follower", 1, node=2, leader=3), False, "it follows leader 3", "VOTE-13"),
        (state("Unattached", 1, node=2, voted=3), False, "it has voted for 3", "VOTE-8"),
        (state("Unattached", 1, node=2, leader=3), False, "it knows leader 3", "VOTE-9"),
        (
            state("Unattached", 1, node=2),
            False,
            "its log is newer (the candidate's log ends at offset 7",
            "VOTE-10",
        ),
    ],
)
def test_why_a_voter_rejects(role: object, pre_vote: bool, reason: str, rule: str) -> None:
    asks = state("Prospective", 1) if pre_vote else state("Candidate", 1, voted=1)
    start = state("Unattached", 1)
    candidate = text_of(change(start, None) + change(asks, start) + change(state("Unattached", 2), asks))
    start = state("Unattached", 1, node=2)
    voter = text_of(
        change(start, None)
        + (change(role, start) if role != start else [])  # type: ignore[arg-type]
        + [request(1, 1, "rejected", pre_vote=pre_vote)],
        node=2,
    )
    said = story(candidate, voter)[1]
    found = one(said, "is rejected by node 2")
    assert reason in found and found.endswith(f" {rule}")
    fails = one(said, "fails")
    assert "no log of 3" in fails and "learns of epoch 2" in fails


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ("Beginning graceful shutdown", "resigns, as it shuts down"),
        ("Received user request to resign from the current epoch 1", "resigns, as it is asked to resign"),
        (
            "Did not receive fetch request from the majority of the voters within 3000ms. Current "
            "fetched voters are [], and voters are []",
            "resigns, as no majority fetches in time",
        ),
        (
            "Leader is not in the committed voter set x resign from epoch 1",
            "resigns, as its removal is committed",
        ),
    ],
)
def test_why_a_leader_resigns(message: str, why: str) -> None:
    candidate, leader = state("Candidate", 1, voted=1), state("Leader", 1)
    start = state("Unattached", 0)
    lines = change(start, None) + change(candidate, start) + change(leader, candidate) + [message]
    said = story(text_of(lines + change(state("Resigned", 1), leader)))
    assert why in one(said[1], "leads")


def test_a_process_that_ends_without_a_word_ended_before_the_next_start() -> None:
    """A leader that was killed did not lead until its next process started."""
    candidate, start = state("Candidate", 1, voted=1), state("Unattached", 0)
    lines = change(start, None) + change(candidate, start) + change(state("Leader", 1), candidate)
    said = story(text_of(lines + change(start, None)))[1]
    assert re.fullmatch(r"1 leads until its process ends; it starts again at [\d:,]+", one(said, "leads"))
    assert "1 starts again; its log does not show how its process ended" in said
    assert all("starts again" not in each for each in story(text_of(lines))[1])


def test_a_candidate_that_starts_as_one_says_so() -> None:
    candidate, start = state("Candidate", 1, voted=1), state("Unattached", 0)
    said = story(text_of(change(start, None) + change(candidate, start) + change(candidate, None)))[1]
    assert "becomes candidate 2 times" in one(said, "becomes")
    assert one(said, "becomes").endswith(", as it starts with its own vote (1 of 2)")


def problem(check: str, found: str) -> Problem:
    return Problem(check, 1, Where("f", 1), "", "", found, None, ())


def test_what_a_problem_looks_like() -> None:
    text = (
        "IllegalStateException: Expected to be Follower, but the current state is UnattachedState(voters=[])"
    )
    (found,) = likenesses([problem("NoFatal", "else"), problem("NoFatal", text), problem("NoFatal", text)])
    assert found.signature.findings == ("observer-without-voter-set",)
    for each in signatures():
        assert each.check in CHECKS
        assert all((ROOT / "docs" / "findings" / f"{name}.md").is_file() for name in each.findings)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    (tmp_path / "1.log").write_bytes(elected())
    return tmp_path


def test_the_command(logs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["logs", "--explain", str(logs)]) == 0
    out = capsys.readouterr().out
    assert "epoch 1, 2026-01-01\n" in out and "node 1 leads until" in out and "no problem: 1 node" in out
    assert main(["logs", "--markdown", str(logs)]) == 0
    out = capsys.readouterr().out
    assert "### Epoch 1\n\n| Time | What | Where |" in out and "### Not judged" in out
    assert main(["logs", "--explain", "--json", str(logs)]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [each["epoch"] for each in data["epochs"]] == [0, 1] and data["looksLike"] == []


class _Words(HTMLParser):
    """The texts of a page, and its elements."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tags = set[str]()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.words += data.split()


def test_the_page_says_what_the_markdown_says_and_runs_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fatal = (
        b"[2026-01-01 00:09:00,000] ERROR Encountered fatal fault: Unexpected error in raft IO thread (x)\n"
    )
    path = tmp_path / "<b onclick=x>.log"
    path.write_bytes(elected() + fatal + b"java.lang.Error: </code><script>alert(1)</script> `|\n")
    assert main(["logs", "--markdown", str(path)]) == 1
    lines = capsys.readouterr().out
    assert main(["logs", "--html", str(path), "-o", str(tmp_path / "page.html")]) == 1
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in page and "<script" not in page and "<b " not in page
    parser = _Words()
    parser.feed(page)
    assert parser.tags.isdisjoint({"script", "b"})
    plain = lines.replace("### ", "").replace("- ", " ").replace("|", " ").replace("---", "")
    missing = {word.strip("`:") for word in plain.split()} - {word.strip("`:") for word in parser.words}
    assert missing == {"'/"}  # a quote and a bar, as code in a table cannot hold them


def test_of_many_epochs_the_first_and_the_last_are_kept() -> None:
    def told(first: int, last: int) -> Story:
        kept = Story(first, last)
        for node in (1, 2):
            state_ = state("Unattached", 0, node=node)
            lines = change(state_, None)
            for epoch in range(node, 40, 3):
                candidate = state("Candidate", epoch, node=node, voted=node)
                lines += change(candidate, state_)
                state_ = candidate
            for entry in read(text_of(lines, node=node))[1]:
                kept.add(entry)
        return kept

    whole, part = told(200, 800), told(3, 4)
    everything, kept = dict(whole.epochs()), dict(part.epochs())
    numbers = sorted(everything)
    assert whole.gap is None and part.gap == (numbers[2], numbers[-4])
    assert kept == {each: everything[each] for each in (*numbers[:3], *numbers[-4:])}


def test_processes_that_end_again_and_again_are_one_line() -> None:
    fatal = (
        b"[2026-01-01 00:00:09,000] ERROR Encountered fatal fault: Unexpected error in raft IO thread (x)\n"
    )
    said = story((text_of(change(UNATTACHED, None)) + fatal) * 3)
    assert one(said[0], "exits").startswith("1 exits with a fatal error 3 times until ")
