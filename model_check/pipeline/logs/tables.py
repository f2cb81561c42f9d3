"""The Parquet data sets of a fleet's logs."""

from __future__ import annotations

from typing import Final

from kraftcheck.pipeline.datasets import Column, Dataset

_CLUSTER: Final = Column("cluster", "string", "the cluster, by the path of its files")
_LINE: Final = (
    Column("file", "string", "the file, whole path or URI"),
    Column("line", "bigint", "its line, from 1; in gzip after decompression"),
    Column("time", "string", "as printed, by the clock of the node"),
)
_NODE: Final = Column("node", "int", "the id of the node whose log it is, by the log itself")

TRANSITIONS: Final = Dataset(
    "log-transitions",
    1,
    "steps of the history of each node: states, starts and ends of processes, truncations, snapshots",
    (
        _CLUSTER,
        _NODE,
        Column("process", "int", "number of the process within the node's logs, from 1; 0 before a start"),
        Column("what", "string", "start, transition, interrupted, end, truncation or snapshot"),
        Column("role", "string", "the state from here on"),
        Column("epoch", "bigint", "its epoch"),
        Column("leader", "int", "its leader; null for none or not printed"),
        Column("voted", "int", "whom it voted for; null for none or not printed"),
        Column("offset", "bigint", "new end of the log, of truncations and snapshots"),
        Column("high_watermark", "bigint", "the high watermark known then"),
        *_LINE,
    ),
)
VOTES: Final = Dataset(
    "log-votes",
    1,
    "votes, as the voter's own log has them, and grants, as the leader elected by them has them",
    (
        _CLUSTER,
        Column("epoch", "bigint", "the epoch of the election"),
        Column("voter", "int", "who voted"),
        Column("candidate", "int", "for whom"),
        Column("kind", "string", "vote: in the log of the voter; grant: in the log of the candidate"),
        _NODE,
        *_LINE,
    ),
)
LEADERS: Final = Dataset(
    "log-leaders",
    1,
    "who knows whom as the leader of an epoch",
    (
        _CLUSTER,
        Column("epoch", "bigint", "the epoch"),
        Column("leader", "int", "its leader, as the node knows it"),
        _NODE,
        *_LINE,
    ),
)
EPOCHS: Final = Dataset(
    "log-epochs",
    1,
    "what all nodes together show of an epoch",
    (
        _CLUSTER,
        Column("epoch", "bigint", "the epoch"),
        Column("leaders", "array<int>", "its leaders; more than one contradict each other"),
        Column("known_by", "int", "nodes whose logs name a leader of it"),
        Column("votes", "int", "voters whose own log has a vote in it"),
        Column("grants", "int", "voters whose grant its leader has"),
        Column("start", "bigint", "offset at which it starts, by its leader"),
        Column("high_watermark", "bigint", "the largest one known in it"),
        Column("committed_before", "bigint", "the largest high watermark known in smaller epochs"),
    ),
)
HIGH_WATERMARKS: Final = Dataset(
    "log-high-watermarks",
    1,
    "every line on a high watermark",
    (
        _CLUSTER,
        _NODE,
        Column("process", "int", "as of log-transitions"),
        Column("epoch", "bigint", "epoch of the node's state; null if it is not known"),
        Column("role", "string", "role of the node's state"),
        Column("high_watermark", "bigint", "the high watermark"),
        *_LINE,
    ),
)
VOTER_SETS: Final = Dataset(
    "log-voter-sets",
    1,
    "voter sets read by a node, and those that it knows to be committed",
    (
        _CLUSTER,
        _NODE,
        Column("offset", "bigint", "where it stands in the log; null at the start of a process without one"),
        Column("voters", "array<string>", "ids, with directory ids where known"),
        Column("committed", "boolean", "whether this row says that the node knows it to be committed"),
        *_LINE,
    ),
)
FINDINGS: Final = Dataset(
    "log-findings",
    1,
    "problems (error) and what is counted beside them (note), as of kraftcheck logs",
    (
        _CLUSTER,
        _NODE,
        *_LINE,
        Column("severity", "string", "error: a check fails; note: counted, no problem"),
        Column("check", "string", "name of the check or note; see kraftcheck logs --checks"),
        Column("rules", "array<string>", "ids of rules and properties behind it"),
        Column("expected", "string", "what was expected"),
        Column("found", "string", "what was found"),
        Column("earlier_file", "string", "file of the earlier line that is contradicted"),
        Column("earlier_line", "bigint", "that line"),
        Column("count", "bigint", "1; of a note how often, in the files of one node"),
    ),
)
FILES: Final = Dataset(
    "log-files",
    1,
    "the files, in the order in which those of a cluster are read",
    (
        _CLUSTER,
        Column("folder", "string", "the node, by the path; empty if the path does not say"),
        Column("number", "int", "place in the order of reading"),
        Column("file", "string", "the file"),
        Column("copy", "boolean", "skipped: begins like a file read before"),
        Column("damaged", "string", "what is wrong with it; null: nothing"),
        Column("bytes", "bigint", "bytes, decompressed"),
        Column("lines", "bigint", "lines"),
        Column("records", "bigint", "lines that begin a record"),
        Column("relevant", "bigint", "lines of raft nodes that matter"),
        Column("overlong", "bigint", "lines too long"),
        Column("nul", "bigint", "NUL bytes"),
        Column("invalid", "bigint", "lines that are not UTF-8"),
        Column("nodes", "array<int>", "ids of the raft nodes in it"),
    ),
)
NODES: Final = Dataset(
    "log-nodes",
    1,
    "what the logs show of each node",
    (
        _CLUSTER,
        _NODE,
        Column("folder", "string", "as of log-files"),
        Column("releases", "array<string>", "releases that print such lines, one after the other"),
        Column("relevant", "bigint", "lines that matter"),
        Column("processes", "bigint", "starts"),
        Column("transitions", "bigint", "changes of state"),
        Column("elections", "bigint", "times it was candidate"),
        Column("leaderships", "bigint", "times it was leader"),
        Column("first_epoch", "bigint", "first epoch"),
        Column("last_epoch", "bigint", "last epoch"),
        Column("first_time", "string", "of its first line"),
        Column("last_time", "string", "of its last line"),
        Column("names", "array<int>", "ids of the voters that its lines name"),
        Column("cluster_id", "string", "id of the cluster in votes; null if none is shown"),
    ),
)
DATASETS: Final = {
    "transitions": TRANSITIONS,
    "votes": VOTES,
    "leaders": LEADERS,
    "epochs": EPOCHS,
    "high_watermarks": HIGH_WATERMARKS,
    "voter_sets": VOTER_SETS,
    "findings": FINDINGS,
    "files": FILES,
    "nodes": NODES,
}
