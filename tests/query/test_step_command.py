"""``kraftcheck step`` and ``kraftcheck rules`` as a user meets them."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kraftcheck.cli.main import main
from kraftcheck.query.replica_tables import TABLES
from kraftcheck.query.tables import BY_FORM
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.step import Outcome
from kraftcheck.support import codec
from kraftcheck.support.exit_codes import EXIT_BROKEN_PIPE
from kraftcheck.systems.brokers.switches import FORMS
from kraftcheck.systems.kraft.text import parse_replica

FOLLOWER = "follower epoch=5 leader=1 log=3@4,2@5 fetched"
VOTE = "vote-request from=3 epoch=6 last=5@5"


def run(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    """The standard output of the command, or with a status of 2 its one error sentence."""
    assert main(arguments) == status
    captured = capsys.readouterr()
    if status == 2:
        assert captured.out == ""
        assert captured.err.count("\n") == 1
        assert captured.err.startswith("kraftcheck: ")
        return captured.err
    assert captured.err == ""
    return captured.out


def test_the_answer_the_changes_the_effects_and_the_rules(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "step", FOLLOWER, VOTE)
    assert "to 3      vote-response epoch=6 granted" in out
    assert "Follower -> Unattached" in out
    assert "voted             none -> 3" in out
    lines = [line.strip() for line in out.splitlines()]
    assert lines.index("1. persist      epoch=6 leader=none voted=none") < lines.index(
        "8. reply        to 3: vote-response epoch=6 granted"
    )
    assert "VOTE-7 EPOCH-3" in out
    assert "\x1b" not in out


def test_rules_can_be_read_in_place(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "step", FOLLOWER, VOTE, "-v")
    assert "When an Unattached or Prospective replica without vote" in out


@pytest.mark.one_in(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    "question",
    [
        [FOLLOWER, VOTE, "-v"],
        ["--table"],
        *(["--table", name] for name in TABLES),
        *(["--table", name, "--protocol", form] for form in FORMS for name in BY_FORM[form]),
    ],
    ids=" ".join,
)
def test_it_fits_in_60_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, question: list[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(len, run(capsys, "step", *question).splitlines())) <= 60


def test_a_wide_table_is_a_grid(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    out = run(capsys, "step", "--table", "start")
    header = next(line for line in out.splitlines() if line.startswith("file"))
    assert header.split()[-1] == "rules"
    assert "*" in out


def test_the_poll_round_that_follows(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "step", "candidate epoch=6", "vote-response from=2 granted", "--poll")
    assert "Candidate -> Leader" in out
    assert "begin-quorum-epoch-request from=1 epoch=6 to=2" in out
    assert "Assumed: the replica awaits this response." in out


def test_a_response_that_is_not_awaited_is_dropped(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "step", "candidate epoch=6 awaiting=none", "vote-response from=2 granted")
    assert "->" not in out
    assert "Assumed" not in out


def test_a_start_is_asked_for_like_an_event(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "step", "unattached id=1 epoch=5 leader=1", "start")
    assert "Unattached -> Resigned" in out
    assert "INIT-3" in out


def test_json_goes_in_and_out(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    replica = tmp_path / "replica.json"
    replica.write_text(codec.dumps(parse_replica(FOLLOWER), Replica))
    event = tmp_path / "event.json"
    out = run(capsys, "step", f"@{replica}", VOTE, "--json")
    data = json.loads(out)
    step = data["steps"][0]
    assert step["changed"]["epoch"] == ["5", "6"]
    outcome = codec.decode(step["outcome"], Outcome)
    assert outcome.replica.epoch == 6
    event.write_text(json.dumps(step["event"]))
    assert run(capsys, "step", FOLLOWER, f"@{event}", "--json") == out
    replica.write_text(out)
    assert "Unattached -> Prospective" in run(capsys, "step", f"@{replica}", "poll expired=election")


def test_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(FOLLOWER))
    assert "granted" in run(capsys, "step", "-", VOTE)


def test_the_protocol_is_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    question = ["step", "follower leader=1", "vote-request from=3 pre-vote", "--json"]

    def granted(*options: str) -> Any:
        outcome = json.loads(run(capsys, *question, *options))["steps"][0]["outcome"]
        return outcome["effects"][-1]["response"].get("granted", False)

    assert granted()
    assert not granted("--set", "follower-pre-vote=never")
    assert not granted("--set", "follower_pre_vote=never", "--set", "fetch_max_batches=3")
    assert granted("--protocol", "kip996", "--set", "check-quorum=false", "--set", "fetch-max-batches=none")


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["step"], ["needs REPLICA and EVENT"]),
        (["step", "candidate"], ["needs REPLICA and EVENT"]),
        (["step", "candidat", "shutdown"], ["did you mean 'candidate'?"]),
        (["step", "candidate", "shutdow"], ["did you mean 'shutdown'?"]),
        (["step", "candidate", "shutdown", "--protocol", "kipp996"], ["did you mean 'kip996'?"]),
        (["step", "candidate", "shutdown", "--set", "candidate-los=x"], ["did you mean 'candidate-loss'?"]),
        (["step", "candidate", "shutdown", "--set", "candidate-loss=x"], ["there are wait-rest"]),
        (["step", "candidate", "shutdown", "--set", "check-quorum=7"], ["takes true or false"]),
        (["step", "candidate", "--table", "start"], ["not both"]),
        (["step", "--table", "vote-requst"], ["did you mean 'vote-request'?"]),
        (["step", "@missing.json", "shutdown"], ["missing.json", "No such file"]),
        (["step", "@\0", "shutdown"], ["not a file name"]),
        (["step", "-", "-"], ["standard input"]),
        (["step", "{", "shutdown"], ["replica: not JSON"]),
        (["step", "candidate", "{}"], ["event.type: expected RequestReceived"]),
        (["step", "candidate id=1 voters=2,3", "shutdown"], ["must be one of its voters"]),
        (["step", "follower leader=1 hw=1", "shutdown"], ["at most 0, the end of its log"]),
        (["step", "candidate epoch=1 log=1@3", "shutdown"], ["its log has epoch 3"]),
        (["step", "follower id=1 leader=1", "shutdown"], ["follows another replica"]),
        (["rules", "VOTE-99"], ["'VOTE-99'", "did you mean 'VOTE-9'"]),
        (["rules", "xyzzy"], ["'xyzzy'", "the areas are"]),
        (["rules", "--properties", "xyzzy"], ["no property"]),
        (["rules", "--transitions", "xyzzy"], ["no transition"]),
    ],
)
def test_bad_input_gives_one_sentence(
    capsys: pytest.CaptureFixture[str], arguments: list[str], parts: list[str]
) -> None:
    error = run(capsys, *arguments, status=2)
    for part in parts:
        assert part in error


def test_a_damaged_file_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "replica"
    file.write_bytes(b"\xff")
    assert "not UTF-8" in run(capsys, "step", f"@{file}", "shutdown", status=2)


@pytest.mark.slow
@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.text(max_size=12) | st.sampled_from([FOLLOWER, VOTE, "start", "shutdown", "--poll"]), max_size=4
    )
)
def test_noise_never_gives_a_traceback(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    arguments = [
        each for each in arguments if each not in ("-", "-h", "--help") and not each.startswith("-h")
    ]
    assert main(["step", *arguments]) in (0, 2)


def test_a_closed_pipe_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

        def fileno(self) -> int:
            return os.open(os.devnull, os.O_WRONLY)

    monkeypatch.setattr("sys.stdout", Closed())
    assert main(["step", "candidate", "shutdown"]) == EXIT_BROKEN_PIPE
    assert main(["rules", "VOTE"]) == EXIT_BROKEN_PIPE


# Rules.


def test_a_rule_is_printed_whole(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "rules", "VOTE-10")
    assert "Grant by log comparison" in out
    assert "KIP-996" in out
    assert "SingleLeaderPerEpoch" in out
    assert "reference/vote.py:" in out
    assert "tests/reference/test_vote.py" in out and "test_citations" not in out
    assert run(capsys, "rules", "vote-10") == out


def test_rules_are_found_by_area_and_by_text(capsys: pytest.CaptureFixture[str]) -> None:
    area = json.loads(run(capsys, "rules", "HWM", "--json"))["rules"]
    assert {rule["id"].partition("-")[0] for rule in area} == {"HWM"}
    found = json.loads(run(capsys, "rules", "VOTE", "single", "--json"))["rules"]
    assert found
    assert all(rule["id"].startswith("VOTE-") for rule in found)
    both = json.loads(run(capsys, "rules", "VOTE-1", "HWM-1", "--json"))["rules"]
    assert [rule["id"] for rule in both] == [rule["id"] for rule in both if rule["id"] in ("VOTE-1", "HWM-1")]
    assert len(json.loads(run(capsys, "rules", "--json"))["rules"]) > 300


def test_properties_and_transitions(capsys: pytest.CaptureFixture[str]) -> None:
    assert "SingleLeaderPerEpoch" in run(capsys, "rules", "--properties")
    assert "mutation" in run(capsys, "rules", "--properties", "S-1")
    assert json.loads(run(capsys, "rules", "--properties", "--json"))["properties"]
    assert "Candidate → Leader" in run(capsys, "rules", "--transitions")
    rows = json.loads(run(capsys, "rules", "--transitions", "kip996", "--json"))["transitions"]
    assert all(row["table"] == "kip996" for row in rows)
