"""Values that follow no rule, by name: exceptions that are counted in each run, and fields that are not
compared.

An exception is a value that Kafka draws or that the recorder leaves out; it is checked as far as possible,
and each use is counted. A field that is not compared carries no information about a node's step, or not at
its own line; a test changes every field of recordings and finds no others.
"""

from __future__ import annotations

from dataclasses import dataclass

ELECTION_TIMEOUT = "random election timeout"
BOOTSTRAP_SERVER = "random bootstrap server"
SEND_ORDER = "order of sends"
GRANTING_VOTERS = "order of granting voters"
VOTER_ORDER = "order of voters in a voter set"
CONTENT_UNKNOWN = "content of a message never shown"
NUMBER_LEFT_OUT = "gap in the message ids"
UNRESOLVED = "request left in the queue of an ended process"
OLDER_VERSION = "message of an older version"
UNKNOWN_FIELD = "unknown field"
UNKNOWN_TOTAL = "unknown total"
UNSEEN_MESSAGES = "total with messages never shown"
SPINNING = "poll of a spinning loop"

#: A kind of event for :data:`NOT_COMPARED`: a ``recv`` line with a request of the client, which is not a
#: node.
CLIENT_REQUEST = "recv from the client"

#: Likewise an ``api`` line with an append that wrote no record.
DROPPED_APPEND = "api append that is not written"

#: The reason for each exception, and the remaining check.
EXCEPTIONS: dict[str, str] = {
    ELECTION_TIMEOUT: "Drawn at random; it must lie in the range of the draw, and stay as drawn "
    "(QuorumState.randomElectionTimeoutMs).",
    BOOTSTRAP_SERVER: "Drawn at random; it must be a bootstrap server that is neither awaited nor in its "
    "back-off (RequestManager.findReadyBootstrapServer).",
    SEND_ORDER: "A step that sends to several nodes takes them from a hash set; the requests must be the "
    "same ones, with the same correlation ids in some order (VoterSet.voterKeys).",
    GRANTING_VOTERS: "The record that opens an epoch lists them from a hash set; they must be the same "
    "nodes (LeaderState.appendStartOfEpochControlRecords).",
    VOTER_ORDER: "The record that changes the voter set lists the voters as they lie in a hash table; they "
    "must be the same ones, with the same endpoints and versions (VoterSet.toVotersRecord).",
    CONTENT_UNKNOWN: "The recorder shows a message where it arrives or is lost; this one did neither, "
    "or is an ApiVersions request, of which it shows the arrival alone. That it was sent, and to whom, is "
    "compared.",
    UNRESOLVED: "The recorder does not show what waited in the queue of a process that ended, nor what was "
    "under way or in a queue in the last moments of a run.",
    NUMBER_LEFT_OUT: "Messages are numbered as they are made, whoever makes them; their order is compared. "
    "Where numbers are left out, a message was made that no line shows.",
    OLDER_VERSION: "Which versions a peer knows, no line says; the message must have the fields of the "
    "version that it names, and an answer the version of its request.",
    UNKNOWN_FIELD: "The recording has a field that this release of kraftcheck does not know.",
    UNKNOWN_TOTAL: "The last line counts something that this release of kraftcheck does not know.",
    UNSEEN_MESSAGES: "The last line counts more answers of the network, or requests of the client, than "
    "lines show: some were made for a process that ended before it took them. It must not count fewer.",
    SPINNING: "A loop that polls more than eight times in one ms is moved on by one ms; there must be "
    "eight steps before, and no more of such polls than the last line counts (spinGuard).",
}


@dataclass(frozen=True, slots=True)
class NotCompared:
    """Fields of a kind of event (``*``: of every kind) that are not compared, or not exactly, with the
    reason.

    ``fields`` are the beginnings of dotted paths: ``network`` covers ``network.dropP``.
    """

    event: str
    fields: tuple[str, ...]
    reason: str


#: Kinds of lines whose time the simulator chooses, and the reason for comparing it only in part.
_SIMULATED = (
    *("config", "start", "api", "end", "lost", "net", "pause", "wipe", "osFlush", "apiVersions"),
    *("adminResult", "note", "final"),
)
_WHEN = (
    "The simulator decides when. It must lie between those of its neighbours, that of a step outside any "
    "pause and not behind a deadline; timers that start there show it to the ms."
)

