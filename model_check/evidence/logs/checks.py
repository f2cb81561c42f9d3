"""The checks: names, what each demands, and the rules and properties of the specification behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple


class Where(NamedTuple):
    """A line of a log file. Lines count from 1, in gzip after decompression."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Check:
    """One check; ``cites`` holds ids of rules and properties."""

    name: str
    demands: str
    cites: tuple[str, ...]
    level: str = "INFO"
    """The log level of the lines that it needs; at INFO some checks see a part: those that need DEBUG."""
    any_order: bool = False
    """Whether it holds of lines in any order."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A line that contradicts what should be, or an earlier line."""

    check: str
    node: int
    where: Where
    time: str
    expected: str
    found: str
    earlier: Where | None
    cites: tuple[str, ...]


#: Log levels, each of which shows what those before it show.
LEVELS: Final = ("INFO", "DEBUG", "TRACE")


def _checks(*checks: Check) -> Mapping[str, Check]:
    return MappingProxyType({check.name: check for check in checks})


CHECKS: Final = _checks(
    Check(
        "transition-legal",
        "every change of state is in the transition table of the release",
        ("P-2", "STATE-1", "STATE-2"),
    ),
    Check("same-state", "the old state of a line is the state that the line before it left", ()),
    Check(
        "durable-first",
        "a change that is written to a file first is attempted, then completed (3.9 and later)",
        ("EPOCH-2", "PERSIST-3", "PERSIST-4", "PERSIST-5", "PERSIST-6"),
    ),
    Check("epoch-monotone", "the epoch of a node never decreases, restarts included", ("S-8", "EPOCH-1")),
    Check("one-vote", "a node votes for one candidate an epoch, restarts included", ("S-3", "VOTE-15")),
    Check("vote-kept", "a node does not forget its vote within an epoch", ("S-5", "EPOCH-7")),
    Check(
        "one-leader", "all nodes know the same leader of an epoch", ("S-1", "S-2", "EPOCH-8"), any_order=True
    ),
    Check(
        "leader-kept",
        "a node does not forget the leader of its epoch while its process lives",
        ("EPOCH-8", "PREVOTE-21"),
    ),
    Check(
        "no-return",
        "a node that has led an epoch takes no further part in it, restarts included",
        ("S-6", "RESIGN-9", "INIT-3"),
    ),
    Check("own-leader", "no node follows itself", ("S-34", "STATE-6"), any_order=True),
    Check("own-id", "a state names the node whose log it stands in", (), any_order=True),
    Check("election-majority", "an election is won with a majority of its voters", ("VOTE-20", "VOTE-25")),
    Check("observer-election", "only a voter stands for election", ("S-33", "PREVOTE-6")),
    Check(
        "pre-vote-answer",
        "a leader, and a follower that has fetched, reject pre-votes",
        ("S-35", "PREVOTE-10", "PREVOTE-12"),
        level="DEBUG",
    ),
    Check(
        "vote-answer",
        "a vote is granted by the state at that time, and the candidate granted is the one voted for",
        ("VOTE-8", "VOTE-9", "VOTE-11", "VOTE-12", "VOTE-13", "VOTE-14"),
    ),
    Check(
        "vote-log",
        "a vote goes to a candidate whose log is as long (seen at TRACE)",
        ("S-13", "VOTE-10", "DEF-6"),
        level="TRACE",
    ),
    Check("votes-agree", "a candidate counts only grants that their givers know of", ("S-3", "VOTE-20")),
    Check(
        "high-watermark-monotone",
        "the high watermark never decreases while a process lives",
        ("S-18", "HWM-4", "FETCH-27"),
        level="DEBUG",
    ),
    Check(
        "high-watermark-majority",
        "a majority of the voters has what is committed",
        ("S-19", "HWM-1"),
        level="DEBUG",
    ),
    Check("high-watermark-own-epoch", "a leader commits a record of its own epoch first", ("S-14", "HWM-2")),
    Check(
        "high-watermark-log-end",
        "the high watermark lies within the log (seen at TRACE)",
        ("FETCH-27",),
        level="TRACE",
    ),
    Check(
        "leader-complete",
        "the log of a new leader holds all that was committed before",
        ("S-12", "VOTE-10"),
        level="DEBUG",
    ),
    Check(
        "no-truncation",
        "a log is not truncated below the high watermark",
        ("S-21", "FETCH-24"),
        level="DEBUG",
    ),
    Check(
        "log-end",
        "a log grows at its end, in order of epochs (seen at TRACE)",
        ("S-9", "LOG-1"),
        level="TRACE",
    ),
    Check("voter-set-step", "neighbouring voter sets differ by one voter", ("S-23", "VSET-7")),
    Check("voter-set-order", "voter sets are read in the order of their offsets", ("VSET-4", "VSET-5")),
    Check(
        "voter-set-own-epoch", "a leader changes voters after a commit of its own epoch", ("S-24", "VSET-9")
    ),
    Check(
        "voter-set-committed",
        "a committed voter set is the same on all nodes",
        ("S-25", "S-17"),
        level="DEBUG",
    ),
    Check("version-monotone", "kraft.version never decreases", ("S-39", "KVER-4")),
    Check("no-fatal-fault", "no process ends by an error in the raft thread", ("P-1",), any_order=True),
)

#: What is counted and no problem: it may happen to a healthy cluster or be a matter of how logs are kept.
NOTES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "gaps": "places where lines are missing (rotation, cut lines), after which the check began anew",
        "unreadable": "lines that begin like one that matters and cannot be read (cut, damaged)",
        "mixed": "lines that two records were written to",
        "no-layout": "lines with a raft message in a layout that is not known (see --pattern)",
        "unknown-form": "states in a form that no known release prints",
        "other-release": "lines of another release than the process they stand in",
        "time-back": "lines whose time is before the line above",
        "repeated": "lines skipped because each line stands there twice: do two appenders write to one file?",
        "overlap": "lines skipped because an earlier file has the same stretch of time",
        "interrupted": "attempted transitions that a restart cut off",
        "other-cluster": "votes in another cluster than in earlier lines: read its logs by themselves",
        "empty-disk": "starts with an empty disk after the node had one",
        "fetch-back": "replicas that fetched at a smaller offset than before (their log got shorter)",
    }
)
