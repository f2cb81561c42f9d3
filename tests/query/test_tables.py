"""The decision tables are computed from the reference, and their merged rows say what the reference says."""

from __future__ import annotations

import pytest

from kraftcheck.query.cover import cover
from kraftcheck.query.decision_table import decide, rows
from kraftcheck.query.replica_tables import TABLES
from kraftcheck.reference.protocol import KAFKA, KIP996, PRESETS, FollowerPreVote, Protocol


@pytest.mark.parametrize(
    "preset",
    ["kafka", *(pytest.param(name, marks=pytest.mark.slow) for name in sorted(PRESETS) if name != "kafka")],
)
@pytest.mark.parametrize("name", sorted(TABLES))
def test_every_combination_is_in_a_row_and_every_row_is_right(name: str, preset: str) -> None:
    table, protocol = TABLES[name], PRESETS[preset]
    decisions = decide(table, protocol)
    merged = cover(tuple(map(tuple, table.columns.values())), decisions)
    assert decisions
    assert len(merged) < len(decisions)
    for cell, decision in decisions.items():
        matching = {row.decision for row in merged if row.holds(cell)}
        assert matching == {decision}


@pytest.mark.parametrize("name", sorted(TABLES))
def test_every_value_of_every_column_occurs(name: str) -> None:
    table = TABLES[name]
    for index, (column, values) in enumerate(table.columns.items()):
        seen = {cell[index] for cell in decide(table, KAFKA)}
        assert seen == set(values), column


def _only(name: str, protocol: Protocol, **wanted: str) -> set[tuple[str, str]]:
    """The answers and next roles of the combinations that have the wanted values."""
    table = TABLES[name]
    found = set()
    for cell, decision in decide(table, protocol).items():
        given = dict(zip(table.columns, cell, strict=True))
        if all(given[column.replace("_", " ")] == value for column, value in wanted.items()):
            found.add((decision.results["answer"], decision.results["next role"]))
    return found


def test_a_table_follows_the_protocol() -> None:
    question = {"role": "Follower", "epoch": "same", "fetched": "no", "addressee": "this replica"}
    log = {"sender's log": "equal"}
    assert _only("pre-vote-request", KAFKA, **question, **log) == {("granted", "Follower")}
    never = Protocol(follower_pre_vote=FollowerPreVote.NEVER)
    assert _only("pre-vote-request", never, **question, **log) == {("refused", "Follower")}


def test_some_rows_by_name() -> None:
    assert _only("start", KAFKA, file="not behind the log", stored_leader="itself", replica="voter") == {
        ("nothing", "Resigned")
    }
    lost = {"role": "Prospective", "expired": "election", "state": "lost", "shutting_down": "no"}
    assert _only("timer", KAFKA, **lost, leader="known") == {("nothing", "Follower")}
    assert _only("timer", KIP996, **lost, leader="unknown") == {("nothing", "Unattached")}
    fetch = {"role": "Leader", "epoch": "same", "fetcher": "voter", "shutting_down": "no"}
    assert _only("fetch-request", KAFKA, **fetch, position="unknown epoch") == {("diverging epoch", "Leader")}
    assert _only("fetch-request", KAFKA, **fetch, position="malformed") == {("INVALID_REQUEST", "Leader")}


def test_rows_are_the_same_every_time() -> None:
    table = TABLES["vote-request"]
    assert rows(table, KAFKA) == rows(table, KAFKA)


def test_rows_about_voter_changes_and_descriptions() -> None:
    leader = {"role": "Leader", "shutting_down": "no", "voters": "dynamic", "has_committed": "yes"}
    idle = {**leader, "change_under_way": "none"}
    removal = {**idle, "voter": "another voter"}
    assert _only("remove-raft-voter-request", KAFKA, **removal) == {("queues records", "Leader")}
    known = {**idle, "voter": "a voter's id, other directory", "default_listener": "yes"}
    assert _only("add-raft-voter-request", KAFKA, **known) == {("DUPLICATE_VOTER (top level)", "Leader")}
    busy = {**leader, "change_under_way": "remove", "voter": "a voter", "supports": "0 to 1"}
    busy |= {"epoch": "same", "default_listener": "yes"}
    assert _only("update-raft-voter-request", KAFKA, **busy) == {("REQUEST_TIMED_OUT", "Leader")}
    checkpoint = {"role": "Leader", "epoch": "same", "shutting_down": "no", "position": "inside"}
    checkpoint["snapshot"] = "the bootstrap checkpoint"
    assert _only("fetch-snapshot-request", KAFKA, **checkpoint) == {("SNAPSHOT_NOT_FOUND", "Leader")}


def test_a_sender_backs_off_from_errors_that_it_has_no_rule_for() -> None:
    refused = {"role": "Follower", "error": "UNSUPPORTED_VERSION"}
    assert _only("add-raft-voter-response", KAFKA, **refused) == {("backs off", "Follower")}
    told = {"role": "Follower", "epoch": "same", "leader": "the named one", "names_a_leader": "no"}
    assert _only("update-raft-voter-response", KAFKA, **told, error="UNSUPPORTED_VERSION") == {
        ("nothing", "Follower")
    }
    fatal = {**told, "error": "CLUSTER_AUTHORIZATION_FAILED (top)", "content": "a part"}
    assert _only("fetch-snapshot-response", KAFKA, **fatal) == {("dies", "process ends")}