#: Every field of a recording that is not compared at its line, or only in part. All others are.
NOT_COMPARED: tuple[NotCompared, ...] = (
    NotCompared(
        "recv",
        ("t",),
        "The simulated network draws delays. It must lie between those of its neighbours, within the "
        "shortest and longest delay that 'config' names, outside any pause and not behind a deadline; "
        "timers and progress that start there show it to the ms.",
    ),
    *(NotCompared(kind, ("t",), _WHEN) for kind in _SIMULATED),
    NotCompared(
        "config",
        ("scenario", "seed", "logLevel", "kafka", "baseEpochMs"),
        "Labels; those that run.json repeats must be the same there.",
    ),
    NotCompared(
        "config",
        ("network",),
        "Parameters of the simulated network, which draws delays and losses.",
    ),
    NotCompared(
        "config",
        ("timeouts", "nodes", "clusterId", "initialKraftVersion"),
        "They decide what is expected: a wrong one shows at the first step that depends on it, not here.",
    ),
    NotCompared("net", ("what",), "A label; 'blocked' is what counts."),
    NotCompared(
        "net",
        ("blocked",),
        "Each message that arrives or is lost to a partition is held against the links; one that no message "
        "used cannot be judged.",
    ),
    NotCompared(
        "lost",
        ("why",),
        "The simulated network draws losses. It must be a reason that there is; a link must have been "
        "blocked, and a dead peer dead, at some time since the message was sent.",
    ),
    NotCompared(
        "pause",
        ("n", "ms"),
        "The simulator decides who stands still and how long; what is late afterwards shows in the timers.",
    ),
    NotCompared(
        "osFlush",
        ("n",),
        "The end of the log that is written back is compared; brokers whose logs are equally long are not "
        "told apart.",
    ),
    NotCompared(
        "end",
        ("reason", "powerLoss"),
        "The simulator decides who is killed and whether power is lost; where an end falls inside a step, "
        "and what the next process finds, is compared.",
    ),
    NotCompared(
        "end",
        ("exception",),
        "Production's wording; it is there if the process died, and as in run.json.",
    ),
    NotCompared(
        DROPPED_APPEND,
        ("values",),
        "They show nowhere else: the call failed, or the leader resigned or ended before it wrote them.",
    ),
    NotCompared("api", ("timeoutMs",), "It shows only where the shutdown takes as long."),
    NotCompared("api", ("threw",), "Production's wording; that the call threw is compared."),
    NotCompared(
        "note", ("",), "A remark of the simulator; what it is about is found or not by the properties."
    ),
    NotCompared("final", ("counts.act:",), "What the simulator did, not what a node did."),
    NotCompared(
        "final",
        ("counts.spinGuard",),
        "How often the simulator moved a spinning loop on; not fewer times than lines show.",
    ),
    NotCompared(
        "final",
        ("counts.synthetic:", "counts.admin:"),
        "They may count messages that no line shows, where a process ended or a message was left over: then "
        "they must not be smaller than what the lines show.",
    ),
    NotCompared(
        "run.json",
        ("distinctCommittedVoterSets", "finalKraftVersion"),
        "Sums over the whole run, which states and messages show at their lines.",
    ),
    NotCompared("run.json", ("invariantNotes",), "Remarks of the simulator, as 'note'."),
    NotCompared(
        "adminResult",
        ("data.errorMessage",),
        "Production's wording; that there is one exactly if there is an error is compared.",
    ),
    NotCompared("recv", ("data.errorMessage",), "Production's wording, likewise."),
    NotCompared(
        CLIENT_REQUEST,
        ("data", "mid", "corr"),
        "What a client asks for decides what is expected, as far as the node looks at it before it refuses; "
        "the number shows where the request is answered; the correlation id shows nowhere else.",
    ),
    NotCompared("wipe", ("n",), "Which node has lost its disk shows at its next start."),
)


def not_compared(event: str, path: str) -> NotCompared | None:
    """The reason why the field at the dotted ``path`` of a kind of event is not compared; ``None`` if it
    is.
    """
    for entry in NOT_COMPARED:
        if entry.event not in (event, "*"):
            continue
        for field in entry.fields:
            if path.startswith(field) if field.endswith(":") or not field else _is_below(path, field):
                return entry
    return None


def _is_below(path: str, field: str) -> bool:
    return path == field or path.startswith(f"{field}.")
