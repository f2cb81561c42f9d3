"""Messages, nodes and history of replicas as the views of a trace print them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kraftcheck.reference.events import Event, Poll
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Batch
from kraftcheck.reference.messages import VoteResponse
from kraftcheck.reference.replica import Leader, Progress, Replica
from kraftcheck.reference.voters import ReplicaKey, VoterSet
from kraftcheck.systems.kraft.history import History
from kraftcheck.systems.kraft.network import InFlight
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.text import fields
from kraftcheck.systems.kraft.text import log as short_log
from kraftcheck.systems.kraft.text.event import describe_event, message_words
from kraftcheck.systems.kraft.text.style import print_key

NOTHING = fields.NOTHING

#: Fields that follow from other shown fields: hidden unless nothing else of the replica changed.
FOLLOWING = frozenset({"end offset", "leader endpoints", "awaiting"})

LEGEND = (
    "→2 sends to replica 2; ←1 receives from replica 1; e3: epoch 3; last=4@2: a log that ends at offset 4 "
    "with epoch 2; log 3@1,2@2: three records of epoch 1, then two of epoch 2; progress 2:5: replica 2 holds "
    "the log up to offset 5. 'by' names the rules that decided, in order ('kraftcheck rules ID' prints one). "
    "The sender of an 'unanswerable' request has stopped waiting for the answer. End offsets, endpoints and "
    "answers awaited are left out unless nothing else changed."
)
#: The signs of a page, each with what it means.
NOTATION = (
    (r"^←\d", "←1: a message from replica 1 arrives"),
    (r"\(e\d", "e3: epoch 3"),
    (r"\blast=\d", "last=4@2: the log of the candidate ends at offset 4, after a record of epoch 2"),
    (
        r"\blast-epoch=",
        "offset=4 last-epoch=2: fetches at offset 4, after a record of epoch 2",
    ),
    (r"\bhw=", "hw: the high watermark that the sender knows"),
    (r"\brecords=", "records=3:2@1: carries two records of epoch 1, the first at offset 3"),
    (r"\bdiverging=", "diverging=5@1: in the log of the leader epoch 1 ends at offset 5"),
    (r"\bunanswerable\b", "unanswerable: the sender has stopped waiting for the answer"),
    (r"\back-when-appended\b", "ack-when-appended: the answer is not to wait for the commit"),
    (r"\bkraft=\d", "kraft=0-1: supports kraft.version 0 to 1"),
    (r"\d/[a-z]", "1/d1: replica 1 with the directory id d1, which is that of its disk"),
    (r"^log: .*\d@", "log 3@1,2@2: three records of epoch 1, then two of epoch 2"),
    (r"^log: .*\]@", "log [3]@1: three records of epoch 1 that were appended together"),
    (r"^log: .*\b0@", "log 0@2: epoch 2 begins where the log ends, and has no record yet"),
    (r"^snapshots: .*@", "snapshots 5@1: one that ends at offset 5, after a record of epoch 1"),
    (r"^flushed: ", "flushed 4: of its log, the disk has flushed what is before offset 4"),
    (
        r"^progress: ",
        "progress 2:5: the leader knows that voter 2 has the log up to offset 5 (?: nothing yet)",
    ),
    (r"^observers: .*:", "observers 2:5: the same of a replica that fetches and is not a voter"),
    (r"^granted: ", "granted: the voters that have granted the vote in this election"),
    (r"asks what it supports", "asks what it supports: the leader waits for the new voter's kraft.version"),
    (r"^awaiting: .*\d", "awaiting 2: waits for the answer of replica 2 to a request"),
    (r"\bfrom=-1\b", "from=-1: from the admin client"),
    (
        r"\bexpired=linger",
        "expired=linger: the time to collect records for one batch is over, as always here",
    ),
    (r"^left: ", "left: how many events of this kind the scenario still allows"),
    (
        r"after effect \d",
        "effect: one action of a replica, such as a write, a flush or a message",
    ),
)
#: The words of a message that a picture leaves out.
MINOR = r"\b(?:last-epoch|leader|timeout)=[^ )]+ ?|\back-when-appended\b ?"
_NOBODY = Replica(ReplicaKey(0), VoterSet(()))


def label(message: InFlight) -> str:
    """A message in a few words: ``VoteRequest(e1 last=0@0)``."""
    payload = message.payload
    words = message_words(payload)
    words = [word for word in words if not word.startswith(("from=", "to=", "endpoints=", "max-wait="))]
    words = [f"e{word[6:]}" if word.startswith("epoch=") else word for word in words]
    if (
        isinstance(payload, VoteResponse)
        and not payload.granted
        and not any("error=" in word for word in words)
    ):
        words.append("rejected")
    return f"{type(payload).__name__}({' '.join(words)})" + ("" if message.answerable else " unanswerable")


def short_events(events: Sequence[Event], node: Node) -> tuple[str, ...]:
    """Events in the short form, as they happen to the replica of ``node``."""
    if node.replica is None:  # after a start, which only poll rounds follow
        return tuple(describe_event(each, _NOBODY) for each in events if isinstance(each, Poll))
    return tuple(describe_event(each, node.replica) for each in events)


def node_fields(node: Node) -> Mapping[str, str]:
    """The fields of a node: those of its replica, or of its disk while the process does not run."""
    if node.replica is not None:
        found = dict(fields.fields_of(_with_known_progress(node.replica, timed=node.clock is not None)))
        found["process"] = "running"
    else:
        state = node.disk.quorum_state
        found = {
            "role": NOTHING,
            "process": "stopped" if node.died is None else f"ended: {node.end}",
            "epoch": NOTHING if state is None else str(state.epoch),
            "leader": NOTHING if state is None or state.leader is None else str(state.leader),
            "voted": NOTHING if state is None or state.voted is None else str(state.voted.id),
            "log": short_log.describe_log(node.disk.log),
            "end offset": str(node.disk.log.end_offset),
        }
    found["flushed"] = str(node.disk.flushed)
    if node.clock is not None:
        found["clock"] = str(node.clock.now)
    if node.timers is not None:
        shown = [each.value for each in node.timers.running]
        shown += [f"{each.value} (expired)" for each in node.timers.expired]
        found["timers"] = ", ".join(shown) or NOTHING
    return found


def _with_known_progress(replica: Replica, timed: bool) -> Replica:
    """``replica`` without the notes that nodes do not keep: the voters that have not acknowledged the leader,
    and unless it is ``timed`` times, of which there is at most one.
    """
    role = replica.role
    if not isinstance(role, Leader):
        return replica
    progress = tuple(_as_known(entry, timed) for entry in role.progress)
    observers = tuple(_as_known(entry, timed) for entry in role.observers)
    return replace(replica, role=replace(role, progress=progress, observers=observers))


def _as_known(entry: Progress, timed: bool) -> Progress:
    if timed:
        return replace(entry, acknowledged=True)
    return replace(entry, acknowledged=True, last_fetch_time=None, last_caught_up_time=None)


def batches(prefix: tuple[Batch, ...]) -> str:
    """A prefix of a log: ``1@1,2@2``."""
    return short_log.describe_batches(prefix) if prefix else NOTHING


def history_fields(history: History) -> Mapping[str, str]:
    """The history that properties read: leaders by epoch, the last votes, the committed records. Where voters
    change, also the set that decided the last commit, and the replicas that have lost their disks.
    """
    return {
        "leaders": ", ".join(f"{leader} of epoch {epoch}" for epoch, leader in history.leaders) or NOTHING,
        "votes": ", ".join(
            f"{voter} for {print_key(who)} in epoch {epoch}" for voter, epoch, who in history.votes
        )
        or NOTHING,
        "committed": batches(history.committed),
        "epoch of the last commit": str(history.committed_epoch or NOTHING),
        "voters of the last commit": ",".join(map(print_key, history.voters)) or NOTHING,
        "disks lost": ", ".join(print_key(key) for key, _, _ in history.gone) or NOTHING,
    }


def start_lines(node: Node) -> list[str]:
    """A replica at the beginning: its role and epoch, and its fields that are not empty."""
    found = node_fields(node)
    if node.replica is None:
        return [found["process"]]
    lines = [f"{found['role']}, epoch {found['epoch']}"]
    shown = ("leader", "voted", "log", "high watermark")
    lines += [f"{name}: {found[name]}" for name in shown if found[name] != NOTHING]
    if int(found["flushed"]) != node.disk.log.end_offset:
        lines.append(f"flushed: {found['flushed']}")
    voters = node.replica.voters.ids
    return [*lines, f"voters: {','.join(map(str, voters))}"]
