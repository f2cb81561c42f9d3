"""A recording in which a client asks how the quorum is doing: the answer is compared field by field."""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck.evidence.recordings.outcome import RunReport
from kraftcheck.evidence.recordings.wire import TOPIC
from kraftcheck.evidence.recordings.wire_codec import ZERO_UUID
from tests.evidence.recordings.small_recording import first, renumbered, report_on, small_recording

Json = dict[str, Any]
MID = 9998


def _asked(lines: list[Json], after: int, version: int, answer: Json) -> int:
    """A client asks the node of line ``after`` right after it, and gets ``answer``; where it asks."""
    before = lines[after]
    request = {"kind": "req", "api": "DescribeQuorum", "from": -1, "corr": MID, "ver": version}
    topics = [{"topicName": TOPIC, "partitions": [{"partitionIndex": 0}]}]
    sent = {"mid": MID + 1, "to": -1, "kind": "resp", "api": "DescribeQuorum", "re": MID}
    node, state = before["n"], before["s"]
    common = {"seq": 0, "t": before["t"], "n": node, "ev": "recv", "mid": MID}
    lines.insert(after + 1, {**common, **request, "data": {"topics": topics}, "out": [sent], "s": state})
    answered = {"ev": "adminResult", "from": node, "mid": MID + 1, "re": MID, "api": "DescribeQuorum"}
    lines.insert(after + 2, {"seq": 0, "t": before["t"], **answered, "data": answer})
    return after + 1


def _answer(partition: Json, **more: Json | list[Json] | None) -> Json:
    topics = [{"topicName": TOPIC, "partitions": [{"partitionIndex": 0, **partition}]}]
    return {"errorCode": 0, "topics": topics, **more}


def _description(line: Json, version: int) -> Json:
    """What the leader of ``line`` answers, from the progress that its state shows."""
    state, voters = line["s"], []
    for voter, known in sorted(state["progress"].items()):
        times = [line["t"]] * 2 if int(voter) == line["n"] else known[1:] or [-1, -1]
        directories = dict(state["voters"])
        entry = {"replicaId": int(voter), "logEndOffset": known[0] if known else -1}
        if version >= 1:
            entry |= {"lastFetchTimestamp": times[0], "lastCaughtUpTimestamp": times[1]}
        if version >= 2:
            entry["replicaDirectoryId"] = directories.get(int(voter), ZERO_UUID)
        voters.append(entry)
    listens = {"name": "CONTROLLER", "port": 9093}
    nodes = [
        {"nodeId": int(voter), "listeners": [{**listens, "host": f"node-{voter}"}]}
        for voter in sorted(state["progress"])
    ]
    partition = {
        "errorCode": 0,
        "leaderId": line["n"],
        "leaderEpoch": state["epoch"],
        "highWatermark": state["hw"],
        "currentVoters": voters,
        "observers": [],
    }
    if version < 2:
        return _answer(partition)
    return _answer(partition | {"errorMessage": None}, errorMessage=None, nodes=nodes)


def _leading(lines: list[Json]) -> int:
    """A poll of a leader that all of its voters have fetched from."""
    return next(  # type: ignore[no-any-return]
        line["seq"]
        for line in lines
        if line["ev"] == "tick" and line["s"]["state"] == "Leader" and all(line["s"]["progress"].values())
    )


def _differences(report: RunReport, seq: int) -> list[str]:
    """The fields that differ where the client asks and where it gets its answer; message ids and totals do,
    since the lines are inserted.
    """
    return [one.field for one in report.differences if one.seq in (seq, seq + 1) and "mid" not in one.field]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_answer_of_a_leader_agrees(version: int) -> None:
    lines = small_recording()
    seq = _leading(lines)
    where = _asked(lines, seq, version, _description(lines[seq], version))
    report = report_on(renumbered(lines))
    assert _differences(report, where) == []
    assert report.rules["DESCRIBE-2"] == 1


@pytest.mark.parametrize("field", ["logEndOffset", "lastFetchTimestamp", "lastCaughtUpTimestamp"])
def test_a_wrong_number_is_reported(field: str) -> None:
    lines = small_recording()
    seq = _leading(lines)
    answer = _description(lines[seq], 2)
    answer["topics"][0]["partitions"][0]["currentVoters"][1][field] += 1
    where = _asked(lines, seq, 2, answer)
    (found,) = _differences(report_on(renumbered(lines)), where)
    assert field in found


def test_a_node_that_does_not_lead_names_no_leader() -> None:
    lines = small_recording()
    seq = first(lines, "tick")
    numbers = {"leaderId": 0, "leaderEpoch": 0, "highWatermark": 0}
    partition = {"errorCode": 6, "errorMessage": "", **numbers, "currentVoters": [], "observers": []}
    where = _asked(lines, seq, 2, _answer(partition, errorMessage=None, nodes=[]))
    report = report_on(renumbered(lines))
    assert _differences(report, where) == []
    assert report.rules["DESCRIBE-1"] == 1
